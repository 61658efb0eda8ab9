"""Sentences with gustar, whose subject is what is liked."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import MOODS
from keras_attention.datasets.grammar.choices import asks_oneself
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import clause
from keras_attention.datasets.grammar.noun_phrases import NounPhrase
from keras_attention.datasets.grammar.noun_phrases import noun_phrase
from keras_attention.datasets.grammar.pieces import governed
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence
from keras_attention.datasets.grammar.subjects import ME
from keras_attention.datasets.grammar.subjects import OTHERS
from keras_attention.datasets.grammar.subjects import US
from keras_attention.datasets.grammar.subjects import YOU
from keras_attention.datasets.grammar.verb_groups import verb_group


def liking():
    """Yields "Me gusta el pan" and "A él le gusta viajar"."""
    like = lexicon.Verb("gustar", "like", "liked", "liked")
    for (subject, clitic), mood, thing in spread(
        1300, _who_likes(), MOODS, _what_is_liked()
    ):
        if asks_oneself(subject, "present", mood):
            continue
        group = verb_group(like, "present", subject.person, mood)
        likes = clause(
            subject,
            group._replace(finite="gustan" if thing.plural else "gusta"),
            mood,
            said_by="clitic",
            clitic=clitic,
            rest=thing.piece,
        )
        yield sentence(likes, mood)


def _who_likes():
    """Those who like, each with the pronoun that stands for them."""
    pronouns = ((ME, "me"), (YOU, "te"), (US, "nos"))
    who = [(subject, piece(pronoun)) for subject, pronoun in pronouns]
    who += [
        (
            subject._replace(piece=governed("a", "", subject.piece)),
            piece("les" if subject.plural else "le"),
        )
        for subject in OTHERS
    ]
    return who


def _what_is_liked():
    """What is liked, things and activities, each a `NounPhrase`."""
    what = [
        noun_phrase(
            noun, group not in lexicon.MASS_GROUPS, "generic", adjective
        )
        for group in ("food", "drinks", "fruit", "clothes", "animals", "print")
        for noun in lexicon.nouns(group)
        for adjective in (None, *lexicon.adjectives(group))
    ]
    what += [
        NounPhrase(piece(spanish, f"to {english}"), "m", False)
        for spanish, english in lexicon.entries(
            """bailar dance, cantar sing, leer read, viajar travel,
            cocinar cook, nadar swim, dormir sleep, estudiar study"""
        )
    ] * 5
    return what
