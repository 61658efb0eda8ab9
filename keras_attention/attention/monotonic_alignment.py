r"""How probable each position is, if attention can only move forward.

$$\alpha_{ij} = p_{ij}\, q_{ij}, \qquad
q_{ij} = (1 - p_{i,j-1})\, q_{i,j-1} + \alpha_{i-1,j}$$

$p_{ij}$ is the probability of choosing position j once it is reached, and
$q_{ij}$ that of reaching it. Source: Raffel et al. (2017), eqs. 8 to 11,
https://arxiv.org/abs/1704.00784.

Both functions here compute just that, for one step i. Neither divides, so
that probabilities of exactly 0 and 1 do no harm (the cumulative products of
the paper's eq. 12 underflow in a long memory).
"""

from keras import ops

from keras_attention.loop import loop


def recursive(choose, previous):
    """Goes from position to position, as the equation does.

    Args:
        choose: Probability, `(batch, memory_length)`, 0 where padding is.
        previous: Probability, `(batch, memory_length)`, the step before.

    Returns:
        Probability, `(batch, memory_length)`; a row sums to at most 1.
    """

    def step(inputs, reached):
        passed, before = inputs[:, :1], inputs[:, 1:]
        reached = passed * reached + before
        return reached, reached

    start = ops.zeros((ops.shape(choose)[0], 1), dtype=choose.dtype)
    sequences = ops.stack([_passed(choose), previous], axis=-1)
    reached, _ = loop(step, sequences, start, start)
    return choose * ops.squeeze(reached, -1)


def parallel(choose, previous):
    """Does the same in as many turns as the length has binary digits.

    A turn with distance d knows, for every position, the share of what is d
    positions before that gets through to it, and adds it.

    Args:
        choose: See `recursive`.
        previous: See `recursive`.

    Returns:
        As `recursive`.
    """
    length = ops.shape(choose)[1]
    positions = ops.arange(length, dtype="int32")

    def shift(tensor, distance):
        moved = ops.take(tensor, ops.maximum(positions - distance, 0), axis=1)
        return ops.where(positions >= distance, moved, 0.0)

    def turn(distance, through, reached):
        reached = reached + through * shift(reached, distance)
        return 2 * distance, through * shift(through, distance), reached

    start = (ops.ones((), dtype="int32"), _passed(choose), previous)
    if isinstance(length, int):
        values = (1, *start[1:])
        while values[0] < length:
            values = turn(*values)
    else:
        values = ops.while_loop(
            lambda distance, *_: distance < length,
            turn,
            start,
            maximum_iterations=31,  # XLA needs to know how often at most
        )
    return choose * values[-1]


def _passed(choose):
    """The probability of not choosing the position before."""
    return 1 - ops.pad(choose[:, :-1], [[0, 0], [1, 0]], constant_values=1)
