"""Nouns with their determiners and adjectives."""

import functools
from typing import NamedTuple

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.inflection import a_or_an
from keras_attention.datasets.grammar.inflection import agree
from keras_attention.datasets.grammar.inflection import spanish_plural
from keras_attention.datasets.grammar.pieces import NOTHING
from keras_attention.datasets.grammar.pieces import Piece
from keras_attention.datasets.grammar.pieces import join
from keras_attention.datasets.grammar.pieces import piece


class NounPhrase(NamedTuple):
    """A noun phrase and what other words agree with.

    Args:
        piece: The words.
        gender: `"m"` or `"f"`, in Spanish.
        plural: Whether it is plural.
    """

    piece: Piece
    gender: str
    plural: bool


def noun_phrase(noun, plural=False, determiner="the", adjective=None):
    """`el libro rojo` and `el primer libro`, with article and agreement.

    Args:
        noun: A `lexicon.Noun`.
        plural: Whether to make it plural.
        determiner: A key of `lexicon.DETERMINERS`.
        adjective: A key of `lexicon.ADJECTIVES`, or None.
    """
    spanish_forms, *english_forms = lexicon.DETERMINERS[determiner]
    spanish_article = ""
    if spanish_forms:
        row = 2 * plural + (noun.gender == "f")
        if noun.spanish == "agua" and determiner in ("the", "generic"):
            # Feminine, but "la" gives way before a stressed "a".
            row = 0
        spanish_article = spanish_forms.split()[row].replace("+", " ")
    parts = {
        "noun": piece(
            spanish_plural(noun.spanish) if plural else noun.spanish,
            noun.english_plural if plural else noun.english,
        ),
        "adjective": NOTHING,
    }
    if adjective:
        form = agree(adjective, noun.gender, plural)
        if form in ("primero", "tercero"):
            form = form[:-1]
        parts["adjective"] = piece(form, lexicon.ADJECTIVES[adjective])
    english_article = english_forms[plural].replace("+", " ")
    if english_article == "a":
        following = parts["adjective"].english + parts["noun"].english
        english_article = a_or_an(following[0])
    before = adjective in lexicon.PRENOMINAL
    words = join(
        "article adjective noun" if before else "article noun adjective",
        "article adjective noun",
        ties=[] if english_article else ["article noun"],
        article=piece(spanish_article, english_article),
        **parts,
    )
    return NounPhrase(words, noun.gender, plural)


def agreeing_adjective(adjective, bearer):
    """An adjective, as a piece, said of a `NounPhrase` or a `Subject`."""
    form = agree(adjective, bearer.gender, bearer.plural)
    return piece(form, lexicon.ADJECTIVES[adjective])


@functools.cache
def noun_phrases(group):
    """All noun phrases of a group, each determiner with each adjective."""
    adjectives = (None, *lexicon.adjectives(group))
    if group == "languages":
        return [
            noun_phrase(noun, False, "bare") for noun in lexicon.nouns(group)
        ]
    if group in lexicon.MASS_GROUPS:
        forms = [(False, name) for name in ("the", "bare", "my", "this")]
        forms.append((False, "many"))
    else:
        singular = ("the", "a", "this", "that", "my", "your", "our")
        forms = [(False, name) for name in singular]
        forms += [(True, name) for name in (*singular, *lexicon.PLURAL_ONLY)]
    phrases = [
        noun_phrase(noun, plural, determiner, adjective)
        for noun in lexicon.nouns(group)
        for plural, determiner in forms
        for adjective in adjectives
        if not (
            adjective and determiner == "many" and group in lexicon.MASS_GROUPS
        )
    ]
    if group not in lexicon.MASS_GROUPS:
        phrases += [
            noun_phrase(noun, plural, determiner, adjective)
            for noun in lexicon.nouns(group)
            for adjective in lexicon.PRENOMINAL
            for plural in (False, True)
            for determiner in ("the", "my")
            if not (plural and adjective in ("segundo", "tercero"))
        ]
    return phrases


def things(groups):
    """All noun phrases of some groups."""
    return [thing for group in groups for thing in noun_phrases(group)]


# Each with the English preposition for being there.
PLACES = [
    (
        noun_phrase(lexicon.Noun(spanish, gender, english, "")).piece,
        preposition,
    )
    for spanish, gender, english, preposition in lexicon.entries(
        """parque m park in, playa f beach at, escuela f school at,
        oficina f office in, hospital m hospital in, mercado m market at,
        biblioteca f library in, estación f station at, museo m museum in,
        restaurante m restaurant in, cocina f kitchen in, jardín m garden in,
        aeropuerto m airport at, hotel m hotel in, pueblo m village in"""
    )
]
