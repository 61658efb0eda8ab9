"""Compares what a translator looks at with word alignments made by people.

A file of such alignments holds a JSON object a line. A link is a pair of
positions from 0 on, English first; a sure link is one that everybody makes:

    {"en": ["the", "red", "house"], "es": ["la", "casa", "roja"],
     "sure": [[0, 0], [1, 2], [2, 1]], "possible_only": []}
"""

import itertools
import json
import re
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_attention import alignment_error_rate
from keras_attention import attention_links
from keras_attention import attention_over_words
from keras_attention.datasets import phrases
from keras_attention.datasets import spanish_english


BATCH_SIZE = 64
FIELDS = ("en", "es", "sure", "possible_only")
SPECIAL = ("<pad>", "<s>", "</s>")


class Gold(NamedTuple):
    """A pair of sentences, with links of (English, Spanish) positions."""

    place: str  # where it is from, for messages
    english: list[str]
    spanish: list[str]
    sure: list[tuple[int, int]]
    possible: list[tuple[int, int]]


def read_gold(path):
    """Reads a file, or the test part of the built-in corpus: "phrases"."""
    if path == "phrases":
        return read_phrases()
    with open(path, "rb") as file:
        gold = [
            read_line(f"{path}, line {number}", line)
            for number, line in enumerate(file, start=1)
            if line.strip()
        ]
    if not gold:
        raise ValueError(f"{path} is empty. Expected a JSON object a line.")
    return gold


def read_phrases():
    *_, test = spanish_english.load_data("phrases")
    test = set(test)
    return [
        Gold(
            place=phrase.spanish,
            english=phrase.english_words,
            spanish=phrase.spanish_words,
            sure=phrase.links,
            possible=(),
        )
        for phrase in phrases.load_phrases()
        if (phrase.spanish, phrase.english) in test
    ]


def read_line(place, line):
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    problem = find_problem(row)
    if problem:
        raise ValueError(
            f'{place}: {problem}. Expected a JSON object with "en" and "es", '
            'lists of words, and "sure" and "possible_only", lists of '
            "[English, Spanish] positions from 0 on."
        )
    return Gold(place, *[row[field] for field in FIELDS])


def find_problem(row):
    """Says what is wrong with a line, if anything is."""
    if not isinstance(row, dict):
        return "this is no JSON object"
    for field in FIELDS:
        if not isinstance(row.get(field), list):
            return f'there is no list "{field}"'
    for word in row["en"] + row["es"]:
        if not isinstance(word, str) or word.split() != [word]:
            return f"{word!r} is no word (a string without spaces)"
    sizes = len(row["en"]), len(row["es"])
    for link in row["sure"] + row["possible_only"]:
        if not is_link(link, sizes):
            return (
                f"{link!r} links no two of {sizes[0]} English and "
                f"{sizes[1]} Spanish words"
            )
    return None


def is_link(link, sizes):
    return (
        isinstance(link, list)
        and len(link) == 2
        and all(
            type(index) is int and 0 <= index < size
            for index, size in zip(link, sizes, strict=True)
        )
    )


def alignment_errors(align, gold):
    """Measures the alignment error rate of a translator.

    The translator is given both sentences. An English word is linked to the
    Spanish word that it looks at most when it writes it.

    Args:
        align: Function of the strings `sources` and `targets` that returns
            their pieces and attention scores: the signature "align" of an
            exported translator.
        gold: What `read_gold` takes, or what it returned.

    Returns:
        The rate, from 0 to 1, and the number of sentences.
    """
    if not isinstance(gold, list):
        gold = read_gold(gold)
    links = []
    for start in range(0, len(gold), BATCH_SIZE):
        batch = gold[start : start + BATCH_SIZE]
        results = align(
            sources=as_strings(pair.spanish for pair in batch),
            targets=as_strings(pair.english for pair in batch),
        )
        rows = zip(
            batch,
            np.asarray(results["attention_scores"]),
            np.asarray(results["source_pieces"]),
            np.asarray(results["target_pieces"]),
            strict=True,
        )
        links += [link_words(*row) for row in rows]
    sure = [pair.sure for pair in gold]
    possible = [pair.possible for pair in gold]
    return alignment_error_rate(links, sure, possible), len(gold)


def as_strings(sentences):
    return tf.constant(
        [as_written(words).encode(errors="replace") for words in sentences]
    )


def as_written(words):
    """Joins words to a sentence, without spaces around marks.

    A translator has seen "casa." and not "casa .", which has other pieces.
    """
    text = re.sub(r" ([.,;:?!)])", r"\1", " ".join(words))
    return re.sub(r"([¿¡(]) ", r"\1", text)


def link_words(pair, attention_scores, source_pieces, target_pieces):
    pieces = [
        mark_words(pair.place, words, read)
        for words, read in (
            (pair.spanish, source_pieces),
            (pair.english, target_pieces),
        )
    ]
    return attention_links(*attention_over_words(attention_scores, *pieces))


def mark_words(place, words, pieces):
    """Puts "▁" before each piece with which one of the words begins.

    A mark is a word of its own here, though no space is before it.
    """
    pieces = [
        piece if isinstance(piece, str) else piece.decode(errors="replace")
        for piece in np.asarray(pieces).tolist()
    ]
    letters = "".join(words).encode(errors="replace").decode()
    pattern = "".join(f"({letters_of(piece)})" for piece in pieces)
    found = re.fullmatch(pattern, letters)
    starts = {0, *itertools.accumulate(map(len, words[:-1]))}
    places = found and [found.start(1 + i) for i in range(len(pieces))]
    if not found or not starts <= {*places}:
        raise ValueError(
            f"{place}: the translator reads {' '.join(pieces)!r}. Expected "
            f"pieces of the words {' '.join(words)!r}: shorter sentences (up "
            'to 199 pieces), without "▁".'
        )
    return [
        f"▁{piece.removeprefix('▁')}"
        if letter in starts and piece not in SPECIAL
        else piece
        for piece, letter in zip(pieces, places, strict=True)
    ]


def letters_of(piece):
    """A regular expression for the letters that a piece stands for."""
    if piece in SPECIAL:
        return ""
    return ".+?" if piece == "<unk>" else re.escape(piece.replace("▁", ""))
