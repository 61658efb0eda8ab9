"""Comparison of whole structures of tensors."""

import numpy as np
from keras import tree


def assert_close(received, expected, tolerance=1e-6):
    """Fails unless structures, shapes and numbers are the same."""
    received, expected = tree.flatten(received), tree.flatten(expected)
    for one, other in zip(received, expected, strict=True):
        one, other = np.array(one), np.array(other)
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
