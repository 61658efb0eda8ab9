"""A Spanish-English corpus from a small grammar, with word alignment."""

import itertools
from typing import NamedTuple

from keras_attention.datasets.grammar.sentences import FAMILIES


class Phrase(NamedTuple):
    """A Spanish sentence, its English translation and their alignment.

    Attributes:
        spanish: The Spanish sentence, cased and punctuated.
        english: The English sentence, cased and punctuated.
        spanish_words: Words of `spanish` in order; each punctuation mark is
            a word of its own.
        english_words: Words of `english`, likewise.
        links: `(english_index, spanish_index)` pairs, 0-based positions in
            `english_words` and `spanish_words`, sorted. English comes first,
            as in files of hand-made alignments. Every word has a link.

    Example:
        ```python
        house = next(
            phrase
            for phrase in keras_attention.datasets.phrases.load_phrases()
            if phrase.spanish == "La casa roja."
        )
        print(house.english_words)  # ('The', 'red', 'house', '.')
        print(house.links)  # ((0, 0), (1, 2), (2, 1), (3, 3))
        ```
    """

    spanish: str
    english: str
    spanish_words: tuple[str, ...]
    english_words: tuple[str, ...]
    links: tuple[tuple[int, int], ...]


def load_phrases() -> list[Phrase]:
    """Generates the corpus.

    The same in every process and on every machine: no chance is involved.

    Returns:
        A list of `Phrase`, some 30,000, each of 2 to 15 words besides
        punctuation. The Spanish sentences are distinct.

    Example:
        ```python
        first = keras_attention.datasets.phrases.load_phrases()[0]
        print(first.spanish, first.english)  # La camisa. The shirt.
        ```
    """
    sentences = itertools.chain.from_iterable(family() for family in FAMILIES)
    distinct = {sentence.spanish: sentence for sentence in sentences}
    return [_phrase(sentence) for sentence in distinct.values()]


def _phrase(sentence):
    return Phrase(
        _detokenise(sentence.spanish),
        _detokenise(sentence.english),
        sentence.spanish,
        sentence.english,
        tuple(sorted(set(sentence.links))),
    )


def _detokenise(words):
    text = " ".join(words)
    for mark in ".,?!":
        text = text.replace(f" {mark}", mark)
    return text.replace("¿ ", "¿").replace("¡ ", "¡")
