"""Noun phrases by themselves."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.inflection import a_or_an
from keras_attention.datasets.grammar.noun_phrases import agreeing_adjective
from keras_attention.datasets.grammar.noun_phrases import noun_phrase
from keras_attention.datasets.grammar.noun_phrases import noun_phrases
from keras_attention.datasets.grammar.pieces import join
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence


_GROUPS = [group for group in lexicon.GROUPS if group != "languages"]


def naming():
    """Yields "La casa roja"."""
    for group in _GROUPS:
        for (thing,) in spread(60, noun_phrases(group)):
            if len(thing.piece.spanish) > 1:
                yield sentence(thing.piece)


def exclaiming():
    """Yields "¡Qué casa tan bonita!"."""
    for group in _GROUPS:
        countable = group not in lexicon.MASS_GROUPS
        for noun, plural, adjective in spread(
            40,
            lexicon.nouns(group),
            (False, True) if countable else (False,),
            lexicon.adjectives(group),
        ):
            thing = noun_phrase(noun, plural, "bare")
            quality = agreeing_adjective(adjective, thing)
            what = "what"
            if countable and not plural:
                what = f"what {a_or_an(quality.english[0])}"
            exclamation = join(
                "what noun so quality",
                "what quality noun",
                ties=["so quality"],
                what=piece("qué", what),
                noun=thing.piece,
                so=piece("tan"),
                quality=quality,
            )
            yield sentence(exclamation, "exclamation")
