import numpy as np
import pytest

from keras_attention import validation


@pytest.mark.parametrize("value", [1, 7])
def test_positive_integers_pass(value):
    validation.check_positive("Owner", "units", value)


@pytest.mark.parametrize(
    "value", [0, -1, 1.0, True, None, "3", [3], np.int64(3)]
)
def test_all_but_positive_integers_are_refused(value):
    with pytest.raises(ValueError, match="Expected a positive integer, for"):
        validation.check_positive("Owner", "units", value)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, np.float32(0.5)])
def test_rates_pass(value):
    validation.check_rate("Owner", "dropout", value)


@pytest.mark.parametrize("value", [-0.1, 1, 1.0, 50, float("nan"), None, "0"])
def test_all_but_rates_are_refused(value):
    with pytest.raises(ValueError, match="Expected a number from 0 up to, not"):
        validation.check_rate("Owner", "dropout", value)


@pytest.mark.parametrize("choices", [("a", "b"), {"a": 1, "b": 2}])
@pytest.mark.parametrize("value", ["c", None, ["a"], {}])
def test_unknown_choices_are_refused_and_the_known_ones_listed(value, choices):
    validation.check_choice("Owner", "mode", "a", choices)
    with pytest.raises(ValueError, match="Expected one of: 'a', 'b'"):
        validation.check_choice("Owner", "mode", value, choices)


AXES = ("batch", "memory_length", "memory_units")


def test_shape_of_the_expected_rank_passes_with_unknown_sizes():
    validation.check_rank("Owner", "memory", (None, None, 3), AXES)


@pytest.mark.parametrize(
    ("name", "shape", "advice"),
    [
        ("memory", (2, 3), "return_sequences=True"),
        ("value", (2, 3), "return_sequences=True"),
        ("query", (2, 3), r"keras.ops.expand_dims\(query, 1\)"),
        ("memory", (2, 3, 5, 7), "keras.ops.reshape"),
        ("memory", (2,), "keras.ops.reshape"),
    ],
)
def test_other_ranks_are_refused_with_advice(name, shape, advice):
    match = (
        rf"`Owner` received `{name}` of shape \({shape[0]},.*Expected 3 axes: "
        rf"\(batch, memory_length, memory_units\).*{advice}"
    )
    with pytest.raises(ValueError, match=match):
        validation.check_rank("Owner", name, shape, AXES)


def test_unknown_depth_is_refused_with_advice():
    validation.check_depth("Owner", "memory", (None, None, 3))
    match = r"\(None, 3, None\). Expected a known size.*keras.Input\(\(None, 64"
    with pytest.raises(ValueError, match=match):
        validation.check_depth("Owner", "memory", (None, 3, None))


def test_equal_and_unknown_sizes_pass():
    validation.check_same_size("Owner", "batch", query=3, memory=3, key=None)


def test_unequal_batches_are_refused_with_advice():
    match = "query: 3, memory: 5.*Expected equal sizes.*keras.ops.repeat"
    with pytest.raises(ValueError, match=match):
        validation.check_same_size("Owner", "batch", query=3, memory=5)


def test_unequal_lengths_are_refused_with_advice():
    match = "value: 3, key: 5.*Expected equal sizes.*same sequence"
    with pytest.raises(ValueError, match=match):
        validation.check_same_size("Owner", "memory_length", value=3, key=5)


@pytest.mark.parametrize("shape", [(2, 3), (None, 3), (2, None)])
def test_mask_of_its_tensor_passes(shape):
    validation.check_mask("Owner", "mask", shape, (2, 3, 5))
    validation.check_mask("Owner", "mask", (2, 3), (*shape, 5))


@pytest.mark.parametrize(
    "shape", [(2, 5), (3, 3), (3,), (2, 3, 1), (2, 7, 3), ()]
)
def test_mask_of_another_shape_is_refused(shape):
    match = r"\(2, 3, 5\). Expected \(2, 3\): \(batch, length\), where True"
    with pytest.raises(ValueError, match=match):
        validation.check_mask("Owner", "mask", shape, (2, 3, 5))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((2, 3, 5), True),
        ([None, None, 5], True),
        ([None, None], False),
        ([(2, 3, 5), (2, 7, 5)], False),
        ([[None, None, 5], [None, None, 7]], False),
        (np.ones((2, 3)), False),
        (None, False),
    ],
)
def test_one_shape_is_told_from_several(value, expected):
    assert validation.is_shape(value) is expected
