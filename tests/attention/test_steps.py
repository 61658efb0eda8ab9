import keras
import numpy as np
import pytest
import reference
from attention_cases import ATTENTIONS
from attention_cases import QUERY_MASK
from attention_cases import VALUE_MASK
from attention_cases import built_attention
from attention_cases import joined_mask
from attention_cases import query_and_value
from backends import MODES
from backends import in_mode
from crossing_beams import CrossingBeams
from keras import ops
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import EVERYTHING
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import randomize

import keras_attention
from keras_attention import Attention
from keras_attention import AttentionRNN
from keras_attention import BahdanauAttention
from keras_attention import GreedySearch
from keras_attention import MonotonicAttention


@keras.saving.register_keras_serializable(package="tests")
class HabitAttention(Attention):
    """A user's own mechanism: looks where it has looked a step before."""

    def __init__(self, **kwargs):
        super().__init__(keras_attention.GeneralScore(), **kwargs)

    def build(self, input_shape):
        super().build(input_shape)
        self.habit = self.add_weight(shape=(), name="habit")

    @property
    def num_states(self):
        return 1

    def initial_state(self, memory):
        return [ops.zeros(ops.shape(memory.values)[:2])]

    def step(self, query, memory, state, training=False):
        scores = self.score(ops.expand_dims(query, 1), memory.keys)
        scores = scores + self.habit * ops.expand_dims(state[0], 1)
        context, scores = self.weigh(scores, memory, training=training)
        scores = ops.squeeze(scores, 1)
        return ops.squeeze(context, 1), scores, [scores]


class NoStep(HabitAttention):
    step = Attention.step


class NoNumStates(HabitAttention):
    num_states = Attention.num_states


MECHANISMS = {
    "coverage": lambda **kwargs: BahdanauAttention(17, coverage=True, **kwargs),
    "monotonic": lambda: MonotonicAttention(units=17, score_bias=-1.0),
    "recursive": lambda: MonotonicAttention("general", mode="recursive"),
    "hard": lambda: MonotonicAttention("general", mode="hard"),
    "habit": HabitAttention,
}
DROPPING = {
    "additive": lambda: BahdanauAttention(17, dropout=0.5),
    "coverage": lambda: BahdanauAttention(17, coverage=True, dropout=0.5),
    "habit": lambda: HabitAttention(dropout=0.5),
}

every_mechanism = pytest.mark.parametrize("name", MECHANISMS)
every_cell = pytest.mark.parametrize(
    "cell", ["bahdanau", "luong", "luong_feeding"]
)


def make_layer(cell, attention, rng=None):
    """Makes a layer with random weights, or with all of them 0."""
    layer = AttentionRNN(
        CELLS[cell](keras.layers.GRUCell(CELL_UNITS), attention), **EVERYTHING
    )
    layer.build((None, None, INPUT_UNITS), (None, None, MEMORY_UNITS))
    if rng is not None:
        randomize(layer, rng)
    else:
        for weight in layer.trainable_weights:
            weight.assign(np.zeros(weight.shape))
    return layer


def keep(valid, new, old):
    return [
        ops.where(valid[:, None], *pair) for pair in zip(new, old, strict=True)
    ]


def assert_same(received, expected, atol=1e-5):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


# Whole sequences and loops over cells.


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@every_mechanism
def test_whole_sequence_equals_its_steps(name, causal, rng):
    """A query that may see no position is no step.

    Reported as OpenNMT/OpenNMT-tf#180: a mechanism of one's own.
    """
    attention = MECHANISMS[name]()
    query, value = draw(rng, BATCH, LENGTH, CELL_UNITS), draw_memory(rng)
    attention.build([query.shape, value.shape])
    randomize(attention, rng)
    received = attention(
        [query, value],
        mask=[MASK, MEMORY_MASK],
        use_causal_mask=causal,
        return_attention_scores=True,
    )
    query = ops.convert_to_tensor(query)
    memory = attention.prepare_memory(
        ops.convert_to_tensor(value), ops.convert_to_tensor(MEMORY_MASK)
    )
    state = attention.initial_state(memory)
    for i in range(LENGTH):
        seen = MEMORY_MASK & (np.arange(MEMORY_LENGTH) <= i if causal else True)
        context, scores, new_state = attention.step(
            query[:, i],
            memory._replace(mask=ops.convert_to_tensor(seen)),
            state,
        )
        is_step = MASK[:, i] & seen.any(-1)
        expected = keep(is_step, [context, scores], [0.0, 0.0])
        assert_same([part[:, i] for part in received], expected)
        state = keep(is_step, new_state, state)


def loop_by_hand(cell, sequences, memory):
    """Takes one step of a cell after another; masked ones repeat what was."""
    memory = cell.prepare_memory(
        ops.convert_to_tensor(memory), ops.convert_to_tensor(MEMORY_MASK)
    )
    states = cell.get_initial_state(BATCH, memory)
    now, outputs, all_scores = [0.0, 0.0, *states], [], []
    for i in range(LENGTH):
        output, states, scores = cell(sequences[:, i], now[2:], memory)
        now = keep(MASK[:, i], [output, *scores, *states], now)
        outputs.append(now[0])
        all_scores.append(now[1])
    return [ops.stack(outputs, 1), *now[2:], ops.stack(all_scores, 1)]


@every_cell
@every_mechanism
def test_layer_equals_the_loop_over_its_cell(name, cell, rng):
    """Reported as OpenNMT/OpenNMT-tf#180: a mechanism of one's own."""
    layer = make_layer(cell, MECHANISMS[name](), rng)
    arrays = draw_sequences(rng), draw_memory(rng)
    received = layer(*arrays, mask=MASK, memory_mask=MEMORY_MASK)
    assert_same(received, loop_by_hand(layer.cell, *arrays))


@every_mechanism
def test_second_half_goes_on_where_the_first_ended(name, rng):
    layer = make_layer("luong_feeding", MECHANISMS[name](), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)

    def run(steps, initial_state=None):
        mask = MASK[:, steps]
        output, *states, scores = layer(
            sequences[:, steps],
            memory,
            initial_state=initial_state,
            mask=mask,
            memory_mask=MEMORY_MASK,
        )
        return [np.array(output)[mask], np.array(scores)[mask]], states

    _, middle = run(slice(0, 3))
    received, states = run(slice(3, LENGTH), middle)
    expected, expected_states = run(slice(0, LENGTH))
    is_late = np.nonzero(MASK)[1] >= 3
    assert_same(received, [part[is_late] for part in expected])
    assert_same(states, expected_states)


# Decoding.


@pytest.mark.parametrize(
    "strategy", [GreedySearch(), CrossingBeams()], ids=["greedy", "crossing"]
)
@pytest.mark.parametrize("name", [*MECHANISMS, "several"])
def test_decoding_equals_teacher_forcing(name, strategy, rng):
    """The states of attention follow their hypothesis.

    Reported as espnet/espnet#510 (repaired in espnet/espnet#681), for
    attention whose state is a list.
    """
    if name == "several":
        attention = [MECHANISMS["coverage"](), MECHANISMS["monotonic"]()]
    else:
        attention = MECHANISMS[name]()
    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, INPUT_UNITS),
        make_layer("luong_feeding", attention),
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    decoder.build((None, None), (None, None, MEMORY_UNITS))
    randomize(decoder, rng, 0.9)
    memory = draw_memory(rng)
    result = decoder.generate(
        memory,
        MEMORY_MASK,
        start_token=1,
        end_token=VOCABULARY_SIZE,  # never
        max_length=6,
        strategy=strategy,
    )
    for beam in range(strategy.num_return):
        tokens = np.array(result.tokens)[:, beam]
        shifted = np.pad(tokens, [(0, 0), (1, 0)], constant_values=1)[:, :-1]
        logits, *_, scores = decoder(shifted, memory, memory_mask=MEMORY_MASK)
        scores = scores[0] if name == "several" else scores
        assert_same([result.attention_scores[:, beam]], [scores], 1e-4)
        chosen = np.take_along_axis(
            np.array(ops.log_softmax(logits)), tokens[..., None], axis=-1
        )
        assert_same([result.scores[:, beam]], [chosen.sum((1, 2))], 1e-3)
    assert len(np.unique(result.tokens)) > 3


# A user's own mechanism.


def test_registered_mechanism_is_saved_and_loaded(tmp_path, rng):
    """Reported as OpenNMT/OpenNMT-tf#180: a mechanism of one's own."""
    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
    ]
    outputs = [HabitAttention(temperature=0.7)(inputs)]
    for cell in ("bahdanau", "luong"):
        outputs += make_layer(cell, HabitAttention())(*inputs)
    model = keras.Model(inputs, outputs)
    randomize(model, rng)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    arrays = [draw_sequences(rng), draw_memory(rng)]
    assert_same(loaded(arrays), model(arrays), 1e-6)


@pytest.mark.parametrize("use", ["whole", "cell"])
@pytest.mark.parametrize(
    ("cls", "error", "match"),
    [
        (NoStep, NotImplementedError, r"must define `step\(query, memory, sta"),
        (NoNumStates, ValueError, "define the property num_states beside"),
    ],
)
def test_forgotten_part_of_a_mechanism_is_named(cls, error, match, use, rng):
    arrays = [draw_sequences(rng), draw_memory(rng)]
    if use == "whole":
        layer, arguments = cls(), [arrays]
    else:
        layer, arguments = make_layer("bahdanau", cls()), arrays
    with pytest.raises(error, match=match):
        layer(*arguments)


# What is random.


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *(("additive", mode) for mode in MODES),
        ("coverage", MODES[-1]),
        ("habit", "eager"),
    ],
)
def test_dropout_differs_from_step_to_step_and_call_to_call(name, mode, rng):
    """Attention scores are those before dropout."""
    layer = make_layer("bahdanau_context", DROPPING[name]())
    arrays = draw_sequences(rng), draw_memory(rng)
    run = in_mode(
        lambda *tensors: layer(*tensors, training=True),
        mode,
        state=layer.non_trainable_variables,
    )
    contexts = []
    for _ in range(2):
        output, *_, scores = run(*arrays)
        # With weights of 0 all positions fit equally well.
        np.testing.assert_allclose(scores, 1 / MEMORY_LENGTH, atol=1e-6)
        contexts += [*np.moveaxis(np.array(output), 1, 0)[..., CELL_UNITS:]]
    different = np.unique(np.round(contexts, 4), axis=0)
    assert len(different) == 2 * LENGTH
    output, *_ = layer(*arrays)
    expected = arrays[1].mean(1, keepdims=True).repeat(LENGTH, 1)
    assert_same([output[..., CELL_UNITS:]], [expected], 1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_noise_differs_from_step_to_step_and_call_to_call(mode, rng):
    layer = make_layer("bahdanau", MonotonicAttention("general", noise=0.5))
    sequences, memory = draw(rng, 29, 11, INPUT_UNITS), draw(rng, 29, 1, 11)
    run = in_mode(
        lambda *tensors: layer(*tensors, training=True),
        mode,
        state=layer.non_trainable_variables,
    )
    noises = []
    for _ in range(2):
        scores = np.array(run(sequences, memory)[-1])[..., 0]
        # With weights of 0 and one position, which is chosen again with the
        # probability sigmoid(noise) at every step.
        choose = scores[:, 1:] / scores[:, :-1]
        noises.append(np.log(choose / (1 - choose)))
    noises = np.stack(noises)
    assert len(np.unique(np.round(noises, 4))) > 0.9 * noises.size
    np.testing.assert_allclose(noises.std(), 0.5, rtol=0.1)
    np.testing.assert_allclose(noises.mean(), 0, atol=0.1)


def test_what_is_random_trains_in_fit(rng):
    attentions = [make() for make in DROPPING.values()]
    attentions.append(MonotonicAttention("general", noise=1.0))
    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
    ]
    output, *_ = make_layer("bahdanau", attentions, rng)(*inputs)
    model = keras.Model(inputs, output)
    model.compile("sgd", "mse")
    arrays = [draw_sequences(rng), draw_memory(rng)]
    target = draw(rng, BATCH, LENGTH, CELL_UNITS)
    before = model.get_weights()
    losses = [model.train_on_batch(arrays, target) for _ in range(2)]
    assert np.all(np.isfinite(losses))
    model.set_weights(before)
    assert model.train_on_batch(arrays, target) not in losses
    assert_same([model(arrays)], [model(arrays)], 0)


# Temperature.


@pytest.mark.parametrize("temperature", [0.3, 2])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_scores_are_divided_by_the_temperature(name, temperature, rng):
    case = ATTENTIONS[name]
    attention = built_attention(
        case, rng, dtype="float64", temperature=temperature
    )
    query, value = query_and_value(case, rng, "float64")
    weights = map(ops.convert_to_numpy, case.score.weights(attention.score))
    scores = case.score.equation(query, value, *weights)
    mask = joined_mask(QUERY_MASK, VALUE_MASK)
    received = attention(
        [query, value],
        mask=[QUERY_MASK, VALUE_MASK],
        return_attention_scores=True,
    )
    expected = reference.attend(scores / temperature, value, mask)
    assert_same(received, expected, 1e-10)


@pytest.mark.parametrize("temperature", [1e-8, 1e8])
def test_temperature_may_be_beyond_half_precision(temperature, rng):
    case = ATTENTIONS["general"]
    attention = built_attention(
        case, rng, dtype="mixed_float16", temperature=temperature
    )
    _, scores = attention(
        query_and_value(case, rng), return_attention_scores=True
    )
    largest = 1 if temperature < 1 else 1 / scores.shape[-1]
    np.testing.assert_allclose(ops.max(scores, -1), largest, atol=1e-3)


@pytest.mark.parametrize(
    "temperature", [0, -1, float("inf"), float("nan"), True, "1", None]
)
def test_temperature_that_is_no_positive_number_is_refused(temperature):
    match = f"temperature={temperature!r}. Expected a number above 0"
    for attention in ATTENTIONS.values():
        with pytest.raises(ValueError, match=match):
            attention.make(temperature=temperature)
