"""Clauses: a subject, its verb and what else belongs to it."""

from keras_attention.datasets.grammar.pieces import NOTHING
from keras_attention.datasets.grammar.pieces import join
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence
from keras_attention.datasets.grammar.verb_groups import to_be
from keras_attention.datasets.grammar.verb_groups import verb_group


_SLOTS = ("opening", "clitic", "predicate", "rest", "recipient", "when")


def clause(subject, group, mood="statement", said_by="finite", **slots):
    """Puts a clause together in the order of each language.

    Args:
        subject: A `Subject`; a pronoun without Spanish words is dropped
            there, and the verb says it.
        group: A `VerbGroup`.
        mood: `"statement"`, `"negative"` or `"question"`.
        said_by: The part that stands for a dropped subject pronoun.
        **slots: Pieces by name, all optional: `opening` (question word),
            `clitic`, `predicate` (stays with the Spanish verb in questions),
            `rest` (follows the subject there), `recipient` (whom a clitic
            repeats) and `when`.
    """
    no, auxiliary = NOTHING, group.auxiliary
    ties = ["finite auxiliary", "finite head", "clitic recipient"]
    if not subject.piece.spanish or said_by == "clitic":
        ties.append(f"{said_by} subject")
    if mood == "negative" and auxiliary == "can":
        no, auxiliary = piece("no"), "cannot"
        ties.append("no auxiliary")
    elif mood == "negative":
        no = piece("no", "not")
    if mood == "question":
        spanish = "clitic finite main predicate subject"
        english = "auxiliary subject"
    else:
        spanish = "subject no clitic finite main predicate"
        english = "subject auxiliary no"
    return join(
        f"opening {spanish} rest recipient when",
        f"opening {english} head main clitic predicate rest recipient when",
        ties=ties,
        subject=subject.piece,
        no=no,
        finite=piece(group.finite),
        auxiliary=piece("", auxiliary),
        head=piece("", group.head),
        main=group.main,
        **(dict.fromkeys(_SLOTS, NOTHING) | slots),
    )


def verb_clause(
    subject, verb, tense, mood="statement", enclitic=("", ""), **slots
):
    """A clause with an ordinary verb.

    Args:
        subject: A `Subject`.
        verb: A `lexicon.Verb`.
        tense: One of `tenses.TENSES`.
        mood: `"statement"`, `"negative"` or `"question"`.
        enclitic: Object pronoun in both languages, for the infinitive.
        **slots: As of `clause`.
    """
    group = verb_group(verb, tense, subject.person, mood, enclitic)
    return clause(subject, group, mood, **slots)


def say(subject, verb, tense, mood="statement", **slots):
    """A sentence with an ordinary verb; arguments as of `verb_clause`."""
    return sentence(verb_clause(subject, verb, tense, mood, **slots), mood)


def be(subject, infinitive, tense, mood="statement", **slots):
    """A sentence with "be"; arguments as of `to_be` and `clause`."""
    group = to_be(infinitive, tense, subject.person)
    return sentence(clause(subject, group, mood, **slots), mood)
