"""The matrix products of the translator, and nothing else.

A floor: no loop, no state, no gate; what the equations allow to do at once
for all time steps is one product. A backward pass takes two products of the
same size for every one of the forward pass.
"""

import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from measuring import run_side


def sizes_of_encoder(task, batch, length):
    """Yields repeats, and rows, inner size and columns of the products."""
    units, gates = task.units, 3 * task.units
    for _ in range(2):  # both directions
        yield 1, batch * length, units, gates
        yield length, batch, units, gates


def sizes_of_products(task, batch, length):
    """Yields repeats, and rows, inner size and columns of the products."""
    units, rows = task.units, batch * length
    gates = 3 * units
    if task.part == "training":
        yield from sizes_of_encoder(task, batch, length)
        yield 1, rows, units, task.vocabulary
    yield 1, rows, units, units  # the keys
    yield 1, rows, units, gates  # the inputs
    yield length, batch, units, gates  # the state
    fed = task.attention != "luong_after"
    if fed:
        yield length, batch, units, gates
    if task.attention == "bahdanau":
        yield length, batch, units, units  # the query
    elif fed:
        yield length, batch, 2 * units, units  # the attentional state
    else:
        yield 1, rows, 2 * units, units


def make_step(task):
    graphs = {}

    def graph(batch, length):
        data = [
            (
                repeats,
                tf.random.normal((rows, inner)),
                tf.random.normal((inner, columns)),
                tf.random.normal((rows, columns)),
            )
            for repeats, rows, inner, columns in sizes_of_products(
                task, batch, length
            )
        ]
        memory = tf.random.normal((batch, length, task.units))
        weights = tf.random.normal((batch, length, length))
        # Scores and contexts; the additive score has no product of its own.
        attended = 1 if task.attention == "bahdanau" else 2

        @tf.function
        def all_products():
            total = tf.zeros(())
            for repeats, left, right, upstream in data:
                # Gradients of weights can wait until after the loop.
                weight = tf.matmul(
                    tf.tile(left, (repeats, 1)),
                    tf.tile(upstream, (repeats, 1)),
                    transpose_a=True,
                )
                total += weight[0, 0]

                def step(index, left=left, right=right, upstream=upstream):
                    forward = tf.matmul(left, right)
                    backward = tf.matmul(upstream, right, transpose_b=True)
                    return index + forward[0, 0] * 0 + backward[0, 0] * 0 + 1

                total += tf.while_loop(
                    lambda index, repeats=repeats: index < repeats,
                    step,
                    [tf.zeros(())],
                )[0]
            for _ in range(attended):
                context = tf.matmul(weights, memory)
                to_weights = tf.matmul(context, memory, transpose_b=True)
                to_memory = tf.matmul(weights, context, transpose_a=True)
                total += to_weights[0, 0, 0] + to_memory[0, 0, 0]
            return total

        return all_products

    def run(batch, length):
        if (batch, length) not in graphs:
            graphs[batch, length] = graph(batch, length)
        graphs[batch, length]().numpy()

    return run


if __name__ == "__main__":
    run_side(training=make_step, decoder=make_step)
