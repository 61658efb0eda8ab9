import hashlib
import os
import subprocess
import sys

import pytest

from keras_attention.datasets import phrases
from keras_attention.datasets import phrases_words


@pytest.fixture(scope="module")
def corpus():
    return phrases.load_phrases()


@pytest.fixture(scope="module")
def translations(corpus):
    return {phrase.spanish: phrase.english for phrase in corpus}


def test_there_are_at_least_20000_distinct_pairs(corpus):
    assert len({(phrase.spanish, phrase.english) for phrase in corpus}) >= 20000


def test_no_family_gives_one_spanish_sentence_two_translations():
    seen = {}
    for family in phrases._FAMILIES:
        for phrase in family():
            assert seen.setdefault(phrase.spanish, phrase.english) == (
                phrase.english
            )


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


def sentence(piece, mood="statement"):
    return phrases._sentence(piece, mood)


def test_dropped_pronoun_and_do_belong_to_the_verb():
    group = phrases._verb_group(
        phrases_words.Verb("ver", "see", "saw", "seen"),
        "present",
        0,
        operator=True,
    )
    clause = phrases._clause(
        phrases._I, group, "negative", clitic=phrases._piece("lo", "it")
    )
    assert sentence(clause) == phrases.Phrase(
        "No lo veo.",
        "I do not see it.",
        ("No", "lo", "veo", "."),
        ("I", "do", "not", "see", "it", "."),
        ((0, 2), (1, 2), (2, 0), (3, 2), (4, 1), (5, 3)),
    )


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


def test_pieces_keep_their_links_in_any_order():
    piece = phrases._join(
        "first second third",
        "third first second",
        ties=["second third"],
        first=phrases._piece("uno dos", "one two", "0-0 1-1"),
        second=phrases._piece("tres", "three"),
        third=phrases._piece("", "four"),
    )
    assert piece.spanish == ("uno", "dos", "tres")
    assert piece.english == ("four", "one", "two", "three")
    assert sorted(piece.links) == [(0, 2), (1, 0), (2, 1), (3, 2)]


@pytest.mark.parametrize(
    ("spanish", "expected_spanish"),
    [("el parque", "al parque"), ("la casa", "a la casa")],
    ids=["contracted", "plain"],
)
def test_preposition_takes_in_the_masculine_article(spanish, expected_spanish):
    noun = phrases._piece(spanish, "the place", "0-0 1-1")
    piece = phrases._governed("a", "to", noun)
    assert " ".join(piece.spanish) == expected_spanish
    words = {piece.spanish[j] for i, j in piece.links if i == 1}
    assert words <= {"al", "la"}
    assert (0, 0) in piece.links


@pytest.mark.parametrize(
    ("infinitive", "tense", "forms"),
    [
        ("comprar", "present", "compro compras compra compramos compran"),
        ("beber", "past", "bebí bebiste bebió bebimos bebieron"),
        ("buscar", "past", "busqué buscaste buscó buscamos buscaron"),
        ("llegar", "past", "llegué llegaste llegó llegamos llegaron"),
        ("empezar", "past", "empecé empezaste empezó empezamos empezaron"),
        ("traer", "past", "traje trajiste trajo trajimos trajeron"),
        ("salir", "future", "saldré saldrás saldrá saldremos saldrán"),
        ("ser", "imperfect", "era eras era éramos eran"),
        ("estar", "imperfect", "estaba estabas estaba estábamos estaban"),
        ("tener", "imperfect", "tenía tenías tenía teníamos tenían"),
        ("dormir", "present", "duermo duermes duerme dormimos duermen"),
    ],
)
def test_verbs_are_conjugated(infinitive, tense, forms):
    assert phrases_words.conjugate(infinitive, tense) == tuple(forms.split())


def test_reflexive_verbs_bring_their_pronoun():
    assert phrases_words.conjugate("levantarse", "present") == (
        "me levanto",
        "te levantas",
        "se levanta",
        "nos levantamos",
        "se levantan",
    )


@pytest.mark.parametrize(
    ("adjective", "gender", "plural", "form"),
    [
        ("rojo", "f", True, "rojas"),
        ("azul", "m", True, "azules"),
        ("grande", "f", False, "grande"),
        ("joven", "m", True, "jóvenes"),
        ("fácil", "f", True, "fáciles"),
    ],
)
def test_adjectives_agree(adjective, gender, plural, form):
    assert phrases_words.agree(adjective, gender, plural) == form


@pytest.mark.parametrize(
    ("number", "spanish", "english"),
    [
        (16, "dieciséis", "sixteen"),
        (21, "veintiún", "twenty-one"),
        (31, "treinta y un", "thirty-one"),
        (40, "cuarenta", "forty"),
        (99, "noventa y nueve", "ninety-nine"),
    ],
)
def test_numbers_are_spelled(number, spanish, english):
    assert phrases_words.number_words(number) == (spanish, english)


@pytest.mark.parametrize(
    ("hour", "minutes", "spanish", "english"),
    [
        (1, 0, "la una", "one o'clock"),
        (3, 5, "las tres y media", "half past three"),
        (12, -1, "las doce menos cuarto", "a quarter to twelve"),
    ],
)
def test_clock_tells_the_time(hour, minutes, spanish, english):
    piece = phrases._clock(hour, phrases._MINUTES[minutes])
    assert (" ".join(piece.spanish), " ".join(piece.english)) == (
        spanish,
        english,
    )


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
