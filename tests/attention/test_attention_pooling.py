import keras
import numpy as np
import pytest
from backends import MODES
from backends import in_mode
from backends import needs_masks_of_rnns
from gradients import value_and_gradients
from keras import ops

from keras_attention import AttentionPooling
from keras_attention import BahdanauAttention
from keras_attention import LocalAttention
from keras_attention import LuongAttention
from keras_attention import MonotonicAttention


BATCH, LENGTH, UNITS = 3, 5, 7
ATTENTIONS = {
    "bahdanau": lambda **kwargs: BahdanauAttention(11, **kwargs),
    "coverage": lambda **kwargs: BahdanauAttention(11, coverage=True, **kwargs),
    "dot": lambda **kwargs: LuongAttention("dot", **kwargs),
    "general": lambda **kwargs: LuongAttention("general", **kwargs),
    "concat": lambda **kwargs: LuongAttention("concat", 11, **kwargs),
    "local_m": lambda **kwargs: LocalAttention(
        window="monotonic", half_width=2, **kwargs
    ),
    "local_p": lambda **kwargs: LocalAttention(half_width=2, **kwargs),
    "monotonic": lambda **kwargs: MonotonicAttention("dot", **kwargs),
}
MASKS = {
    "none": None,
    "right": np.arange(LENGTH) < [[5], [1], [3]],
    "left": np.arange(LENGTH) >= [[0], [4], [2]],
    "holes": np.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [0, 1, 0, 1, 0]]) == 1,
    "empty": np.arange(LENGTH) < [[5], [0], [3]],
}

every_attention = pytest.mark.parametrize("name", ATTENTIONS)
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
both_queries = pytest.mark.parametrize("query", ["last", "learned"])


def make_pooling(query, name="bahdanau", **kwargs):
    pooling = AttentionPooling(
        ATTENTIONS[name](**kwargs), query, dtype=kwargs.get("dtype")
    )
    pooling.build((None, None, UNITS))
    return pooling


def draw(rng, *shape):
    return rng.normal(size=shape or (BATCH, LENGTH, UNITS)).astype("float32")


def pool(pooling, inputs, mask=None):
    results = pooling(inputs, mask=mask, return_attention_scores=True)
    return [np.array(result) for result in results]


def by_hand(pooling, inputs, mask=None):
    """Calls the attention itself, one row at a time, without its padding."""
    rows, all_scores = [], np.zeros(inputs.shape[:2])
    for row in range(len(inputs)):
        real = np.arange(inputs.shape[1])
        if mask is not None:
            real = np.flatnonzero(mask[row])
        if not real.size:
            rows.append(np.zeros(inputs.shape[-1]))
            continue
        value = inputs[row : row + 1, real]
        query = value[:, -1:]
        if pooling.query == "learned":
            query = ops.convert_to_tensor(pooling.learned_query)[None]
        context, scores = pooling.attention(
            [query, value], return_attention_scores=True
        )
        rows.append(np.array(context[0, 0]))
        all_scores[row, real] = np.array(scores[0, 0])
    return [np.stack(rows), all_scores]


def assert_same(received, expected, atol=1e-6):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


# One query for each sequence.


@every_mask
@both_queries
def test_pooling_is_one_query_of_the_attention(query, mask, rng):
    """The query "last" is the last real position, wherever padding is."""
    pooling, inputs = make_pooling(query), draw(rng)
    received = pool(pooling, inputs, mask)
    assert_same(received, by_hand(pooling, inputs, mask))
    np.testing.assert_array_equal(pooling(inputs, mask=mask), received[0])


@both_queries
@every_attention
def test_every_attention_may_be_used(name, query, rng):
    pooling, inputs = make_pooling(query, name), draw(rng)
    mask = MASKS["holes"]
    received = pool(pooling, inputs, mask)
    assert_same(received, by_hand(pooling, inputs, mask))
    assert np.any(received[0])


@pytest.mark.parametrize("mode", MODES)
@both_queries
def test_length_may_be_unknown_when_compiled(query, mode, rng):
    pooling, inputs = make_pooling(query), draw(rng)
    run = in_mode(
        lambda inputs, mask: pooling(
            inputs, mask=mask, return_attention_scores=True
        ),
        mode,
        [((None, None, UNITS), "float32"), ((None, None), "bool")],
    )
    received = run(ops.convert_to_tensor(inputs), MASKS["holes"])
    assert_same(received, by_hand(pooling, inputs, MASKS["holes"]))


# Masks.


@pytest.mark.parametrize("places", [[], [0], [2] * 7, [LENGTH] * 7])
@both_queries
def test_padding_changes_nothing(query, places, rng):
    """Padding changes the output of philipperemy/keras-attention; no public
    report of it was found.

    Padding changes the output of philipperemy/keras-attention; no public
    report of it was found.
    """
    pooling, inputs = make_pooling(query), draw(rng)
    mask = np.insert(np.ones((BATCH, LENGTH), bool), places, False, axis=1)
    padded = np.insert(inputs, places, np.nan, axis=1)
    context, scores = pool(pooling, padded, mask)
    assert_same([context, scores[:, mask[0]]], pool(pooling, inputs))
    np.testing.assert_array_equal(scores[:, ~mask[0]], 0)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("bahdanau", "float32"),
        ("bahdanau", "mixed_float16"),
        ("monotonic", "float32"),
        ("local_p", "float32"),
    ],
)
@both_queries
def test_garbage_under_the_mask_leaves_gradients_alone(
    query, name, policy, rng
):
    pooling = make_pooling(query, name, dtype=policy)
    inputs, mask = draw(rng), MASKS["empty"]
    shares = draw(rng, BATCH, UNITS)

    def differentiate(inputs):
        def loss(inputs):
            context = ops.cast(pooling(inputs, mask=mask), "float32")
            return [ops.sum(ops.multiply(shares, context)), context]

        (_, context), gradients = value_and_gradients(
            loss, [inputs], pooling.trainable_weights
        )
        return [context, *gradients]

    clean = differentiate(inputs)
    assert all(np.all(np.isfinite(part)) for part in clean)
    for array in clean[:2]:
        np.testing.assert_array_equal(array[1], 0)  # the empty row
        assert np.any(array[0])
    dirty = np.where(mask[..., None], inputs, np.float32(np.nan))
    assert_same(differentiate(dirty), clean, 0)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_mask_may_be_of_any_kind(dtype, rng):
    pooling, inputs = make_pooling("last"), draw(rng)
    mask = MASKS["holes"]
    received = pool(pooling, inputs, mask.astype(dtype))
    assert_same(received, pool(pooling, inputs, mask), 0)


# In a model.


def make_model(query, attention):
    return keras.Sequential(
        [
            keras.layers.Embedding(17, UNITS, mask_zero=True),
            keras.layers.LSTM(UNITS, return_sequences=True),
            AttentionPooling(attention, query),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


@needs_masks_of_rnns
@pytest.mark.parametrize(
    ("name", "query"), [("bahdanau", "last"), ("coverage", "learned")]
)
def test_sequential_model_trains_and_is_saved(name, query, tmp_path, rng):
    model = make_model(query, ATTENTIONS[name]())
    tokens = rng.integers(1, 17, (BATCH, LENGTH)) * MASKS["right"]
    model.compile("sgd", "binary_crossentropy")
    history = model.fit(tokens, np.array([[0], [1], [1]]), verbose=0)
    assert np.isfinite(history.history["loss"][0])
    expected = model(tokens)
    padded = np.pad(tokens, [(0, 0), (0, 7)])
    assert_same([model(padded)], [expected])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_same([loaded(tokens)], [expected])


@both_queries
def test_attached_mask_is_used_and_then_gone(query, rng):
    tokens = rng.integers(1, 17, (BATCH, LENGTH)) * MASKS["right"]
    embedded = keras.layers.Embedding(17, UNITS, mask_zero=True)(tokens)
    pooling = make_pooling(query)
    results = pooling(embedded, return_attention_scores=True)
    assert_same(results, by_hand(pooling, np.array(embedded), MASKS["right"]))
    for tensor in results:
        assert getattr(tensor, "_keras_mask", None) is None


@both_queries
def test_symbolic_shapes(query):
    context, scores = AttentionPooling(BahdanauAttention(11), query)(
        keras.Input((None, UNITS)), return_attention_scores=True
    )
    assert context.shape == (None, UNITS)
    assert scores.shape == (None, None)
    context = AttentionPooling(BahdanauAttention(11), query)(
        keras.Input((LENGTH, UNITS))
    )
    assert context.shape == (None, UNITS)


# Errors.


@pytest.mark.parametrize("attention", [None, "bahdanau", keras.layers.Dense(3)])
def test_what_is_no_attention_is_refused(attention):
    with pytest.raises(ValueError, match="Expected an attention layer of this"):
        AttentionPooling(attention)


@pytest.mark.parametrize("query", ["first", None])
def test_unknown_query_is_refused(query):
    with pytest.raises(ValueError, match="Expected one of: 'last', 'learned'"):
        AttentionPooling(BahdanauAttention(11), query)


@both_queries
def test_inputs_of_rank_2_are_refused(query, rng):
    pooling = AttentionPooling(BahdanauAttention(11), query)
    with pytest.raises(ValueError, match=r"\(3, 7\).*Expected 3 axes: \(batch"):
        pooling(draw(rng, BATCH, UNITS))


@both_queries
@pytest.mark.parametrize("shape", [(BATCH, 4), (BATCH, LENGTH, 1)])
def test_mask_of_another_shape_is_refused(shape, query, rng):
    """Reported as keras-team/keras#22037: another length was accepted."""
    with pytest.raises(ValueError, match=r"mask` of shape.*Expected \(3, 5\)"):
        make_pooling(query)(draw(rng), mask=np.ones(shape, bool))
