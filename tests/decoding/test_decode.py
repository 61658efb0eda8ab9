import keras
import numpy as np
import pytest
from backends import MODES
from backends import TWO_MODES
from backends import call_back
from backends import count_traces
from backends import in_mode
from backends import tensorflow_only
from crossing_beams import CrossingBeams
from keras import ops

import keras_attention


ALPHABET = "-<>abcdehlnors"
PADDING, START, END = 0, 1, 2
WORDS = ["hello>", "no>", "banana"]
MEMORY_LENGTH = 11


def spell(words):
    """A step that spells a word in every row, whatever token it gets.

    The state counts the steps of a row. The attention scores say, at the
    position of the step, which row it was.
    """
    length = max(map(len, words)) + 1
    ids = [
        [ALPHABET.index(letter) for letter in word.ljust(length, ">")]
        for word in words
    ]
    script = ops.convert_to_tensor(np.array(ids, "int32"))

    def step(tokens, state):
        index = ops.minimum(state[0], length - 1)
        ids = ops.take_along_axis(script, index[:, None], axis=1)[:, 0]
        logits = 3.0 * ops.one_hot(ids, len(ALPHABET))
        row = ops.arange(1, len(words) + 1, dtype="float32")[:, None]
        attention_scores = ops.one_hot(index, MEMORY_LENGTH) * row
        return logits, [state[0] + 1], attention_scores

    return step, [ops.zeros((len(words),), "int32")]


def run(words=WORDS, max_length=7, **kwargs):
    step, state = spell(words)
    arguments = {
        "batch_size": len(words),
        "start_token": START,
        "end_token": END,
        "max_length": max_length,
        "strategy": keras_attention.GreedySearch(),
        **kwargs,
    }
    return keras_attention.decode(step, state, **arguments)


def text(tokens):
    return "".join(ALPHABET[token] for token in np.array(tokens))


# What a letter costs: logit 3 against 13 others of 0.
COST = 3.0 - np.log(np.exp(3.0) + len(ALPHABET) - 1)


@pytest.mark.parametrize("mode", MODES)
def test_words_are_spelled_ended_and_padded(mode):
    result = in_mode(run, mode)()
    assert [text(row) for row in result.tokens[:, 0]] == [
        "hello>-",
        "no>----",
        "banana>",
    ]
    np.testing.assert_array_equal(result.lengths, [[6], [3], [7]])
    np.testing.assert_allclose(
        result.scores, COST * np.array([[6], [3], [7]]), rtol=1e-5
    )


@pytest.mark.parametrize("mode", MODES)
def test_words_that_do_not_end_are_cut(mode):
    result = in_mode(lambda: run(max_length=5), mode)()
    assert [text(row) for row in result.tokens[:, 0]] == [
        "hello",
        "no>--",
        "banan",
    ]
    np.testing.assert_array_equal(result.lengths, [[5], [3], [5]])
    np.testing.assert_allclose(
        result.scores, COST * np.array([[5], [3], [5]]), rtol=1e-5
    )


def test_attention_scores_are_those_of_every_step_and_0_after_the_end():
    """Every step has its own, as reported in espnet/espnet#2549."""
    scores = np.array(run().attention_scores)
    assert scores.shape == (3, 1, 7, MEMORY_LENGTH)
    expected = np.zeros((3, 7, MEMORY_LENGTH))
    for row, length in enumerate([6, 3, 7]):
        for index in range(length):
            expected[row, index, index] = row + 1
    np.testing.assert_array_equal(scores[:, 0], expected)


def test_dtypes_and_shapes_are_those_documented():
    result = run()
    assert [keras.backend.standardize_dtype(x.dtype) for x in result] == [
        "int32",
        "int32",
        "float32",
        "float32",
    ]
    assert [tuple(part.shape) for part in result[:3]] == [
        (3, 1, 7),
        (3, 1),
        (3, 1),
    ]


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize(
    ("words", "max_length", "limits", "expected"),
    [
        (["no>", "so>"], 19, None, 3),
        (["no>", "hello>"], 19, None, 6),
        (["banana"], 5, None, 5),
        ([">"], 19, None, 1),
        (["no>"], 1, None, 1),
        (["no>", "hello>"], 19, [19, 4], 4),
    ],
    ids=["both_end", "one_ends_later", "cut", "at_once", "one_token", "limit"],
)
def test_loop_stops_when_every_row_has_ended(
    words, max_length, limits, expected, mode
):
    turns = []
    step, state = spell(words)

    def counting(tokens, state):
        call_back(lambda: turns.append(1))
        return step(tokens, state)

    def decode():
        return keras_attention.decode(
            counting,
            state,
            batch_size=len(words),
            start_token=START,
            end_token=END,
            max_length=max_length,
            length_limits=limits,
            strategy=keras_attention.GreedySearch(),
        ).tokens

    tokens = in_mode(decode, mode)()
    assert tokens.shape[-1] == max_length
    assert len(turns) == expected


def test_other_padding_tokens_do_not_change_scores_and_lengths():
    padded = run(padding_token=5)
    assert [text(row) for row in padded.tokens[:, 0]] == [
        "hello>c",
        "no>cccc",
        "banana>",
    ]
    plain = run()
    np.testing.assert_array_equal(padded.scores, plain.scores)
    np.testing.assert_array_equal(padded.lengths, plain.lengths)


def test_padding_with_the_end_token_changes_no_length():
    result = run(padding_token=END)
    assert text(result.tokens[1, 0]) == "no>>>>>"
    np.testing.assert_array_equal(result.lengths, [[6], [3], [7]])
    np.testing.assert_array_equal(result.scores, run().scores)


def test_tokens_are_fed_back():
    def successor(tokens, state):
        return 9.0 * ops.one_hot(tokens + 1, 17), state, None

    result = keras_attention.decode(
        successor,
        [],
        batch_size=2,
        start_token=3,
        end_token=7,
        max_length=6,
        strategy=keras_attention.GreedySearch(),
    )
    np.testing.assert_array_equal(result.tokens[1, 0], [4, 5, 6, 7, 0, 0])
    assert result.attention_scores is None


@pytest.mark.parametrize("structure", ["dict", "nested", "tensor"])
def test_state_has_any_structure(structure):
    zeros = ops.zeros((2,), "int32")
    wrap, unwrap = {
        "dict": (lambda x: {"a": x, "b": x}, lambda s: s["a"]),
        "nested": (lambda x: [(x, [x])], lambda s: s[0][1][0]),
        "tensor": (lambda x: x, lambda s: s),
    }[structure]

    def step(tokens, state):
        count = unwrap(state) + 1
        return 9.0 * ops.one_hot(count + 1, 13), wrap(count), None

    result = keras_attention.decode(
        step,
        wrap(zeros),
        batch_size=2,
        start_token=1,
        end_token=4,
        max_length=5,
        strategy=keras_attention.GreedySearch(),
    )
    np.testing.assert_array_equal(result.tokens[0, 0], [2, 3, 4, 0, 0])


def test_state_may_begin_in_another_dtype_than_it_goes_on():
    """Half-precision logits and states, as in NVIDIA/OpenSeq2Seq#52."""

    def step(tokens, state):
        state = ops.cast(state, "float16") + 1
        logits = ops.one_hot(ops.cast(state, "int32") + 1, 13) * 9.0
        return ops.cast(logits, "float16"), state, None

    result = keras_attention.decode(
        step,
        ops.zeros((2,), "float32"),
        batch_size=2,
        start_token=1,
        end_token=4,
        max_length=5,
        strategy=keras_attention.GreedySearch(),
    )
    np.testing.assert_array_equal(result.tokens[0, 0], [2, 3, 4, 0, 0])
    assert np.array(result.scores).dtype == "float32"


@tensorflow_only("tensors of a length that is not known")
def test_max_length_may_be_a_tensor():
    results, traces = count_traces(
        lambda length: run(max_length=length).tokens,
        [((), "int32")],
        [[4], [9]],
    )
    assert [text(tokens[0, 0]) for tokens in results] == ["hell", "hello>---"]
    assert traces == 1


@pytest.mark.parametrize("mode", MODES)
def test_limit_of_an_example_ends_it(mode):
    """One token is put out even with a limit of 0."""
    result = in_mode(lambda limits: run(length_limits=limits), mode)(
        np.array([4, 9, 0], "int32")
    )
    assert [text(row) for row in result.tokens[:, 0]] == [
        "hell---",
        "no>----",
        "b------",
    ]
    np.testing.assert_array_equal(result.lengths, [[4], [3], [1]])
    np.testing.assert_allclose(
        result.scores, COST * np.array([[4], [3], [1]]), rtol=1e-5
    )
    looked_at = np.sum(np.array(result.attention_scores) > 0, axis=(1, 2, 3))
    np.testing.assert_array_equal(looked_at, [4, 3, 1])


def test_limit_of_an_example_is_at_most_max_length():
    assert [
        text(row)
        for row in run(max_length=2, length_limits=[4, 9, 1]).tokens[:, 0]
    ] == ["he", "no", "b-"]


def test_limit_of_an_example_comes_before_min_length():
    result = run(min_length=5, length_limits=[2, 7, 7])
    assert [text(row) for row in result.tokens[:, 0]][0] == "he-----"
    np.testing.assert_array_equal(result.lengths[0], [2])


# Beams


def test_state_history_and_end_follow_the_parent():
    """A step whose row knows its name and what it has put out so far.

    The state is [name, sum of tokens]; the attention scores show it, so
    that the history tells which beam a hypothesis came through. Reported as
    tensorflow/tensorflow#13536: the index of beams confused what was ended.
    And as ludwig-ai/ludwig#867: the tokens of every step were taken as they
    were, without going back from parent to parent.
    """
    batch, length, vocabulary_size, end = 2, 5, 7, 6
    generator = np.random.default_rng(3)
    logits = generator.normal(size=(length, 4, vocabulary_size)) * 2
    logits = logits.astype("float32")

    def step(tokens, state):
        count, trace = state
        count = count + 1
        table = ops.convert_to_tensor(logits)
        row = ops.take(table, ops.max(count) - 1, axis=0)
        name = ops.cast(trace[:, 0], "int32")
        trace = ops.stack(
            [trace[:, 0], 10 * trace[:, 1] + ops.cast(tokens, "float32")],
            axis=1,
        )
        return ops.take(row, name, axis=0), (count, trace), trace

    names = np.stack([np.arange(4), np.zeros(4)], axis=1).astype("float32")
    result = keras_attention.decode(
        step,
        (ops.zeros((4,), "int32"), ops.convert_to_tensor(names)),
        batch_size=batch,
        start_token=1,
        end_token=end,
        max_length=length,
        strategy=CrossingBeams(),
    )

    # The same in Python, with a hypothesis as a dictionary.
    log_probabilities = logits - np.log(
        np.sum(np.exp(logits), axis=-1, keepdims=True)
    )
    beams = [
        {"name": row, "trace": 0.0, "tokens": [], "score": 0.0, "seen": []}
        for row in range(4)
    ]
    for time in range(length):
        next_beams = []
        for row in range(4):
            beam = dict(beams[row ^ 1])
            tokens = beam["tokens"]
            ended = end in tokens
            last = (tokens + [1])[-1] if not tokens else tokens[-1]
            beam["trace"] = 10 * beam["trace"] + last
            if ended:
                order, costs = [0], [0.0]
                token, cost = (0, 0.0) if row % 2 == 0 else (1, -1e30)
                seen = [0.0, 0.0]
            else:
                costs = log_probabilities[time, beam["name"]]
                order = np.argsort(-costs, kind="stable")
                token, cost = order[row % 2], costs[order[row % 2]]
                seen = [beam["name"], beam["trace"]]
            beam["tokens"] = [*tokens, int(token)]
            beam["score"] = beam["score"] + cost
            beam["seen"] = [*beam["seen"], seen]
            next_beams.append(beam)
        beams = next_beams
    assert any(end in beam["tokens"][:-1] for beam in beams)
    for row, beam in enumerate(beams):
        place = divmod(row, 2)
        tokens = beam["tokens"]
        count = tokens.index(end) + 1 if end in tokens else length
        expected = tokens[:count] + [0] * (length - count)
        np.testing.assert_array_equal(result.tokens[place], expected)
        assert int(result.lengths[place]) == count
        np.testing.assert_allclose(
            result.scores[place], beam["score"], rtol=1e-5
        )
        np.testing.assert_allclose(
            result.attention_scores[place], beam["seen"], rtol=1e-6
        )


# Errors


@pytest.mark.parametrize(
    "strategy",
    ["greedy", keras_attention.GreedySearch, None],
    ids=["name", "class", "none"],
)
def test_what_is_no_strategy_raises(strategy):
    with pytest.raises(TypeError, match=r"for example GreedySearch\(\)"):
        run(strategy=strategy)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"max_length": 0}, "Expected at least 1 token"),
        ({"max_length": -3}, "Expected at least 1 token"),
        ({"end_token": START}, "Expected two different ids"),
        ({"padding_token": 14}, r"Expected an id from 0 to 13"),
        ({"padding_token": -1}, r"Expected an id from 0 to 13"),
        ({"length_limits": 5}, r"of shape \(\) and batch_size=3"),
        ({"length_limits": [5, 5]}, r"of shape \(2,\) and batch_size=3"),
        ({"length_limits": [[5], [5], [5]]}, r"a limit for each example"),
    ],
    ids=[
        "zero",
        "negative",
        "same_tokens",
        "padding",
        "negative_padding",
        "one_limit",
        "limits_of_another_batch",
        "limits_of_rows",
    ],
)
def test_errors_of_the_arguments(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        run(**arguments)
