import keras
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _fixed_seed():
    keras.utils.set_random_seed(7)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
