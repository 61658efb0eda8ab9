"""Conjugated verbs with their auxiliaries."""

from typing import NamedTuple

from keras_attention.datasets.grammar import inflection
from keras_attention.datasets.grammar.pieces import NOTHING
from keras_attention.datasets.grammar.pieces import Piece
from keras_attention.datasets.grammar.pieces import chain
from keras_attention.datasets.grammar.pieces import piece


class VerbGroup(NamedTuple):
    """The words of a conjugated verb, by their place in the sentence.

    Args:
        finite: The conjugated form, Spanish only.
        auxiliary: The English word that moves in questions; belongs to
            `finite`.
        head: The English words after it that belong to `finite` too.
        main: Whatever follows in both languages, a `Piece`.
    """

    finite: str
    auxiliary: str = ""
    head: str = ""
    main: Piece = NOTHING


# English forms, by person.
BE = ("am", "are", "is", "are", "are")
WAS = ("was", "were", "was", "were", "were")
_HAVE = ("have", "have", "has", "have", "have")
_DO = ("do", "do", "does", "do", "do")


def verb_group(verb, tense, person, mood="statement", enclitic=("", "")):
    """Conjugates a verb in both languages.

    Args:
        verb: A `lexicon.Verb`.
        tense: One of `tenses.TENSES`.
        person: 0 to 4, as in `Subject`.
        mood: `"statement"`, or what English may need "do" for, `"negative"`
            or `"question"`.
        enclitic: Object pronoun in both languages, for the infinitive.
    """
    operator = mood != "statement"
    infinitive = verb.infinitive + enclitic[0]
    base = f"{verb.base} {verb.particle} {enclitic[1]}"
    do = _DO[person] if operator else ""
    third = person == 2 and not operator

    def form(helper, tense="present"):
        return inflection.conjugate(helper, tense)[person]

    match tense:
        case "present":
            head = inflection.with_s(verb.base) if third else verb.base
            head = f"{head} {verb.particle}"
            return VerbGroup(form(verb.infinitive), do, head)
        case "past":
            finite = form(verb.infinitive, "past")
            if operator:
                return VerbGroup(finite, "did", base)
            return VerbGroup(finite, "", f"{verb.past} {verb.particle}")
        case "future":
            return VerbGroup(form(verb.infinitive, "future"), "will", base)
        case "progressive":
            english = f"{inflection.ing(verb.base)} {verb.particle}"
            main = piece(inflection.gerund(verb.infinitive), english)
            return VerbGroup(form("estar"), BE[person], "", main)
        case "perfect":
            english = f"{verb.participle} {verb.particle}"
            main = piece(inflection.participle(verb.infinitive), english)
            return VerbGroup(form("haber"), _HAVE[person], "", main)
        case "going":
            main = chain(piece("a", "going to"), piece(infinitive, base))
            return VerbGroup(form("ir"), BE[person], "", main)
        case "can":
            return VerbGroup(form("poder"), "can", "", piece(infinitive, base))
        case "want":
            head = "wants" if third else "want"
            main = piece(infinitive, f"to {base}")
            return VerbGroup(form("querer"), do, head, main)
        case "must":
            head = "has" if third else "have"
            main = chain(piece("que", "to"), piece(infinitive, base))
            return VerbGroup(form("tener"), do, head, main)


def to_be(infinitive, tense, person):
    """Conjugates what English has "be" for: ser, estar and some of tener.

    Args:
        infinitive: The Spanish verb.
        tense: One of `tenses.BE_TENSES`.
        person: 0 to 4, as in `Subject`.
    """
    finite = inflection.conjugate(infinitive, tense)[person]
    if tense == "future":
        return VerbGroup(finite, "will", "be")
    return VerbGroup(finite, (BE if tense == "present" else WAS)[person])
