import os

import backends
import keras
import numpy as np
import pytest


# Keras 3.16 will not hand masks on through recurrent layers any more
# (keras-team/keras#23235). With this variable set the tests run as if so.
if os.environ.get("KERAS_ATTENTION_RNN_MASKS") == "dropped":
    for _layer in ("RNN", "Bidirectional", "TimeDistributed"):
        getattr(keras.layers, _layer).compute_mask = lambda *_: None


def pytest_configure(config):
    # Otherwise files with few tests come last, when tests run in processes.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    """Puts first what takes longest, so that in the end no process waits."""
    items.sort(key=lambda item: "tutorials" not in item.path.parts)


@pytest.fixture(autouse=True)
def _fixed_seed():
    keras.utils.set_random_seed(7)


@pytest.fixture(autouse=True, scope="module")
def _forgotten_modules():
    yield
    backends.forget()


@pytest.fixture
def rng():
    return np.random.default_rng(7)
