import math

import pytest

from keras_attention.datasets.grammar.choices import spread


@pytest.mark.parametrize("count", [1, 7, 30, 100])
def test_spread_takes_no_combination_twice(count):
    tables = (range(2), range(3), range(5))
    chosen = {tuple(rows) for rows in spread(count, *tables)}
    assert len(chosen) == min(count, math.prod(map(len, tables)))
