"""A strategy under which no hypothesis stays in its row."""

from keras import ops

import keras_attention


class CrossingBeams(keras_attention.DecodingStrategy):
    """Two beams that change places at every step.

    The first goes on with the best token of the other, the second with the
    second best.
    """

    num_beams = num_return = 2

    def select(self, next_tokens, hypotheses, noise):
        scores = hypotheses.scores
        rows = ops.arange(ops.shape(scores)[0], dtype="int32")
        beams = rows % 2
        parents = rows + 1 - 2 * beams
        values, tokens = [
            ops.take(each, parents, axis=0)
            for each in next_tokens.most_probable(2)
        ]
        values = ops.where(beams == 0, values[:, 0], values[:, 1])
        tokens = ops.where(beams == 0, tokens[:, 0], tokens[:, 1])
        return tokens, ops.take(scores, parents, axis=0) + values, parents

    def is_vacant(self, scores):
        # The second best of what has ended is nothing; it goes on all the
        # same, for the sake of what follows the parent.
        return ops.zeros_like(scores, dtype="bool")
