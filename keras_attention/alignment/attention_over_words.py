"""From attention over pieces of words to attention over words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_attention.alignment.fitting_scores import fitting_scores


PADDING = "<pad>"
SENTENCE_ENDS = ("<s>", "</s>")
WORD_START = "▁"  # U+2581, which SentencePiece writes for a space


class WordAttention(NamedTuple):
    """The attention scores of a sentence, over words.

    Attributes:
        attention_scores: Probability, float32,
            `(num_target_words, num_source_words)`.
        source_words: Strings, one a column.
        target_words: Strings, one a row.

    Example:
        ```python
        words = keras_attention.WordAttention(
            np.array([[0.8, 0.2], [0.1, 0.9]], "float32"),
            source_words=["la", "casa"],
            target_words=["the", "house"],
        )
        links = keras_attention.attention_links(*words)
        print(sorted(links))  # [(0, 0), (1, 1)]
        ```
    """

    attention_scores: np.ndarray
    source_words: list[str]
    target_words: list[str]


def attention_over_words(
    attention_scores,
    source_pieces: Sequence[str | bytes],
    target_pieces: Sequence[str | bytes],
) -> WordAttention:
    """Joins the pieces of words that SentencePiece made, and their scores.

    What goes to the pieces of a source word is added up; the rows of the
    pieces of a target word are averaged. So a row has the same sum over
    words as over pieces: 1.

    Source: Koehn and Knowles (2017), section 3.5,
    https://arxiv.org/abs/1706.03872.

    Args:
        attention_scores: Probability, `(target_length, source_length)`, of
            one sentence. Rows and columns beyond the pieces given are
            padding and left out.
        source_pieces: Sequence of strings, or of bytes in UTF-8. A piece
            with which a word begins has "▁" (U+2581) before it. `"</s>"` and
            `"<s>"` are words of their own, so that no probability is lost;
            `"<pad>"` is left out, wherever it stands.
        target_pieces: Likewise.

    Returns:
        A `WordAttention` of attention scores, source words and target words,
        in the order in which `plot_attention` and `attention_links` take
        them.

    Raises:
        ValueError: If there are more pieces than rows or columns.

    Example:
        ```python
        words = keras_attention.attention_over_words(
            [[0.8, 0.1, 0.1], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]],
            source_pieces=["▁la", "▁cas", "a"],
            target_pieces=["▁the", "▁hou", "se"],
        )
        print(words.source_words)  # ['la', 'casa']
        print(*words.attention_scores)  # [0.8 0.2] [0.1 0.9]
        keras_attention.plot_attention(*words)
        ```
    """
    source_pieces = _as_strings(source_pieces)
    target_pieces = _as_strings(target_pieces)
    scores = fitting_scores(
        "attention_over_words", attention_scores, source_pieces, target_pieces
    )
    source_words, columns = _join(source_pieces)
    target_words, rows = _join(target_pieces)
    scores = _reduce(np.sum, scores.T, columns).T  # target_length source_words
    scores = _reduce(np.mean, scores, rows)  # target_words source_words
    return WordAttention(scores, source_words, target_words)


def _as_strings(pieces):
    # Tensors of strings are read by NumPy alone; what comes out are bytes.
    pieces = np.asarray(pieces, dtype=object).tolist()
    return [
        piece.decode("utf-8", "replace") if isinstance(piece, bytes) else piece
        for piece in pieces
    ]


def _join(pieces):
    """Returns words, and for each of them the positions of its pieces."""
    words, positions = [], []
    for position, piece in enumerate(pieces):
        if piece == PADDING:
            continue
        if not words or _parts(words[-1], piece):
            words.append("")
            positions.append([])
        words[-1] += piece.removeprefix(WORD_START)
        positions[-1].append(position)
    return words, positions


def _parts(word, piece):
    """Tells whether a word ends before a piece."""
    if word == "":  # a space alone is no word
        return False
    ends = word in SENTENCE_ENDS or piece in SENTENCE_ENDS
    return ends or piece.startswith(WORD_START)


def _reduce(function, scores, groups):
    """Applies a function to groups of rows."""
    reduced = [function(scores[group], axis=0) for group in groups]
    return np.reshape(reduced, (len(groups), scores.shape[1]))
