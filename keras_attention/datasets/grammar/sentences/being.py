"""Sentences with "be" in English: ser, estar, haber and tener."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import MOODS
from keras_attention.datasets.grammar.choices import asks_oneself
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import be
from keras_attention.datasets.grammar.clauses import clause
from keras_attention.datasets.grammar.noun_phrases import PLACES
from keras_attention.datasets.grammar.noun_phrases import agreeing_adjective
from keras_attention.datasets.grammar.noun_phrases import noun_phrase
from keras_attention.datasets.grammar.pieces import governed
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence
from keras_attention.datasets.grammar.subjects import SUBJECTS
from keras_attention.datasets.grammar.subjects import Subject
from keras_attention.datasets.grammar.subjects import noun_subject
from keras_attention.datasets.grammar.tenses import BE_TENSES
from keras_attention.datasets.grammar.verb_groups import BE
from keras_attention.datasets.grammar.verb_groups import WAS
from keras_attention.datasets.grammar.verb_groups import VerbGroup


def describing():
    """Yields "La falda es blanca"."""
    groups = [
        (group, "ser", lexicon.adjectives(group))
        for group in lexicon.GROUPS
        if group not in (*lexicon.MASS_GROUPS, "languages")
    ]
    groups += [
        ("openable", "estar", ("abierto", "cerrado")),
        ("vehicles", "estar", ("sucio", "limpio")),
        ("house", "estar", ("sucio", "limpio", "vacío", "cerrado")),
    ]
    determiners = ("the", "this", "that", "my", "your", "our")
    for group, verb, adjectives in groups:
        for noun, plural, determiner, adjective, tense, mood in spread(
            140,
            lexicon.nouns(group),
            (False, True),
            determiners,
            adjectives,
            BE_TENSES,
            MOODS,
        ):
            subject = noun_subject(noun, plural, determiner)
            predicate = agreeing_adjective(adjective, subject)
            yield be(subject, verb, tense, mood, predicate=predicate)


def feeling_tired():
    """Yields "¿Están enfermos los niños?"."""
    feelings = "cansado contento triste enfermo ocupado listo preocupado"
    for subject, feeling, tense, mood in spread(
        700, SUBJECTS, feelings.split(), BE_TENSES, MOODS
    ):
        if not asks_oneself(subject, tense, mood):
            predicate = agreeing_adjective(feeling, subject)
            yield be(subject, "estar", tense, mood, predicate=predicate)


def feeling_hungry():
    """Yields "Tengo hambre"."""
    states = (
        ("hambre", "hungry"),
        ("sed", "thirsty"),
        ("frío", "cold"),
        ("calor", "hot"),
        ("sueño", "sleepy"),
        ("miedo", "afraid"),
        ("prisa", "in a hurry"),
        ("razón", "right"),
    )
    for subject, tense, mood, state in spread(
        700, SUBJECTS, BE_TENSES, MOODS, states
    ):
        if not asks_oneself(subject, tense, mood):
            yield be(subject, "tener", tense, mood, predicate=piece(*state))


def locating():
    """Yields "El pájaro está debajo del coche"."""
    positions = (
        ("debajo de", "under"),
        ("cerca de", "near"),
        ("detrás de", "behind"),
        ("delante de", "in front of"),
        ("al lado de", "next to"),
    )
    located = lexicon.nouns("objects", "animals", "clothes")
    places = lexicon.nouns("furniture", "vehicles")
    for noun, plural, position, place, tense, mood in spread(
        900, located, (False, True), positions, places, BE_TENSES, MOODS
    ):
        yield be(
            noun_subject(noun, plural),
            "estar",
            tense,
            mood,
            rest=governed(*position, noun_phrase(place).piece),
        )


def existing():
    """Yields "Hay dos sillas en el jardín"."""
    counts = (("a", False), ("two", True), ("three", True), ("many", True))
    nouns = lexicon.nouns("animals", "people", "furniture")
    verbs = (("hay", BE), ("había", WAS))
    for (determiner, plural), verb, mood, noun, (place, at) in spread(
        900, counts, verbs, MOODS, nouns, PLACES
    ):
        finite, english = verb
        there = Subject(piece("", "there"), 4 if plural else 2, "m")
        existence = clause(
            there,
            VerbGroup(finite, english[there.person]),
            mood,
            predicate=noun_phrase(noun, plural, determiner).piece,
            rest=governed("en", at, place),
        )
        yield sentence(existence, mood)
