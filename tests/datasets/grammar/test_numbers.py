import pytest

from keras_attention.datasets.grammar.numbers import number_words


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
    assert number_words(number) == (spanish, english)
