"""TensorFlow: eager, in a graph, and compiled by XLA."""

import tensorflow as tf


MODES = ("eager", "graph", "xla")

# The tensors are small: a second thread would make the tests slower.
tf.config.threading.set_intra_op_parallelism_threads(1)


def in_mode(function, mode, shapes=None, state=()):
    """Returns the function as it is, in a graph, or compiled by XLA.

    Args:
        function: Takes and returns tensors.
        mode: One of `MODES`.
        shapes: Pairs of shape and dtype, one for each tensor; None is a size
            that is not known to the graph.
        state: Variables that the function changes; TensorFlow finds them.
    """
    if mode == "eager":
        return function
    signature = shapes and [tf.TensorSpec(*pair) for pair in shapes]
    return tf.function(
        function, input_signature=signature, jit_compile=mode == "xla"
    )


def differentiate(function, tensors, weights=(), mode="eager"):
    """Returns results, and the gradients of the first of them."""
    weights = [weight.value for weight in weights]

    def run(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            results = function(*tensors)
        gradients = tape.gradient(
            results[0],
            [*tensors, *weights],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return list(results), [tf.convert_to_tensor(part) for part in gradients]

    return in_mode(run, mode)(*tensors)


def forget():
    """Frees what was compiled; there is no need to."""


def call_back(function):
    """Calls a function of Python whenever a graph gets to this place."""
    tf.py_function(function, [], [])


def largest_tensor(function, *shapes):
    """Returns how many numbers the largest tensor of a function holds."""
    concrete = tf.function(function).get_concrete_function(
        *map(tf.TensorSpec, shapes)
    )
    graphs, seen, sizes = [concrete.graph], set(), []
    while graphs:
        graph = graphs.pop()
        for operation in graph.get_operations():
            sizes += [
                output.shape.num_elements()
                for output in operation.outputs
                if output.shape.is_fully_defined()
            ]
            for name in ("body", "cond", "f"):
                if name in operation.node_def.attr:
                    inner = operation.node_def.attr[name].func.name
                    if inner and inner not in seen:
                        seen.add(inner)
                        graphs.append(graph._get_function(inner).graph)
    return max(sizes)
