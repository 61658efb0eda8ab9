from collections import Counter
from types import SimpleNamespace

import pytest
from choose_cases import choose_cases


def make_items(name, count, marker=None):
    """Items as those of pytest, with all that is asked of them."""
    return [
        SimpleNamespace(
            nodeid=f"{name}[{number}]",
            get_closest_marker=lambda asked: asked == marker,
        )
        for number in range(count)
    ]


def names_of(items):
    return [item.nodeid for item in items]


def test_one_case_in_one_is_all_of_them():
    items = make_items("one", 5) + make_items("other", 1)
    assert names_of(choose_cases(items, 1)) == names_of(items)


@pytest.mark.parametrize(
    ("count", "allowed"), [(1, {1}), (2, {1}), (3, {1}), (7, {2, 3}), (9, {3})]
)
def test_no_test_is_left_out(count, allowed):
    tests = [f"test_{number}" for number in range(50)]
    items = [item for name in tests for item in make_items(name, count)]
    chosen = names_of(choose_cases(items, 3))
    assert chosen == [name for name in names_of(items) if name in chosen]
    numbers = Counter(name.partition("[")[0] for name in chosen)
    assert set(numbers) == set(tests)
    assert set(numbers.values()) == allowed
    # Every case has its turn in one test or another.
    assert len({name.partition("[")[2] for name in chosen}) == count


def test_every_case_runs_where_a_test_says_so():
    items = make_items("one", 5, "every_case")
    assert names_of(choose_cases(items, 3)) == names_of(items)
