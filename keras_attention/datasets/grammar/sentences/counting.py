"""Sentences with ages and prices."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import MOODS
from keras_attention.datasets.grammar.choices import asks_oneself
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import be
from keras_attention.datasets.grammar.clauses import say
from keras_attention.datasets.grammar.numbers import number_words
from keras_attention.datasets.grammar.pieces import chain
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.subjects import SUBJECTS
from keras_attention.datasets.grammar.subjects import noun_subject


_YEARS = piece("años", "years old")
_EUROS = piece("euros", "euros")
_COST = lexicon.Verb("costar", "cost", "cost", "cost")
_GOODS = (
    lexicon.nouns("clothes", "objects", "furniture"),
    (False, True),
    ("the", "this", "that"),
)


def telling_age():
    """Yields "Ana tiene veintiún años"."""
    for subject, mood, age in spread(450, SUBJECTS, MOODS, range(2, 100)):
        if not asks_oneself(subject, "present", mood):
            years = chain(piece(*number_words(age)), _YEARS)
            yield be(subject, "tener", "present", mood, predicate=years)


def asking_price():
    """Yields "¿Cuánto cuesta la camisa?"."""
    how_much = piece("cuánto", "how much")
    for noun in spread(90, *_GOODS):
        goods = noun_subject(*noun)
        yield say(goods, _COST, "present", "question", opening=how_much)


def telling_price():
    """Yields "Las camas cuestan catorce euros"."""
    for *noun, price in spread(450, *_GOODS, range(2, 100)):
        euros = chain(piece(*number_words(price)), _EUROS)
        yield say(noun_subject(*noun), _COST, "present", rest=euros)
