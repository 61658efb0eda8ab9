"""Sentences with the time by the clock."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import MOODS
from keras_attention.datasets.grammar.choices import asks_oneself
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import clause
from keras_attention.datasets.grammar.clauses import say
from keras_attention.datasets.grammar.inflection import conjugate
from keras_attention.datasets.grammar.numbers import ENGLISH_UNITS
from keras_attention.datasets.grammar.numbers import UNITS
from keras_attention.datasets.grammar.pieces import NOTHING
from keras_attention.datasets.grammar.pieces import governed
from keras_attention.datasets.grammar.pieces import join
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence
from keras_attention.datasets.grammar.subjects import SUBJECTS
from keras_attention.datasets.grammar.subjects import Subject
from keras_attention.datasets.grammar.subjects import noun_subject
from keras_attention.datasets.grammar.tenses import TIMES
from keras_attention.datasets.grammar.verb_groups import VerbGroup


_HOURS = range(1, 13)
MINUTES = [
    NOTHING,
    *(
        piece(spanish, english, "0-1 1-0")
        for spanish, english in (
            ("y cinco", "five past"),
            ("y diez", "ten past"),
            ("y veinte", "twenty past"),
            ("y veinticinco", "twenty-five past"),
            ("y media", "half past"),
            ("menos veinticinco", "twenty-five to"),
            ("menos veinte", "twenty to"),
            ("menos diez", "ten to"),
            ("menos cinco", "five to"),
        )
    ),
    piece("y cuarto", "a quarter past", "0-1 1-1 2-0"),
    piece("menos cuarto", "a quarter to", "0-1 1-1 2-0"),
]


def clock(hour, minutes):
    """The time, as "las tres y media" and "half past three".

    Args:
        hour: 1 to 12.
        minutes: One of `MINUTES`.
    """
    full_hour = not minutes.spanish
    return join(
        "article hour minutes",
        "minutes hour article",
        ties=[] if full_hour else ["article hour"],
        article=piece(
            "la" if hour == 1 else "las", "o'clock" if full_hour else ""
        ),
        hour=piece("una" if hour == 1 else UNITS[hour], ENGLISH_UNITS[hour]),
        minutes=minutes,
    )


def telling_time():
    """Yields "Son las tres y media"."""
    it = Subject(piece("", "it"), 2, "f")
    tenses = (("present", "is"), ("imperfect", "was"))
    for (tense, english), mood, hour, minutes in spread(
        800, tenses, MOODS, _HOURS, MINUTES
    ):
        finite = conjugate("ser", tense)[2 if hour == 1 else 4]
        group = VerbGroup(finite, english)
        yield sentence(clause(it, group, mood, rest=clock(hour, minutes)), mood)


def timing():
    """Yields "El tren sale a la una"."""
    start = lexicon.Verb("empezar", "start", "started", "started")
    leave = lexicon.Verb("salir", "leave", "left", "left")
    arrive = lexicon.Verb("llegar", "arrive", "arrived", "arrived")
    events = [
        (noun_subject(lexicon.Noun(spanish, gender, english, "")), verb)
        for spanish, gender, english, verb in (
            ("tren", "m", "train", leave),
            ("autobús", "m", "bus", leave),
            ("avión", "m", "plane", arrive),
            ("barco", "m", "boat", arrive),
            ("clase", "f", "class", start),
            ("concierto", "m", "concert", start),
            ("película", "f", "movie", start),
        )
    ]
    habits = lexicon.verbs(
        """
        levantarse | get got gotten up |
        despertarse | wake woke woken up |
        acostarse | go went gone to bed |
        """
    )
    events += [(subject, verb) for verb in habits for subject in SUBJECTS]
    tenses = ("present", "past", "future")
    for (subject, verb), tense, mood, hour, minutes in spread(
        1100, events, tenses, MOODS, _HOURS, MINUTES
    ):
        if asks_oneself(subject, tense, mood):
            continue
        rest = governed("a", "at", clock(hour, minutes))
        when = NOTHING if tense == "present" else TIMES[tense][0]
        yield say(subject, verb, tense, mood, rest=rest, when=when)
