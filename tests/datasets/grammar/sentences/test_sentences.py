import re

import pytest

from keras_attention.datasets.grammar.sentences import FAMILIES


def test_no_family_gives_one_spanish_sentence_two_translations():
    seen = {}
    for family in FAMILIES:
        for sentence in family():
            assert seen.setdefault(sentence.spanish, sentence.english) == (
                sentence.english
            )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_docstrings_quote_sentences_that_are_made(family):
    made = {
        " ".join(word for word in sentence.spanish if word not in "¿?¡!.")
        for sentence in family()
    }
    quoted = re.findall(r'"[¿¡]?([^"]+?)[?!]?"', family.__doc__)
    assert quoted
    assert set(quoted) <= made
