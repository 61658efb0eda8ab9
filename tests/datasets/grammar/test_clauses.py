from keras_attention.datasets.grammar import lexicon
from keras_attention.datasets.grammar.clauses import say
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.subjects import ME


def test_dropped_pronoun_and_do_belong_to_the_verb():
    see = lexicon.Verb("ver", "see", "saw", "seen")
    sentence = say(ME, see, "present", "negative", clitic=piece("lo", "it"))
    assert sentence.spanish == ("No", "lo", "veo", ".")
    assert sentence.english == ("I", "do", "not", "see", "it", ".")
    assert set(sentence.links) == {
        (0, 2),
        (1, 2),
        (2, 0),
        (3, 2),
        (4, 1),
        (5, 3),
    }
