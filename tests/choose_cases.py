"""Runs some cases of every test where all would take too long."""

import itertools
import zlib


def choose_cases(items, one_in):
    """Lists what to run of the tests of pytest, in order.

    Of each test one case in `one_in` is run, and one at least; all of them
    where it is marked `every_case`. With which one to begin differs from test
    to test, so that every layer has its turn.
    """
    chosen = []
    for name, cases in itertools.groupby(items, _name_of_test):
        cases = list(cases)
        if not cases[0].get_closest_marker("every_case"):
            step = min(one_in, len(cases))
            cases = cases[zlib.crc32(name.encode()) % step :: step]
        chosen += cases
    return chosen


def _name_of_test(item):
    return item.nodeid.partition("[")[0]
