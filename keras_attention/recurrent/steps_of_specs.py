"""What is put out for many steps, found from one.

PyTorch runs a layer to find the shapes of what it puts out, with 83 and with
89 steps where the length is open (Keras 3.15). One step tells the same.
"""

import keras
from keras import tree


def one_step(spec):
    """Cuts a `KerasTensor` to its first step; None stays None."""
    return None if spec is None else all_steps(spec, 1)


def all_steps(specs, length):
    """Gives each `KerasTensor` of a structure a number of steps, or None."""
    return tree.map_structure(
        lambda spec: keras.KerasTensor(
            (spec.shape[0], length, *spec.shape[2:]), spec.dtype
        ),
        specs,
    )
