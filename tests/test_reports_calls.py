"""What was reported against other libraries and holds here: calls.

Order of arguments, sizes of batches, traces, and what a cell computes.
"""

import keras
import numpy as np
import pytest
import reference
import reference_recurrent
from backends import COMPILE_FIT
from backends import TWO_MODES
from backends import count_traces
from backends import differentiate
from backends import in_mode
from backends import tensorflow_only
from comparison import assert_close
from keras import ops
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import EVERYTHING
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import make_decoder
from layer_catalogue import make_rnn
from layer_catalogue import randomize

import keras_attention


START, END = 1, 2


def randomized(layer, rng, scale=0.6, inputs=(None, None, INPUT_UNITS)):
    layer.build(inputs, (None, None, MEMORY_UNITS))
    randomize(layer, rng, scale)
    return layer


def randomized_decoder(rng, cell="bahdanau", inner="gru", scale=1.2):
    decoder = make_decoder(cell, inner)
    return randomized(decoder, rng, scale, inputs=(None, None))


def generate(decoder, memory, *masks, **kwargs):
    return decoder.generate(
        memory, *masks, start_token=START, end_token=END, max_length=5, **kwargs
    )


# What a call needs, and in which order.


@pytest.mark.parametrize("attention", ["additive", "coverage"])
@pytest.mark.parametrize("kind", ["bahdanau", "luong_feeding"])
def test_initial_state_has_one_name_and_is_what_a_layer_starts_from(
    kind, attention, rng
):
    """Reported as tensorflow/addons#647: `zero_state` was gone, and nothing
    said what had come in its place, or how to put an encoder's state in.
    """
    rnn = randomized(make_rnn(kind, "lstm", attention, **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    prepared = rnn.cell.prepare_memory(memory)
    states = rnn.cell.get_initial_state(BATCH, prepared)
    received = rnn(sequences, memory, initial_state=states)
    assert_close(received, rnn(sequences, memory))
    encoded = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]
    received = rnn(sequences, memory, initial_state=[*encoded, *states[2:]])
    assert_close(received, rnn(sequences, memory, initial_state=encoded))


class Copying(keras_attention.GreedySearch):
    """Beams of one example that all do the same."""

    num_beams = 3
    num_return = 3


@pytest.mark.parametrize("mode", TWO_MODES)
def test_beams_need_no_tiling_by_the_user(mode, rng):
    """Memory, mask and states go in as in training, also with beams.

    Reported as tensorflow/tensorflow#11904, tensorflow/tensorflow#11598,
    tensorflow/tensorflow#10433, tensorflow/tensorflow#17819 and
    tensorflow/tensorflow#23251 ("a WHOLE afternoon"): nobody knew what to
    tile, and what to clone.
    """
    decoder = randomized_decoder(rng, "luong_feeding", "lstm")
    states = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]
    inputs = [draw_memory(rng), MEMORY_MASK, states]
    greedy = generate(decoder, *inputs)
    beams = in_mode(
        lambda *inputs: generate(decoder, *inputs, strategy=Copying()), mode
    )(*inputs)
    for one, other in zip(beams, greedy, strict=True):
        assert_close(one, np.repeat(other, 3, axis=1), 1e-4)


def attend(query_batch, memory_batch):
    return ATTENTIONS["additive"]()(
        [ops.ones((query_batch, 5, 2)), ops.ones((memory_batch, 7, 3))]
    )


def run(query_batch, memory_batch):
    sequences = ops.ones((query_batch, 5, 2))
    return make_rnn()(sequences, ops.ones((memory_batch, 7, 3)))


def decode(query_batch, memory_batch):
    tokens = ops.ones((query_batch, 5), "int32")
    return make_decoder()(tokens, ops.ones((memory_batch, 7, 3)))


def start(query_batch, memory_batch):
    state = ops.ones((query_batch, CELL_UNITS))
    memory = ops.ones((memory_batch, 7, 3))
    return generate(make_decoder(), memory, initial_state=[state])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (attend, "query: 10, memory: 2.*Expected equal sizes.*ops.repeat"),
        (run, "sequences: 10, memory: 2.*Expected equal sizes.*ops.repeat"),
        (decode, "sequences: 10, memory: 2.*Expected equal sizes.*ops.repeat"),
        (start, r"\(10, 13\). Expected \(2, 13\): \(batch, units\)"),
    ],
)
def test_batches_that_differ_are_both_named(call, expected):
    """Reported as Maluuba/qgen-workshop#18 and Kyubyong/tacotron#89: the
    memory had been tiled for beams and the query had not, or the reverse.
    """
    with pytest.raises(ValueError, match=expected):
        call(10, 2)


def make_translator():
    """A model of sources and targets; its encoder; and its decoder."""
    sources, targets = (keras.Input((None,), dtype="int32") for _ in range(2))
    embedding = keras.layers.Embedding(VOCABULARY_SIZE, 11)
    encoder = keras.layers.Bidirectional(
        keras.layers.GRU(7, return_sequences=True, return_state=True)
    )
    bridge = keras_attention.StateBridge(units=CELL_UNITS)
    decoder = make_decoder("luong_residual")

    def encode(sources):
        mask = ops.not_equal(sources, 0)
        memory, *states = encoder(embedding(sources), mask=mask)
        return {
            "memory": memory,
            "memory_mask": mask,
            "initial_state": bridge(states),
        }

    logits = decoder(targets, **encode(sources))
    return keras.Model([sources, targets], logits), encode, decoder


def test_last_batch_may_be_smaller(rng):
    """Reported as JasonForJoy/SA-BERT#4: the last batch was of one row, and
    the states were of the batches before.
    """
    model, _, _ = make_translator()
    randomize(model, rng)
    sources = rng.integers(1, VOCABULARY_SIZE, (5, MEMORY_LENGTH))
    targets = rng.integers(1, VOCABULARY_SIZE, (5, LENGTH))
    received = model.predict([sources, targets], batch_size=2, verbose=0)
    assert_close(received, model([sources, targets]), 1e-5)


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_layer_with_two_memories_equals_two_layers(kind, rng):
    """Reported as tensorflow/addons#535 and mended in tensorflow/addons#547:
    the memory of the first call was used in the second.
    """
    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
    ]
    rnn = make_rnn(kind, **EVERYTHING)
    model = keras.Model(
        inputs, [rnn(inputs[0], memory) for memory in inputs[1:]]
    )
    randomize(model, rng)
    sequences = draw_sequences(rng)
    memories = [draw_memory(rng), draw(rng, BATCH, 3, MEMORY_UNITS)]
    expected = []
    for memory in memories:
        fresh = make_rnn(kind, **EVERYTHING)
        fresh.build(sequences.shape, memory.shape)
        fresh.set_weights(rnn.get_weights())
        expected.append(fresh(sequences, memory))
    assert_close(model([sequences, *memories]), expected)


@pytest.mark.parametrize(
    "strategy",
    [
        "beam_search",
        keras_attention.GreedySearch,
        keras.layers.Dense(VOCABULARY_SIZE),
    ],
    ids=["name", "class", "layer"],
)
def test_what_is_no_strategy_is_refused(strategy, rng):
    """Reported as tensorflow/tensorflow#55223: a sampler and a decoder that
    do not belong together failed somewhere within.
    """
    expected = r"Expected a decoding strategy object, .*GreedySearch\(\)"
    with pytest.raises(TypeError, match=expected):
        generate(make_decoder(), draw_memory(rng), strategy=strategy)
    with pytest.raises(TypeError, match=expected):
        keras_attention.decode(
            lambda tokens, state: (ops.ones((1, 3)), state, None),
            [],
            batch_size=1,
            start_token=START,
            end_token=END,
            max_length=3,
            strategy=strategy,
        )


# Shapes of scores.


@pytest.mark.parametrize(
    "sizes",
    [(3, 5, 7, 2, 11, 17), (2, 2, 2, 2, 2, 2), (5, 1, 5, 1, 5, 1)],
    ids=["all_differ", "all_equal", "ones"],
)
@pytest.mark.parametrize("name", ["additive", "concat"])
def test_scores_of_a_batch_are_those_of_each_pair(name, sizes, rng):
    """Reported as sooftware/attentions#2 and spro/practical-pytorch#82: the
    sum of query and key had been written for a single example, and could not
    be broadcast, or was wrongly, for a batch.
    """
    batch, query_length, memory_length, query_units, memory_units, units = sizes
    query = draw(rng, batch, query_length, query_units)
    memory = draw(rng, batch, memory_length, memory_units)
    attention = {
        "additive": keras_attention.BahdanauAttention(units),
        "concat": keras_attention.LuongAttention("concat", units=units),
    }[name]
    attention.build([query.shape, memory.shape])
    randomize(attention, rng)
    scores = reference_recurrent.scores_of  # of one query an example
    scores = [
        scores(attention, query[:, i], memory) for i in range(query_length)
    ]
    expected = reference.attend(np.concatenate(scores, axis=1), memory)
    received = attention([query, memory], return_attention_scores=True)
    assert_close(received, expected, 1e-5)


@pytest.mark.parametrize("units", [(1, 11), (11, 1)], ids=str)
@pytest.mark.parametrize("kind", ["bahdanau", "luong", "luong_feeding"])
def test_depth_of_1_is_not_broadcast(kind, units, rng):
    """Reported as tensorflow/nmt#454, where a user's attention mixed up its
    axes. `keras.layers.Attention` multiplies a depth of 1 with any other.
    """
    cell_units, memory_units = units

    def make():
        attention = keras_attention.LuongAttention("dot")
        return keras_attention.AttentionRNN(
            CELLS[kind](keras.layers.GRUCell(cell_units), attention)
        )

    match = "Expected equal units.*GeneralScore"
    memory = draw(rng, BATCH, MEMORY_LENGTH, memory_units)
    with pytest.raises(ValueError, match=match):
        make()(draw_sequences(rng), memory)
    with pytest.raises(ValueError, match=match):
        make()(keras.Input((None, 2)), keras.Input((None, memory_units)))
    # Nor is it once the layer has its weights.
    rnn = make()
    rnn.build((None, None, INPUT_UNITS), (None, None, cell_units))
    with pytest.raises(ValueError, match="incompatible|[Ee]xpected"):
        rnn(draw_sequences(rng), memory)


# What the examples show.


def test_bidirectional_example_learns_four_pairs(rng):
    """Reported as thushv89/attention_keras#3, thushv89/attention_keras#5,
    thushv89/attention_keras#11 (a bidirectional encoder, whose states fit no
    decoder) and thushv89/attention_keras#24 (states that are none).
    """
    model, encode, decoder = make_translator()
    sources = np.array([[3, 4, 0], [4, 3, 5], [5, 0, 0], [6, 6, 3]])
    targets = np.array(
        [[7, 8, 9, END], [8, END, 0, 0], [9, 7, END, 0], [7, 7, 4, END]]
    )
    tokens = np.concatenate([np.full((4, 1), START), targets[:, :-1]], axis=1)
    tokens = np.where(tokens == END, 0, tokens)
    model.compile(
        keras.optimizers.Adam(0.03),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=COMPILE_FIT,
    )
    repeated = [np.tile(part, (30, 1)) for part in (sources, tokens, targets)]
    model.fit(repeated[:2], repeated[2], 4, shuffle=False, verbose=0)
    result = generate(decoder, **encode(sources))
    np.testing.assert_array_equal(result.tokens[:, 0, :4], targets)


# Traces, and what is computed how often.


def count_traces_of(function, sizes, rng):
    """Counts traces of a function of tokens and memory, and runs it."""
    calls = [
        [
            rng.integers(1, VOCABULARY_SIZE, (batch, length)),
            draw(rng, batch, length + 3, MEMORY_UNITS),
        ]
        for batch, length in sizes
    ]
    shapes = [((None, None), "int32"), ((None, None, MEMORY_UNITS), "float32")]
    results, traces = count_traces(function, shapes, calls)
    for call, received in zip(calls, results, strict=True):
        call = [ops.convert_to_tensor(part) for part in call]
        assert_close(received, function(*call), 1e-4)
    return traces


LENGTHS = [(3, length) for length in range(5, 51, 15)]
BATCHES = [(batch, 5) for batch in range(1, 6)]


@tensorflow_only("graphs in which sizes are unknown")
@pytest.mark.parametrize("sizes", [LENGTHS, BATCHES], ids=["length", "batch"])
@pytest.mark.parametrize("kind", ["training", "decoding"])
def test_one_trace_serves_all_lengths_and_batches(kind, sizes, rng):
    """Reported as keras-team/keras#20369, tensorflow/tensorflow#29075,
    tensorflow/tensorflow#38561, tensorflow/tensorflow#38002 and
    tensorflow/tensorflow#31842 (a trace, time and memory for every length),
    and as tensorflow/tensorflow#34907 and tensorflow/tensorflow#38742 (a
    graph for one size of the batch).
    """
    decoder = randomized_decoder(rng, "luong_feeding", scale=0.6)

    def train(tokens, memory):
        results, gradients = differentiate(
            lambda memory: [ops.mean(ops.sin(decoder(tokens, memory)))],
            [memory],
            decoder.trainable_weights,
        )
        return [*results, *gradients]

    def decode(tokens, memory):
        return generate(decoder, memory)

    function = train if kind == "training" else decode
    assert count_traces_of(function, sizes, rng) == 1


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("kind", ["bahdanau", "luong", "luong_feeding"])
def test_keys_are_projected_once_for_all_steps_and_beams(kind, mode, rng):
    """OpenNMT-py projects them at every step, Joey NMT for every token of a
    search, as their code shows; no public report found.
    """
    projected = []

    class CountingScore(keras_attention.GeneralScore):
        def project(self, memory):
            projected.append(tuple(memory.shape))
            return super().project(memory)

    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, INPUT_UNITS),
        keras_attention.AttentionRNN(
            CELLS[kind](
                INNER_CELLS["gru"](),
                keras_attention.LuongAttention(CountingScore()),
            ),
            return_sequences=True,
        ),
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    randomized(decoder, rng, inputs=(None, None))
    memory, tokens = draw_memory(rng), np.ones((BATCH, LENGTH), "int32")
    in_mode(decoder, mode)(tokens, memory)
    assert projected == [memory.shape]
    beams = in_mode(
        lambda memory: generate(decoder, memory, strategy=Copying()), mode
    )(memory)
    assert beams.tokens.shape == (BATCH, 3, 5)
    assert projected == [memory.shape] * 2
