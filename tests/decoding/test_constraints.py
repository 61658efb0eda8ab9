import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from keras import ops
from layer_catalogue import draw_memory
from test_attention_decoder import lively_decoder
from test_beam_search import END
from test_beam_search import EXHAUSTIVE
from test_beam_search import MAX_LENGTH
from test_beam_search import START
from test_beam_search import VOCABULARY_SIZE
from test_beam_search import Automaton
from test_beam_search import all_sequences
from test_beam_search import padded

import keras_attention
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import RandomSampling


def repeats(tokens, size):
    runs = [tokens[i : i + size] for i in range(len(tokens) - size + 1)]
    return len(set(runs)) < len(runs)


def real_tokens(result):
    """The tokens of every first sequence, up to its end."""
    rows = np.array(result.tokens)[:, 0]
    lengths = np.array(result.lengths)[:, 0]
    return [tuple(row[:n]) for row, n in zip(rows, lengths, strict=True)]


OPTIONS = {
    "min_length": {"min_length": 3},
    "exact_length": {"min_length": MAX_LENGTH},
    "forbidden_tokens": {"forbidden_tokens": [0, 4]},
    "unigrams": {"no_repeat_ngram_size": 1},
    "bigrams": {"no_repeat_ngram_size": 2},
    "all": {
        "min_length": 2,
        "forbidden_tokens": (3,),
        "no_repeat_ngram_size": 1,
    },
}


def is_allowed(
    tokens, min_length=0, forbidden_tokens=(), no_repeat_ngram_size=None
):
    if tokens[-1] == END and len(tokens) < min_length:
        return False
    if set(tokens) & set(forbidden_tokens):
        return False
    size = no_repeat_ngram_size
    return size is None or not repeats(tokens, size)


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_beam_search_finds_the_best_of_what_is_allowed(options, mode, rng):
    automaton = Automaton(rng)
    strategy = BeamSearch(EXHAUSTIVE, num_return=11)
    result = in_mode(lambda: automaton.decode(strategy, **options), mode)()
    for example in range(automaton.batch):
        ranked = sorted(
            (y for y in all_sequences() if is_allowed(y, **options)),
            key=lambda y: -automaton.score(example, y)[0],
        )[:11]
        np.testing.assert_array_equal(
            result.tokens[example], [padded(tokens) for tokens in ranked]
        )
        np.testing.assert_allclose(
            result.scores[example],
            [automaton.score(example, y)[0] for y in ranked],
            rtol=0,
            atol=1e-5,
        )


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_greedy_search_takes_the_best_allowed_token(options, rng):
    automaton = Automaton(rng, batch=5)
    result = automaton.decode(GreedySearch(), **options)
    for example in range(automaton.batch):
        expected, state, last = (), 0, START
        while len(expected) < MAX_LENGTH and last != END:
            state = automaton.next_state(state, last)
            allowed = [
                token
                for token in range(VOCABULARY_SIZE)
                if is_allowed((*expected, token), **options)
            ]
            last = max(
                allowed, key=automaton.logits[example, state].__getitem__
            )
            expected = (*expected, last)
        np.testing.assert_array_equal(
            result.tokens[example, 0], padded(expected)
        )
        np.testing.assert_allclose(
            result.scores[example, 0],
            automaton.score(example, expected)[0],
            atol=1e-5,
        )


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    "strategy",
    [GreedySearch(), BeamSearch(3), RandomSampling(0.5, seed=3)],
    ids=["greedy", "beam", "random"],
)
def test_no_run_of_tokens_occurs_twice(strategy, size, rng):
    """A step that says 3 4 3 4 ... for ever, unless it is kept from it."""
    logits = np.full((9, 9), 0.0, "float32")
    logits[:, 3], logits[3, 4] = 5.0, 9.0

    def step(tokens, state):
        table = ops.convert_to_tensor(logits)
        return ops.take(table, tokens, axis=0), state, None

    def run(**options):
        result = keras_attention.decode(
            step,
            [],
            batch_size=2,
            start_token=1,
            end_token=2,
            max_length=7,
            strategy=strategy,
            **options,
        )
        lengths = np.array(result.lengths)[:, 0]
        rows = np.array(result.tokens)[:, 0]
        return [
            tuple(row[:length])
            for row, length in zip(rows, lengths, strict=True)
        ]

    assert any(repeats(tokens, size) for tokens in run())
    allowed = run(no_repeat_ngram_size=size)
    assert not any(repeats(tokens, size) for tokens in allowed)
    # Shorter runs may still be repeated.
    if size > 1 and not isinstance(strategy, RandomSampling):
        assert any(repeats(tokens, size - 1) for tokens in allowed)


def test_where_no_token_is_allowed_nothing_is_made_up():
    """Of three tokens one is used up and the other two are forbidden."""
    result = keras_attention.decode(
        lambda tokens, state: (ops.one_hot(tokens, 3), state, None),
        [],
        batch_size=1,
        start_token=0,
        end_token=2,
        max_length=5,
        strategy=GreedySearch(),
        min_length=5,
        forbidden_tokens=[0],
        no_repeat_ngram_size=1,
    )
    np.testing.assert_array_equal(result.tokens, [[[0] * 5]])
    assert np.isneginf(np.array(result.scores)).all()
    np.testing.assert_array_equal(result.lengths, [[0]])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"min_length": 5}, "min_length=5 and max_length=4"),
        ({"forbidden_tokens": [3, END]}, "end token 2 among"),
        ({"forbidden_tokens": [3, 99]}, "received 99 among"),
        ({"forbidden_tokens": [-1]}, "received -1 among"),
        ({"no_repeat_ngram_size": 0}, "no_repeat_ngram_size"),
    ],
)
def test_errors(options, expected, rng):
    with pytest.raises(ValueError, match=expected):
        Automaton(rng).decode(GreedySearch(), **options)


def test_options_reach_the_loop_from_a_decoder(rng):
    decoder, memory = lively_decoder(rng), draw_memory(rng)
    result = decoder.generate(
        memory,
        start_token=START,
        end_token=END,
        max_length=9,
        min_length=4,
        forbidden_tokens=[3],
        no_repeat_ngram_size=1,
    )
    for row, length in zip(
        np.array(result.tokens)[:, 0],
        np.array(result.lengths)[:, 0],
        strict=True,
    ):
        assert length >= 4
        assert 3 not in row[:length]
        assert not repeats(tuple(row[:length]), 1)
