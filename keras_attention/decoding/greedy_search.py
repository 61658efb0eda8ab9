"""Greedy search."""

import keras
from keras import ops

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

    def select(self, log_probabilities, hypotheses):
        tokens = ops.argmax(log_probabilities, axis=-1)
        best = ops.max(log_probabilities, axis=-1)
        return ops.cast(tokens, "int32"), hypotheses.scores + best, None
