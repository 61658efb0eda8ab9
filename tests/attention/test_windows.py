import numpy as np
import pytest
from backends import MODES
from backends import in_mode
from keras import ops

from keras_attention.attention.windows import put_rows
from keras_attention.attention.windows import real_positions
from keras_attention.attention.windows import take_rows


BATCH, ROWS, LENGTH, WIDTH, UNITS = 2, 3, 7, 5, 11
every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
def test_real_positions_come_first_and_in_order(mode, rng):
    mask = rng.random((13, LENGTH)) < 0.5
    mask[:2] = [[True], [False]]  # nothing but real tokens, and none
    positions, lengths = in_mode(
        lambda mask: real_positions(mask, ops.shape(mask)), mode
    )(ops.convert_to_tensor(mask))
    np.testing.assert_array_equal(lengths, mask.sum(-1))
    for row, received in zip(mask, np.array(positions), strict=True):
        expected = [*np.flatnonzero(row), *np.flatnonzero(~row)]
        np.testing.assert_array_equal(received, expected)


def test_without_a_mask_all_positions_are_real():
    positions, lengths = real_positions(None, (BATCH, LENGTH))
    np.testing.assert_array_equal(positions, [range(LENGTH)] * BATCH)
    np.testing.assert_array_equal(lengths, [LENGTH] * BATCH)


@every_mode
@pytest.mark.parametrize("units", [(), (UNITS,)])
@pytest.mark.parametrize("shape", [(WIDTH,), (ROWS, WIDTH)])
def test_every_row_takes_its_own_positions(shape, units, mode, rng):
    tensor = rng.normal(size=(BATCH, LENGTH, *units)).astype("float32")
    indices = rng.integers(0, LENGTH, (BATCH, *shape)).astype("int32")
    received = in_mode(take_rows, mode)(
        ops.convert_to_tensor(tensor), ops.convert_to_tensor(indices)
    )
    expected = [tensor[row][indices[row]] for row in range(BATCH)]
    np.testing.assert_array_equal(received, expected)


@every_mode
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    # On PyTorch Keras sums segments in float32, whatever the dtype.
    [("float16", 1e-2), ("bfloat16", 1e-1), ("float64", 1e-6)],
)
def test_numbers_are_put_to_their_places_and_added(dtype, tolerance, mode, rng):
    values = rng.normal(size=(BATCH, ROWS, WIDTH))
    indices = rng.integers(0, LENGTH, values.shape).astype("int32")
    received = in_mode(lambda *pair: put_rows(*pair, LENGTH), mode)(
        ops.cast(values, dtype), ops.convert_to_tensor(indices)
    )
    expected = np.zeros((BATCH, ROWS, LENGTH))
    for place in np.ndindex(values.shape):
        expected[(*place[:2], indices[place])] += values[place]
    assert received.dtype == ops.cast(0, dtype).dtype
    received = ops.cast(received, "float64")
    np.testing.assert_allclose(received, expected, rtol=0, atol=tolerance)
