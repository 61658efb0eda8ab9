"""What holds of every attention layer, whatever the numbers and the masks.

Every layer is compiled once for each mode and dtype; hypothesis draws the
masks, the size of the numbers, and what they are drawn from.
"""

import functools
import itertools
from typing import Any
from typing import NamedTuple

import backends
import keras
import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
from keras import ops

from keras_attention import BahdanauAttention
from keras_attention import LocalAttention
from keras_attention import LuongAttention
from keras_attention import MonotonicAttention


BATCH, QUERY_LENGTH, MEMORY_LENGTH, UNITS = 3, 2, 5, 7
MORE = 3  # columns of padding that are added

GLOBAL = {
    "additive": lambda **kwargs: BahdanauAttention(UNITS, **kwargs),
    "dot": lambda **kwargs: LuongAttention("dot", **kwargs),
    "general": lambda **kwargs: LuongAttention("general", **kwargs),
    "concat": lambda **kwargs: LuongAttention("concat", units=11, **kwargs),
    "sparsemax": lambda **kwargs: LuongAttention(
        "general", probability="sparsemax", **kwargs
    ),
}
ATTENTIONS = {
    **GLOBAL,
    "coverage": lambda **kwargs: BahdanauAttention(
        UNITS, coverage=True, **kwargs
    ),
    "local_m": lambda **kwargs: LocalAttention(
        "general", "monotonic", half_width=1, **kwargs
    ),
    "local_p": lambda **kwargs: LocalAttention(
        "general", half_width=1, **kwargs
    ),
    "monotonic": lambda **kwargs: MonotonicAttention(units=UNITS, **kwargs),
}
# Those that are also compiled in half precision: one of each kind.
KINDS = ("additive", "sparsemax", "local_p", "monotonic")
# Their rows sum to less where attention is lost on the way.
SUM_TO_LESS = ("local_p", "monotonic")

# Scores here may be as large as 100; a float32 of that size is rounded by
# 4e-6, which moves a weight by this share. Softmax is float32 in all cases.
TOLERANCES = {"float32": 2e-5, "float16": 5e-3, "bfloat16": 4e-2}


class Case(NamedTuple):
    """What a layer is called with."""

    query: Any
    value: Any
    query_mask: Any
    value_mask: Any


class Results(NamedTuple):
    """What a layer puts out, and the gradients of a sum over it."""

    context: Any
    scores: Any
    to_query: Any
    to_value: Any


@strategies.composite
def cases(draw):
    """Draws inputs and masks; every mask, empty ones too, may turn up."""
    rng = np.random.default_rng(draw(strategies.integers(0, 2**32 - 1)))
    scale = draw(strategies.sampled_from([0.1, 1.0, 5.0]))
    flags = strategies.booleans()
    query_mask, value_mask = (
        np.reshape(
            draw(
                strategies.lists(
                    flags, min_size=BATCH * length, max_size=BATCH * length
                )
            ),
            (BATCH, length),
        )
        for length in (QUERY_LENGTH, MEMORY_LENGTH)
    )
    return Case(
        rng.normal(size=(BATCH, QUERY_LENGTH, UNITS), scale=scale),
        rng.normal(size=(BATCH, MEMORY_LENGTH, UNITS), scale=scale),
        query_mask,
        value_mask,
    )


@functools.cache
def compiled(name, dtype, mode):
    """Returns a function of a `Case`, compiled, that returns `Results`."""
    keras.utils.set_random_seed(5)
    attention = ATTENTIONS[name](dtype=dtype)
    attention.build([(BATCH, None, UNITS), (BATCH, None, UNITS)])

    def run(query, value, query_mask, value_mask):
        def total(query, value):
            context, scores = attention(
                [query, value],
                mask=[query_mask, value_mask],
                return_attention_scores=True,
            )
            loss = sum(
                ops.sum(ops.sin(3 * ops.cast(part, "float32")))
                for part in (context, scores)
            )
            return [loss, context, scores]

        results, gradients = backends.differentiate(total, [query, value])
        return [*results[1:], *gradients]

    run = backends.in_mode(run, mode)

    def of_case(case):
        query, value = (
            ops.convert_to_tensor(array, dtype=dtype) for array in case[:2]
        )
        masks = [ops.convert_to_tensor(mask) for mask in case[2:]]
        results = run(query, value, *masks)
        return Results(
            *(
                ops.convert_to_numpy(ops.cast(part, "float32"))
                for part in results
            )
        )

    return of_case


def is_run(name, dtype, mode):
    """Tells which of all combinations are worth their time."""
    if dtype == "float32":
        return True
    if mode == "eager":
        # Without its `jit` JAX compiles every operation by itself.
        return backends.NAME != "jax"
    return name in KINDS


def for_all(names):
    """Runs a test for layers, dtypes and modes, with cases drawn."""
    return pytest.mark.parametrize(
        ("name", "dtype", "mode"),
        [
            case
            for case in itertools.product(names, TOLERANCES, backends.MODES)
            if is_run(*case)
        ],
    )


# Fixtures are reset for every test and not for every example, which is meant.
examples = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@for_all(ATTENTIONS)
@examples
@given(case=cases())
def test_rows_sum_to_one_or_are_empty(name, dtype, mode, case):
    """Reported as RLSeq2Seq#8: the mask came after the softmax."""
    results = compiled(name, dtype, mode)(case)
    seen = case.query_mask[..., None] & case.value_mask[:, None]
    assert np.all(results.scores[~seen] == 0)
    assert np.all(results.scores >= 0)
    is_row = np.any(seen, axis=-1)
    sums = np.sum(results.scores, axis=-1)
    if name in SUM_TO_LESS:
        assert np.all(sums < 1 + TOLERANCES[dtype])
    else:
        np.testing.assert_allclose(sums[is_row], 1, atol=TOLERANCES[dtype])
    assert np.all(results.scores[~is_row] == 0)
    assert np.all(results.context[~is_row] == 0)


@for_all(ATTENTIONS)
@examples
@given(case=cases())
def test_padding_gets_no_gradient_and_no_row_an_endless_one(
    name, dtype, mode, case
):
    results = compiled(name, dtype, mode)(case)
    assert np.all(np.isfinite(results.to_query))
    assert np.all(np.isfinite(results.to_value))
    assert np.all(results.to_query[~case.query_mask] == 0)
    assert np.all(results.to_value[~case.value_mask] == 0)


@for_all(ATTENTIONS)
@examples
@given(case=cases())
def test_nan_under_the_mask_changes_nothing(name, dtype, mode, case):
    query = np.where(case.query_mask[..., None], case.query, np.nan)
    value = np.where(case.value_mask[..., None], case.value, np.nan)
    run = compiled(name, dtype, mode)
    received = run(case._replace(query=query, value=value))
    for one, other in zip(received, run(case), strict=True):
        np.testing.assert_array_equal(one, other)


@for_all(ATTENTIONS)
@examples
@given(case=cases(), start=strategies.integers(0, MEMORY_LENGTH))
def test_more_padding_changes_nothing(name, dtype, mode, case, start):
    """Reported as tensorflow/tensorflow#512: no mask at all."""
    places = [start] * MORE
    padded = case._replace(
        value=np.insert(case.value, places, np.nan, axis=1),
        value_mask=np.insert(case.value_mask, places, False, axis=1),
    )
    run = compiled(name, dtype, mode)
    received, expected = run(padded), run(case)
    added = np.arange(start, start + MORE)
    assert np.all(received.scores[..., added] == 0)
    received = received._replace(
        scores=np.delete(received.scores, added, axis=-1),
        to_value=np.delete(received.to_value, added, axis=1),
    )
    for one, other in zip(received, expected, strict=True):
        size = max(1, np.max(np.abs(other)))
        np.testing.assert_allclose(one, other, atol=TOLERANCES[dtype] * size)


@for_all(GLOBAL)
@examples
@given(case=cases(), order=strategies.permutations(range(MEMORY_LENGTH)))
def test_permuting_memory_permutes_weights(name, dtype, mode, case, order):
    permuted = case._replace(
        value=case.value[:, order], value_mask=case.value_mask[:, order]
    )
    run = compiled(name, dtype, mode)
    received, expected = run(permuted), run(case)
    expected = expected._replace(
        scores=expected.scores[..., order],
        to_value=expected.to_value[:, order],
    )
    for one, other in zip(received, expected, strict=True):
        size = max(1, np.max(np.abs(other)))
        np.testing.assert_allclose(one, other, atol=TOLERANCES[dtype] * size)
