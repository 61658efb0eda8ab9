"""Weights that come from TensorFlow Addons (TFA)."""

from collections.abc import Mapping

import numpy as np

from keras_attention.cells.luong_rnn_cell import LuongRNNCell


# How names of TFA end, and where the attention has the same weight.
ATTENTION_WEIGHTS = (
    ("query_layer/kernel", "score.query_layer.kernel"),
    ("memory_layer/kernel", "score.memory_layer.kernel"),
    ("attention_v", "score.direction"),
    ("attention_g", "score.gain"),
    ("attention_g", "score.dot.gain"),
    ("attention_b", "score.bias"),
    ("attention_score_bias", "bias"),
)
STATE_WEIGHT = "attention_layer/kernel"
LAYERS = ("query_layer", "memory_layer", "attention_layer")


def import_tfa_weights(cell: LuongRNNCell, weights: Mapping) -> None:
    """Takes the weights of an `AttentionWrapper` of TFA 0.23 over.

    The cell must compute what the `AttentionWrapper` computed: a
    `LuongRNNCell` with `input_feeding=True`; for an `attention_layer_size`
    with as many `attention_units` and `attentional_state="linear"`, without
    one with `attentional_state="context"`.

    TFA's `BahdanauAttention` is ours; its `LuongAttention` is
    `LuongAttention("general")`, with `scale="learned"` for its `scale=True`;
    the monotonic ones are `MonotonicAttention(AdditiveScore(units))` and
    `MonotonicAttention(GeneralScore())`. What has no weights (a probability
    function, a mode) cannot be checked here.

    All is checked before any weight changes.

    Args:
        cell: A built `LuongRNNCell` with one attention and one inner cell.
            That of an `AttentionRNN` is built once the layer was called.
        weights: A mapping from the names of all variables to their arrays.
            Only the end of a name counts, as in
            `"decoder/attention_wrapper/lstm_cell/kernel:0"`.

    Raises:
        ValueError: If an array is missing, left over or of the wrong shape,
            or if the cell has weights that an `AttentionWrapper` has not.

    Example:
        ```python
        cell = keras_attention.LuongRNNCell(
            keras.layers.SimpleRNNCell(5),
            keras_attention.LuongAttention("general"),
            input_feeding=True,
            attentional_state="context",
        )
        cell.build_attention((None, None, 6))
        cell.build((None, 3))
        # {variable.name: variable.numpy() for variable in wrapper.variables}
        weights = {
            "attention_wrapper/simple_rnn_cell/kernel:0": np.ones((9, 5)),
            "attention_wrapper/simple_rnn_cell/recurrent_kernel:0": np.eye(5),
            "attention_wrapper/simple_rnn_cell/bias:0": np.ones(5),
            "LuongAttention/memory_layer/kernel:0": np.ones((6, 5)),
        }
        keras_attention.import_tfa_weights(cell, weights)
        print(keras.ops.sum(cell.cell.kernel))  # 45.0
        ```
    """
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"`import_tfa_weights` received weights of the type "
            f"{type(weights).__name__}. Expected a mapping from names to "
            "arrays: {variable.name: variable.numpy() for variable in "
            "wrapper.variables}."
        )
    targets = _targets(cell)
    names = _by_ending(weights)
    problems = [f"missing: {end}" for end in targets if end not in names]
    arrays = {}
    for end, found in names.items():
        if end not in targets:
            problems += [f"left over: {name}" for name in found]
        elif len(found) > 1:
            problems.append(f"several for {end}: {', '.join(found)}")
        else:
            array = np.asarray(weights[found[0]], dtype="float64")
            shape = tuple(targets[end].shape)
            if array.shape == shape:
                arrays[end] = array
            else:
                problems.append(
                    f"of the wrong shape: {found[0]}, {array.shape} for {shape}"
                )
    if problems:
        raise ValueError(
            "`import_tfa_weights` received weights that do not fit the cell; "
            f"{'; '.join(problems)}. Expected one array for each of: "
            f"{', '.join(targets)}. Pass all variables of the "
            "AttentionWrapper, and make the cell with the same arguments."
        )
    for end, array in arrays.items():
        if end == STATE_WEIGHT:
            # TFA multiplies [hidden; context], this library [context; hidden].
            array = np.roll(array, cell.context_size, axis=0)
        targets[end].assign(array)


def _targets(cell):
    """Returns the weights of a cell, by how TFA's names of them end."""
    if not isinstance(cell, LuongRNNCell) or not cell.built:
        raise ValueError(
            f"`import_tfa_weights` received cell={cell!r}. Expected a "
            "LuongRNNCell that is built: call its AttentionRNN once, or use "
            "`cell.build_attention(memory_shape)` and "
            "`cell.build(inputs_shape)`."
        )
    targets = {weight.name: weight for weight in cell.cell.weights}
    targets[STATE_WEIGHT] = _find(cell.attentional_state, "dense.kernel")
    for end, path in ATTENTION_WEIGHTS:
        weight = _find(cell.attentions[0], path)
        if weight is not None:
            targets[end] = weight
    if targets[STATE_WEIGHT] is None:
        del targets[STATE_WEIGHT]
    known = {id(weight) for weight in targets.values()}
    others = [part.path for part in cell.weights if id(part) not in known]
    if others:
        raise ValueError(
            "`import_tfa_weights` received a cell with weights that TFA has "
            f"no name for: {', '.join(others)}. Expected one attention, with "
            "an AdditiveScore or a GeneralScore and no coverage, one inner "
            "cell that is not stacked, and attentional_state='linear' or "
            "'context'. Assign the weights of other cells one by one."
        )
    return targets


def _find(owner, path):
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def _by_ending(names):
    """Groups names by the ending that tells which weight they are.

    An `AttentionWrapper` names neither layer of a mechanism reliably: both may
    be `<mechanism>/kernel`. But the query layer is built within the wrapper,
    beside the inner cell, and the memory layer then is not.
    """
    paths = {name: name.split(":")[0].split("/") for name in names}
    cells = [
        path[:-1] for path in paths.values() if path[-1] == "recurrent_kernel"
    ]
    wrappers = [path[:-1] for path in cells]
    groups = {}
    for name, path in paths.items():
        end, owner = path[-1], path[:-1]
        if owner and owner[-1] in LAYERS:
            end = f"{owner[-1]}/{end}"
        elif end == "kernel" and owner not in cells:
            layer = "query" if owner[:-1] in wrappers else "memory"
            end = f"{layer}_layer/kernel"
        groups.setdefault(end, []).append(name)
    return groups
