"""The matrix products of a translation, and nothing else.

A floor: no gate, no state, no choice of tokens. What one step needs of the
step before it is one product a step; the hypotheses of one sentence share
the products with its memory.
"""

import functools
import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from measuring import run_side
from products import sizes_of_encoder


def shapes_of_products(task, batch, length):
    """Yields repeats, and the shapes of the left and the right factor."""
    units, gates = task.units, 3 * task.units
    beams = task.beams or 1
    for repeats, rows, inner, columns in (
        *sizes_of_encoder(task, batch, length),
        (1, batch * length, units, units),  # the keys
        (length, batch * beams, 2 * units, gates),  # a token, what is fed
        (length, batch * beams, units, gates),  # the state
        (length, batch * beams, units, task.vocabulary),
    ):
        yield repeats, (rows, inner), (inner, columns)
    if task.attention == "bahdanau":
        yield length, (batch * beams, units), (units, units)  # the query
    else:
        # The attentional state, and the scores.
        yield length, (batch * beams, 2 * units), (2 * units, units)
        yield length, (batch, beams, units), (batch, units, length)
    yield length, (batch, beams, length), (batch, length, units)  # context


def make_step(task):
    @functools.cache
    def graph(batch, length):
        data = [
            (repeats, tf.random.normal(left), tf.random.normal(right))
            for repeats, left, right in shapes_of_products(task, batch, length)
        ]

        @tf.function
        def all_products():
            total = tf.zeros(())
            for repeats, left, right in data:

                def step(index, total, left=left, right=right):
                    product = tf.matmul(left, right)
                    return index + 1, total + tf.reshape(product, (-1,))[0]

                _, total = tf.while_loop(
                    lambda index, total, repeats=repeats: index < repeats,
                    step,
                    (0, total),
                )
            return total

        return all_products

    def run(batch, length):
        graph(batch, length)().numpy()

    return run


if __name__ == "__main__":
    run_side(decoding=make_step)
