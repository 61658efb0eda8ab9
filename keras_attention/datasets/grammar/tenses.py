"""The tenses, and when something happens in each."""

from keras_attention.datasets.grammar.pieces import NOTHING
from keras_attention.datasets.grammar.pieces import piece


# The tenses whose last word in Spanish is an infinitive.
INFINITIVE_TENSES = ("going", "want", "can", "must")
BE_TENSES = ("present", "imperfect", "future")

_LATER = [
    piece("mañana", "tomorrow"),
    piece("esta noche", "tonight"),
    piece("la próxima semana", "next week", "0-1 1-0 1-2"),
    piece("el viernes", "on Friday", "0-0 1-1"),
    piece("dentro de dos días", "in two days", "0-0 0-1 1-2 2-3"),
]
_NOW = [piece("ahora", "now"), piece("hoy", "today")]
_SOON = [*_LATER[:2], *_NOW]
TIMES = {
    "present": [
        piece("todos los días", "every day", "0-0 0-1 1-2"),
        piece("los lunes", "on Mondays", "0-0 1-1"),
        piece("por la mañana", "in the morning", "0-0 1-1 2-2"),
        piece("cada semana", "every week", "0-0 1-1"),
        piece("en verano", "in summer", "0-0 1-1"),
    ],
    "past": [
        piece("ayer", "yesterday"),
        piece("anoche", "last night"),
        piece("la semana pasada", "last week", "0-2 1-0 1-1"),
        piece("el sábado pasado", "last Saturday", "0-2 1-0 1-1"),
        piece("hace dos años", "two years ago", "0-1 1-2 2-0"),
    ],
    "future": _LATER,
    "progressive": _NOW,
    "perfect": [
        piece("hoy", "today"),
        piece("esta semana", "this week", "0-0 1-1"),
    ],
    "going": _LATER,
    "want": _SOON,
    "can": _SOON,
    "must": _SOON,
}
TENSES = tuple(TIMES)


def usual_tenses(verb):
    """The tenses in which people say the verb."""
    rare = {
        "see": ("progressive",),
        "forget": ("progressive", "want", "must"),
        "lose": ("progressive", "want", "can", "must"),
    }.get(verb.base, ())
    return [tense for tense in TENSES if tense not in rare]


def time_of(tense, i):
    """A time for the i-th sentence: none for half of them, unless past.

    The first form of nosotros in -ar and -ir is present and past alike, so
    the past always says when.
    """
    times = TIMES[tense]
    if tense != "past":
        times = (*times, *[NOTHING] * len(times))
    return times[i % len(times)]
