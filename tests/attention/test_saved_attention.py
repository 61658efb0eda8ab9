import subprocess
import sys

import keras
import numpy as np
import pytest
from attention_cases import ATTENTIONS
from score_cases import MEMORY_UNITS

from keras_attention import BahdanauAttention
from keras_attention import LuongAttention


# Nothing of the tests is imported here, and no `custom_objects` are given.
SCRIPT = """
import pathlib
import sys

import numpy as np
import tensorflow as tf

folder = pathlib.Path(sys.argv[1])
inputs = dict(np.load(folder / "inputs.npz"))
query, value = inputs["query"], inputs["value"]
results = {}

exported = tf.saved_model.load(folder / "exported")
assert "keras_attention" not in sys.modules
results["exported"] = exported.serve(value)
results["exported_padded"] = exported.serve(inputs["padded"])

import keras
import keras_attention

for path in sorted(folder.glob("*.keras")):
    model = keras.models.load_model(path)
    tokens = value if len(model.inputs) == 1 else [query, value]
    results[path.stem] = model(tokens)
np.savez(folder / "results.npz", **results)
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
    before = [np.copy(w.numpy()) for w in model.trainable_weights]
    history = model.fit(tokens, np.arange(len(tokens)) % 2, verbose=0)
    assert np.isfinite(history.history["loss"][0])
    for old, new in zip(before, model.trainable_weights, strict=True):
        assert not np.array_equal(old, new.numpy())
    return model


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Predictions by name: before saving, and in a fresh process."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(7)
    query = rng.integers(1, 11, (2, 3)).astype("int32")
    value = rng.integers(1, 11, (2, 5)).astype("int32")
    value[0, 3:] = 0
    padded = np.pad(value, [(0, 0), (0, 7)])
    np.savez(folder / "inputs.npz", query=query, value=value, padded=padded)

    expected = {}
    for name, make in LAYERS.items():
        model = two_input_model(make())
        expected[name] = np.array(model([query, value]))
        model.save(folder / f"{name}.keras")
    model = trained_sequential_model(value)
    expected["sequential"] = np.array(model(value))
    model.save(folder / "sequential.keras")
    signature = [keras.InputSpec(shape=(None, None), dtype="int32")]
    model.export(folder / "exported", verbose=False, input_signature=signature)
    expected["exported"] = expected["exported_padded"] = expected["sequential"]

    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return expected, np.load(folder / "results.npz")


@pytest.mark.parametrize("name", [*LAYERS, "sequential"])
def test_saved_model_loads_in_a_fresh_process(name, results):
    """Reported as philipperemy/keras-attention#51 and
    CyberZHG/keras-self-attention#52.
    """
    expected, received = results
    np.testing.assert_allclose(received[name], expected[name], atol=1e-6)


@pytest.mark.parametrize("name", ["exported", "exported_padded"])
def test_export_needs_no_library_and_keeps_the_mask(name, results):
    """Reported as tensorflow/tensorflow#38620."""
    expected, received = results
    np.testing.assert_allclose(received[name], expected[name], atol=1e-6)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_weights_alone_load_into_an_equal_model(name, tmp_path):
    tokens = [np.array([[4, 7, 3]]), np.array([[8, 1, 9, 2, 0]])]
    first, second = (two_input_model(ATTENTIONS[name].make()) for _ in "ab")
    assert not np.allclose(first(tokens), second(tokens))
    first.save_weights(tmp_path / "model.weights.h5")
    second.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_allclose(second(tokens), first(tokens), atol=1e-6)
