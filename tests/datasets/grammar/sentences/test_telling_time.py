import pytest

from keras_attention.datasets.grammar.sentences import telling_time


@pytest.mark.parametrize(
    ("hour", "minutes", "spanish", "english"),
    [
        (1, 0, "la una", "one o'clock"),
        (3, 5, "las tres y media", "half past three"),
        (12, -1, "las doce menos cuarto", "a quarter to twelve"),
    ],
)
def test_clock_tells_the_time(hour, minutes, spanish, english):
    piece = telling_time.clock(hour, telling_time.MINUTES[minutes])
    assert (" ".join(piece.spanish), " ".join(piece.english)) == (
        spanish,
        english,
    )
