import itertools

import numpy as np
import pytest
from keras import ops

from keras_attention import alignment_error_rate
from keras_attention import attention_links
from keras_attention import attention_over_words


def test_each_target_word_goes_to_its_greatest_score():
    scores = [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.2, 0.6, 0.2]]
    links = attention_links(
        scores, ["la", "casa", "roja"], ["the", "red", "house"]
    )
    assert links == {(0, 0), (1, 2), (2, 1)}


def test_links_are_those_of_comparing_every_pair(rng):
    scores = rng.random((5, 7)) + 0.1
    links = attention_links(scores, list("abcdefg"), list("hijkl"))
    places = itertools.product(range(5), range(7))
    expected = {(i, j) for i, j in places if scores[i, j] >= max(scores[i])}
    assert links == expected


@pytest.mark.parametrize("end", ["<s>", "</s>"])
def test_ends_of_a_sentence_are_never_linked(end):
    scores = [[0.1, 0.9], [0.2, 0.8]]
    assert attention_links(scores, ["casa", end], ["house", end]) == {(0, 0)}
    scores = np.fliplr(np.flipud(scores))
    assert attention_links(scores, [end, "casa"], [end, "house"]) == {(1, 1)}


def test_word_that_looked_at_no_word_has_no_link():
    scores = [[0.0, 0.0, 1.0], [0.3, 0.2, 0.5]]
    links = attention_links(scores, ["la", "casa", "</s>"], ["it", "house"])
    assert links == {(1, 0)}
    assert attention_links([[1.0]], ["</s>"], ["house"]) == set()
    assert attention_links(np.ones((0, 0)), [], []) == set()


def test_padding_is_not_looked_at():
    scores = [[0.2, 0.1, 0.7], [0.9, 0.0, 0.1]]
    assert attention_links(scores, ["la", "casa"], ["the"]) == {(0, 0)}


def test_words_of_attention_go_straight_in_and_links_straight_on():
    scores = ops.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.3, 0.3, 0.3]])
    words = attention_over_words(
        scores, ["▁la", "▁ca", "sa", "</s>"], ["▁the", "▁house"]
    )
    links = attention_links(*words)
    assert alignment_error_rate([links], [{(0, 0), (1, 1)}]) == 0
    # Positions can be written as JSON: they are integers of Python.
    assert all(type(index) is int for link in links for index in link)


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (1, 2, 3)], ids=str)
def test_scores_that_do_not_fit_the_words_are_refused(shape):
    match = r"`attention_links` .* 2 target tokens and 3 source tokens"
    with pytest.raises(ValueError, match=match):
        attention_links(np.ones(shape), ["la", "casa", "."], ["it", "."])
