import hashlib
import os
import subprocess
import sys

import pytest

from keras_attention.datasets import phrases


@pytest.fixture(scope="module")
def corpus():
    return phrases.load_phrases()


def test_there_are_at_least_20000_distinct_pairs(corpus):
    assert len({(phrase.spanish, phrase.english) for phrase in corpus}) >= 20000


def test_sentences_have_2_to_15_words(corpus):
    for phrase in corpus:
        for words in (phrase.spanish_words, phrase.english_words):
            assert 2 <= sum(word not in "¿?¡!." for word in words) <= 15


def test_corpus_does_not_depend_on_the_hash_seed():
    program = (
        "import hashlib\n"
        "from keras_attention.datasets import phrases\n"
        "text = repr(phrases.load_phrases()).encode()\n"
        "print(hashlib.sha256(text).hexdigest())\n"
    )
    text = repr(phrases.load_phrases()).encode()
    for seed in ("0", "17"):
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout.split()[-1] == hashlib.sha256(text).hexdigest()


def test_words_are_the_sentence_with_punctuation_split_off(corpus):
    for phrase in corpus:
        for words, sentence in (
            (phrase.spanish_words, phrase.spanish),
            (phrase.english_words, phrase.english),
        ):
            assert "".join(words) == sentence.replace(" ", "")
            assert not any(" " in word for word in words)
            assert words[-1] in ".?!"


def test_sentences_start_with_a_capital(corpus):
    for phrase in corpus:
        assert phrase.spanish.lstrip("¿¡")[0].isupper()
        assert phrase.english[0].isupper()


def test_links_are_sorted_and_reach_every_word_of_both_languages(corpus):
    for phrase in corpus:
        assert list(phrase.links) == sorted(set(phrase.links))
        english, spanish = zip(*phrase.links, strict=True)
        assert set(english) == set(range(len(phrase.english_words)))
        assert set(spanish) == set(range(len(phrase.spanish_words)))


def linked(corpus, spanish):
    """The alignment of a sentence as (english word, spanish word) pairs."""
    (phrase,) = [phrase for phrase in corpus if phrase.spanish == spanish]
    return [
        (phrase.english_words[i], phrase.spanish_words[j])
        for i, j in phrase.links
    ]


def test_noun_and_adjective_cross(corpus):
    (house,) = [
        phrase for phrase in corpus if phrase.spanish == "La casa roja."
    ]
    assert house.english_words == ("The", "red", "house", ".")
    assert house.links == ((0, 0), (1, 2), (2, 1), (3, 3))


def test_both_question_marks_belong_together(corpus):
    assert linked(corpus, "¿Le gusta a Pedro el arroz frío?") == [
        ("Does", "gusta"),
        ("Pedro", "Le"),
        ("Pedro", "a"),
        ("Pedro", "Pedro"),
        ("like", "gusta"),
        ("cold", "frío"),
        ("rice", "el"),
        ("rice", "arroz"),
        ("?", "¿"),
        ("?", "?"),
    ]


def test_an_comes_before_vowels_only(corpus):
    for phrase in corpus:
        words = phrase.english_words
        for article, word in zip(words, words[1:], strict=False):
            if article.lower() in ("a", "an"):
                assert (article.lower() == "an") == (word[0] in "aeio")


def test_a_el_and_de_el_are_contracted(corpus):
    for phrase in corpus:
        words = phrase.spanish_words
        for preposition, article in zip(words, words[1:], strict=False):
            assert (preposition.lower(), article) not in {
                ("a", "el"),
                ("de", "el"),
            }
