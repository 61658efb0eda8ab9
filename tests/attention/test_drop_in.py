"""Our layers in the place of Keras's, call by call."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest
import reference
from examples import run_examples
from keras import ops

from keras_attention import BahdanauAttention
from keras_attention import LuongAttention


BATCH = 2
QUERY_LENGTH = 3
MEMORY_LENGTH = 5
UNITS = 7
VALUE_UNITS = 11

# The first key is real in every row: with a causal mask, too, every query has
# a key, and there Keras and we have to agree.
QUERY_MASK = np.array([[True, True, False], [False, True, True]])
VALUE_MASK = np.array(
    [[True, True, True, False, False], [True, False, True, True, False]]
)
MASKS = {
    "unmasked": None,
    "query": [QUERY_MASK, None],
    "value": [None, VALUE_MASK],
    "both": [QUERY_MASK, VALUE_MASK],
}


class Pair(NamedTuple):
    """One of our layers and the layer of Keras that it replaces.

    Attributes:
        ours: Takes layer arguments, returns our layer.
        theirs: The same for Keras's.
        align: Takes both, built; gives ours the weights that make the
            equations equal.
    """

    ours: Callable
    theirs: Callable
    align: Callable


def _align_additive(ours, theirs):
    ours.score.query_layer.kernel.assign(np.eye(UNITS))
    ours.score.memory_layer.kernel.assign(np.eye(UNITS))
    scale = np.ones(UNITS) if theirs.scale is None else theirs.scale
    ours.score.direction.assign(scale)


def _align_dot(ours, theirs):
    if theirs.scale is not None:
        ours.score.gain.assign(theirs.scale)


def _align_general(ours, theirs):
    ours.score.memory_layer.kernel.assign(np.eye(UNITS))
    if theirs.scale is not None:
        ours.score.dot.gain.assign(theirs.scale)


def _align_concat(ours, theirs):
    """Keras's c * sum(tanh(s * (q + k))) is v . tanh(W [q; k]).

    W is s times two identities, one below the other, and v is c everywhere.
    """
    scale = 1.0
    if theirs.scale is not None:
        scale = ops.convert_to_numpy(theirs.scale)
    ours.score.kernel.assign(scale * np.tile(np.eye(UNITS), (2, 1)))
    weight = ops.convert_to_numpy(theirs.concat_score_weight)
    ours.score.direction.assign(np.full(UNITS, weight))


def _theirs(use_scale=False, **arguments):
    return lambda **kwargs: keras.layers.Attention(
        use_scale, **arguments, **kwargs
    )


def _luong(*arguments, **keywords):
    return lambda **kwargs: LuongAttention(*arguments, **keywords, **kwargs)


def _bahdanau(**kwargs):
    return BahdanauAttention(UNITS, **kwargs)


PAIRS = {
    "additive": Pair(
        _bahdanau,
        lambda **kwargs: keras.layers.AdditiveAttention(False, **kwargs),
        _align_additive,
    ),
    "additive_scaled": Pair(
        _bahdanau, keras.layers.AdditiveAttention, _align_additive
    ),
    "dot": Pair(_luong("dot"), _theirs(), _align_dot),
    "dot_scaled": Pair(
        _luong("dot", scale="learned"), _theirs(True), _align_dot
    ),
    "general": Pair(_luong("general"), _theirs(), _align_general),
    "general_scaled": Pair(
        _luong(scale="learned"), _theirs(True), _align_general
    ),
    "concat": Pair(
        _luong("concat", UNITS), _theirs(score_mode="concat"), _align_concat
    ),
    "concat_scaled": Pair(
        _luong("concat", UNITS),
        _theirs(True, score_mode="concat"),
        _align_concat,
    ),
}

# One for each of our scores.
MAIN = ["additive_scaled", "dot", "general", "concat"]

every_pair = pytest.mark.parametrize("name", PAIRS)
main_pairs = pytest.mark.parametrize("name", MAIN)
every_mask = pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
two_or_three = pytest.mark.parametrize("count", [2, 3])


def make_pair(name, rng, value_units=UNITS, **kwargs):
    """Returns both layers of a pair, built, with weights that agree."""
    pair = PAIRS[name]
    ours, theirs = pair.ours(**kwargs), pair.theirs(**kwargs)
    shapes = [
        (BATCH, QUERY_LENGTH, UNITS),
        (BATCH, MEMORY_LENGTH, value_units),
        (BATCH, MEMORY_LENGTH, UNITS),
    ]
    ours.build(shapes)
    theirs.build(shapes)
    for weight in theirs.weights:
        weight.assign(rng.uniform(0.4, 1.6, weight.shape))
    pair.align(ours, theirs)
    return ours, theirs


def draw_inputs(rng, count=2):
    """Returns query and value; or with a key that differs from the value."""
    query = rng.normal(size=(BATCH, QUERY_LENGTH, UNITS))
    key = rng.normal(size=(BATCH, MEMORY_LENGTH, UNITS))
    value = rng.normal(size=(BATCH, MEMORY_LENGTH, VALUE_UNITS))
    inputs = [query, key] if count == 2 else [query, value, key]
    return [array.astype("float32") for array in inputs]


def arrays(results):
    return keras.tree.map_structure(ops.convert_to_numpy, results)


def call_eagerly(layer, inputs, masks=None, **kwargs):
    """Returns context and attention scores."""
    results = layer(inputs, mask=masks, return_attention_scores=True, **kwargs)
    return arrays(results)


def call_functionally(layer, inputs, masks=None, **kwargs):
    """Returns the same, from a model for which all lengths are unknown."""
    symbols = [keras.Input((None, array.shape[-1])) for array in inputs]
    mask_symbols = [
        None if mask is None else keras.Input((None,), dtype="bool")
        for mask in masks or []
    ]
    context, scores = layer(
        symbols,
        mask=mask_symbols or None,
        return_attention_scores=True,
        **kwargs,
    )
    assert context.shape[-1] == inputs[1].shape[-1]

    def known(masks):
        return [mask for mask in masks or [] if mask is not None]

    model = keras.Model([*symbols, *known(mask_symbols)], [context, scores])
    return arrays(model([*inputs, *known(masks)]))


# What is equal.


@every_pair
@two_or_three
@every_mask
@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("call", [call_eagerly, call_functionally])
def test_results_are_those_of_keras(name, count, masks, causal, call, rng):
    """Reported as keras-team/keras#20621 (functional scores), #21483 (mask)."""
    value_units = UNITS if count == 2 else VALUE_UNITS
    ours, theirs = make_pair(name, rng, value_units)
    inputs = draw_inputs(rng, count)
    context, scores = call(ours, inputs, masks, use_causal_mask=causal)
    expected_context, expected_scores = call(
        theirs, inputs, masks, use_causal_mask=causal
    )
    np.testing.assert_allclose(context, expected_context, atol=1e-5)
    # Keras gives weights to queries that are padding, and clears their
    # context only; here both are 0.
    real = np.ones((BATCH, QUERY_LENGTH), dtype=bool)
    if masks and masks[0] is not None:
        real = masks[0]
    np.testing.assert_allclose(scores[real], expected_scores[real], atol=1e-5)
    np.testing.assert_array_equal(scores[~real], 0)
    assert np.all(np.abs(context[real]) > 1e-4)


@main_pairs
@two_or_three
@every_mask
def test_tuples_are_as_good_as_lists(name, count, masks, rng):
    value_units = UNITS if count == 2 else VALUE_UNITS
    ours, _ = make_pair(name, rng, value_units)
    inputs = draw_inputs(rng, count)
    expected = call_eagerly(ours, inputs, masks)
    received = call_eagerly(ours, tuple(inputs), masks and tuple(masks))
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@main_pairs
def test_tuple_of_symbols_is_as_good_as_a_list(name, rng):
    ours, _ = make_pair(name, rng)
    inputs = draw_inputs(rng)
    symbols = [keras.Input((None, UNITS)) for _ in inputs]
    model = keras.Model(symbols, ours(tuple(symbols)))
    received = ops.convert_to_numpy(model(inputs))
    expected, _ = call_eagerly(ours, inputs)
    np.testing.assert_allclose(received, expected, atol=1e-6)


@main_pairs
def test_masks_may_be_lists_of_numbers(name, rng):
    ours, _ = make_pair(name, rng)
    inputs = draw_inputs(rng)
    expected, _ = call_eagerly(ours, inputs, MASKS["both"])
    masks = [mask.tolist() for mask in MASKS["both"]]
    received, _ = call_eagerly(ours, inputs, masks)
    np.testing.assert_array_equal(received, expected)


@two_or_three
@every_pair
def test_output_shape_is_computed_as_by_keras(name, count):
    """Reported as keras-team/keras#19257."""
    value_units = UNITS if count == 2 else VALUE_UNITS
    shapes = [
        (None, QUERY_LENGTH, UNITS),
        (None, MEMORY_LENGTH, value_units),
        (None, MEMORY_LENGTH, UNITS),
    ]
    ours, theirs = PAIRS[name].ours(), PAIRS[name].theirs()
    # Keras 3.14 refuses two shapes here; that of the key changes nothing.
    expected = theirs.compute_output_shape(shapes)
    assert ours.compute_output_shape(shapes[:count]) == expected


@main_pairs
def test_context_alone_is_returned_unless_scores_are_asked_for(name, rng):
    ours, theirs = make_pair(name, rng)
    inputs = draw_inputs(rng)
    expected = ops.convert_to_numpy(theirs(inputs))
    for received in (ours(inputs), ours(inputs, return_attention_scores=False)):
        received = ops.convert_to_numpy(received)
        np.testing.assert_allclose(received, expected, atol=1e-5)
    symbol = ours([keras.Input((3, UNITS)), keras.Input((5, UNITS))])
    assert symbol.shape == (None, 3, UNITS)


@pytest.mark.parametrize("training", [False, None])
@main_pairs
def test_dropout_outside_training_changes_nothing(name, training, rng):
    ours, theirs = make_pair(name, rng, dropout=0.6)
    inputs, masks = draw_inputs(rng), MASKS["value"]
    received = call_eagerly(ours, inputs, masks, training=training)
    expected = call_eagerly(theirs, inputs, masks, training=training)
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@two_or_three
@main_pairs
def test_attached_masks_come_in_and_travel_on_as_in_keras(name, count, rng):
    """Reported as tensorflow/tensorflow#41294: three inputs with masks."""
    ours, theirs = make_pair(name, rng)
    embedding = keras.layers.Embedding(13, UNITS, mask_zero=True)
    tokens = [
        np.where(QUERY_MASK, [[4, 7, 3], [2, 5, 6]], 0),
        np.where(VALUE_MASK, [[8, 1, 9, 2, 2], [3, 1, 1, 7, 5]], 0),
        np.where(VALUE_MASK, [[2, 3, 5, 7, 11], [1, 9, 4, 10, 12]], 0),
    ]

    def pooled(attention):
        symbols = [keras.Input((None,), dtype="int32") for _ in range(count)]
        context = attention([embedding(symbol) for symbol in symbols])
        pooled = keras.layers.GlobalAveragePooling1D()(context)
        return keras.Model(symbols, [context, pooled])(tokens[:count])

    context, average = arrays(pooled(ours))
    for received, expected in zip(
        (context, average), arrays(pooled(theirs)), strict=True
    ):
        np.testing.assert_allclose(received, expected, atol=1e-5)
    expected = context.sum(1) / QUERY_MASK.sum(1, keepdims=True)
    np.testing.assert_allclose(average, expected, atol=1e-5)


def test_query_value_and_key_may_all_differ_in_depth(rng):
    """Reported as keras-team/keras#19257."""
    query = rng.normal(size=(BATCH, QUERY_LENGTH, 13)).astype("float32")
    _, value, key = draw_inputs(rng, 3)
    for attention in (BahdanauAttention(17), LuongAttention("general")):
        for call in (call_eagerly, call_functionally):
            context, scores = call(attention, [query, value, key])
            assert context.shape == (BATCH, QUERY_LENGTH, VALUE_UNITS)
            np.testing.assert_allclose(context, scores @ value, atol=1e-5)


# What is wrong in Keras's layers, and has to be right here.


@main_pairs
@pytest.mark.parametrize("dtype", ["float32", "float16", "mixed_bfloat16"])
@pytest.mark.parametrize("call", [call_eagerly, call_functionally])
def test_row_without_a_key_gives_zeros(name, dtype, call, rng):
    """Keras attends to padding, and gives NaN for float16 dot scores."""
    ours = PAIRS[name].ours(dtype=dtype)
    mask = VALUE_MASK.copy()
    mask[0] = False
    inputs = [40 * array for array in draw_inputs(rng)]
    context, scores = call(ours, inputs, [None, mask])
    np.testing.assert_array_equal(context[0], 0)
    np.testing.assert_array_equal(scores[0], 0)
    assert np.all(np.isfinite(np.asarray(context, "float32")))
    sums = np.asarray(scores[1], "float32").sum(-1)
    np.testing.assert_allclose(sums, 1, rtol=1e-2)


def test_causal_query_that_sees_padding_alone_gives_zeros(rng):
    ours, theirs = make_pair("dot", rng)
    mask = VALUE_MASK.copy()
    mask[0, 0] = False
    inputs = draw_inputs(rng)
    arguments = inputs, [None, mask]
    context, scores = call_eagerly(ours, *arguments, use_causal_mask=True)
    expected, expected_scores = call_eagerly(
        theirs, *arguments, use_causal_mask=True
    )
    np.testing.assert_array_equal(context[0, 0], 0)
    np.testing.assert_array_equal(scores[0, 0], 0)
    context[0, 0], scores[0, 0] = expected[0, 0], expected_scores[0, 0]
    np.testing.assert_allclose(context, expected, atol=1e-5)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-5)


@main_pairs
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_training_sends_nothing_to_padding(name, dtype, rng):
    # Keras 3.13 loses the mask where one layer's dtype is cast to another's.
    embedding = keras.layers.Embedding(5, UNITS, mask_zero=True, dtype=dtype)
    symbols = keras.Input((None, UNITS)), keras.Input((None,), dtype="int32")
    attention = PAIRS[name].ours(dtype=dtype)
    context = attention([symbols[0], embedding(symbols[1])])
    model = keras.Model(symbols, context)
    model.compile(keras.optimizers.SGD(1.0), "mse")
    before = ops.convert_to_numpy(embedding.embeddings)
    query, target = draw_inputs(rng)
    tokens = np.array([[0, 0, 0, 0, 0], [1, 2, 0, 4, 3]])
    model.train_on_batch([query, tokens], target[:, :QUERY_LENGTH])
    after = ops.convert_to_numpy(embedding.embeddings)
    np.testing.assert_array_equal(after[0], before[0])
    assert np.all(after[1:] != before[1:])
    for weight in model.weights:
        assert np.all(np.isfinite(ops.convert_to_numpy(weight)))


@main_pairs
def test_attention_scores_are_those_before_dropout(name, rng):
    ours, _ = make_pair(name, rng, dropout=0.6)
    inputs, masks = draw_inputs(rng), MASKS["value"]
    _, expected = call_eagerly(ours, inputs, masks)
    context, scores = call_eagerly(ours, inputs, masks, training=True)
    np.testing.assert_allclose(scores.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert not np.allclose(context, scores @ inputs[1], atol=1e-2)


def test_seed_of_keras_makes_dropout_repeatable(rng):
    inputs = draw_inputs(rng)

    def context(seed):
        keras.utils.set_random_seed(seed)
        attention = LuongAttention("dot", dropout=0.4)
        return ops.convert_to_numpy(attention(inputs, training=True))

    np.testing.assert_array_equal(context(3), context(3))
    assert not np.allclose(context(3), context(5))


@pytest.mark.parametrize("units", [(1, 6), (6, 1)])
def test_unequal_depths_are_refused_by_the_dot_score(units):
    query = np.ones((BATCH, QUERY_LENGTH, units[0]), dtype="float32")
    value = np.ones((BATCH, MEMORY_LENGTH, units[1]), dtype="float32")
    match = "Expected equal units; use `GeneralScore`"
    with pytest.raises(ValueError, match=match):
        LuongAttention("dot")([query, value])
    symbols = [keras.Input((None, unit)) for unit in units]
    with pytest.raises(ValueError, match=match):
        LuongAttention("dot")(symbols)


@pytest.mark.parametrize("units", [(1, 6), (6, 1)])
def test_unequal_depths_are_projected_not_broadcast(units, rng):
    query = rng.normal(size=(BATCH, QUERY_LENGTH, units[0])).astype("float32")
    value = rng.normal(size=(BATCH, MEMORY_LENGTH, units[1])).astype("float32")
    attention = BahdanauAttention(UNITS)
    received = call_eagerly(attention, [query, value])
    weights = [
        attention.score.query_layer.kernel,
        attention.score.memory_layer.kernel,
        attention.score.direction,
    ]
    assert [tuple(weight.shape) for weight in weights] == [
        (units[0], UNITS),
        (units[1], UNITS),
        (UNITS,),
    ]
    scores = reference.additive_score(query, value, *arrays(weights))
    expected = reference.attend(scores, value)
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    # Once built, a layer keeps to the depths that it was built for.
    with pytest.raises(ValueError, match="incompatible|expected"):
        attention([query[..., :1].repeat(2, -1), value])


@main_pairs
def test_tensors_side_by_side_are_refused_with_the_right_call(name, rng):
    """Reported as keras-team/keras#20680."""
    inputs = draw_inputs(rng)
    attention = PAIRS[name].ours()
    with pytest.raises((TypeError, ValueError), match=r"\[query, value\]"):
        attention(*inputs, return_attention_scores=True)
    symbols = [keras.Input((3, UNITS)), keras.Input((3, UNITS))]
    with pytest.raises((TypeError, ValueError), match=r"\[query, value\]"):
        PAIRS[name].ours()(*symbols, return_attention_scores=True)


@pytest.mark.parametrize(
    "argument", ["return_attention_scores", "use_causal_mask"]
)
@main_pairs
def test_arguments_of_the_call_are_refused_by_the_constructor(name, argument):
    """Reported as keras-team/keras#21601."""
    match = rf"\[query, value\], {argument}=True"
    with pytest.raises(TypeError, match=match):
        PAIRS[name].ours(**{argument: True})


# The page about it.

PAGE = Path(__file__).parents[2] / "docs" / "coming_from_keras.md"


def page_names():
    """Returns the names that all examples of the page use."""
    opening, _, _ = PAGE.read_text("utf-8").partition("\n## ")
    return run_examples(opening).names


def page_rows(heading):
    """Returns the rows of the table under a heading, as lists of cells."""
    _, _, section = PAGE.read_text("utf-8").partition(f"## {heading}\n")
    section, _, _ = section.partition("\n## ")
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def run_cell(cell, names):
    """Returns the value of the first code of a cell."""
    return eval(re.match("`(.*?)`", cell)[1], names)


# PyTorch warns of `float` where weights are part of a tensor's history.
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
def test_examples_of_the_page_print_what_they_say():
    outcome = run_examples(PAGE.read_text("utf-8"))
    assert outcome.printed == outcome.promised
    assert len(outcome.printed) > 7


def test_constructors_of_the_page_are_equal_where_it_says_so():
    names = page_names()
    rows = page_rows("The constructor")
    for old, new, note in rows:
        theirs, ours = run_cell(old, names), run_cell(new, names)
        expected, received = (
            ops.convert_to_numpy(layer([names["query"], names["value"]]))
            for layer in (theirs, ours)
        )
        assert expected.shape == received.shape
        equal = note.startswith(("Same", "There is no"))
        agree = np.allclose(received, expected, atol=1e-5)
        assert agree or not equal, old
    assert len(rows) > 7


@pytest.mark.parametrize("name", MAIN)
def test_calls_of_the_page_are_accepted_where_it_says_so(name):
    names = page_names()
    rows = page_rows("The call")
    for call, *answers in rows:
        makes = PAIRS[name].theirs, PAIRS[name].ours
        for make, answer in zip(makes, answers, strict=True):
            names["attention"] = make()
            if answer.startswith("refused"):
                with pytest.raises((ValueError, TypeError)):
                    run_cell(call, names)
            else:
                assert answer.startswith("yes")
                run_cell(call, names)
    assert len(rows) > 7


@pytest.mark.parametrize(
    "layer", [keras.layers.Attention, keras.layers.AdditiveAttention]
)
def test_page_has_every_argument_of_keras(layer):
    text = PAGE.read_text("utf-8")
    for function in (layer.__init__, layer.call):
        names = set(inspect.signature(function).parameters)
        for name in names - {"self", "args", "kwargs", "inputs"}:
            assert re.search(rf"\b{name}\b", text), name


def test_page_is_right_about_what_keras_does(rng):
    """If this fails, Keras has changed: change the page."""
    query, value = draw_inputs(rng)
    mask = VALUE_MASK.copy()
    mask[0] = False
    attention = keras.layers.Attention(dropout=0.5)
    context, _ = call_eagerly(attention, [query, value], [None, mask])
    assert np.all(context[0] != 0)
    _, scores = call_eagerly(
        attention, [query, value], MASKS["query"], training=False
    )
    np.testing.assert_allclose(scores[~QUERY_MASK].sum(-1), 1, rtol=1e-5)
    _, scores = call_eagerly(attention, [query, value], training=True)
    assert not np.allclose(scores.sum(-1), 1, atol=1e-2)
    half = keras.layers.Attention(dtype="float16")
    context, _ = call_eagerly(half, [query - 9, value + 9], [None, mask])
    assert np.all(np.isnan(context[0]))
    keras.layers.AdditiveAttention()([query[..., :1], value])
