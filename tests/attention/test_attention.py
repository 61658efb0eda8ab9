import inspect

import keras
import numpy as np
import pytest
import reference
from attention_cases import ATTENTIONS
from attention_cases import MAIN
from attention_cases import QUERY_MASK
from attention_cases import VALUE_MASK
from attention_cases import attend_and_differentiate
from attention_cases import built_attention
from attention_cases import expected_attention
from attention_cases import joined_mask
from attention_cases import query_and_value
from backends import COMPILED_MODES
from backends import MODES
from backends import SIZES_MAY_BE_UNKNOWN
from backends import count_traces
from backends import in_mode
from backends import needs_masks_of_rnns
from gradients import finite_differences
from gradients import value_and_gradients
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
from keras import ops
from score_cases import BATCH
from score_cases import MEMORY_LENGTH
from score_cases import MEMORY_UNITS
from score_cases import QUERY_LENGTH

from keras_attention import Attention
from keras_attention import BahdanauAttention
from keras_attention import DotScore
from keras_attention import GeneralScore
from keras_attention import LuongAttention


every_attention = pytest.mark.parametrize("name", ATTENTIONS)
main_attentions = pytest.mark.parametrize("name", MAIN)
every_probability = pytest.mark.parametrize(
    "probability", ["softmax", "sparsemax", "hardmax"]
)
every_policy = pytest.mark.parametrize(
    "policy", ["float32", "mixed_float16", "mixed_bfloat16"]
)


def assert_same(received, expected, **tolerance):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


# The equation.


@every_attention
@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
def test_results_are_those_of_the_equation(name, masked, rng):
    """Reported as tensorflow/tensorflow#11067: how to get the weights.

    Also as tensorflow/nmt#36 and tensorflow/tensorflow#6390.
    """
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, dtype="float64")
    query, value = query_and_value(case, rng, "float64")
    masks = [QUERY_MASK, VALUE_MASK] if masked else None
    received = attention(
        [query, value], mask=masks, return_attention_scores=True
    )
    mask = joined_mask(*masks) if masked else None
    expected = expected_attention(case, attention, query, value, mask=mask)
    assert_same(received, expected, rtol=1e-9, atol=1e-12)


@every_attention
def test_key_of_its_own_is_compared_and_the_value_averaged(name, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, dtype="float64")
    query, key = query_and_value(case, rng, "float64")
    value = rng.normal(size=(BATCH, MEMORY_LENGTH, 17))
    masks = [QUERY_MASK, VALUE_MASK]
    received = attention(
        (query, value, key), mask=masks, return_attention_scores=True
    )
    expected = expected_attention(
        case, attention, query, value, key, joined_mask(*masks)
    )
    assert_same(received, expected, rtol=1e-9, atol=1e-12)


@every_attention
def test_gradients_are_those_of_the_equation(name, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, dtype="float64")
    inputs = query_and_value(case, rng, "float64")
    weights = case.score.weights(attention.score)
    assert len(weights) == len(attention.trainable_weights)
    mask = joined_mask(QUERY_MASK, VALUE_MASK)
    context_shares = rng.normal(size=(BATCH, QUERY_LENGTH, MEMORY_UNITS))
    score_shares = rng.normal(size=mask.shape)

    def function(query, value):
        context, scores = attention(
            [query, value],
            mask=[QUERY_MASK, VALUE_MASK],
            return_attention_scores=True,
        )
        loss = ops.sum(ops.multiply(context_shares, context))
        return [loss + ops.sum(ops.multiply(score_shares, scores))]

    def equation(query, value, *weights):
        scores = case.score.equation(query, value, *weights)
        context, scores = reference.attend(scores, value, mask)
        return np.sum(context_shares * context) + np.sum(score_shares * scores)

    _, received = value_and_gradients(function, inputs, weights)
    expected = finite_differences(equation, [*inputs, *map(np.array, weights)])
    assert_same(received, expected, rtol=1e-6, atol=1e-7)


def test_single_tensor_attends_to_itself(rng):
    sequence = rng.normal(size=(2, 3, 5)).astype("float32")
    mask = np.array([[True, True, False], [True, False, False]])
    attention = BahdanauAttention(7)
    expected = attention(
        [sequence, sequence], mask=[mask, mask], return_attention_scores=True
    )
    received = attention(sequence, mask=mask, return_attention_scores=True)
    assert_same(received, expected)
    assert not np.allclose(received[0], attention(sequence))


@main_attentions
def test_causal_mask_hides_what_comes_later(name, rng):
    """Reported as philipperemy/keras-attention#67: there is no causal mask."""
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, dtype="float64")
    query, value = query_and_value(case, rng, "float64")
    causal = np.tril(np.ones((QUERY_LENGTH, MEMORY_LENGTH), dtype=bool))
    for masks in (None, [QUERY_MASK, VALUE_MASK], [None, VALUE_MASK]):
        received = attention(
            [query, value],
            mask=masks,
            use_causal_mask=True,
            return_attention_scores=True,
        )
        mask = joined_mask(*masks or []) & causal
        expected = expected_attention(case, attention, query, value, mask=mask)
        assert_same(received, expected, rtol=1e-9, atol=1e-12)


@main_attentions
def test_step_is_one_row_of_the_whole_sequence(name, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    context, scores = attention(
        [query, value], mask=[None, VALUE_MASK], return_attention_scores=True
    )
    memory = attention.prepare_memory(ops.convert_to_tensor(value), VALUE_MASK)
    state = attention.initial_state(memory)
    assert len(state) == attention.num_states
    for i in range(QUERY_LENGTH):
        one_context, one_scores, state = attention.step(
            ops.convert_to_tensor(query[:, i]), memory, state
        )
        np.testing.assert_allclose(one_context, context[:, i], atol=1e-6)
        np.testing.assert_allclose(one_scores, scores[:, i], atol=1e-6)


# Masks.


@every_attention
@every_probability
def test_padding_gets_zero_weight_and_zero_gradient(name, probability, rng):
    """Reported as tensorflow/tensorflow#43941."""
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, probability=probability)
    query, value = query_and_value(case, rng)
    context, scores, query_gradient, value_gradient, *_ = (
        attend_and_differentiate(
            attention, query, value, [QUERY_MASK, VALUE_MASK]
        )
    )
    mask = joined_mask(QUERY_MASK, VALUE_MASK)
    np.testing.assert_array_equal(scores[~mask], 0)
    np.testing.assert_allclose(scores[QUERY_MASK].sum(-1), 1, rtol=1e-6)
    np.testing.assert_array_equal(context[~QUERY_MASK], 0)
    np.testing.assert_array_equal(value_gradient[~VALUE_MASK], 0)
    np.testing.assert_array_equal(query_gradient[~QUERY_MASK], 0)
    assert np.any(value_gradient[VALUE_MASK] != 0)


@every_attention
def test_real_queries_ignore_padding_and_padded_queries_are_no_nan(name, rng):
    """Reported as CyberZHG/keras-self-attention#41."""
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    value_mask = VALUE_MASK.copy()
    value_mask[0] = False
    _, scores = attention(
        [query, value],
        mask=[QUERY_MASK, value_mask],
        return_attention_scores=True,
    )
    scores = np.array(scores)
    assert np.all(np.isfinite(scores))
    np.testing.assert_array_equal(scores[1, :, ~value_mask[1]], 0)
    np.testing.assert_array_equal(scores[0], 0)


@main_attentions
@every_policy
@pytest.mark.parametrize("garbage", [np.nan, np.inf])
def test_garbage_under_the_masks_changes_nothing(name, policy, garbage, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, dtype=policy)
    query, value = query_and_value(case, rng)
    masks = [QUERY_MASK, VALUE_MASK]
    clean = attend_and_differentiate(attention, query, value, masks)
    query = np.where(QUERY_MASK[..., None], query, np.float32(garbage))
    value = np.where(VALUE_MASK[..., None], value, np.float32(garbage))
    dirty = attend_and_differentiate(attention, query, value, masks)
    assert_same(dirty, clean, rtol=0, atol=0)
    assert all(np.all(np.isfinite(array)) for array in clean)


@pytest.mark.parametrize("mode", COMPILED_MODES)
@main_attentions
def test_garbage_changes_nothing_when_compiled(name, mode, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    masks = [QUERY_MASK, VALUE_MASK]
    clean = attend_and_differentiate(attention, query, value, masks)
    query = np.where(QUERY_MASK[..., None], query, np.float32(np.nan))
    value = np.where(VALUE_MASK[..., None], value, np.float32(np.nan))
    dirty = attend_and_differentiate(attention, query, value, masks, mode=mode)
    assert_same(dirty, clean, rtol=1e-4, atol=1e-5)


@main_attentions
def test_garbage_in_a_key_of_its_own_changes_nothing(name, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    key = rng.normal(size=value.shape).astype("float32")
    shares = rng.normal(size=(BATCH, QUERY_LENGTH, MEMORY_UNITS))
    shares = shares.astype("float32")

    def function(*inputs):
        context = attention(inputs, mask=[None, VALUE_MASK])
        return [ops.sum(ops.multiply(shares, context)), context]

    def run(*inputs):
        results, gradients = value_and_gradients(
            function, inputs, attention.trainable_weights
        )
        return [*results, *gradients]

    clean = run(query, value, key)
    assert all(np.all(np.isfinite(array)) for array in clean)
    dirty = np.where(VALUE_MASK[..., None], key, np.float32(np.nan))
    assert_same(run(query, value, dirty), clean, rtol=0, atol=0)
    dirty = np.where(VALUE_MASK[..., None], value, np.float32(np.nan))
    assert_same(run(query, dirty, key), clean, rtol=0, atol=0)


@pytest.mark.parametrize("columns", [0, 1, 7])
@every_attention
def test_more_padding_changes_nothing(name, columns, rng):
    """Reported as tensorflow/tensorflow#512.

    Reported as tensorflow/tensorflow#512 and tensorflow/tensorflow#2079.
    """
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)

    def padded(array, fill):
        extra = np.full((BATCH, columns, *array.shape[2:]), fill)
        return np.concatenate([array, extra.astype(array.dtype)], axis=1)

    expected = attention(
        [query, value],
        mask=[QUERY_MASK, VALUE_MASK],
        return_attention_scores=True,
    )
    context, scores = attention(
        [padded(query, 3), padded(value, 4)],
        mask=[padded(QUERY_MASK, False), padded(VALUE_MASK, False)],
        return_attention_scores=True,
    )
    received = [
        context[:, :QUERY_LENGTH],
        scores[:, :QUERY_LENGTH, :MEMORY_LENGTH],
    ]
    assert_same(received, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(scores[:, :, MEMORY_LENGTH:], 0)
    np.testing.assert_array_equal(context[:, QUERY_LENGTH:], 0)


@every_attention
def test_mixed_lengths_in_a_batch_equal_each_sentence_alone(name, rng):
    """Reported as pytorch/tutorials#593.

    Reported as pytorch/tutorials#593, MaximumEntropy/Seq2Seq-PyTorch#6,
    pcyin/pytorch_nmt#5 and facebookresearch/fairseq-lua#82.
    """
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    context, scores = attention(
        [query, value],
        mask=[QUERY_MASK, VALUE_MASK],
        return_attention_scores=True,
    )
    for row in range(BATCH):
        rows, columns = QUERY_MASK[row].sum(), VALUE_MASK[row].sum()
        expected = attention(
            [query[row : row + 1, :rows], value[row : row + 1, :columns]],
            return_attention_scores=True,
        )
        received = [
            context[row : row + 1, :rows],
            scores[row : row + 1, :rows, :columns],
        ]
        assert_same(received, expected, rtol=0, atol=1e-6)


@every_probability
@every_policy
@main_attentions
def test_row_without_a_real_key_is_zero(name, policy, probability, rng):
    """Reported as d2l-ai/d2l-en#2423 and tensorflow/nmt#210.

    keras.layers.Attention gives NaN in float16, or all weight to padding; in
    float32 and bfloat16 it attends to padding and sends gradients there. No
    public report of this was found.
    """
    case = ATTENTIONS[name]
    attention = built_attention(
        case, rng, dtype=policy, probability=probability
    )
    query, value = query_and_value(case, rng)
    value_mask = VALUE_MASK.copy()
    value_mask[0] = False
    results = attend_and_differentiate(
        attention, query, value, [None, value_mask]
    )
    context, scores, query_gradient, value_gradient, *_ = results
    for array in (context, scores, query_gradient, value_gradient):
        np.testing.assert_array_equal(array[0], 0)
    assert all(np.all(np.isfinite(array)) for array in results)
    assert np.all(context[1] != 0)


@pytest.mark.parametrize("mode", COMPILED_MODES)
@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_row_without_a_real_key_is_zero_when_compiled(policy, mode, rng):
    """Reported as d2l-ai/d2l-en#2423 and tensorflow/nmt#210."""
    case = ATTENTIONS["bahdanau"]
    attention = built_attention(case, rng, dtype=policy)
    query, value = query_and_value(case, rng)
    value_mask = VALUE_MASK.copy()
    value_mask[0] = False
    results = attend_and_differentiate(
        attention, query, value, [None, value_mask], mode=mode
    )
    for array in results[:4]:
        np.testing.assert_array_equal(array[0], 0)
    assert all(np.all(np.isfinite(array)) for array in results)


@pytest.mark.parametrize(
    ("query_mask", "value_mask"),
    [(QUERY_MASK, None), (None, VALUE_MASK), (QUERY_MASK, VALUE_MASK)],
    ids=["query", "value", "both"],
)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
@pytest.mark.parametrize("make", [list, tuple])
def test_masks_by_hand_may_be_of_any_kind(
    make, dtype, query_mask, value_mask, rng
):
    """Reported as keras-team/keras#21483: a mask of two axes is enough.

    Repaired there in keras-team/keras#21595.
    """
    case = ATTENTIONS["bahdanau"]
    attention = built_attention(case, rng, dtype="float64")
    query, value = query_and_value(case, rng, "float64")
    masks = make(
        None if mask is None else ops.cast(mask, dtype)
        for mask in (query_mask, value_mask)
    )
    received = attention(
        make((query, value)), mask=masks, return_attention_scores=True
    )
    expected = expected_attention(
        case,
        attention,
        query,
        value,
        mask=joined_mask(query_mask, value_mask),
    )
    assert_same(received, expected, rtol=1e-9, atol=1e-12)


def test_output_carries_the_mask_of_the_query_given_by_hand(rng):
    """Reported as keras-team/keras#21449."""
    case = ATTENTIONS["general"]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    query, value = ops.convert_to_tensor(query), ops.convert_to_tensor(value)
    masks = [
        ops.convert_to_tensor(QUERY_MASK),
        ops.convert_to_tensor(VALUE_MASK),
    ]
    context, scores = attention(
        [query, value], mask=masks, return_attention_scores=True
    )
    np.testing.assert_array_equal(context._keras_mask, QUERY_MASK)
    assert getattr(scores, "_keras_mask", None) is None
    context = attention([query, value], mask=[None, masks[1]])
    assert getattr(context, "_keras_mask", None) is None


def tokens_and_masks():
    query_tokens = np.where(QUERY_MASK, [[4, 7, 3], [2, 5, 6]], 0)
    value_tokens = np.where(VALUE_MASK, [[8, 1, 9, 2, 2], [3, 1, 1, 7, 5]], 0)
    return query_tokens, value_tokens


@pytest.mark.parametrize("make", [list, tuple])
@pytest.mark.parametrize("inputs", [2, 3])
@main_attentions
def test_masks_of_embeddings_come_in_by_themselves(name, inputs, make):
    """Reported as tensorflow/tensorflow#41294, thushv89/attention_keras#41."""
    embedding = keras.layers.Embedding(11, MEMORY_UNITS, mask_zero=True)
    attention = ATTENTIONS[name].make()
    query_input = keras.Input((None,), dtype="int32")
    value_input = keras.Input((None,), dtype="int32")
    query, value = embedding(query_input), embedding(value_input)
    context, scores = attention(
        make([query, value, value][:inputs]), return_attention_scores=True
    )
    model = keras.Model([query_input, value_input], [context, scores])
    query_tokens, value_tokens = tokens_and_masks()
    received = model([query_tokens, value_tokens])
    expected = attention(
        [embedding(query_tokens), embedding(value_tokens)],
        mask=[QUERY_MASK, VALUE_MASK],
        return_attention_scores=True,
    )
    assert_same(received, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(
        np.array(received[1])[~joined_mask(QUERY_MASK, VALUE_MASK)], 0
    )
    padded = model(
        [
            np.pad(query_tokens, [(0, 0), (0, 1)]),
            np.pad(value_tokens, [(0, 0), (0, 7)]),
        ]
    )
    np.testing.assert_allclose(
        padded[0][:, :QUERY_LENGTH], received[0], rtol=0, atol=1e-6
    )


def test_mask_of_the_key_alone_is_enough(rng):
    case = ATTENTIONS["general"]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    expected = attention([query, value, value], mask=[None, VALUE_MASK])
    received = attention([query, value, value], mask=[None, None, VALUE_MASK])
    np.testing.assert_array_equal(received, expected)


def test_masks_by_hand_work_in_a_functional_model(rng):
    case = ATTENTIONS["general"]
    query, value = query_and_value(case, rng)
    attention = case.make()
    tensors = [
        keras.Input((None, case.score.query_units)),
        keras.Input((None, MEMORY_UNITS)),
        keras.Input((None,), dtype="bool"),
        keras.Input((None,), dtype="bool"),
    ]
    context = attention(tensors[:2], mask=tensors[2:])
    model = keras.Model(tensors, context)
    expected, _ = expected_attention(
        case,
        attention,
        query,
        value,
        mask=joined_mask(QUERY_MASK, VALUE_MASK),
    )
    received = model([query, value, QUERY_MASK, VALUE_MASK])
    np.testing.assert_allclose(received, expected, rtol=1e-4, atol=1e-6)


def sequential_model(attention):
    model = keras.Sequential()
    model.add(keras.layers.Embedding(11, 5, mask_zero=True))
    model.add(
        keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
    )
    model.add(attention)
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(2, activation="softmax"))
    return model


@needs_masks_of_rnns
@pytest.mark.parametrize("columns", [0, 1, 7])
def test_mask_travels_through_a_sequential_model(columns):
    model = sequential_model(BahdanauAttention(7))
    _, tokens = tokens_and_masks()
    expected = model(tokens)
    received = model(np.pad(tokens, [(0, 0), (0, columns)]))
    np.testing.assert_allclose(received, expected, rtol=0, atol=1e-6)
    assert not np.allclose(expected[0], expected[1])


class Reader(keras.Model):
    """A subclassed model whose encoder is a subclassed layer."""

    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(11, 5, mask_zero=True)
        self.rnn = keras.layers.GRU(7, return_sequences=True)
        self.attention = BahdanauAttention(3)

    def call(self, tokens):
        query, value = (self.embedding(each) for each in tokens)
        masks = [ops.not_equal(each, 0) for each in tokens]
        return self.attention([query, self.rnn(value)], mask=masks)


@pytest.mark.parametrize("mode", MODES)
def test_mask_travels_through_a_subclassed_model(mode):
    """Reported as tensorflow/docs#1610."""
    model = Reader()
    query_tokens, value_tokens = tokens_and_masks()
    model([query_tokens, value_tokens])  # JAX makes no weights in a `jit`
    call = in_mode(lambda *tokens: model(tokens), mode)
    expected = call(query_tokens, value_tokens)
    received = call(query_tokens, np.pad(value_tokens, [(0, 0), (0, 7)]))
    np.testing.assert_allclose(received, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(np.array(expected)[~QUERY_MASK], 0)


# Modes, types and lengths.


@pytest.mark.parametrize("mode", COMPILED_MODES)
@main_attentions
def test_compiled_results_are_the_eager_ones(name, mode, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    call = in_mode(
        lambda query, value: attention(
            [query, value],
            mask=[QUERY_MASK, VALUE_MASK],
            return_attention_scores=True,
            use_causal_mask=True,
        ),
        mode,
    )
    expected = attention(
        [query, value],
        mask=[QUERY_MASK, VALUE_MASK],
        return_attention_scores=True,
        use_causal_mask=True,
    )
    assert_same(call(query, value), expected, rtol=1e-5, atol=1e-6)


@main_attentions
def test_one_trace_serves_every_length(name, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)

    def function(query, value, query_mask, value_mask):
        return attention(
            [query, value],
            mask=[query_mask, value_mask],
            return_attention_scores=True,
            use_causal_mask=True,
        )

    shapes = [
        ((None, None, case.score.query_units), "float32"),
        ((None, None, MEMORY_UNITS), "float32"),
        ((None, None), "bool"),
        ((None, None), "bool"),
    ]
    arrays = []
    for batch, query_length, memory_length in [(2, 3, 5), (1, 7, 2), (5, 1, 1)]:
        arrays.append(
            [
                rng.normal(size=(batch, query_length, shapes[0][0][2])),
                rng.normal(size=(batch, memory_length, MEMORY_UNITS)),
                np.ones((batch, query_length), dtype=bool),
                rng.random((batch, memory_length)) < 0.7,
            ]
        )
    results, traces = count_traces(function, shapes, arrays)
    assert traces == (1 if SIZES_MAY_BE_UNKNOWN else len(arrays))
    for (query, value, _, value_mask), received in zip(
        arrays, results, strict=True
    ):
        causal = np.tril(np.ones((query.shape[1], value.shape[1]), dtype=bool))
        mask = value_mask[:, None, :] & causal
        expected = expected_attention(case, attention, query, value, mask=mask)
        assert_same(received, expected, rtol=1e-4, atol=1e-5)


@every_policy
@every_attention
def test_dtype_is_that_of_the_policy(name, policy, rng):
    case = ATTENTIONS[name]
    attention = built_attention(case, rng, dtype=policy)
    query, value = query_and_value(case, rng)
    received = attention(
        [query, value],
        mask=[QUERY_MASK, VALUE_MASK],
        return_attention_scores=True,
    )
    expected = expected_attention(
        case,
        attention,
        query,
        value,
        mask=joined_mask(QUERY_MASK, VALUE_MASK),
    )
    for tensor in received:
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        assert dtype == attention.compute_dtype
    received = [ops.cast(tensor, "float32") for tensor in received]
    tolerance = {"float32": 1e-5, "mixed_float16": 0.02}.get(policy, 0.15)
    assert_same(received, expected, atol=tolerance, rtol=0)


@main_attentions
def test_symbolic_call_unpacks_context_and_scores(name):
    """Reported as keras-team/keras#20621.

    Reported as keras-team/keras#20621, keras-team/keras#20680 and
    keras-team/keras#19303 (repaired in keras-team/keras#20689).
    """
    query = keras.Input((None, MEMORY_UNITS))
    value = keras.Input((MEMORY_LENGTH, MEMORY_UNITS))
    context, scores = ATTENTIONS[name].make()(
        [query, value], return_attention_scores=True
    )
    assert context.shape == (None, None, MEMORY_UNITS)
    assert scores.shape == (None, None, MEMORY_LENGTH)
    model = keras.Model([query, value], [context, scores])
    outputs = model([np.ones(shape=(2, 3, 7)), np.ones(shape=(2, 5, 7))])
    assert [output.shape for output in outputs] == [(2, 3, 7), (2, 3, 5)]


# Probability and dropout.


def test_attention_scores_are_those_before_dropout(rng):
    case = ATTENTIONS["bahdanau"]
    attention = built_attention(case, rng, dropout=0.6)
    query, value = query_and_value(case, rng)
    context, scores = attention(
        [query, value], return_attention_scores=True, training=True
    )
    np.testing.assert_allclose(np.array(scores).sum(-1), 1, rtol=1e-6)
    expected, expected_scores = expected_attention(
        case, attention, query, value
    )
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-4)
    assert not np.allclose(context, expected)


def test_dropout_is_for_training_only(rng):
    case = ATTENTIONS["bahdanau"]
    attention = built_attention(case, rng, dropout=0.6)
    query, value = query_and_value(case, rng)
    expected, _ = expected_attention(case, attention, query, value)
    for training in (False, None):
        received = attention([query, value], training=training)
        np.testing.assert_allclose(received, expected, rtol=1e-4, atol=1e-5)
    received = [
        np.array(attention([query, value], training=True)) for _ in range(2)
    ]
    assert not np.allclose(*received)
    memory = attention.prepare_memory(ops.convert_to_tensor(value))
    step = ops.convert_to_tensor(query[:, 0]), memory, []
    np.testing.assert_allclose(
        attention.step(*step)[0], expected[:, 0], rtol=1e-4, atol=1e-5
    )
    received = attention.step(*step, training=True)[0]
    assert not np.allclose(received, expected[:, 0])


def test_dropout_keeps_the_mean(rng):
    value = rng.normal(size=(1, 5, 7)).astype("float32")
    attention = built_attention(ATTENTIONS["dot"], rng, dropout=0.25)
    query = np.repeat(rng.normal(size=(1, 1, 7)), 20000, axis=1)
    expected = attention([query[:, :1], value])[0, 0]
    mean = ops.mean(attention([query, value], training=True)[0], axis=0)
    np.testing.assert_allclose(mean, expected, atol=0.05)


@keras.saving.register_keras_serializable(package="tests")
def sharpened(scores):
    return ops.softmax(3 * scores, axis=-1)


def test_probability_may_be_a_function(rng):
    case = ATTENTIONS["general"]
    attention = built_attention(case, rng, probability=sharpened)
    query, value = query_and_value(case, rng)
    _, scores = attention(
        [query, value], mask=[None, VALUE_MASK], return_attention_scores=True
    )
    kernel = np.array(attention.score.memory_layer.kernel)
    expected = reference.softmax(
        3 * reference.general_score(query, value, kernel),
        joined_mask(None, VALUE_MASK),
    )
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)
    config = attention.get_config()
    again = LuongAttention.from_config(config)
    assert again.probability is sharpened
    assert again.get_config() == config


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        ("softmax", [0.5986, 0.3631, 0.0383, 0]),
        ("sparsemax", [0.75, 0.25, 0, 0]),
        ("hardmax", [1, 0, 0, 0]),
    ],
)
def test_probability_by_name_is_the_one_computed_on_paper(
    probability, expected
):
    query = np.array([[[1.0]]], dtype="float32")
    value = np.array([[[0.75], [0.25], [-2.0], [9.0]]], dtype="float32")
    mask = np.array([[True, True, True, False]])
    _, scores = LuongAttention("dot", probability=probability)(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    np.testing.assert_allclose(scores, [[expected]], atol=5e-5)


# Properties.

few_examples = settings(max_examples=20, deadline=None, database=None)
seeds = strategies.integers(0, 2**31)
names = strategies.sampled_from(list(ATTENTIONS))


def random_case(name, seed):
    rng = np.random.default_rng(seed)
    case = ATTENTIONS[name]
    attention = built_attention(case, rng)
    query, value = query_and_value(case, rng)
    return (
        attention,
        query,
        value,
        rng.random((BATCH, MEMORY_LENGTH)) < 0.5,
        rng,
    )


@few_examples
@given(names, seeds)
def test_rows_sum_to_one_or_have_nothing_to_attend_to(name, seed):
    attention, query, value, mask, _ = random_case(name, seed)
    _, scores = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    expected = np.repeat(mask.any(-1)[:, None], QUERY_LENGTH, axis=1)
    scores = np.array(scores)
    np.testing.assert_allclose(scores.sum(-1), expected, rtol=1e-6)
    assert np.all(scores >= 0)


@few_examples
@given(names, seeds)
def test_order_of_the_memory_moves_the_scores_and_keeps_the_context(name, seed):
    attention, query, value, mask, rng = random_case(name, seed)
    order = rng.permutation(MEMORY_LENGTH)
    context, scores = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    received = attention(
        [query, value[:, order]],
        mask=[None, mask[:, order]],
        return_attention_scores=True,
    )
    expected = [context, np.array(scores)[..., order]]
    assert_same(received, expected, rtol=1e-4, atol=1e-5)


@few_examples
@given(names, seeds, strategies.floats(width=32))
def test_any_number_under_the_mask_changes_nothing(name, seed, garbage):
    attention, query, value, mask, _ = random_case(name, seed)
    expected = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    value = np.where(mask[..., None], value, np.float32(garbage))
    received = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    assert_same(received, expected, rtol=0, atol=0)


# Errors.


def zeros(*shape):
    return np.zeros(shape, dtype="float32")


@main_attentions
def test_memory_of_two_axes_is_refused_with_advice(name):
    """Reported as tensorflow/addons#1153."""
    match = (
        r"`value` of shape \(2, 7\). Expected 3 axes: \(batch, memory_length, "
        r"memory_units\).*return_sequences=True.*\(batch, time, depth\)"
    )
    with pytest.raises(ValueError, match=match):
        ATTENTIONS[name].make()([zeros(2, 3, 7), zeros(2, 7)])
    with pytest.raises(ValueError, match=match.replace("2, 7", "None, 7")):
        ATTENTIONS[name].make()([keras.Input((3, 7)), keras.Input((7,))])


@main_attentions
def test_query_of_two_axes_is_refused_with_advice(name):
    match = r"`query` of shape \(2, 7\). Expected 3 axes.*expand_dims\(query"
    with pytest.raises(ValueError, match=match):
        ATTENTIONS[name].make()([zeros(2, 7), zeros(2, 3, 7)])


@pytest.mark.parametrize("make", [list, tuple, lambda shape: shape])
def test_layer_is_built_from_the_shapes_of_tensors(make):
    single, pair = BahdanauAttention(7), BahdanauAttention(7)
    single.build(make(ops.ones((2, 3, 5)).shape))
    pair.build(
        [make(ops.ones((2, 3, 5)).shape), make(ops.ones((2, 7, 11)).shape)]
    )
    assert tuple(single.score.memory_layer.kernel.shape) == (5, 7)
    assert tuple(pair.score.memory_layer.kernel.shape) == (11, 7)


@main_attentions
@pytest.mark.parametrize("count", [1, 2])
def test_unknown_depth_is_refused(name, count):
    inputs = [keras.Input((None, None))] * count
    with pytest.raises(ValueError, match="Expected a known size of the last"):
        ATTENTIONS[name].make()(inputs if count > 1 else inputs[0])


@main_attentions
def test_unequal_batches_are_refused(name):
    attention = ATTENTIONS[name].make()
    match = r"query: 2, .*3.*Expected equal sizes.*keras.ops.repeat"
    with pytest.raises(ValueError, match=match):
        attention([zeros(2, 3, 7), zeros(3, 5, 7)])
    attention = ATTENTIONS[name].make()
    attention([zeros(2, 3, 7), zeros(2, 5, 7)])
    with pytest.raises(ValueError, match=match):
        attention([zeros(2, 3, 7), zeros(3, 5, 7)])


@main_attentions
def test_key_of_another_length_than_the_value_is_refused(name):
    with pytest.raises(ValueError, match="value: 5, key: 4.*Expected equal"):
        ATTENTIONS[name].make()(
            [zeros(2, 3, 7), zeros(2, 5, 7), zeros(2, 4, 7)]
        )


def test_unequal_depths_of_the_dot_score_name_the_general_score():
    with pytest.raises(ValueError, match="Expected equal units.*GeneralScore"):
        LuongAttention("dot")([zeros(2, 3, 5), zeros(2, 7, 11)])


@pytest.mark.parametrize(
    ("masks", "match"),
    [
        (
            [None, np.ones((2, 3), dtype=bool)],
            r"`value_mask` of shape \(2, 3\) .*Expected \(2, 5\): \(batch, len",
        ),
        (
            [np.ones((2, 5), dtype=bool), None],
            r"`query_mask` of shape \(2, 5\) .*Expected \(2, 3\): \(batch, len",
        ),
        (
            [None, np.ones((2, 3, 5), dtype=bool)],
            r"`value_mask` of shape \(2, 3, 5\) .*Expected \(2, 5\)",
        ),
        (
            [None, np.ones((5,), dtype=bool)],
            r"`value_mask` of shape \(5,\) .*Expected \(2, 5\)",
        ),
        (
            np.ones((2, 5), dtype=bool),
            r"mask=\(2, 5\) for 2 inputs. Expected a list \[query_mask, value_",
        ),
        (
            [np.ones((2, 3), dtype=bool)],
            r"Expected a list \[query_mask, value_mask\]",
        ),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks, match):
    """Reported as keras-team/keras#22037: another length was accepted."""
    with pytest.raises(ValueError, match=match):
        BahdanauAttention(7)([zeros(2, 3, 7), zeros(2, 5, 7)], mask=masks)


def test_list_of_masks_for_a_single_tensor_is_refused():
    mask = np.ones((2, 3), dtype=bool)
    match = (
        r"list of 2 masks for a single tensor. Expected one mask \(batch, len"
    )
    with pytest.raises(ValueError, match=match):
        BahdanauAttention(7)(zeros(2, 3, 7), mask=[mask, mask])


@pytest.mark.parametrize("count", [1, 4])
def test_other_numbers_of_inputs_are_refused(count):
    match = rf"length {count}. Expected \[query, value\] or \[query, value, key"
    with pytest.raises(ValueError, match=match):
        BahdanauAttention(7)([zeros(2, 3, 7)] * count)


@pytest.mark.parametrize(
    "make", [lambda **k: BahdanauAttention(7, **k), LuongAttention]
)
def test_unknown_probability_and_bad_dropout_are_refused(make):
    match = "Expected one of: 'softmax', 'sparsemax', 'hardmax'"
    for probability in ("soft", None, ["softmax"]):
        with pytest.raises(ValueError, match=match):
            make(probability=probability)
    for dropout in (1.0, -0.1, None, "0.1"):
        with pytest.raises(ValueError, match="Expected a number from 0 up to"):
            make(dropout=dropout)


# Configuration.


@pytest.mark.parametrize("layer", [BahdanauAttention, LuongAttention])
def test_every_argument_is_in_the_config(layer):
    """Reported as tensorflow/tensorflow#32662, tensorflow/tensorflow#33380."""
    config = (layer(7) if layer is BahdanauAttention else layer()).get_config()
    arguments = set(inspect.signature(layer).parameters) - {"kwargs"}
    assert arguments < set(config)


@pytest.mark.parametrize(
    ("layer", "arguments"),
    [
        (
            BahdanauAttention,
            {
                "units": 7,
                "normalize": True,
                "probability": "sparsemax",
                "dropout": 0.3,
            },
        ),
        (
            LuongAttention,
            {
                "score": "dot",
                "units": None,
                "scale": "sqrt",
                "probability": "hardmax",
                "dropout": 0.3,
            },
        ),
        (LuongAttention, {"score": "concat", "units": 5}),
    ],
)
def test_config_holds_what_was_given(layer, arguments):
    config = layer(**arguments, dtype="mixed_bfloat16").get_config()
    assert {name: config[name] for name in arguments} == arguments


@every_attention
def test_config_makes_an_equal_layer(name):
    """Reported as thushv89/attention_keras#19."""
    attention = ATTENTIONS[name].make(
        name="named", dtype="mixed_bfloat16", dropout=0.3
    )
    config = attention.get_config()
    again = type(attention).from_config(config)
    assert again.get_config() == config
    assert again.name == "named"
    assert again.compute_dtype == again.score.compute_dtype == "bfloat16"
    assert type(again.score) is type(attention.score)


def test_config_is_not_changed_by_use():
    config = LuongAttention(GeneralScore("sqrt")).get_config()
    before = str(config)
    LuongAttention.from_config(config)
    assert str(config) == before


def test_score_layer_that_is_built_keeps_its_weights(rng):
    score = GeneralScore()
    inputs = [zeros(2, 3, 5) + 1, rng.normal(size=(2, 7, 11))]
    first, second = LuongAttention(score), LuongAttention(score)
    expected = first(inputs)
    np.testing.assert_array_equal(second(inputs), expected)
    assert len(score.weights) == 1


def test_base_class_takes_any_score(rng):
    query, value = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 7, 5))
    received = Attention(DotScore())([query, value])
    expected = LuongAttention("dot")([query, value])
    np.testing.assert_array_equal(received, expected)
