import itertools

import keras
import numpy as np
import pytest
from backends import MODES
from backends import TWO_MODES
from backends import call_back
from backends import in_mode
from keras import ops
from layer_catalogue import BATCH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import draw_memory
from layer_catalogue import make_decoder
from layer_catalogue import randomize

import keras_attention
from keras_attention import BeamSearch
from keras_attention.decoding.beam_search import LEAST_COVERAGE


PADDING, START, END = 0, 1, 2
VOCABULARY_SIZE = 5
MEMORY_LENGTH = 7
MAX_LENGTH = 4
# More than all sequences of up to four tokens: 4 + 16 + 64 + 256 and more.
EXHAUSTIVE = 700


class Automaton:
    """A step whose next token depends on all tokens so far.

    The state is a number that every token changes; it names the row of a
    table with logits and attention scores.
    """

    num_states = 53

    def __init__(self, rng, batch=2, scale=2.0, mask=None):
        shape = batch, self.num_states
        self.logits = rng.normal(size=(*shape, VOCABULARY_SIZE), scale=scale)
        scores = rng.uniform(size=(*shape, MEMORY_LENGTH))
        self.mask = np.ones((batch, MEMORY_LENGTH), bool)
        if mask is not None:
            self.mask[:] = mask
        scores = scores * self.mask[:, None]
        scores /= np.maximum(scores.sum(-1, keepdims=True), 1e-9)
        self.logits = self.logits.astype("float32")
        self.scores = scores.astype("float32")
        self.batch = batch

    def next_state(self, state, token):
        return (7 * state + token + 3) % self.num_states

    def step(self, tokens, state):
        example, number = state
        number = self.next_state(number, tokens)
        logits = ops.convert_to_tensor(self.logits)
        scores = ops.convert_to_tensor(self.scores)
        index = example * self.num_states + number
        return (
            ops.take(ops.reshape(logits, (-1, VOCABULARY_SIZE)), index, axis=0),
            [example, number],
            ops.take(ops.reshape(scores, (-1, MEMORY_LENGTH)), index, axis=0),
        )

    def decode(self, strategy, max_length=MAX_LENGTH, **kwargs):
        example = ops.arange(self.batch, dtype="int32")
        example = ops.repeat(example, strategy.num_beams)
        return keras_attention.decode(
            self.step,
            [example, ops.zeros_like(example)],
            batch_size=self.batch,
            start_token=START,
            end_token=END,
            max_length=max_length,
            strategy=strategy,
            memory_mask=ops.convert_to_tensor(self.mask),
            **kwargs,
        )

    def score(self, example, tokens):
        """Log-probability of tokens, and the attention to every position."""
        total, state, last = 0.0, 0, START
        coverage = np.zeros(MEMORY_LENGTH)
        for token in tokens:
            state = self.next_state(state, last)
            logits = self.logits[example, state].astype("float64")
            total += logits[token] - np.log(np.exp(logits).sum())
            coverage += self.scores[example, state]
            last = token
        return total, coverage


def all_sequences(max_length=MAX_LENGTH):
    """Every sequence that ends, and every one that is cut."""
    others = [t for t in range(VOCABULARY_SIZE) if t != END]
    for length in range(max_length):
        for start in itertools.product(others, repeat=length):
            yield (*start, END)
    yield from itertools.product(others, repeat=max_length)


def penalized(automaton, example, tokens, strategy):
    """Wu et al. (2016), eq. 14."""
    total, coverage = automaton.score(example, tokens)
    length = ((5 + len(tokens)) / 6) ** strategy.length_penalty
    real = coverage[automaton.mask[example]]
    covered = np.log(np.clip(real, LEAST_COVERAGE, 1.0)).sum()
    return total / length + strategy.coverage_penalty * covered


def padded(tokens, max_length=MAX_LENGTH):
    return [*tokens, *[PADDING] * (max_length - len(tokens))]


PENALTIES = {
    "plain": {},
    "length": {"length_penalty": 0.9},
    "coverage": {"coverage_penalty": 0.3},
    "both": {"length_penalty": 1.3, "coverage_penalty": 0.2},
}
HALF = [True, True, False, True, False, True, True]


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("penalties", PENALTIES.values(), ids=PENALTIES)
def test_enough_beams_find_what_enumeration_finds(penalties, mode, rng):
    """The best first, their lengths and scores with the end token.

    Reported as tensorflow/tensorflow#13536 (results were cut where a beam had
    the place of one that had ended), OpenNMT/CTranslate2#915 (the coverage
    penalty summed over the wrong axis) and tensorflow/addons#2140 (it took a
    tutorial to tell how to read the sequences and their scores).
    """
    automaton = Automaton(rng, mask=[[True] * MEMORY_LENGTH, HALF])
    strategy = BeamSearch(EXHAUSTIVE, num_return=11, **penalties)
    result = in_mode(lambda: automaton.decode(strategy), mode)()
    for example in range(automaton.batch):
        ranked = sorted(
            all_sequences(),
            key=lambda y: -penalized(automaton, example, y, strategy),
        )[: strategy.num_return]
        np.testing.assert_array_equal(
            result.tokens[example], [padded(tokens) for tokens in ranked]
        )
        np.testing.assert_array_equal(
            result.lengths[example], [len(tokens) for tokens in ranked]
        )
        np.testing.assert_allclose(
            result.scores[example],
            [penalized(automaton, example, y, strategy) for y in ranked],
            rtol=0,
            atol=1e-5,
        )


@pytest.mark.parametrize("penalties", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("num_beams", [2, 3])
def test_scores_are_those_of_the_tokens_that_are_returned(
    num_beams, penalties, rng
):
    """Reported as allenai/allennlp#5208 (a sum in one library, a mean in
    another), huggingface/transformers#15869 and
    huggingface/transformers#14086 (neither is what the probabilities of the
    tokens give).
    """
    automaton = Automaton(rng, batch=5, scale=1.0)
    strategy = BeamSearch(num_beams, num_return=num_beams, **penalties)
    result = automaton.decode(strategy, max_length=9)
    for example, beam in itertools.product(range(5), range(num_beams)):
        length = int(result.lengths[example, beam])
        tokens = np.array(result.tokens[example, beam])[:length]
        np.testing.assert_allclose(
            result.scores[example, beam],
            penalized(automaton, example, tokens, strategy),
            rtol=0,
            atol=1e-5,
        )
        _, coverage = automaton.score(example, tokens)
        np.testing.assert_allclose(
            np.array(result.attention_scores[example, beam]).sum(0),
            coverage,
            rtol=0,
            atol=1e-5,
        )
    assert np.all(np.diff(np.array(result.scores), axis=1) <= 0)


@pytest.mark.parametrize("mode", MODES)
def test_one_beam_is_greedy(mode, rng):
    """In its attention scores too.

    Reported as OpenNMT/OpenNMT-tf#2, OpenNMT/OpenNMT-tf#105 and
    tensorflow/tensorflow#13154: with beams there were none.
    """
    automaton = Automaton(rng, batch=5)
    received = in_mode(lambda: automaton.decode(BeamSearch(1)), mode)()
    expected = automaton.decode(keras_attention.GreedySearch())
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_more_beams_find_what_greedy_search_misses():
    """Can be checked on paper: 0.6 * 0.5 is less than 0.4 * 0.9."""
    table = np.log(
        [
            [1e-9, 1e-9, 1e-9, 0.6, 0.4],  # after the start
            [1e-9, 1e-9, 0.5, 0.25, 0.25],  # after 3
            [1e-9, 1e-9, 0.9, 0.05, 0.05],  # after 4
        ]
    ).astype("float32")

    def step(tokens, state):
        rows = ops.maximum(tokens - 2, 0)
        return ops.take(ops.convert_to_tensor(table), rows, axis=0), state, None

    results = [
        keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=START,
            end_token=END,
            max_length=MAX_LENGTH,
            strategy=BeamSearch(num_beams),
        )
        for num_beams in (1, 2)
    ]
    assert [np.array(r.tokens)[0, 0].tolist() for r in results] == [
        [3, END, PADDING, PADDING],
        [4, END, PADDING, PADDING],
    ]
    scores = [float(r.scores[0, 0]) for r in results]
    np.testing.assert_allclose(scores, np.log([0.3, 0.36]), atol=1e-5)


def test_where_there_are_fewer_sequences_than_beams_none_is_made_up(rng):
    """As many beams as tokens, and more, as in tensorflow/tensorflow#13536."""
    automaton = Automaton(rng)
    strategy = BeamSearch(VOCABULARY_SIZE + 3, num_return=VOCABULARY_SIZE + 3)
    result = automaton.decode(strategy, max_length=1)
    scores, tokens = np.array(result.scores), np.array(result.tokens)[..., 0]
    for example in range(automaton.batch):
        real = tokens[example, :VOCABULARY_SIZE]
        assert sorted(real) == list(range(VOCABULARY_SIZE))
    assert np.all(np.isfinite(scores[:, :VOCABULARY_SIZE]))
    assert np.all(np.isneginf(scores[:, VOCABULARY_SIZE:]))
    np.testing.assert_array_equal(result.lengths[:, VOCABULARY_SIZE:], 0)
    np.testing.assert_array_equal(tokens[:, VOCABULARY_SIZE:], PADDING)


def test_word_that_nothing_looked_at_counts_and_padding_does_not(rng):
    """Coverage of what is real only; TFA takes a 0 for padding."""
    automaton = Automaton(rng, mask=HALF)
    automaton.scores[:, :, 0] = 0.0  # a real word, never attended to
    strategy = BeamSearch(3, coverage_penalty=0.5)
    result = automaton.decode(strategy)
    for example in range(automaton.batch):
        length = int(result.lengths[example, 0])
        tokens = np.array(result.tokens[example, 0])[:length]
        expected = penalized(automaton, example, tokens, strategy)
        assert expected < 0.5 * np.log(LEAST_COVERAGE)
        np.testing.assert_allclose(
            result.scores[example, 0], expected, rtol=1e-5
        )


def make_translator(rng, cell="bahdanau", inner="gru", **kwargs):
    decoder = make_decoder(cell, inner, **kwargs)
    memory = draw_memory(rng)
    decoder.build((None, None), memory.shape)
    randomize(decoder, rng, scale=0.9)
    return decoder, memory


def generate(decoder, memory, memory_mask, strategy, max_length=9):
    return decoder.generate(
        memory,
        memory_mask=memory_mask,
        start_token=START,
        end_token=END,
        max_length=max_length,
        strategy=strategy,
    )


@pytest.mark.parametrize(
    ("cell", "inner"),
    [("bahdanau", "stacked"), ("luong_feeding", "lstm"), ("luong", "gru")],
)
def test_score_is_what_teacher_forcing_says(cell, inner, rng):
    decoder, memory = make_translator(rng, cell, inner, mask_zero=False)
    strategy = BeamSearch(3, num_return=3)
    result = generate(decoder, memory, MEMORY_MASK, strategy)
    for beam in range(3):
        tokens = np.array(result.tokens)[:, beam]
        shifted = np.concatenate([np.full((BATCH, 1), START), tokens], 1)
        logits = decoder(shifted[:, :-1], memory, memory_mask=MEMORY_MASK)
        logits = ops.convert_to_numpy(logits).astype("float64")
        total = np.zeros(BATCH)
        for row, length in enumerate(np.array(result.lengths)[:, beam]):
            for index in range(length):
                now = logits[row, index]
                total[row] += now[tokens[row, index]]
                total[row] -= np.log(np.exp(now - now.max()).sum()) + now.max()
        np.testing.assert_allclose(
            np.array(result.scores)[:, beam], total, rtol=0, atol=1e-4
        )


@pytest.mark.parametrize("mode", TWO_MODES)
def test_batch_equals_its_rows_alone_in_any_order(mode, rng):
    decoder, memory = make_translator(rng, "luong_feeding", "lstm")
    strategy = BeamSearch(
        3, length_penalty=0.7, coverage_penalty=0.1, num_return=2
    )
    run = in_mode(
        lambda memory, mask: generate(decoder, memory, mask, strategy), mode
    )
    whole = run(memory, MEMORY_MASK)
    order = [2, 0, 1]
    turned = run(memory[order], MEMORY_MASK[order])
    for one, other in zip(turned, whole, strict=True):
        np.testing.assert_allclose(
            one, np.array(other)[order], rtol=0, atol=1e-5
        )
    for row in range(BATCH):
        now = slice(row, row + 1)
        alone = generate(decoder, memory[now], MEMORY_MASK[now], strategy)
        for one, other in zip(alone, whole, strict=True):
            np.testing.assert_allclose(
                one, np.array(other)[now], rtol=0, atol=1e-5
            )


def test_attention_scores_may_be_left_out(rng):
    """Coverage is counted all the same."""
    automaton = Automaton(rng)
    strategy = BeamSearch(3, coverage_penalty=0.2, num_return=2)
    expected = automaton.decode(strategy)
    received = automaton.decode(strategy, return_attention_scores=False)
    assert received.attention_scores is None
    for one, other in zip(received[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_decodes(dtype, rng):
    """Reported as NVIDIA/OpenSeq2Seq#52: beam search failed in float16."""
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy(dtype)
    try:
        decoder, memory = make_translator(rng)
        strategy = BeamSearch(3, coverage_penalty=0.1)
        result = generate(decoder, memory, MEMORY_MASK, strategy)
    finally:
        keras.config.set_dtype_policy(policy)
    assert np.all(np.isfinite(np.array(result.scores)))
    assert keras.backend.standardize_dtype(result.scores.dtype) == "float32"


def test_configuration_makes_an_equal_strategy():
    strategy = BeamSearch(3, 0.6, 0.2, 2)
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(strategy)
    )
    assert type(copy) is BeamSearch
    assert copy.get_config() == strategy.get_config()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"num_beams": 0}, "num_beams"),
        ({"num_return": 0}, "num_return"),
        ({"num_beams": 2, "num_return": 3}, "at most as many"),
        ({"length_penalty": -0.1}, "length_penalty=-0.1"),
        ({"coverage_penalty": -1.0}, "coverage_penalty=-1.0"),
    ],
)
def test_errors_of_the_constructor(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        BeamSearch(**arguments)


def test_coverage_of_nothing_raises():
    with pytest.raises(ValueError, match="no attention scores"):
        keras_attention.decode(
            lambda tokens, state: (ops.one_hot(tokens, 5), state, None),
            [],
            batch_size=1,
            start_token=START,
            end_token=END,
            max_length=3,
            strategy=BeamSearch(1, coverage_penalty=0.1),
        )


class NeverSettled(BeamSearch):
    """Goes on until no hypothesis can be continued."""

    def is_settled(self, hypotheses, finished, max_length):
        return finished | self.is_vacant(hypotheses.scores)


@pytest.mark.parametrize(
    "penalties", [*PENALTIES.values(), {"length_penalty": 3.0}]
)
@pytest.mark.parametrize("num_return", [1, 3])
def test_stopping_early_changes_nothing(num_return, penalties, rng):
    """Neither where a longer one overtakes, thanks to its length penalty.

    Reported as OpenNMT/OpenNMT-py#1320.
    """
    automaton = Automaton(rng, batch=31, scale=1.5)
    automaton.logits[..., END] += 1.0  # there is something to overtake
    arguments = {"num_return": num_return, **penalties}
    early, late = (
        automaton.decode(strategy(5, **arguments), max_length=13)
        for strategy in (BeamSearch, NeverSettled)
    )
    for one, other in zip(early, late, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("penalties", PENALTIES.values(), ids=PENALTIES)
def test_example_with_a_limit_gets_what_it_gets_alone(penalties, rng):
    """Whatever the others of its batch are allowed."""
    automaton = Automaton(rng, batch=31, scale=1.5)
    limits = rng.integers(1, 13, automaton.batch)
    strategy = BeamSearch(3, num_return=3, **penalties)
    together = automaton.decode(strategy, max_length=13, length_limits=limits)
    alone = {
        limit: automaton.decode(strategy, max_length=limit)
        for limit in map(int, np.unique(limits))
    }
    for example, limit in enumerate(map(int, limits)):
        for name in ("tokens", "lengths", "scores", "attention_scores"):
            received = np.array(getattr(together, name))[example]
            if name in ("tokens", "attention_scores"):
                assert not received[:, limit:].any()  # padding, and 0
                received = received[:, :limit]
            expected = np.array(getattr(alone[limit], name))[example]
            np.testing.assert_allclose(received, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("length_penalty", "max_length", "steps"),
    # One hypothesis ends at once, with log 0.9 = -0.105 over (6 / 6)^w. The
    # other has log 0.1 + (n - 1) log 0.6 after n steps: -2.30, -2.81, -3.32,
    # -3.84. Over the greatest length, that is
    [
        (0.0, 200, 1),  # -2.30 over 1
        (1.0, 6, 1),  # -2.30 over 11 / 6
        (1.0, 100, 1),  # -2.30 over 105 / 6, -0.132
        (1.0, 200, 4),  # over 205 / 6: -0.067, -0.082, -0.097, -0.112
    ],
)
@pytest.mark.parametrize("limit", [None, "less", "more"])
def test_search_stops_when_nothing_can_overtake(
    length_penalty, max_length, steps, limit
):
    """Can be checked on paper; see OpenNMT/OpenNMT-py#1320."""
    turns = []
    table = np.zeros((4, VOCABULARY_SIZE), "float32")
    table[START] = [0.0, 0.0, 0.9, 0.1, 0.0]
    table[3] = [0.0, 0.0, 0.4, 0.6, 0.0]

    def step(tokens, state):
        call_back(lambda: turns.append(1))
        logits = ops.log(ops.convert_to_tensor(table) + 1e-30)
        return ops.take(logits, tokens, axis=0), state, None

    result = keras_attention.decode(
        step,
        [],
        batch_size=1,
        start_token=START,
        end_token=END,
        max_length=1000 if limit == "less" else max_length,
        length_limits=limit and [max_length if limit == "less" else 1000],
        strategy=BeamSearch(2, length_penalty=length_penalty),
    )
    np.testing.assert_allclose(result.scores, [[np.log(0.9)]], atol=1e-6)
    assert len(turns) == steps
