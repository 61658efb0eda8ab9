"""Questions with a question word."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import be
from keras_attention.datasets.grammar.clauses import say
from keras_attention.datasets.grammar.clauses import verb_clause
from keras_attention.datasets.grammar.noun_phrases import noun_phrase
from keras_attention.datasets.grammar.noun_phrases import things
from keras_attention.datasets.grammar.pieces import NOTHING
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence
from keras_attention.datasets.grammar.subjects import ME
from keras_attention.datasets.grammar.subjects import SUBJECTS
from keras_attention.datasets.grammar.subjects import US
from keras_attention.datasets.grammar.subjects import Subject
from keras_attention.datasets.grammar.subjects import noun_subject
from keras_attention.datasets.grammar.tenses import TIMES
from keras_attention.datasets.grammar.tenses import time_of
from keras_attention.datasets.grammar.tenses import usual_tenses


_WHERE = piece("dónde", "where")
_WHEN = piece("cuándo", "when")
_WHY = piece("por qué", "why")
_WHAT = piece("qué", "what")
_WHO = Subject(piece("quién", "who"), 2, "m")
_ASKABLE = [subject for subject in SUBJECTS if subject is not ME]


def asking():
    """Yields "¿Dónde compras la camisa?" and "¿Qué quiere comprar Ana?"."""
    for verb, groups in lexicon.ACTIONS.items():
        yield from _asking_where_when_why(verb, things(groups))
        yield from _asking_what(verb)
        yield from _asking_who(verb, things(groups))


def _asking_where_when_why(verb, objects):
    tenses = ("present", "past", "future", "going")
    for opening, subject, tense, thing in spread(
        45, (_WHERE, _WHEN, _WHY), _ASKABLE, tenses, objects
    ):
        past = TIMES["past"][0] if tense == "past" else NOTHING
        if opening is _WHEN:
            if tense == "past" and subject is US:
                # The form is the present's too, and nothing else tells.
                continue
            past = NOTHING
        yield say(
            subject,
            verb,
            tense,
            "question",
            opening=opening,
            rest=thing.piece,
            when=past,
        )


def _asking_what(verb):
    choices = spread(40, _ASKABLE, usual_tenses(verb))
    for i, (subject, tense) in enumerate(choices):
        when = time_of(tense, i)
        yield say(subject, verb, tense, "question", opening=_WHAT, when=when)


def _asking_who(verb, objects):
    choices = spread(20, usual_tenses(verb), objects)
    for i, (tense, thing) in enumerate(choices):
        when = time_of(tense, i)
        who = verb_clause(_WHO, verb, tense, rest=thing.piece, when=when)
        yield sentence(who, "question")


def asking_how_many():
    """Yields "¿Cuántos relojes necesita mi hermano?"."""
    for verb, groups in lexicon.STATES.items():
        for subject, noun in spread(90, _ASKABLE, lexicon.nouns(*groups)):
            how_many = noun_phrase(noun, True, "how many").piece
            yield say(subject, verb, "present", "question", opening=how_many)


def asking_about():
    """Yields "¿Dónde está el gato?" and "¿De qué color es la camisa?"."""
    questions = (
        (_WHERE, "estar", ("objects", "animals", "people")),
        (piece("cómo", "how"), "estar", ("people",)),
        (
            piece("de qué color", "what color", "0-0 0-1 1-2"),
            "ser",
            ("clothes", "vehicles", "furniture", "house"),
        ),
    )
    determiners = ("the", "my", "your", "our", "this", "that")
    for opening, verb, groups in questions:
        for *noun, tense in spread(
            180,
            lexicon.nouns(*groups),
            (False, True),
            determiners,
            ("present", "imperfect"),
        ):
            subject = noun_subject(*noun)
            yield be(subject, verb, tense, "question", opening=opening)
