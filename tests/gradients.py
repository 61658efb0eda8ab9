"""Gradients: what the backend computes, and finite differences."""

import backends
import numpy as np
from keras import ops


def value_and_gradients(function, inputs, weights=(), mode="eager"):
    """Calls a function and differentiates the scalar it returns first.

    Args:
        function: Takes the inputs as tensors; returns a list of tensors, the
            first of them the scalar to differentiate.
        inputs: Arrays.
        weights: Keras variables.
        mode: One of `backends.MODES`.

    Returns:
        The results as arrays, and the gradients for inputs and weights as
        one list of arrays; zeros for what the scalar does not depend on.
    """
    tensors = [ops.convert_to_tensor(array) for array in inputs]
    results, gradients = backends.differentiate(
        function, tensors, weights, mode
    )
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
