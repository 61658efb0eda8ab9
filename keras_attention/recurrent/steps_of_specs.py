"""What is put out for many steps, found from one.

PyTorch runs a layer to find the shapes of what it puts out, with 83 and with
89 steps where the length is open (Keras 3.15). One step tells the same.
"""

import keras
from keras import tree


def one_step(spec):
    """Cuts a `KerasTensor` to its first step; None stays None."""
    return None if spec is None else _with_length(spec, 1)


def all_steps(results, length, rnn):
    """Turns what is put out for one step into that for `length` steps.

    Args:
        results: A `KerasTensor`, or a tuple as `AttentionRNN` returns it.
        length: Number of steps, or None.
        rnn: The `AttentionRNN` that takes the steps.
    """
    is_alone = not isinstance(results, tuple)
    output, *others = [results] if is_alone else results
    if rnn.return_sequences:
        output = _with_length(output, length)
    if rnn.return_attention_scores:
        others[-1] = _with_length(others[-1], length)
    return output if is_alone else (output, *others)


def _with_length(specs, length):
    return tree.map_structure(
        lambda spec: keras.KerasTensor(
            (spec.shape[0], length, *spec.shape[2:]), spec.dtype
        ),
        specs,
    )
