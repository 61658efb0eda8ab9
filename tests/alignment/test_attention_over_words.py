import keras
import numpy as np
import pytest
from keras import ops

from keras_attention import attention_over_words


SOURCE = ["▁¿", "D", "ónde", "▁está", "▁la", "▁cas", "a", "?", "</s>"]
TARGET = ["▁Where", "▁is", "▁the", "▁ho", "us", "e", "?", "</s>"]
SOURCE_WORDS = [[0, 1, 2], [3], [4], [5, 6, 7], [8]]
TARGET_WORDS = [[0], [1], [2], [3, 4, 5, 6], [7]]


def draw_scores(rng):
    scores = rng.random((len(TARGET), len(SOURCE))) + 0.1
    return scores / scores.sum(axis=-1, keepdims=True)


def looped(scores, source_words, target_words):
    """Sums over source pieces and means over target pieces, in loops."""
    result = np.zeros((len(target_words), len(source_words)))
    for i, target in enumerate(target_words):
        for j, source in enumerate(source_words):
            for row in target:
                for column in source:
                    result[i, j] += scores[row, column] / len(target)
    return result


def test_scores_are_those_worked_out_by_hand():
    words = attention_over_words(
        [[0.8, 0.1, 0.1], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]],
        ["▁la", "▁cas", "a"],
        ["▁the", "▁hou", "se"],
    )
    assert words.source_words == ["la", "casa"]
    assert words.target_words == ["the", "house"]
    expected = [[0.8, 0.2], [0.1, 0.9]]
    np.testing.assert_allclose(words.attention_scores, expected, atol=1e-6)


def test_pieces_are_joined_to_the_words_of_the_sentence(rng):
    words = attention_over_words(draw_scores(rng), SOURCE, TARGET)
    assert words.source_words == "¿Dónde está la casa? </s>".split()
    assert words.target_words == "Where is the house? </s>".split()


def test_source_pieces_are_summed_and_target_pieces_averaged(rng):
    scores = draw_scores(rng)
    words = attention_over_words(scores, SOURCE, TARGET)
    np.testing.assert_allclose(
        words.attention_scores,
        looped(scores, SOURCE_WORDS, TARGET_WORDS),
        atol=1e-6,
    )


def test_rows_keep_their_sum(rng):
    words = attention_over_words(draw_scores(rng), SOURCE, TARGET)
    sums = words.attention_scores.sum(axis=-1)
    np.testing.assert_allclose(sums, np.ones(5), atol=1e-6)


def test_padding_changes_nothing_wherever_it_is(rng):
    scores = draw_scores(rng)
    expected = attention_over_words(scores, SOURCE, TARGET)
    padded = np.full((11, 13), np.nan)
    padded[1:9, 2:11] = scores
    words = attention_over_words(
        padded,
        ["<pad>", "<pad>", *SOURCE, "<pad>", "<pad>"],
        ["<pad>", *TARGET, "<pad>"],  # and a row beyond the pieces
    )
    assert words.source_words == expected.source_words
    assert words.target_words == expected.target_words
    np.testing.assert_array_equal(
        words.attention_scores, expected.attention_scores
    )


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["ca", "sa", "▁roja"], ["casa", "roja"]),
        (["▁", "?", "▁", "▁sí"], ["?", "sí"]),
        (["<s>", "ca", "sa", "</s>", "x"], ["<s>", "casa", "</s>", "x"]),
        (["▁no", "▁", "</s>"], ["no", "</s>"]),
        (["▁", "<unk>", "▁", "<unk>", "a"], ["<unk>", "<unk>a"]),
        (["▁sí", "▁sí"], ["sí", "sí"]),
        (["</s>"], ["</s>"]),
        (["<pad>", "<pad>"], []),
        ([], []),
    ],
    ids=str,
)
def test_words_begin_where_they_should(pieces, words):
    scores = np.ones((len(pieces), len(pieces))) / max(1, len(pieces))
    result = attention_over_words(scores, pieces, pieces)
    assert result.source_words == result.target_words == words
    assert result.attention_scores.shape == (len(words), len(words))


def test_pieces_may_be_bytes_as_a_saved_model_returns_them(rng):
    scores = draw_scores(rng)
    expected = attention_over_words(scores, SOURCE, TARGET)
    source, target = (
        np.array([piece.encode() for piece in pieces], dtype=object)
        for pieces in (SOURCE, TARGET)
    )
    words = attention_over_words(scores, source, target)
    assert words.source_words == expected.source_words
    assert words.target_words == expected.target_words
    odd = attention_over_words([[1.0]], [b"\xe2\x96\x81a\xff"], ["▁a"])
    assert odd.source_words == ["a\ufffd"]


def test_tensors_of_a_layer_are_taken(rng):
    scores = ops.convert_to_tensor(draw_scores(rng), dtype="float32")
    words = attention_over_words(scores, SOURCE, TARGET)
    assert isinstance(words.attention_scores, np.ndarray)
    assert words.attention_scores.dtype == "float32"
    np.testing.assert_allclose(
        words.attention_scores,
        looped(ops.convert_to_numpy(scores), SOURCE_WORDS, TARGET_WORDS),
        atol=1e-6,
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="has tensors of strings"
)
def test_tensors_of_strings_are_taken(rng):
    scores = draw_scores(rng)
    source, target = (
        ops.convert_to_tensor(pieces, dtype="string")
        for pieces in (SOURCE, TARGET)
    )
    words = attention_over_words(scores, source, target)
    assert words.source_words == "¿Dónde está la casa? </s>".split()


@pytest.mark.parametrize("shape", [(7, 9), (8, 8), (1, 8, 9), (9,)], ids=str)
def test_scores_that_do_not_fit_the_pieces_are_refused(shape):
    match = (
        r"`attention_over_words` .* 8 target tokens and 9 source tokens\. "
        r"Expected \(target_length, source_length\).* one sentence at a time"
    )
    with pytest.raises(ValueError, match=match):
        attention_over_words(np.ones(shape), SOURCE, TARGET)
