"""Sentences about what people do, in every tense and mood."""

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import MOODS
from keras_attention.datasets.grammar.choices import asks_oneself
from keras_attention.datasets.grammar.choices import denies_some
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import say
from keras_attention.datasets.grammar.noun_phrases import PLACES
from keras_attention.datasets.grammar.noun_phrases import noun_phrase
from keras_attention.datasets.grammar.noun_phrases import things
from keras_attention.datasets.grammar.pieces import governed
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.subjects import OTHERS
from keras_attention.datasets.grammar.subjects import SUBJECTS
from keras_attention.datasets.grammar.tenses import INFINITIVE_TENSES
from keras_attention.datasets.grammar.tenses import TENSES
from keras_attention.datasets.grammar.tenses import time_of
from keras_attention.datasets.grammar.tenses import usual_tenses


def _acts(count, subjects, tenses, *tables):
    """Spreads who acts, when and how it is put.

    Args:
        count: How many to take, including those left out for being odd.
        subjects: Each a `Subject`.
        tenses: Each one of `tenses.TENSES`.
        *tables: What else to combine with them.

    Yields:
        Subject, tense, mood, time and a row of each table.
    """
    choices = spread(count, subjects, tenses, MOODS, *tables)
    for i, (subject, tense, mood, *rows) in enumerate(choices):
        if not asks_oneself(subject, tense, mood):
            yield subject, tense, mood, time_of(tense, i), *rows


def doing():
    """Yields "Ana comprará mi única falda"."""
    for verb, groups in lexicon.ACTIONS.items():
        for subject, tense, mood, when, thing in _acts(
            230, SUBJECTS, usual_tenses(verb), things(groups)
        ):
            if not denies_some(mood, thing):
                yield say(
                    subject, verb, tense, mood, rest=thing.piece, when=when
                )


def meeting():
    """Yields "Espero al amigo todos los días"."""
    for verb, groups in lexicon.MEETINGS.items():
        for subject, tense, mood, when, person in _acts(
            260, SUBJECTS, usual_tenses(verb), things(groups)
        ):
            if not denies_some(mood, person):
                whom = governed("a", "", person.piece)
                yield say(subject, verb, tense, mood, rest=whom, when=when)


def having():
    """Yields "Ana necesita las sillas blancas"."""
    for verb, groups in lexicon.STATES.items():
        for subject, tense, mood, _, thing in _acts(
            230, SUBJECTS, ("present",), things(groups)
        ):
            if not denies_some(mood, thing):
                yield say(subject, verb, tense, mood, rest=thing.piece)


def acting_on_ones_own():
    """Yields "Ana no vende su cama"."""
    owners = {"m": "his", "f": "her"}
    verbs = [verb for verb in lexicon.ACTIONS if verb.base in ("sell", "clean")]
    nouns = lexicon.nouns("house", "vehicles", "furniture")
    for subject, tense, mood, when, verb, noun, plural in _acts(
        800, OTHERS, TENSES, verbs, nouns, (False, True)
    ):
        owner = "their" if subject.plural else owners[subject.gender]
        thing = noun_phrase(noun, plural, owner)
        yield say(subject, verb, tense, mood, rest=thing.piece, when=when)


_THING_PRONOUNS = (("lo", "it"), ("la", "it"), ("los", "them"), ("las", "them"))
_RECIPIENT_PRONOUNS = (("me", "me"), ("te", "you"), ("nos", "us"))
_PEOPLE_PRONOUNS = (
    *_RECIPIENT_PRONOUNS,
    ("lo", "him"),
    ("la", "her"),
    *_THING_PRONOUNS[2:],
)


def _is_reflexive(subject, pronoun):
    # Persons whose own pronoun it is: "nos" with "yo" includes the speaker.
    own = {"me": (0, 3), "te": (1,), "nos": (0, 3)}
    return subject.person in own.get(pronoun, ())


def acting_on_it():
    """Yields "No lo he comprado" and "No vamos a comprarlo"."""
    for verbs, pronouns, count in (
        (lexicon.ACTIONS, _THING_PRONOUNS, 100),
        (lexicon.MEETINGS, _PEOPLE_PRONOUNS, 230),
    ):
        for verb, groups in verbs.items():
            if "languages" in groups:
                continue
            for subject, tense, mood, when, pronoun in _acts(
                count, SUBJECTS, usual_tenses(verb), pronouns
            ):
                if _is_reflexive(subject, pronoun[0]):
                    continue
                if tense in INFINITIVE_TENSES:
                    it = {"enclitic": pronoun}
                else:
                    it = {"clitic": piece(*pronoun)}
                yield say(subject, verb, tense, mood, when=when, **it)


def giving():
    """Yields "Le das tu carta difícil a Jorge" and the like."""
    verbs = lexicon.verbs(
        """
        dar | give gave given | objects writings
        traer | bring brought brought | objects
        escribir | write wrote written | writings
        vender | sell sold sold | vehicles
        """
    )
    recipients = [
        {"clitic": piece("le"), "recipient": piece(f"a {name}", f"to {name}")}
        for name in ("Jorge", "Elena")
    ]
    recipients += [
        {"clitic": piece(*pronoun)} for pronoun in _RECIPIENT_PRONOUNS
    ]
    tenses = ("present", "past", "future", "progressive", "perfect")
    for verb, groups in verbs.items():
        for subject, tense, mood, when, recipient, thing in _acts(
            330, SUBJECTS, tenses, recipients, things(groups)
        ):
            (pronoun,) = recipient["clitic"].spanish
            if _is_reflexive(subject, pronoun) or denies_some(mood, thing):
                continue
            yield say(
                subject,
                verb,
                tense,
                mood,
                rest=thing.piece,
                when=when,
                **recipient,
            )


def moving():
    """Yields "Ana trabaja en el museo" and "Ana va al museo"."""
    verbs = lexicon.verbs(
        """
        trabajar | work worked worked | en
        dormir | sleep slept slept | en
        cantar | sing sang sung | en
        bailar | dance danced danced | en
        correr | run ran run | en
        jugar | play played played | en
        comer | eat ate eaten | en
        cocinar | cook cooked cooked | en
        ir | go went gone | a to
        volver | return returned returned | a to
        caminar | walk walked walked | a to
        llegar | arrive arrived arrived | a at
        venir | come came come | de from
        """
    )
    for verb, (spanish, *english) in verbs.items():
        for subject, tense, mood, when, (place, at) in _acts(
            200, SUBJECTS, TENSES, PLACES
        ):
            # Spanish does not say "estoy yendo" for going somewhere.
            if tense == "progressive" and spanish != "en":
                continue
            rest = governed(spanish, (english or [at])[0], place)
            yield say(subject, verb, tense, mood, rest=rest, when=when)
