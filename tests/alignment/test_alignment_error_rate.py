import itertools

import numpy as np
import pytest

from keras_attention import alignment_error_rate


def counted(links, sure, possible):
    """Och and Ney's definition, link by link."""
    right, total = 0, 0
    for made, must, may in zip(links, sure, possible, strict=True):
        for link in set(made):
            right += (link in must) + (link in must or link in may)
        total += len(set(made)) + len(set(must))
    return 1 - right / total


def test_rate_is_the_one_worked_out_by_hand():
    # |A| = 3, |S| = 2, of A two are sure and two possible: 1 - 4 / 5.
    links = [{(0, 0), (1, 2), (2, 2)}]
    sure, possible = [{(0, 0), (1, 2)}], [{(2, 1)}]
    rate = alignment_error_rate(links, sure, possible)
    assert rate == pytest.approx(1 / 5)


def test_possible_link_costs_nothing_and_a_missing_sure_one_does():
    # |A ∩ S| = 1, |A ∩ P| = 2, |A| = 2, |S| = 2: 1 - 3 / 4.
    rate = alignment_error_rate(
        [[(0, 0), (1, 1)]], [[(0, 0), (2, 2)]], [[(1, 1)]]
    )
    assert rate == pytest.approx(1 / 4)


def test_links_are_counted_over_the_corpus_not_averaged():
    # Sentence 1: one link, right. Sentence 2: three links, all wrong.
    links = [[(0, 0)], [(0, 1), (1, 2), (2, 0)]]
    sure = [[(0, 0)], [(0, 0), (1, 1), (2, 2)]]
    assert alignment_error_rate(links, sure) == pytest.approx(1 - 2 / 8)


def test_rate_is_that_of_counting_link_by_link(rng):
    positions = list(itertools.product(range(3), range(5)))

    def draw(share):
        return [
            [place for place in positions if rng.random() < share]
            for _ in range(7)
        ]

    for _ in range(11):
        links, sure, possible = draw(0.3), draw(0.2), draw(0.4)
        rate = alignment_error_rate(links, sure, possible)
        assert rate == pytest.approx(counted(links, sure, possible))


def test_sure_links_are_possible_whether_repeated_or_not(rng):
    sure, possible = [[(0, 0), (1, 2)]], [[(3, 1)]]
    links = [[(0, 0), (1, 2), (3, 1), (2, 2)]]
    both = [sure[0] + possible[0]]
    assert alignment_error_rate(links, sure, possible) == pytest.approx(
        alignment_error_rate(links, sure, both)
    )
    assert alignment_error_rate(sure, sure) == 0


def test_direction_of_a_link_matters():
    assert alignment_error_rate([[(0, 1)]], [[(1, 0)]]) == 1


def test_repeated_links_count_once():
    links, sure = [[(0, 0), (0, 0), (1, 1)]], [[(0, 0), (2, 2), (2, 2)]]
    assert alignment_error_rate(links, sure) == pytest.approx(1 - 2 / 4)


def test_integers_of_numpy_and_lists_are_links_too():
    links = [np.array([[0, 0], [1, 2]])]
    assert alignment_error_rate(links, [[[0, 0], [1, 2]]]) == 0


def test_without_any_link_nothing_is_wrong():
    assert alignment_error_rate([], []) == 0
    assert alignment_error_rate([[]], [[]], [[(0, 0)]]) == 0
    assert alignment_error_rate([[]], [[(0, 0)]]) == 1


@pytest.mark.parametrize(
    "sizes",
    [(1, 2, 2), (2, 1, 2), (2, 2, 1)],
    ids=["links", "sure", "possible"],
)
def test_unequal_numbers_of_sentences_are_refused(sizes):
    corpora = [[[(0, 0)]] * size for size in sizes]
    match = (
        r"received links of {} sentences, sure links of {} and possible links "
        r"of {}\. Expected as many of each".format(*sizes)
    )
    with pytest.raises(ValueError, match=match):
        alignment_error_rate(*corpora)


def test_links_of_one_sentence_without_their_list_are_refused():
    links = [(0, 0), (1, 2)]
    match = r"received links\[0\]=\(0, 0\)\. Expected the links of one sentence"
    with pytest.raises(ValueError, match=match):
        alignment_error_rate(links, links)


@pytest.mark.parametrize(
    "link", [(0, 1, 2), (0,), (0.5, 1), ("0", "1"), 3], ids=str
)
def test_what_is_no_pair_of_integers_is_refused(link):
    with pytest.raises(ValueError, match=r"sure\[1\]=.* pairs of integers"):
        alignment_error_rate([[], []], [[], [link]])
