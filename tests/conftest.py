import os


# As many tests run at a time as there are cores, and their tensors are small:
# with a thread each they take less time.
for _name in ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# ruff: noqa: E402  the threads come first
import backends
import keras
import numpy as np
import pytest
from choose_cases import choose_cases


# Keras 3.16 will not hand masks on through recurrent layers any more
# (keras-team/keras#23235). With this variable set the tests run as if so.
if os.environ.get("KERAS_ATTENTION_RNN_MASKS") == "dropped":
    for _layer in ("RNN", "Bidirectional", "TimeDistributed"):
        getattr(keras.layers, _layer).compute_mask = lambda *_: None


# JAX compiles for each case of a test, and one in so many is run there.
ONE_CASE_IN = int(os.environ.get("KERAS_ATTENTION_ONE_CASE_IN", "1"))


def pytest_configure(config):
    # Otherwise files with few tests come last, when tests run in processes.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    chosen = choose_cases(items, ONE_CASE_IN)
    kept = set(chosen)
    others = [item for item in items if item not in kept]
    config.hook.pytest_deselected(items=others)
    # What takes longest comes first, so that in the end no process waits.
    items[:] = sorted(
        chosen, key=lambda item: "tutorials" not in item.path.parts
    )


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
