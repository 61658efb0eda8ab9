import pytest

from keras_attention.datasets.grammar.pieces import governed
from keras_attention.datasets.grammar.pieces import join
from keras_attention.datasets.grammar.pieces import piece
from keras_attention.datasets.grammar.pieces import sentence


def test_pieces_keep_their_links_in_any_order():
    joined = join(
        "first second third",
        "third first second",
        ties=["second third"],
        first=piece("uno dos", "one two", "0-0 1-1"),
        second=piece("tres", "three"),
        third=piece("", "four"),
    )
    assert joined.spanish == ("uno", "dos", "tres")
    assert joined.english == ("four", "one", "two", "three")
    assert sorted(joined.links) == [(0, 2), (1, 0), (2, 1), (3, 2)]


@pytest.mark.parametrize(
    ("spanish", "expected_spanish"),
    [("el parque", "al parque"), ("la casa", "a la casa")],
    ids=["contracted", "plain"],
)
def test_preposition_takes_in_the_masculine_article(spanish, expected_spanish):
    noun = piece(spanish, "the place", "0-0 1-1")
    place = governed("a", "to", noun)
    assert " ".join(place.spanish) == expected_spanish
    words = {place.spanish[j] for i, j in place.links if i == 1}
    assert words <= {"al", "la"}
    assert (0, 0) in place.links


def test_sentence_has_a_capital_and_the_marks_of_its_mood():
    question = sentence(piece("ves", "do you see"), "question")
    assert question.spanish == ("¿", "Ves", "?")
    assert question.english == ("Do", "you", "see", "?")
    assert set(question.links) == {(0, 1), (1, 1), (2, 1), (3, 0), (3, 2)}
