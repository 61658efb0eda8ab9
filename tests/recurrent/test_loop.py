import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from backends import tensorflow_only
from keras import ops
from keras import tree
from layer_catalogue import MASK
from layer_catalogue import draw

from keras_attention.loop import loop


BATCH, LENGTH, UNITS = 3, 5, 2


def step(inputs, states):
    """A recurrence of two states, one of them in a list of its own."""
    total, [count] = states
    total = 0.5 * total + inputs
    count = count + 1.0
    return ops.concatenate([total, count], axis=-1), [total, [count]]


def run_in_python(sequences, states, output, mask, backwards):
    """The same recurrence, one row and one step at a time."""
    outputs = []
    total, count = np.array(states[0]), np.array(states[1][0])
    output = np.array(output)
    times = range(LENGTH)[::-1] if backwards else range(LENGTH)
    for time in times:
        for row in range(BATCH):
            if mask is None or mask[row, time]:
                total[row] = 0.5 * total[row] + sequences[row, time]
                count[row] += 1
                output[row] = [*total[row], *count[row]]
        outputs.append(output.copy())
    return np.stack(outputs, 1), total, count


def draw_arguments(rng):
    return (
        draw(rng, BATCH, LENGTH, UNITS),
        [draw(rng, BATCH, UNITS), [draw(rng, BATCH, 1)]],
        draw(rng, BATCH, UNITS + 1),
    )


@pytest.mark.parametrize("unroll", [False, True], ids=["looped", "unrolled"])
@pytest.mark.parametrize("backwards", [False, True], ids=["on", "back"])
@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize("mode", TWO_MODES)
def test_loop_equals_the_same_loop_in_python(
    mode, masked, backwards, unroll, rng
):
    sequences, states, output = draw_arguments(rng)
    mask = MASK if masked else None

    def run(return_sequences):
        function = in_mode(
            lambda sequences, states, output: loop(
                step,
                sequences,
                states,
                output,
                mask=mask,
                go_backwards=backwards,
                unroll=unroll,
                return_sequences=return_sequences,
            ),
            mode,
        )
        tensors = sequences, states, output
        return function(*tree.map_structure(ops.convert_to_tensor, tensors))

    outputs, total, count = run_in_python(
        sequences, states, output, mask, backwards
    )
    received, [received_total, [received_count]] = run(True)
    np.testing.assert_allclose(received, outputs, atol=1e-6)
    np.testing.assert_allclose(received_total, total, atol=1e-6)
    np.testing.assert_allclose(received_count, count, atol=1e-6)
    last, _ = run(False)
    np.testing.assert_allclose(last, outputs[:, -1], atol=1e-6)


def test_row_without_a_valid_step_puts_out_the_initial_output(rng):
    sequences, states, output = draw_arguments(rng)
    mask = MASK.copy()
    mask[1] = False
    tensors = tree.map_structure(
        ops.convert_to_tensor, (sequences, states, output)
    )
    outputs, [total, [count]] = loop(step, *tensors, mask=mask)
    np.testing.assert_array_equal(outputs[1], np.repeat(output[1:2], LENGTH, 0))
    np.testing.assert_array_equal(total[1], states[0][1])
    np.testing.assert_array_equal(count[1], states[1][0][1])


def test_states_keep_their_dtype(rng):
    def to_half(inputs, states):
        return inputs, [ops.cast(states[0] + inputs, "float16")]

    sequences = ops.convert_to_tensor(draw(rng, BATCH, LENGTH, UNITS))
    start = ops.zeros((BATCH, UNITS))
    for mask in (None, MASK):
        _, [state] = loop(to_half, sequences, [start], start, mask=mask)
        assert np.array(state).dtype == "float32"


@tensorflow_only("lengths that stay unknown")
def test_unrolling_needs_a_known_length():
    def run(sequences):
        start = ops.zeros((BATCH, UNITS))
        return loop(
            lambda inputs, states: (inputs, states),
            sequences,
            [start],
            start,
            unroll=True,
        )

    run = in_mode(run, "graph", [((None, None, UNITS), "float32")])
    with pytest.raises(ValueError, match="Expected a known length"):
        run(np.ones((BATCH, LENGTH, UNITS), "float32"))
