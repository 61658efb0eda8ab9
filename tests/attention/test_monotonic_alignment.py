import backends
import numpy as np
import pytest
from backends import COMPILED_MODES
from backends import in_mode
from gradients import finite_differences
from gradients import value_and_gradients
from keras import ops
from reference_mechanisms import hard_monotonic_row
from reference_mechanisms import monotonic_row

from keras_attention.attention.monotonic_alignment import parallel
from keras_attention.attention.monotonic_alignment import recursive


LENGTH = 7

both = pytest.mark.parametrize(
    "align", [parallel, recursive], ids=["parallel", "recursive"]
)
every_length = pytest.mark.parametrize("length", [1, 2, 3, 7, 200])


def draw_cases(rng, length, dtype="float64"):
    """Returns p and the alignment before it, `(rows, length)`.

    Every kind of the one beside every kind of the other.
    """
    ps = [
        rng.random(length),
        np.zeros(length),
        np.ones(length),
        np.full(length, 1e-8),
        rng.choice([0.0, 1.0], length),
        rng.choice([0.0, 1.0, 1e-8, 1 - 1e-8, 0.3], length),
    ]
    spread = rng.random(length)
    alignments = [
        np.eye(length)[0],
        np.eye(length)[length // 2],
        0.9 * spread / spread.sum(),
        np.zeros(length),
    ]
    pairs = [(p, alignment) for p in ps for alignment in alignments]
    return [np.array(part, dtype) for part in zip(*pairs, strict=True)]


def by_equation(choose, previous):
    rows = zip(choose, previous, strict=True)
    return np.stack([monotonic_row(*row) for row in rows])


def run(align, arrays):
    return np.array(align(*map(ops.convert_to_tensor, arrays)))


@every_length
@both
def test_alignment_is_that_of_the_equation(align, length, rng):
    cases = draw_cases(rng, length)
    np.testing.assert_allclose(
        run(align, cases), by_equation(*cases), rtol=0, atol=1e-12
    )


@both
@every_length
def test_row_sums_to_at_most_one(length, align, rng):
    """It is less by what has passed the end.

    Reported as asyml/texar-pytorch#325: do the weights sum to 1?
    """
    choose, previous = draw_cases(rng, length)
    alignment = run(align, [choose, previous])
    assert np.all(alignment >= 0)
    assert np.all(alignment.sum(-1) <= previous.sum(-1) + 1e-12)
    choose[:, -1] = 1  # nothing gets through
    alignment = run(align, [choose, previous])
    np.testing.assert_allclose(
        alignment.sum(-1), previous.sum(-1), rtol=0, atol=1e-12
    )


@both
@pytest.mark.parametrize("length", [1, 2, 7])
def test_probabilities_of_zero_and_one_give_the_hard_choice(align, length, rng):
    """Reported as asyml/texar-pytorch#325."""
    starts = np.repeat(np.arange(length + 1), 20)
    choose = rng.choice([0.0, 1.0], (len(starts), length))
    ends = [
        hard_monotonic_row(*row) for row in zip(choose, starts, strict=True)
    ]
    one_hot = np.eye(length + 1)[:, :length]  # all 0 beyond the end
    np.testing.assert_array_equal(
        run(align, [choose, one_hot[starts]]), one_hot[ends]
    )


@both
def test_gradients_are_those_of_the_equation(align, rng):
    cases = draw_cases(rng, LENGTH)
    shares = rng.normal(size=cases[0].shape)

    def loss(*tensors):
        return [ops.sum(ops.multiply(shares, align(*tensors)))]

    _, received = value_and_gradients(loss, cases)
    expected = finite_differences(
        lambda *arrays: np.sum(shares * by_equation(*arrays)), cases
    )
    np.testing.assert_allclose(received, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@both
def test_gradients_are_finite_in_a_long_memory(align, dtype, rng):
    """Reported as Rayhane-mamah/Tacotron-2#291, r9y9/tacotron_pytorch#8."""
    cases = draw_cases(rng, 200, dtype)

    def loss(*tensors):
        alignment = align(*tensors)
        return [ops.sum(ops.square(alignment)), alignment]

    (_, alignment), gradients = value_and_gradients(loss, cases)
    assert alignment.dtype == dtype
    np.testing.assert_allclose(
        alignment.astype("float64"),
        by_equation(*[part.astype("float64") for part in cases]),
        rtol=0,
        atol={"float16": 0.01, "float32": 1e-5}[dtype],
    )
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients)


@pytest.mark.parametrize("mode", COMPILED_MODES)
@both
def test_compiled_results_and_gradients_are_the_eager_ones(align, mode, rng):
    """A graph of TensorFlow, also by XLA, has one trace for all lengths."""

    def run(*tensors):
        def loss(*tensors):
            alignment = align(*tensors)
            return [ops.sum(ops.sin(3 * alignment)), alignment]

        return backends.differentiate(loss, tensors)

    compiled = in_mode(run, mode, [((None, None), "float64")] * 2)
    for length in (1, 7, 8):
        cases = [*map(ops.convert_to_tensor, draw_cases(rng, length))]
        (_, alignment), gradients = compiled(*cases)
        (_, expected), expected_gradients = run(*cases)
        np.testing.assert_allclose(alignment, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            gradients, expected_gradients, rtol=0, atol=1e-12
        )
