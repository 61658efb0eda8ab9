import keras
import numpy as np
import pytest
from attention_cases import ATTENTIONS
from backends import needs_masks_of_rnns
from backends import tensorflow_only
from fresh_process import run_fresh
from score_cases import MEMORY_UNITS

from keras_attention import BahdanauAttention
from keras_attention import LuongAttention


# Nothing of the tests is imported here, and no `custom_objects` are given.
SCRIPT = """
import pathlib
import sys

import keras
import numpy as np
import keras_attention

folder = pathlib.Path(sys.argv[1])
inputs = dict(np.load(folder / "inputs.npz"))
query, value = inputs["query"], inputs["value"]
results = {}
for path in sorted(folder.glob("*.keras")):
    model = keras.models.load_model(path)
    tokens = value if len(model.inputs) == 1 else [query, value]
    results[path.stem] = keras.ops.convert_to_numpy(model(tokens))
np.savez(folder / "results.npz", **results)
"""

WITHOUT_LIBRARY = """
import pathlib
import sys

import numpy as np
import tensorflow as tf

folder = pathlib.Path(sys.argv[1])
inputs = dict(np.load(folder / "inputs.npz"))
exported = tf.saved_model.load(folder / "exported")
np.savez(
    folder / "exported.npz",
    value=exported.serve(inputs["value"]),
    padded=exported.serve(inputs["padded"]),
)
assert "keras_attention" not in sys.modules
"""

LAYERS = {
    **{name: case.make for name, case in ATTENTIONS.items()},
    "sparse": lambda: LuongAttention(
        "concat", units=3, probability="sparsemax", dropout=0.3
    ),
    "half": lambda: BahdanauAttention(
        7, normalize=True, dtype="mixed_bfloat16"
    ),
}


def two_input_model(attention):
    embedding = keras.layers.Embedding(11, MEMORY_UNITS, mask_zero=True)
    query = keras.Input((None,), dtype="int32")
    value = keras.Input((None,), dtype="int32")
    context = attention([embedding(query), embedding(value)])
    return keras.Model([query, value], keras.layers.Dense(3)(context))


def trained_sequential_model(tokens):
    model = keras.Sequential()
    model.add(keras.layers.Embedding(11, 5, mask_zero=True))
    model.add(
        keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
    )
    model.add(BahdanauAttention(7, dropout=0.2))
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(2, activation="softmax"))
    model.compile("adam", "sparse_categorical_crossentropy")
    model(tokens)
    before = [np.array(w) for w in model.trainable_weights]
    history = model.fit(tokens, np.arange(len(tokens)) % 2, verbose=0)
    assert np.isfinite(history.history["loss"][0])
    for old, new in zip(before, model.trainable_weights, strict=True):
        assert not np.array_equal(old, np.array(new))
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tokens; those of `padded` are the value's, and padding."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(7)
    query = rng.integers(1, 11, (2, 3)).astype("int32")
    value = rng.integers(1, 11, (2, 5)).astype("int32")
    value[0, 3:] = 0
    padded = np.pad(value, [(0, 0), (0, 7)])
    np.savez(folder / "inputs.npz", query=query, value=value, padded=padded)
    return folder


@pytest.fixture(scope="module")
def sequential(folder):
    """The trained model, and what it predicts."""
    value = np.load(folder / "inputs.npz")["value"]
    model = trained_sequential_model(value)
    return model, np.array(model(value))


@pytest.fixture(scope="module")
def results(folder, sequential):
    """Predictions by name: before saving, and in a fresh process."""
    inputs = np.load(folder / "inputs.npz")
    model, prediction = sequential
    model.save(folder / "sequential.keras")
    expected = {"sequential": prediction}
    for name, make in LAYERS.items():
        model = two_input_model(make())
        expected[name] = np.array(model([inputs["query"], inputs["value"]]))
        model.save(folder / f"{name}.keras")
    run_fresh(SCRIPT, folder)
    return expected, np.load(folder / "results.npz")


@pytest.mark.parametrize(
    "name", [*LAYERS, pytest.param("sequential", marks=needs_masks_of_rnns)]
)
def test_saved_model_loads_in_a_fresh_process(name, results):
    """Reported as philipperemy/keras-attention#51 and
    CyberZHG/keras-self-attention#52.
    """
    expected, received = results
    np.testing.assert_allclose(received[name], expected[name], atol=1e-6)


@tensorflow_only("SavedModels")
def test_export_needs_no_library_and_keeps_the_mask(sequential, folder):
    """Reported as tensorflow/tensorflow#38620."""
    model, expected = sequential
    signature = [keras.InputSpec(shape=(None, None), dtype="int32")]
    model.export(folder / "exported", verbose=False, input_signature=signature)
    run_fresh(WITHOUT_LIBRARY, folder)
    received = np.load(folder / "exported.npz")
    np.testing.assert_allclose(received["value"], expected, atol=1e-6)
    np.testing.assert_allclose(received["padded"], expected, atol=1e-6)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_weights_alone_load_into_an_equal_model(name, tmp_path):
    tokens = [np.array([[4, 7, 3]]), np.array([[8, 1, 9, 2, 0]])]
    first, second = (two_input_model(ATTENTIONS[name].make()) for _ in "ab")
    assert not np.allclose(first(tokens), second(tokens))
    first.save_weights(tmp_path / "model.weights.h5")
    second.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_allclose(second(tokens), first(tokens), atol=1e-6)
