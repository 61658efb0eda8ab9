"""Who or what a sentence is about."""

from typing import NamedTuple

from keras_attention.datasets.grammar.noun_phrases import noun_phrase
from keras_attention.datasets.grammar.pieces import Piece
from keras_attention.datasets.grammar.pieces import chain
from keras_attention.datasets.grammar.pieces import piece


class Subject(NamedTuple):
    """A subject and what the verb and the adjectives agree with.

    Args:
        piece: The words; a pronoun has none in Spanish.
        person: 0 I, 1 you, 2 he or she, 3 we, 4 they.
        gender: `"m"` or `"f"`, in Spanish.
    """

    piece: Piece
    person: int
    gender: str

    @property
    def plural(self):
        """Whether it is plural."""
        return self.person > 2


# Spanish leaves these to the verb.
ME, YOU, US = (
    Subject(piece("", english), person, "m")
    for english, person in (("I", 0), ("you", 1), ("we", 3))
)
# As many words in both languages, which correspond one by one.
OTHERS = [
    Subject(
        chain(*map(piece, spanish.split(), english.split())), person, gender
    )
    for spanish, english, person, gender in (
        ("él", "he", 2, "m"),
        ("Ana", "Ana", 2, "f"),
        ("mi hermano", "my brother", 2, "m"),
        ("ellos", "they", 4, "m"),
        ("Pedro", "Pedro", 2, "m"),
        ("la profesora", "the teacher", 2, "f"),
        ("mis padres", "my parents", 4, "m"),
        ("ella", "she", 2, "f"),
        ("Marta", "Marta", 2, "f"),
        ("tu primo", "your cousin", 2, "m"),
        ("los niños", "the children", 4, "m"),
        ("nuestra abuela", "our grandmother", 2, "f"),
        ("Luis y Clara", "Luis and Clara", 4, "m"),
        ("ellas", "they", 4, "f"),
        ("el médico", "the doctor", 2, "m"),
    )
]
SUBJECTS = [ME, YOU, US, *OTHERS]


def noun_subject(noun, plural=False, determiner="the"):
    """A noun phrase as the subject; arguments as of `noun_phrase`."""
    phrase = noun_phrase(noun, plural, determiner)
    return Subject(phrase.piece, 4 if plural else 2, phrase.gender)
