"""What the tests need of a backend and Keras does not have.

There is one module for each backend, all with the same names.
"""

import importlib
import os

import keras
import pytest
from keras import ops
from keras.src.backend.common import dtypes


NAME = keras.backend.backend()

_backend = importlib.import_module(f"backends.{NAME}_backend")
call_back = _backend.call_back
differentiate = _backend.differentiate
forget = _backend.forget
in_mode = _backend.in_mode
largest_tensor = _backend.largest_tensor

# On JAX and PyTorch Keras computes in float32 with what is float64. The
# equations are checked in float64.
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"

# The first is eager; the others, if any, are compiled.
MODES = _backend.MODES
# Eager and one that is compiled, where there is one.
TWO_MODES = MODES[:2]
COMPILED_MODES = MODES[1:] or [
    pytest.param(None, marks=pytest.mark.skip(f"{NAME} compiles nothing"))
]


# Whether to compile in `fit`. TensorFlow's graph is no slower without XLA;
# JAX without a `jit` compiles every operation of a step by itself.
COMPILE_FIT = NAME == "jax"

# For what need not be seen in every mode: eager JAX compiles every operation
# by itself.
ONE_MODE = TWO_MODES[-1] if COMPILE_FIT else "eager"

# Whether one trace may serve tensors of all sizes.
SIZES_MAY_BE_UNKNOWN = NAME == "tensorflow"


def count_traces(function, shapes, calls):
    """Calls a compiled function with tensors of different sizes.

    Args:
        function: Takes tensors, returns tensors.
        shapes: Pairs of shape and dtype, one for each tensor; None for sizes
            that differ.
        calls: Lists of arrays, one list for each call.

    Returns:
        The results of the calls, and how often Python ran the function.
    """
    traces = []

    def traced(*tensors):
        traces.append(tensors)
        return function(*tensors)

    run = in_mode(traced, TWO_MODES[-1], shapes)
    results = [
        run(
            *(
                ops.cast(array, dtype)
                for array, (_, dtype) in zip(arrays, shapes, strict=True)
            )
        )
        for arrays in calls
    ]
    return results, len(traces)


def tensorflow_only(what):
    """Skips a test of what no other backend has."""
    return pytest.mark.skipif(
        NAME != "tensorflow", reason=f"only TensorFlow has {what}"
    )


# In a Sequential model nobody can give a mask by hand.
needs_masks_of_rnns = pytest.mark.skipif(
    os.environ.get("KERAS_ATTENTION_RNN_MASKS") == "dropped",
    reason="recurrent layers hand no masks on in this run",
)
