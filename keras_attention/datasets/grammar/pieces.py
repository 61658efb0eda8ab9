"""Parts of a sentence in both languages, with their alignment."""

import functools
import itertools
from typing import NamedTuple


class Piece(NamedTuple):
    """Part of a sentence in both languages.

    Args:
        spanish: Words in Spanish.
        english: Words in English.
        links: `(english_index, spanish_index)` pairs, 0-based.
    """

    spanish: tuple[str, ...] = ()
    english: tuple[str, ...] = ()
    links: tuple[tuple[int, int], ...] = ()


NOTHING = Piece()


@functools.cache
def piece(spanish="", english="", links=None):
    """Reads a piece from text.

    Args:
        spanish: Words, separated by spaces.
        english: Words, likewise.
        links: English and Spanish positions, as in "0-0 1-2". By default,
            every word links to every word.

    Example:
        >>> piece("hace dos años", "two years ago", "0-1 1-2 2-0").links
        ((0, 1), (1, 2), (2, 0))
    """
    spanish, english = spanish.split(), english.split()
    if links is None:
        pairs = itertools.product(range(len(english)), range(len(spanish)))
    else:
        pairs = (map(int, link.split("-")) for link in links.split())
    return Piece(tuple(spanish), tuple(english), tuple(map(tuple, pairs)))


def join(spanish, english, ties=(), **parts):
    """Puts parts together in an order of their own for each language.

    Args:
        spanish: Names of the parts in Spanish order.
        english: Names of the parts in English order.
        ties: "x y" links each Spanish word of part x to each English word
            of part y, besides the links inside the parts.
        **parts: The pieces, by name.
    """
    spanish_words, english_words = [], []
    spanish_start, english_start = {}, {}
    for name in spanish.split():
        spanish_start[name] = len(spanish_words)
        spanish_words += parts[name].spanish
    for name in english.split():
        english_start[name] = len(english_words)
        english_words += parts[name].english
    links = [
        (english_start[name] + i, spanish_start[name] + j)
        for name, part in parts.items()
        for i, j in part.links
    ]
    for tie in ties:
        x, y = tie.split()
        links += itertools.product(
            range(english_start[y], english_start[y] + len(parts[y].english)),
            range(spanish_start[x], spanish_start[x] + len(parts[x].spanish)),
        )
    return Piece(tuple(spanish_words), tuple(english_words), tuple(links))


def chain(*pieces):
    """Joins pieces whose order is the same in both languages."""
    names = [f"piece{i}" for i in range(len(pieces))]
    order = " ".join(names)
    return join(order, order, **dict(zip(names, pieces, strict=True)))


_CONTRACTIONS = {("a", ("el",)): "al", ("de", ("el",)): "del"}


def governed(spanish, english, complement):
    """Puts a preposition before a piece: "al parque", "veo a Ana".

    Without an English preposition the Spanish one goes with the first word.
    """
    preposition, words = spanish.split(), tuple(english.split())
    rest = complement.spanish
    shift = len(preposition)
    contraction = _CONTRACTIONS.get((preposition[-1], rest[:1]))
    if contraction:
        preposition[-1], rest, shift = contraction, rest[1:], shift - 1
    links = itertools.product(range(len(words) or 1), range(len(preposition)))
    moved = [(len(words) + i, shift + j) for i, j in complement.links]
    return Piece(
        (*preposition, *rest), words + complement.english, (*links, *moved)
    )


_MARKS = {
    "statement": ("", "."),
    "negative": ("", "."),
    "question": ("¿", "?"),
    "exclamation": ("¡", "!"),
}


def sentence(body, mood="statement"):
    """Adds capitals and the punctuation of both languages.

    Args:
        body: A `Piece`.
        mood: `"statement"`, `"negative"`, `"question"` or `"exclamation"`.
    """
    opening, closing = _MARKS[mood]
    return join(
        "opening body closing",
        "body closing",
        ties=["opening closing"],
        opening=piece(opening),
        body=Piece(
            _capitalised(body.spanish), _capitalised(body.english), body.links
        ),
        closing=piece(closing, closing),
    )


def _capitalised(words):
    return (words[0][0].upper() + words[0][1:], *words[1:])
