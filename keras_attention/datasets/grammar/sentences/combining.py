"""Sentences of two clauses."""

import itertools

from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.choices import MOODS
from keras_attention.datasets.grammar.choices import denies_some
from keras_attention.datasets.grammar.choices import spread
from keras_attention.datasets.grammar.clauses import clause
from keras_attention.datasets.grammar.clauses import verb_clause
from keras_attention.datasets.grammar.noun_phrases import agreeing_adjective
from keras_attention.datasets.grammar.noun_phrases import things
from keras_attention.datasets.grammar.pieces import chain
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence
from keras_attention.datasets.grammar.subjects import ME
from keras_attention.datasets.grammar.subjects import OTHERS
from keras_attention.datasets.grammar.subjects import SUBJECTS
from keras_attention.datasets.grammar.subjects import US
from keras_attention.datasets.grammar.subjects import YOU
from keras_attention.datasets.grammar.tenses import TIMES
from keras_attention.datasets.grammar.verb_groups import to_be


def thinking():
    """Yields "Creo que él compró la camisa ayer"."""
    think = lexicon.Verb("creer", "think", "thought", "thought")
    that = piece("que", "that")
    for fact, thinker in zip(_facts(), itertools.cycle(SUBJECTS), strict=False):
        thought = verb_clause(thinker, think, "present")
        yield sentence(chain(thought, that, fact))


def _facts():
    for verb, groups in lexicon.ACTIONS.items():
        for subject, tense, mood, thing in spread(
            30, OTHERS, ("past", "future"), MOODS[:2], things(groups)
        ):
            if not denies_some(mood, thing):
                yield verb_clause(
                    subject,
                    verb,
                    tense,
                    mood,
                    rest=thing.piece,
                    when=TIMES[tense][0],
                )


def giving_reasons():
    """Yields "No trabajo porque estoy cansado"."""
    because = piece("porque", "because")
    verbs = lexicon.verbs(
        """
        trabajar | work worked worked |
        cantar | sing sang sung |
        bailar | dance danced danced |
        correr | run ran run |
        estudiar | study studied studied |
        """
    )
    feelings = "cansado triste enfermo ocupado preocupado".split()
    for subject, verb, feeling, tense in spread(
        500, (ME, YOU, US), verbs, feelings, ("present", "future")
    ):
        reason = clause(
            subject,
            to_be("estar", tense, subject.person),
            predicate=agreeing_adjective(feeling, subject),
        )
        absence = verb_clause(subject, verb, tense, "negative")
        yield sentence(chain(absence, because, reason))
