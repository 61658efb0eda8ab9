import backends
import keras
import numpy as np
import pytest
import reference_local
from attention_cases import attend_and_differentiate
from backends import COMPILED_MODES
from backends import count_traces
from backends import largest_tensor
from backends import tensorflow_only
from gradients import finite_differences
from gradients import value_and_gradients
from keras import ops
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_MASK
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import make_decoder
from layer_catalogue import make_rnn
from layer_catalogue import randomize
from score_cases import MEMORY_UNITS
from score_cases import QUERY_UNITS
from score_cases import SCORES
from score_cases import UNITS
from score_cases import fill_weights

from keras_attention import GeneralScore
from keras_attention import LocalAttention


BATCH, QUERY_LENGTH, MEMORY_LENGTH = 3, 5, 17
LENGTHS = np.array([17, 2, 9])
POSITIONS = np.arange(MEMORY_LENGTH)

QUERY_MASK = np.array(
    [
        [True, True, True, True, True],
        [True, True, True, False, False],
        [False, True, False, True, True],
    ]
)
MEMORY_MASKS = {
    "no_mask": None,
    "right": POSITIONS < LENGTHS[:, None],
    "left": POSITIONS >= MEMORY_LENGTH - LENGTHS[:, None],
    "holes": np.stack(
        [POSITIONS % 3 != 0, POSITIONS % 7 == 4, POSITIONS % 2 == 0]
    ),
    "empty_row": POSITIONS < np.array([[11], [0], [17]]),
}

both_windows = pytest.mark.parametrize("window", ["monotonic", "predictive"])
every_score = pytest.mark.parametrize(
    "name", ["dot", "general", "concat", "additive", "general_learned"]
)
every_cell = pytest.mark.parametrize(
    "cell", ["bahdanau", "luong", "luong_feeding"]
)
both_local = pytest.mark.parametrize("local", ["local_m", "local_p"])


def make(name, window, half_width=2, **kwargs):
    """Makes a layer; `"general_learned"` is a score of the user's own."""
    score, units = name, None
    if name == "general_learned":
        score = GeneralScore("learned", dtype=kwargs.get("dtype"))
    if name in ("concat", "additive"):
        units = UNITS
    return LocalAttention(score, window, half_width, units, **kwargs)


def built(name, window, rng, half_width=2, reach=4.0, **kwargs):
    """Makes a layer with random weights; `reach` spreads the p_t."""
    attention = make(name, window, half_width, **kwargs)
    query_units = SCORES[name].query_units
    attention.build([(None, None, query_units), (None, None, MEMORY_UNITS)])
    fill_weights(attention, rng)
    if window == "predictive":
        kernel = attention.position_output.kernel
        kernel.assign(reach * kernel)
    return attention


def draw(name, rng, dtype="float64"):
    query_units = SCORES[name].query_units
    query = rng.normal(size=(BATCH, QUERY_LENGTH, query_units))
    value = rng.normal(size=(BATCH, MEMORY_LENGTH, MEMORY_UNITS))
    return query.astype(dtype), value.astype(dtype)


def weights_of(name, attention):
    """Lists the weights in the order in which `equation` takes them."""
    weights = list(SCORES[name].weights(attention.score))
    if attention.window == "predictive":
        weights += [
            attention.position_hidden.kernel,
            attention.position_output.kernel,
        ]
    return weights


def equation(
    name, attention, query, key, *weights, value=None, causal=False, masks
):
    """Returns context and attention scores of the paper."""
    shares = None
    if attention.window == "predictive":
        *weights, hidden, output = weights
        shares = reference_local.predicted_shares(query, hidden, output)
    scores = SCORES[name].equation(query, key, *weights)
    return reference_local.attend(
        scores / attention.temperature,
        key if value is None else value,
        attention.half_width,
        shares,
        *masks,
        causal,
    )


def assert_same(received, expected, **tolerance):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


def check_equation(name, attention, query, key, value, masks, causal=False):
    received = attention(
        [query, value, key],
        mask=masks,
        use_causal_mask=causal,
        return_attention_scores=True,
    )
    expected = equation(
        name,
        attention,
        query,
        key,
        *map(ops.convert_to_numpy, weights_of(name, attention)),
        value=value,
        causal=causal,
        masks=masks,
    )
    # On PyTorch attention scores are put to their places in float32.
    assert_same(received, expected, rtol=1e-7, atol=1e-9)


# The equation.


@both_windows
@every_score
def test_results_are_those_of_the_equation(name, window, rng):
    """Reported as tensorflow/tensorflow#10842: local attention is missing."""
    attention = built(name, window, rng, dtype="float64", temperature=0.7)
    value = rng.normal(size=(BATCH, MEMORY_LENGTH, 19))
    masks = QUERY_MASK, MEMORY_MASKS["holes"]
    check_equation(name, attention, *draw(name, rng), value, masks)


@both_windows
@pytest.mark.parametrize("half_width", [1, 7, 16, 23])
@pytest.mark.parametrize("kind", MEMORY_MASKS)
def test_lengths_are_those_of_each_example(kind, half_width, window, rng):
    """Reported as OpenNMT/OpenNMT-py#2091, harvardnlp/seq2seq-attn#18."""
    attention = built("general", window, rng, half_width, dtype="float64")
    query, value = draw("general", rng)
    for query_mask, causal in [(None, False), (QUERY_MASK, True)]:
        masks = query_mask, MEMORY_MASKS[kind]
        check_equation("general", attention, query, value, value, masks, causal)


@both_windows
@every_score
def test_gradients_are_those_of_the_equation(name, window, rng):
    """Also for p_t. Seen in the code of uzaymacar/attention-mechanisms."""
    attention = built(name, window, rng, 1, reach=1.0, dtype="float64")
    query, value = (array[:2, :5] for array in draw(name, rng))
    masks = np.array(
        [[True, True, False, True, True], [True, True] + 3 * [False]]
    )
    masks = masks[::-1], masks
    weights = weights_of(name, attention)
    assert len(weights) == len(attention.trainable_weights)
    shares = rng.normal(size=value.shape)

    def function(*arrays):
        context = attention(arrays, mask=masks)
        return [ops.sum(ops.multiply(shares, context))]

    def expected_function(*arrays):
        context, _ = equation(name, attention, *arrays, masks=masks)
        return np.sum(shares * context)

    _, received = value_and_gradients(function, [query, value], weights)
    expected = finite_differences(
        expected_function, [query, value, *map(ops.convert_to_numpy, weights)]
    )
    assert_same(received, expected, rtol=1e-6, atol=1e-7)
    assert all(np.any(gradient != 0) for gradient in received)
    for gradient, mask in zip(received, masks, strict=False):
        np.testing.assert_array_equal(gradient[~mask], 0)


# On paper. The queries are 1 and the memory is of logarithms, so that the
# exponentials of the scores are 2, 3, 5, (padding), 4 and 7.

MEMORY = np.log([[2.0, 3.0, 5.0, 9.0, 4.0, 7.0]])[..., None]
IS_WORD = np.array([[True, True, True, False, True, True]])


def test_monotonic_window_can_be_checked_on_paper():
    """D = 1; the last two windows would be empty.

    Seen in the code of uzaymacar/attention-mechanisms: no edge at +D.
    """
    attention = LocalAttention("dot", "monotonic", half_width=1)
    _, scores = attention(
        [np.ones((1, 8, 1)), MEMORY],
        mask=[None, IS_WORD],
        return_attention_scores=True,
    )
    expected = [
        [2 / 5, 3 / 5, 0, 0, 0, 0],
        [2 / 10, 3 / 10, 5 / 10, 0, 0, 0],
        [0, 3 / 12, 5 / 12, 0, 4 / 12, 0],
        [0, 0, 5 / 16, 0, 4 / 16, 7 / 16],
        [0, 0, 0, 0, 4 / 11, 7 / 11],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1],
    ]
    np.testing.assert_allclose(scores[0], expected, rtol=1e-5)


def test_predictive_window_can_be_checked_on_paper():
    """p_t = 5 sigmoid(2 ln(2/3) tanh(W)), with tanh(W) = 1/2: 5 * 2/5 = 2.

    With 4/9 in place of 2/3 it is 5 * 4/13 = 20/13. The window of D = 1 is
    [1, 3] and [0, 2], and the Gaussian of sigma = 1/2 is exp(-2 (s - p_t)^2).
    """
    attention = LocalAttention("dot", half_width=1)
    attention.build([(1, 1, 1), (1, 6, 1)])
    attention.position_hidden.kernel.assign([[np.arctanh(0.5)]])
    for odds, softmax, distances in (
        # A little more than 2, so that rounding does not make it less.
        (2.0001 / 3, [0, 3 / 12, 5 / 12, 0, 4 / 12, 0], [0, 1, 0, 0, 1, 0]),
        (
            4 / 9,
            [2 / 10, 3 / 10, 5 / 10, 0, 0, 0],
            [20 / 13, 7 / 13, 6 / 13, 0, 0, 0],
        ),
    ):
        attention.position_output.kernel.assign([[2 * np.log(odds)]])
        context, scores = attention(
            [np.ones((1, 1, 1)), MEMORY],
            mask=[None, IS_WORD],
            return_attention_scores=True,
        )
        expected = softmax * np.exp(-2 * np.square(distances))
        np.testing.assert_allclose(scores[0, 0], expected, rtol=1e-3)
        np.testing.assert_allclose(
            context[0, 0], expected @ MEMORY[0], rtol=1e-3
        )


def test_scaled_place_is_that_of_smaller_weights(rng):
    """With sqrt(13) times the weights of v_p it is where it was before."""
    plain, scaled = (
        built("general", "predictive", rng, dtype="float64", position_scale=how)
        for how in (False, "sqrt")
    )
    for one, other in zip(scaled.weights, plain.weights, strict=True):
        one.assign(other)
    scaled.position_output.kernel.assign(
        np.sqrt(QUERY_UNITS) * plain.position_output.kernel
    )
    inputs = draw("general", rng)
    results = [
        attention(inputs, return_attention_scores=True)
        for attention in (scaled, plain)
    ]
    assert_same(*results, rtol=1e-7, atol=1e-9)


# The window.


@pytest.mark.parametrize(
    ("direction", "share"), [(-1e4, 0.0), (0.0, 0.5), (1e4, 1.0)]
)
def test_predicted_place_is_within_the_sentence(direction, share, rng):
    """Also where the sigmoid is exactly 0 or 1.

    Reported as EdinburghNLP/nematus#18: one length for all examples.
    """
    attention = built("general", "predictive", rng)
    attention.position_hidden.kernel.assign(np.eye(QUERY_UNITS))
    attention.position_output.kernel.assign(
        np.full((QUERY_UNITS, 1), direction)
    )
    # Equal scores leave the Gaussian to be seen.
    attention.score.memory_layer.kernel.assign(
        np.zeros((MEMORY_UNITS, QUERY_UNITS))
    )
    query, value = draw("general", rng, "float32")
    mask = MEMORY_MASKS["right"]
    context, scores, *gradients = attend_and_differentiate(
        attention, np.abs(query), value, [None, mask]
    )
    for b in range(BATCH):
        place = LENGTHS[b] * share
        center = min(int(place), LENGTHS[b] - 1)
        window = (np.abs(POSITIONS - center) <= 2) & mask[b]
        expected = np.exp(-((POSITIONS - place) ** 2) / 2) / np.sum(window)
        np.testing.assert_allclose(
            scores[b], [window * expected] * QUERY_LENGTH, rtol=1e-5
        )
    for array in (context, *gradients):
        assert np.all(np.isfinite(array))


# Masks.


@both_windows
@pytest.mark.parametrize("columns", [0, 1, 7])
@pytest.mark.parametrize("place", ["right", "left", "between"])
def test_more_padding_changes_nothing(place, columns, window, rng):
    """Reported as tensorflow/tensorflow#512."""
    attention = built("general", window, rng)
    arrays = draw("general", rng, "float32")
    expected = attention(arrays, return_attention_scores=True)
    padded, masks = [], []
    for array in arrays:
        length = array.shape[1]
        at = {"right": length, "left": 0, "between": 2}[place]
        mask = np.insert(
            np.ones((BATCH, length), dtype=bool), [at] * columns, False, axis=1
        )
        padded.append(np.insert(array, [at] * columns, np.nan, axis=1))
        masks.append(mask)
    context, scores = map(
        np.array, attention(padded, mask=masks, return_attention_scores=True)
    )
    rows, places = masks[0][0], masks[1][0]
    received = context[:, rows], scores[:, rows][:, :, places]
    assert_same(received, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(context[:, ~rows], 0)
    np.testing.assert_array_equal(scores[:, ~(rows[:, None] & places)], 0)


@both_windows
@pytest.mark.parametrize(
    ("policy", "tolerance"), [("float16", 0.01), ("mixed_bfloat16", 0.08)]
)
def test_half_precision_is_near_float32(policy, tolerance, window, rng):
    """An empty row is in the batch; its gradients are finite too."""
    # Odd lengths and a small reach: no p_t is near the edge of a position.
    masks = [QUERY_MASK, MEMORY_MASKS["empty_row"]]
    exact = built("general", window, rng, 3, reach=0.05)
    half = make("general", window, 3, dtype=policy)
    half.build([(None, None, QUERY_UNITS), (None, None, MEMORY_UNITS)])
    for new, old in zip(half.weights, exact.weights, strict=True):
        new.assign(old)
    arrays = draw("general", rng, "float32")
    expected = attend_and_differentiate(exact, *arrays, masks)
    received = attend_and_differentiate(half, *arrays, masks)
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(
            one.astype("float32"),
            other,
            rtol=0,
            atol=tolerance * np.max(np.abs(other)),
        )


# Steps.


@both_windows
def test_steps_are_the_rows_of_the_whole_sequence(window, rng):
    attention = built("additive", window, rng)
    query, value = map(ops.convert_to_tensor, draw("additive", rng))
    mask = MEMORY_MASKS["holes"]
    expected = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    memory = attention.prepare_memory(value, ops.convert_to_tensor(mask))
    state = attention.initial_state(memory)
    for i in range(QUERY_LENGTH):
        *received, state = attention.step(query[:, i], memory, state)
        assert_same(received, [part[:, i] for part in expected], atol=1e-6)
        assert len(state) == attention.num_states


def local_rnn(cell, local, rng):
    rnn = make_rnn(
        cell,
        "gru",
        local,
        return_sequences=True,
        return_state=True,
        return_attention_scores=True,
    )
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    rnn.build(sequences.shape, memory.shape)
    randomize(rnn, rng)
    return rnn, sequences, memory


@every_cell
@both_local
def test_loop_equals_its_cell_step_by_step(local, cell, rng):
    rnn, sequences, memory = local_rnn(cell, local, rng)
    received_output, *received_states, received_scores = rnn(
        sequences, memory, mask=MASK, memory_mask=MEMORY_MASK
    )
    prepared = rnn.cell.prepare_memory(
        ops.convert_to_tensor(memory), ops.convert_to_tensor(MEMORY_MASK)
    )
    states = rnn.cell.get_initial_state(len(memory), prepared)
    output, scores = np.zeros((len(memory), 1)), np.zeros((len(memory), 1))
    for i in range(LENGTH):
        valid = MASK[:, i, None]
        new_output, new_states, (new_scores,) = rnn.cell(
            ops.convert_to_tensor(sequences[:, i]), states, prepared
        )
        output = np.where(valid, new_output, output)
        scores = np.where(valid, new_scores, scores)
        states = [
            ops.where(valid, *pair)
            for pair in zip(new_states, states, strict=True)
        ]
        np.testing.assert_allclose(received_output[:, i], output, atol=1e-5)
        np.testing.assert_allclose(received_scores[:, i], scores, atol=1e-5)
    assert_same(received_states, states, atol=1e-5)
    if local == "local_m":  # a masked step is none
        dtype = keras.backend.standardize_dtype(received_states[-1].dtype)
        assert dtype == "int32"
        np.testing.assert_array_equal(
            received_states[-1], MASK.sum(-1, keepdims=True)
        )


@pytest.mark.parametrize("cell", ["bahdanau", "luong"])
def test_two_halves_equal_the_whole(cell, rng):
    """The step that local-m has reached is a state like any other."""
    rnn, sequences, memory = local_rnn(cell, "local_m", rng)
    output, *states, scores = rnn(sequences, memory, mask=MASK)
    middle = None
    for half in (slice(2), slice(2, None)):
        mask = MASK[:, half]
        half_output, *middle, half_scores = rnn(
            sequences[:, half], memory, mask=mask, initial_state=middle
        )
        # A masked step repeats what the same call put out before it.
        for part, whole in [(half_output, output), (half_scores, scores)]:
            part, whole = np.array(part), np.array(whole)[:, half]
            np.testing.assert_allclose(part[mask], whole[mask], atol=1e-5)
    assert_same(middle, states, atol=1e-5)


@pytest.mark.parametrize("cell", ["bahdanau", "luong_feeding"])
@both_local
def test_decoding_equals_teacher_forcing_of_its_tokens(local, cell, rng):
    decoder = make_decoder(cell, attention=local, return_attention_scores=True)
    memory = draw_memory(rng)
    decoder.build((None, None), memory.shape)
    randomize(decoder, rng)
    result = decoder.generate(memory, start_token=1, end_token=2, max_length=7)
    tokens = np.array(result.tokens)[:, 0]
    is_token = np.arange(7) < np.array(result.lengths)
    shifted = np.insert(tokens, 0, 1, axis=1)[:, :-1]
    logits, scores = decoder(shifted, memory, mask=is_token)
    chosen = np.where(is_token, np.argmax(np.array(logits), axis=-1), 0)
    np.testing.assert_array_equal(tokens, chosen)
    np.testing.assert_allclose(
        np.array(result.attention_scores)[:, 0],
        np.array(scores) * is_token[..., None],
        atol=1e-5,
    )


# Dropout.


@both_windows
def test_dropout_drops_weights_of_the_window(window, rng):
    """The value is the identity: its context is the weights themselves."""
    attention = built("general", window, rng, 5, dropout=0.5)
    query, key = draw("general", rng, "float32")
    value = np.stack([np.eye(MEMORY_LENGTH, dtype="float32")] * BATCH)
    weights, scores = attention(
        [query, value, key], return_attention_scores=True, training=True
    )
    _, expected = attention([query, value, key], return_attention_scores=True)
    np.testing.assert_array_equal(scores, expected)
    weights, scores = np.array(weights), np.array(scores)
    is_kept = weights != 0
    np.testing.assert_allclose(weights, 2 * scores * is_kept, rtol=1e-6)
    assert 0.2 < np.mean(is_kept[scores != 0]) < 0.8


def test_dropout_is_drawn_for_every_step_of_a_loop(rng):
    rnn, sequences, memory = local_rnn("luong", "local_m", rng)
    rnn.cell.attention.dropout = 0.5
    output, *_, scores = rnn(sequences, memory)
    dropped, *_, same_scores = rnn(sequences, memory, training=True)
    np.testing.assert_allclose(same_scores, scores, atol=1e-6)
    difference = np.max(np.abs(np.array(output - dropped)), axis=-1)
    assert np.all(np.any(difference > 1e-3, axis=0))


# Graphs.


@both_windows
@pytest.mark.parametrize("mode", COMPILED_MODES)
def test_compiled_gradients_are_those_of_eager_mode(mode, window, rng):
    attention = built("concat", window, rng)
    arrays = draw("concat", rng, "float32")
    masks = [QUERY_MASK, MEMORY_MASKS["empty_row"]]
    expected = attend_and_differentiate(attention, *arrays, masks)
    received = attend_and_differentiate(attention, *arrays, masks, mode=mode)
    assert_same(received, expected, rtol=1e-4, atol=1e-5)


@tensorflow_only("sizes that are unknown")
@both_windows
def test_one_trace_serves_every_length(window, rng):
    attention = built("general", window, rng)
    masks = (None, None), "bool"
    shapes = [
        ((None, None, QUERY_UNITS), "float32"),
        ((None, None, MEMORY_UNITS), "float32"),
        masks,
        masks,
    ]
    calls = [
        [
            rng.normal(size=(batch, query_length, QUERY_UNITS)),
            rng.normal(size=(batch, memory_length, MEMORY_UNITS)),
            rng.random((batch, query_length)) < 0.7,
            rng.random((batch, memory_length)) < 0.7,
        ]
        for batch, query_length, memory_length in [(2, 3, 5), (1, 7, 1)]
    ]

    def function(query, value, *masks):
        return attention(
            [query, value],
            mask=masks,
            use_causal_mask=True,
            return_attention_scores=True,
        )

    results, traces = count_traces(function, shapes, calls)
    assert traces == 1
    for arrays, received in zip(calls, results, strict=True):
        assert_same(received, function(*arrays), atol=1e-5)


@pytest.mark.parametrize("name", ["general", "additive", "concat"])
def test_no_tensor_holds_all_pairs_and_units(name, rng):
    """Reported as CyberZHG/keras-multi-head#1: a width saved no memory."""
    attention = built(name, "predictive", rng)
    batch, query_length, memory_length = 2, 101, 499

    def function(query, value):
        context, scores = attention(
            [query, value], return_attention_scores=True
        )
        return [ops.sum(context) + ops.sum(ops.square(scores))]

    def differentiate(*arrays):
        return backends.differentiate(
            function, arrays, attention.trainable_weights, "eager"
        )

    largest = largest_tensor(
        differentiate,
        (batch, query_length, QUERY_UNITS),
        (batch, memory_length, MEMORY_UNITS),
    )
    # The attention scores; PyTorch adds a number where it puts them.
    assert 0 <= largest - batch * query_length * memory_length <= 1


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": "global"}, "Expected one of: 'monotonic', 'predictive'"),
        ({"position_scale": True}, "Expected one of: False, 'sqrt'"),
        (
            {"position_scale": "sqrt", "window": "monotonic"},
            "Expected window='predictive', or no position_scale",
        ),
        ({"half_width": 0}, "Expected a positive integer"),
        ({"half_width": -1}, "Expected a positive integer"),
        ({"half_width": 2.5}, "Expected a positive integer"),
        ({"half_width": True}, "Expected a positive integer"),
        ({"score": "concat"}, "Expected the width of its hidden layer"),
        ({"score": "dot", "units": 5}, "Expected units only for"),
        ({"score": "location"}, "Expected one of: 'additive', 'concat'"),
        ({"score": keras.layers.Dense(1)}, "Expected one of: 'additive'"),
    ],
)
def test_wrong_arguments_say_what_is_expected(arguments, message):
    with pytest.raises(ValueError, match=message):
        LocalAttention(**arguments)


@both_windows
@pytest.mark.parametrize("name", ["additive", "general_learned"])
def test_saved_layer_is_the_same(name, window, rng, tmp_path):
    arguments = {"probability": "sparsemax", "dropout": 0.3, "temperature": 0.7}
    if window == "predictive":
        arguments["position_scale"] = "sqrt"
    attention = make(name, window, 3, **arguments)
    inputs = keras.Input((None, QUERY_UNITS)), keras.Input((None, MEMORY_UNITS))
    model = keras.Model(inputs, attention(inputs, return_attention_scores=True))
    fill_weights(attention, rng)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    config = loaded.get_layer(attention.name).get_config()
    expected = {"window": window, "half_width": 3, **arguments}
    assert {key: config[key] for key in expected} == expected
    arrays = draw(name, rng, "float32")
    assert_same(loaded(arrays), model(arrays), atol=1e-6)
