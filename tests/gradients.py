"""Gradients: what the backend computes, and finite differences.

All that depends on the backend is here.
"""

import numpy as np
import tensorflow as tf
from keras import ops


MODES = ("eager", "graph", "xla")


def in_mode(function, mode):
    """Returns the function as it is, in a graph, or compiled by XLA."""
    if mode == "eager":
        return function
    return tf.function(function, jit_compile=mode == "xla")


def value_and_gradients(function, inputs, weights=(), mode="eager"):
    """Calls a function and differentiates the scalar it returns first.

    Args:
        function: Takes the inputs as tensors; returns a list of tensors, the
            first of them the scalar to differentiate.
        inputs: Arrays.
        weights: Keras variables.
        mode: One of `MODES`.

    Returns:
        The results as arrays, and the gradients for inputs and weights as
        one list of arrays; zeros for what the scalar does not depend on.
    """
    weights = [weight.value for weight in weights]

    def differentiate(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            results = function(*tensors)
        gradients = tape.gradient(
            results[0],
            [*tensors, *weights],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return list(results), gradients

    tensors = [ops.convert_to_tensor(array) for array in inputs]
    results, gradients = in_mode(differentiate, mode)(*tensors)
    return (
        [ops.convert_to_numpy(result) for result in results],
        [ops.convert_to_numpy(gradient) for gradient in gradients],
    )


def finite_differences(function, arrays, step=1e-6):
    """Returns the central differences of a scalar function of arrays."""
    arrays = [np.array(array, dtype="float64") for array in arrays]
    gradients = []
    for array in arrays:
        gradient = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            middle = array[place]
            array[place] = middle + step
            above = function(*arrays)
            array[place] = middle - step
            below = function(*arrays)
            array[place] = middle
            gradient[place] = (above - below) / (2 * step)
        gradients.append(gradient)
    return gradients


def count_traces(function, shapes, calls):
    """Calls a function of tensors of partly unknown shape.

    Args:
        function: Takes tensors, returns tensors.
        shapes: Pairs of shape and dtype, one for each tensor.
        calls: Lists of arrays, one list for each call.

    Returns:
        The results of the calls, and how often the function was traced.
    """
    traces = []

    def traced(*tensors):
        traces.append(tensors)
        return function(*tensors)

    signature = [tf.TensorSpec(shape, dtype) for shape, dtype in shapes]
    traced = tf.function(traced, input_signature=signature)
    dtypes = [dtype for _, dtype in shapes]
    results = [traced(*map(tf.cast, arrays, dtypes)) for arrays in calls]
    return results, len(traces)
