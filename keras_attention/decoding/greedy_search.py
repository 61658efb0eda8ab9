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
        def step(tokens, state):  # 2 is likely
            logits = keras.ops.log([[0.1, 0.1, 0.4, 0.3, 0.1]])
            return logits, state, None

        result = keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=1,
            end_token=4,
            max_length=3,
            strategy=keras_attention.GreedySearch(),
        )
        print(result.tokens[0, 0])  # [2 2 2]
        ```
    """

    def select(self, next_tokens, hypotheses, noise):
        log_probabilities, tokens = next_tokens.most_probable(1)
        return tokens[:, 0], hypotheses.scores + log_probabilities[:, 0], None
