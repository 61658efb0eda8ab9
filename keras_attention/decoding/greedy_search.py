"""Greedy search."""

import keras

from keras_attention.decoding.strategy import DecodingStrategy


@keras.saving.register_keras_serializable(package="keras_attention")
class GreedySearch(DecodingStrategy):
    r"""Takes the most probable token at every step.

    $$y_t = \arg\max_w \log p(w \mid y_{<t}, x)$$

    Of equally probable tokens it takes the one with the smallest id.

    Example:
        ```python
        print(keras_attention.GreedySearch().num_beams)  # 1
        ```
    """

    def select(self, next_tokens, hypotheses, noise):
        log_probabilities, tokens = next_tokens.most_probable(1)
        return tokens[:, 0], hypotheses.scores + log_probabilities[:, 0], None
