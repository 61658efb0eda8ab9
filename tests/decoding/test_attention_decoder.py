import keras
import numpy as np
import pytest
from backends import COMPILE_FIT
from backends import COMPILED_MODES
from backends import SIZES_MAY_BE_UNKNOWN
from backends import count_traces
from backends import in_mode
from crossing_beams import CrossingBeams
from keras import ops
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import INNER_CELLS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import make_decoder
from layer_catalogue import make_rnn
from layer_catalogue import randomize

import keras_attention


START, END, MAX_LENGTH = 1, 2, 9
KINDS = ["bahdanau_residual", "luong", "luong_feeding"]


def lively_decoder(rng, cell="bahdanau", inner="gru", scale=1.2, **kwargs):
    """A decoder with random weights whose rows end at different steps."""
    decoder = make_decoder(cell, inner, **kwargs)
    decoder.build((None, None), (None, None, MEMORY_UNITS))
    randomize(decoder, rng, scale)
    bias = np.array(decoder.output_layer.bias)
    bias[END] += 2.0
    decoder.output_layer.bias.assign(bias)
    return decoder


def generate(decoder, memory, **kwargs):
    arguments = {
        "start_token": START,
        "end_token": END,
        "max_length": MAX_LENGTH,
        **kwargs,
    }
    return decoder.generate(memory, **arguments)


def ending_token(decoder, memory, memory_mask):
    """The token that ends the rows at the most different steps."""
    tokens = generate(
        decoder, memory, memory_mask=memory_mask, end_token=VOCABULARY_SIZE
    ).tokens
    found = np.array(tokens) == np.arange(VOCABULARY_SIZE)[:, None, None, None]
    first = np.where(np.any(found, -1), np.argmax(found, -1), MAX_LENGTH)
    counts = [len(set(places.ravel())) for places in first]
    counts[START] = 0
    return int(np.argmax(counts))


def teacher_forced(decoder, result, memory, **kwargs):
    """What the decoder says of tokens that it is given, not what it chose.

    Returns:
        Sums of log-probabilities `(batch,)`, and attention scores with 0
        after the end.
    """
    tokens = np.array(result.tokens)[:, 0]
    shifted = np.concatenate([np.full((len(tokens), 1), START), tokens], axis=1)
    is_token = np.arange(tokens.shape[1]) < np.array(result.lengths)
    logits, *_, scores = decoder(
        shifted[:, :-1], memory, mask=is_token, **kwargs
    )
    logits = np.array(logits, dtype="float64")
    normalizer = np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))
    chosen = np.take_along_axis(logits - normalizer, tokens[..., None], axis=-1)
    sums = np.sum(chosen[..., 0] * is_token, axis=-1)
    return sums, np.array(scores) * is_token[..., None]


# Teacher forcing


@pytest.mark.parametrize("cell", KINDS)
def test_logits_are_the_parts_one_after_the_other(cell, rng):
    decoder = make_decoder(cell, return_attention_scores=True)
    memory = draw_memory(rng)
    tokens = np.where(MASK, rng.integers(1, VOCABULARY_SIZE, MASK.shape), 0)
    state = draw(rng, BATCH, CELL_UNITS)
    logits, scores = decoder(
        tokens, memory, initial_state=[state], memory_mask=MEMORY_MASK
    )
    output, expected_scores = decoder.rnn(
        np.array(decoder.embedding(tokens)),
        memory,
        initial_state=[state],
        mask=MASK,
        memory_mask=MEMORY_MASK,
    )
    kernel = np.array(decoder.output_layer.kernel)
    expected = np.array(output) @ kernel
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-6)
    np.testing.assert_array_equal(logits._keras_mask, MASK)


def test_dropout_drops_outputs_in_training_alone(rng):
    parts = make_decoder()
    decoder = keras_attention.AttentionDecoder(
        parts.embedding, parts.rnn, parts.output_layer, dropout=0.25
    )
    memory = draw_memory(rng)
    tokens = rng.integers(1, VOCABULARY_SIZE, (BATCH, LENGTH))
    decoder(tokens, memory)
    randomize(decoder, rng)
    width = decoder.rnn.cell.output_size
    # The logits are the outputs themselves, as many as there are.
    kernel = np.eye(width, VOCABULARY_SIZE)
    decoder.output_layer.kernel.assign(kernel)
    decoder.output_layer.bias.assign(np.zeros(VOCABULARY_SIZE))
    plain = np.array(decoder(tokens, memory))[..., :width]
    dropped, again = (
        np.array(decoder(tokens, memory, training=True))[..., :width]
        for _ in range(2)
    )
    is_kept = dropped != 0.0
    assert 0.6 < np.mean(is_kept) < 0.9
    np.testing.assert_allclose(
        dropped, np.where(is_kept, plain / 0.75, 0.0), atol=1e-6
    )
    assert np.any(dropped != again)


def test_mask_of_the_tokens_may_be_given(rng):
    """Padding is not always 0. Reported as fastnlp/fastNLP#142."""
    decoder = lively_decoder(rng)
    unmasked = lively_decoder(rng, mask_zero=False)
    unmasked.set_weights(decoder.get_weights())
    memory = draw_memory(rng)
    tokens = rng.integers(1, VOCABULARY_SIZE, MASK.shape)
    np.testing.assert_allclose(
        unmasked(np.where(MASK, tokens, 7), memory, mask=MASK),
        decoder(np.where(MASK, tokens, 0), memory),
        atol=1e-6,
    )


class EmbeddingModel(keras.Model):
    """A model of a user's own, which has no list of inputs."""

    def __init__(self, *layers):
        super().__init__()
        self.parts = list(layers)

    def build(self, tokens_shape):
        for layer in self.parts:
            layer.build(tokens_shape)
            tokens_shape = layer.compute_output_shape(tokens_shape)

    def call(self, tokens):
        for layer in self.parts:
            tokens = layer(tokens)
        return tokens

    def compute_output_shape(self, tokens_shape):
        return (*tokens_shape, 5)


@pytest.mark.parametrize("kind", ["layer", "model", "subclassed"])
def test_embedding_that_makes_no_mask_is_welcome(kind, rng):
    embedding = keras.layers.Embedding(VOCABULARY_SIZE, 3)
    if kind == "model":
        embedding = keras.Sequential([embedding, keras.layers.Dense(5)])
    if kind == "subclassed":
        embedding = EmbeddingModel(embedding, keras.layers.Dense(5))
    decoder = keras_attention.AttentionDecoder(
        embedding,
        make_rnn(return_sequences=True),
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    logits = decoder(np.ones((BATCH, LENGTH), "int32"), draw_memory(rng))
    assert logits.shape == (BATCH, LENGTH, VOCABULARY_SIZE)


def test_symbolic_shapes():
    decoder = make_decoder(return_state=True, return_attention_scores=True)
    logits, state, scores = decoder(
        keras.Input((None,), dtype="int32"), keras.Input((None, MEMORY_UNITS))
    )
    assert logits.shape == (None, None, VOCABULARY_SIZE)
    assert state.shape == (None, CELL_UNITS)
    assert scores.shape == (None, None, None)


def test_decoder_learns_four_pairs(rng):
    """A few steps of over-fitting, then it decodes what it was taught.

    Reported as thushv89/attention_keras#24: the example decoded nothing.
    """
    memory = draw(rng, 4, MEMORY_LENGTH, MEMORY_UNITS)
    targets = np.array(
        [[3, 4, 5, END], [6, END, 0, 0], [7, 3, END, 0], [5, 5, 9, END]]
    )
    tokens = np.concatenate([np.full((4, 1), START), targets[:, :-1]], axis=1)
    tokens = np.where(tokens == END, 0, tokens)
    decoder = make_decoder("luong_residual")
    inputs = [
        keras.Input((None,), dtype="int32"),
        keras.Input((None, MEMORY_UNITS)),
    ]
    model = keras.Model(inputs, decoder(*inputs))
    model.compile(
        keras.optimizers.Adam(0.03),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=COMPILE_FIT,
    )
    repeated = [
        np.tile(part, (80, 1, 1)[: part.ndim]) for part in (tokens, memory)
    ]
    model.fit(repeated, np.tile(targets, (80, 1)), 4, shuffle=False, verbose=0)
    result = generate(decoder, memory, max_length=4)
    np.testing.assert_array_equal(result.tokens[:, 0], targets)


# Decoding


@pytest.mark.parametrize(
    ("cell", "inner"), [*zip(KINDS, ["gru", "lstm", "stacked"], strict=True)]
)
def test_scores_are_the_log_probabilities_of_teacher_forcing(cell, inner, rng):
    """Scores and attention scores step by step equal those of the whole.

    Attention scores that differ are reported in espnet/espnet#1291; how to
    get them at all, in tensorflow/tensorflow#11067.
    """
    decoder = lively_decoder(rng, cell, inner, return_attention_scores=True)
    memory = draw(rng, 11, MEMORY_LENGTH, MEMORY_UNITS)
    memory_mask = rng.uniform(size=(11, MEMORY_LENGTH)) < 0.7
    result = generate(
        decoder,
        memory,
        memory_mask=memory_mask,
        end_token=ending_token(decoder, memory, memory_mask),
    )
    lengths = np.array(result.lengths)[:, 0]
    assert len(set(lengths)) > 1
    sums, scores = teacher_forced(
        decoder, result, memory, memory_mask=memory_mask
    )
    np.testing.assert_allclose(result.scores[:, 0], sums, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.attention_scores[:, 0], scores, atol=1e-4)


def test_every_token_is_the_most_probable_after_those_before(rng):
    decoder = lively_decoder(rng)
    memory = draw(rng, 11, MEMORY_LENGTH, MEMORY_UNITS)
    result = generate(decoder, memory)
    tokens = np.array(result.tokens)[:, 0]
    shifted = np.concatenate([np.full((11, 1), START), tokens], axis=1)[:, :-1]
    best = np.argmax(decoder(shifted, memory, mask=np.ones_like(shifted)), -1)
    is_token = np.arange(MAX_LENGTH) < np.array(result.lengths)
    np.testing.assert_array_equal(tokens[is_token], best[is_token])
    assert np.all(tokens[~is_token] == 0)
    for row, length in zip(tokens, np.array(result.lengths)[:, 0], strict=True):
        assert END not in row[: length - 1]
        assert length == MAX_LENGTH or row[length - 1] == END


@pytest.mark.parametrize("cell", KINDS)
def test_batch_equals_rows_alone(cell, rng):
    decoder = lively_decoder(rng, cell, "lstm")
    memory, state = draw_memory(rng), draw(rng, 2, BATCH, CELL_UNITS)
    memory_mask = np.arange(MEMORY_LENGTH) < np.array([[4], [7], [2]])
    whole = generate(
        decoder, memory, memory_mask=memory_mask, initial_state=list(state)
    )
    for row, length in enumerate([4, 7, 2]):
        one = slice(row, row + 1)
        alone = generate(
            decoder, memory[one, :length], initial_state=list(state[:, one])
        )
        np.testing.assert_array_equal(alone.tokens, whole.tokens[one])
        np.testing.assert_array_equal(alone.lengths, whole.lengths[one])
        np.testing.assert_allclose(alone.scores, whole.scores[one], atol=1e-4)
        np.testing.assert_allclose(
            alone.attention_scores,
            whole.attention_scores[one, ..., :length],
            atol=1e-5,
        )


def test_attached_mask_of_the_memory_is_used(rng):
    decoder = lively_decoder(rng)
    sources = np.where(MEMORY_MASK, rng.integers(1, 5, MEMORY_MASK.shape), 0)
    memory = keras.layers.Embedding(5, MEMORY_UNITS, mask_zero=True)(sources)
    by_itself = generate(decoder, memory)
    by_hand = generate(decoder, np.array(memory), memory_mask=MEMORY_MASK)
    np.testing.assert_array_equal(
        by_itself.attention_scores, by_hand.attention_scores
    )
    assert np.all(np.array(by_itself.attention_scores)[1, 0, :, 0] == 0)


def test_one_line_decodes_with_a_new_decoder(rng):
    """No tiling, no cloning, no wrapper: memory in, tokens out.

    Reported as tensorflow/tensorflow#11904.
    """
    result = make_decoder().generate(
        draw_memory(rng),
        start_token=START,
        end_token=END,
        max_length=MAX_LENGTH,
    )
    assert result.tokens.shape == (BATCH, 1, MAX_LENGTH)


def test_decoding_builds_what_training_uses(rng):
    decoder = make_decoder("luong_feeding", "stacked")
    generate(decoder, draw_memory(rng))
    count = len(decoder.weights)
    decoder(np.ones((BATCH, LENGTH), "int32"), draw_memory(rng))
    other = make_decoder("luong_feeding", "stacked")
    other(np.ones((BATCH, LENGTH), "int32"), draw_memory(rng))
    assert len(decoder.weights) == len(other.weights) == count


def test_several_attentions_decode_with_a_memory_each(rng):
    rnn = keras_attention.AttentionRNN(
        CELLS["luong_feeding"](
            INNER_CELLS["lstm"](),
            [ATTENTIONS["additive"](), ATTENTIONS["general"]()],
        ),
        return_sequences=True,
    )
    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, 3),
        rnn,
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    memories = [draw_memory(rng), draw(rng, BATCH, 3, 23)]
    result = generate(decoder, memories, memory_mask=[MEMORY_MASK, None])
    assert result.attention_scores.shape[-1] == MEMORY_LENGTH


def test_dropout_is_off_in_decoding_also_within_training(rng):
    class Model(keras.Model):
        def __init__(self, decoder):
            super().__init__()
            self.decoder = decoder

        def call(self, memory, training=False):
            return generate(self.decoder, memory).scores

    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, 3),
        keras_attention.AttentionRNN(
            CELLS["bahdanau"](
                keras.layers.GRUCell(CELL_UNITS, dropout=0.5),
                keras_attention.BahdanauAttention(17, dropout=0.5),
            ),
            return_sequences=True,
        ),
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    memory = draw_memory(rng)
    model = Model(decoder)
    np.testing.assert_array_equal(
        model(memory, training=True), model(memory, training=False)
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("cell", KINDS)
def test_half_precision_decodes(cell, policy, rng):
    """Reported as OpenNMT/OpenNMT-tf#834: a dtype error in the decoder."""
    keras.config.set_dtype_policy(policy)
    try:
        decoder = make_decoder(cell, "lstm")
    finally:
        keras.config.set_dtype_policy("float32")
    for dtype in ("float32", policy.removeprefix("mixed_")):
        result = generate(decoder, ops.cast(draw_memory(rng), dtype))
        assert np.all(np.isfinite(result.scores))
        assert np.array(result.scores).dtype == "float32"
    result = generate(decoder, draw_memory(rng).astype("float64"))
    assert np.all(np.isfinite(result.scores))


# Graphs


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_tokens_of_an_embedding_in_a_model_are_not_rounded(policy):
    """A Sequential takes numbers in half precision, which has no 2,049."""
    tokens = np.array([[255, 257, 2047, 2049, 3000]])
    memory = np.zeros((1, MEMORY_LENGTH, MEMORY_UNITS), "float32")
    keras.config.set_dtype_policy(policy)
    try:
        layer = keras.layers.Embedding(3001, 5)
        plain = keras.Sequential([layer])
        right = keras.Sequential([keras.Input([None], dtype="int32"), layer])
        rest = make_rnn("luong", return_sequences=True), keras.layers.Dense(7)
        wrong = keras_attention.AttentionDecoder(plain, *rest)
        with pytest.raises(ValueError, match="begin it with keras.Input"):
            wrong(tokens, memory)
        keras_attention.AttentionDecoder(right, *rest)(tokens, memory)
    finally:
        keras.config.set_dtype_policy("float32")
    rows = ops.cast(layer.embeddings, policy.removeprefix("mixed_"))
    embedded, rows = (
        np.array(ops.cast(part, "float32")) for part in (right(tokens), rows)
    )
    np.testing.assert_array_equal(embedded, rows[tokens])


def test_one_trace_serves_all_batches_and_lengths(rng):
    """Reported as keras-team/keras#20369: a trace for every length."""
    decoder = lively_decoder(rng, "luong_feeding")
    calls = []
    for batch, length in [(3, 5), (1, 11), (2, 20), (5, 7)]:
        mask = np.arange(length) < rng.integers(1, length + 1, (batch, 1))
        calls.append([draw(rng, batch, length, MEMORY_UNITS), mask])

    def run(memory, memory_mask):
        return generate(decoder, memory, memory_mask=memory_mask, max_length=5)

    results, traces = count_traces(
        run,
        [((None, None, MEMORY_UNITS), "float32"), ((None, None), "bool")],
        calls,
    )
    assert traces == (1 if SIZES_MAY_BE_UNKNOWN else len(calls))
    for call, result in zip(calls, results, strict=True):
        expected = run(*call)
        np.testing.assert_array_equal(result.tokens, expected.tokens)
        np.testing.assert_allclose(result.scores, expected.scores, atol=1e-4)
        np.testing.assert_allclose(
            result.attention_scores, expected.attention_scores, atol=1e-5
        )


def test_training_in_a_graph_has_one_trace_for_all_lengths(rng):
    decoder = lively_decoder(rng, "luong")
    calls = [
        [
            rng.integers(1, VOCABULARY_SIZE, (2, length)),
            draw(rng, 2, 3 + length, MEMORY_UNITS),
        ]
        for length in range(5, 21)
    ]
    results, traces = count_traces(
        decoder,
        [((None, None), "int32"), ((None, None, MEMORY_UNITS), "float32")],
        calls,
    )
    assert traces == (1 if SIZES_MAY_BE_UNKNOWN else len(calls))
    assert [part.shape[1] for part in results] == list(range(5, 21))


@pytest.mark.parametrize("mode", COMPILED_MODES)
@pytest.mark.parametrize("cell", ["bahdanau", "luong_feeding"])
def test_compiled_decoding_equals_eager(cell, mode, rng):
    """Reported as keras-team/keras-hub#241 and keras-team/keras-hub#271:
    decoding was no graph.
    """
    decoder = lively_decoder(rng, cell, scale=0.6)
    memory = draw_memory(rng)
    eager = generate(decoder, memory, memory_mask=MEMORY_MASK)
    compiled = in_mode(
        lambda memory, mask: generate(decoder, memory, memory_mask=mask), mode
    )(memory, MEMORY_MASK)
    np.testing.assert_array_equal(compiled.tokens, eager.tokens)
    np.testing.assert_array_equal(compiled.lengths, eager.lengths)
    # XLA orders its sums as it likes.
    np.testing.assert_allclose(compiled.scores, eager.scores, atol=1e-4)
    np.testing.assert_allclose(
        compiled.attention_scores, eager.attention_scores, atol=1e-4
    )


# Beams


@keras.saving.register_keras_serializable(package="tests")
@pytest.mark.parametrize(
    ("cell", "inner"), [*zip(KINDS, ["gru", "lstm", "stacked"], strict=True)]
)
def test_beams_keep_state_memory_and_history_together(cell, inner, rng):
    """What is returned for a beam is what teacher forcing says of it.

    Reported as tensorflow/tensorflow#13154 (no attention with beams) and
    espnet/espnet#510 (attention state that could not be reordered).
    """
    decoder = lively_decoder(rng, cell, inner, return_attention_scores=True)
    # No row ends, so that no beam takes a second best after its end.
    bias = np.array(decoder.output_layer.bias)
    bias[END] = -1e4
    decoder.output_layer.bias.assign(bias)
    memory = draw_memory(rng)
    result = generate(
        decoder, memory, memory_mask=MEMORY_MASK, strategy=CrossingBeams()
    )
    assert result.tokens.shape == (BATCH, 2, MAX_LENGTH)
    for beam in range(2):
        one = type(result)(*(part[:, beam : beam + 1] for part in result))
        sums, scores = teacher_forced(
            decoder, one, memory, memory_mask=MEMORY_MASK
        )
        np.testing.assert_allclose(one.scores[:, 0], sums, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            one.attention_scores[:, 0], scores, atol=1e-4
        )


# Errors and saving


def test_what_is_no_strategy_raises(rng):
    with pytest.raises(TypeError, match=r"for example GreedySearch\(\)"):
        generate(make_decoder(), draw_memory(rng), strategy="greedy")


def test_rnn_that_puts_out_no_sequence_raises():
    with pytest.raises(ValueError, match="return_sequences=True: a decoder"):
        keras_attention.AttentionDecoder(
            keras.layers.Embedding(5, 3), make_rnn(), keras.layers.Dense(5)
        )
    with pytest.raises(ValueError, match="Expected an AttentionRNN"):
        keras_attention.AttentionDecoder(
            keras.layers.Embedding(5, 3),
            keras.layers.GRU(3, return_sequences=True),
            keras.layers.Dense(5),
        )


def test_rnn_that_goes_backwards_cannot_decode():
    with pytest.raises(ValueError, match="Expected .*go_backwards=False"):
        make_decoder(go_backwards=True)


def test_memory_of_rank_2_raises(rng):
    """Reported as tensorflow/addons#1153: the encoder's state as memory."""
    state = draw(rng, BATCH, MEMORY_UNITS)
    expected = r"Expected.*\(batch, time, depth\)"
    with pytest.raises(ValueError, match=expected):
        generate(make_decoder(), state)
    with pytest.raises(ValueError, match=expected):
        generate(lively_decoder(rng), state)
    with pytest.raises(ValueError, match=expected):
        make_decoder()(np.ones((BATCH, LENGTH), "int32"), state)


def test_tokens_of_rank_3_raise(rng):
    tokens = np.ones((BATCH, LENGTH, 1), "int32")
    with pytest.raises(ValueError, match=r"Expected 2 axes: \(batch, length\)"):
        make_decoder()(tokens, draw_memory(rng))


@pytest.mark.parametrize("mode", ["training", "decoding"])
def test_mask_of_wrong_length_raises(mode, rng):
    """Reported as keras-team/keras#22037: another length was accepted."""
    mask = np.ones((BATCH, 4), dtype=bool)
    decoder, tokens = make_decoder(), np.ones((BATCH, LENGTH), "int32")

    def run(memory):
        if mode == "decoding":
            return generate(decoder, memory, memory_mask=mask)
        return decoder(tokens, memory, memory_mask=mask)

    with pytest.raises(ValueError, match=r"Expected \(3, 7\): \(batch, length"):
        run(draw_memory(rng))


def test_states_of_another_number_raise(rng):
    state = draw(rng, BATCH, CELL_UNITS)
    with pytest.raises(ValueError, match="Expected a list of 2"):
        generate(
            make_decoder(inner="lstm"), draw_memory(rng), initial_state=[state]
        )


def test_saved_decoder_decodes_the_same(tmp_path, rng):
    """Reported as tensorflow/addons#2432: a decoder that cannot be saved."""
    decoder = lively_decoder(rng, "luong_feeding", "stacked")
    inputs = [
        keras.Input((None,), dtype="int32"),
        keras.Input((None, MEMORY_UNITS)),
    ]
    model = keras.Model(inputs, decoder(*inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    copy = loaded.get_layer(decoder.name)
    memory = draw_memory(rng)
    expected, received = generate(decoder, memory), generate(copy, memory)
    np.testing.assert_array_equal(received.tokens, expected.tokens)
    np.testing.assert_allclose(received.scores, expected.scores, atol=1e-5)
