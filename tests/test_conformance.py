import inspect
import json
import subprocess
import sys

import keras
import layer_catalogue
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from keras import tree
from layer_catalogue import CATALOGUE
from layer_catalogue import draw_inputs
from layer_catalogue import make_model
from layer_catalogue import of_layer

import keras_attention


LAYERS = [name for name, entry in CATALOGUE.items() if entry.call]

# Runs without the test's modules, so that nothing but the files is known.
FRESH_PROCESS = """
import json, sys
import numpy as np
folder = sys.argv[1]
arrays = dict(np.load(folder + "/inputs.npz"))

import tensorflow as tf
exported = tf.saved_model.load(folder + "/exported")
memory = arrays.pop("memory")
served = exported.serve({name: tf.constant(a) for name, a in arrays.items()})
decoder = tf.saved_model.load(folder + "/decoder")
decoded = decoder.generate(
    tf.constant(memory), tf.constant(arrays["sources"] != 0)
)

import keras
import keras_attention
model = keras.models.load_model(folder + "/model.keras")
loaded = model(arrays)
weights = keras.models.model_from_json(model.to_json())
weights.load_weights(folder + "/model.weights.h5")
reloaded = weights(arrays)

results = {"decoded." + name: value for name, value in decoded.items()}
for kind, outputs in (
    ("exported", served), ("keras", loaded), ("weights", reloaded)
):
    for name, tensor in outputs.items():
        results[f"{kind}.{name}"] = tensor
results = {name: np.array(value) for name, value in results.items()}
np.savez(folder + "/results.npz", **results)
with open(folder + "/counts.json", "w") as file:
    json.dump({layer.name: len(layer.weights) for layer in model.layers}, file)
"""


@pytest.fixture(scope="module")
def sweep():
    """The model of all layers with random weights, inputs and outputs."""
    keras.utils.set_random_seed(11)
    rng = np.random.default_rng(11)
    model = make_model()
    layer_catalogue.randomize(model, rng, 0.4)
    inputs = draw_inputs(rng)
    return model, inputs, model(inputs)


@pytest.fixture(scope="module")
def fresh(sweep, tmp_path_factory):
    """What a fresh process makes of the saved and the exported model."""
    model, inputs, outputs = sweep
    folder = tmp_path_factory.mktemp("fresh")
    decoder = next(
        layer
        for layer in model.layers
        if isinstance(layer, keras_attention.AttentionDecoder)
    )

    def generate(memory, memory_mask):
        return decoder.generate(
            memory,
            memory_mask=memory_mask,
            start_token=1,
            end_token=2,
            max_length=9,
        )._asdict()

    memory = np.random.default_rng(3).normal(
        size=(*inputs["sources"].shape, layer_catalogue.MEMORY_UNITS)
    )
    memory = memory.astype("float32")
    module = tf.Module()
    module.tracked = [variable.value for variable in decoder.variables]
    module.generate = tf.function(
        generate,
        input_signature=[
            tf.TensorSpec([None, None, layer_catalogue.MEMORY_UNITS]),
            tf.TensorSpec([None, None], tf.bool),
        ],
    )
    tf.saved_model.save(module, str(folder / "decoder"))
    model.save(folder / "model.keras")
    model.save_weights(folder / "model.weights.h5")
    model.export(folder / "exported", verbose=False)
    np.savez(folder / "inputs.npz", memory=memory, **inputs)
    process = subprocess.run(
        [sys.executable, "-c", FRESH_PROCESS, str(folder)],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    expected = {
        f"decoded.{name}": np.array(value)
        for name, value in generate(memory, inputs["sources"] != 0).items()
    }
    counts = json.loads((folder / "counts.json").read_text())
    return dict(np.load(folder / "results.npz")), expected, counts


def assert_outputs_equal(received, expected, tolerance=1e-6):
    assert len(received) == len(expected)
    for one, other in zip(received, expected, strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


# Names and configurations


def test_every_public_name_is_in_the_catalogue_or_excused():
    names = set(keras_attention.__all__)
    excused = set(layer_catalogue.NOT_IN_CATALOGUE)
    assert set(CATALOGUE) | excused == names
    assert not set(CATALOGUE) & excused


def test_every_public_name_exists_and_is_said_once():
    assert len(set(keras_attention.__all__)) == len(keras_attention.__all__)
    for name in keras_attention.__all__:
        assert hasattr(keras_attention, name)


@pytest.mark.parametrize("name", CATALOGUE)
def test_catalogue_gives_every_argument(name):
    parameters = inspect.signature(CATALOGUE[name].cls).parameters
    expected = {
        parameter.name
        for parameter in parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    assert set(CATALOGUE[name].arguments()) == expected
    assert CATALOGUE[name].cls.__name__ == name


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_argument_is_in_the_configuration(name):
    """Reported as tensorflow/tensorflow#33380, tensorflow/tensorflow#32662."""
    config = CATALOGUE[name].make().get_config()
    for argument, value in CATALOGUE[name].arguments().items():
        assert argument in config
        if isinstance(value, (int, float, str, type(None))):
            assert config[argument] == value


@pytest.mark.parametrize("name", CATALOGUE)
def test_configuration_makes_an_equal_object(name):
    """Reported as thushv89/attention_keras#19: a layer without get_config."""
    made = CATALOGUE[name].make()
    config = made.get_config()
    text = json.dumps(config, sort_keys=True)
    copy = type(made).from_config(config)
    assert json.dumps(copy.get_config(), sort_keys=True) == text
    assert json.dumps(config, sort_keys=True) == text


@pytest.mark.parametrize("name", CATALOGUE)
def test_class_is_registered(name):
    """Reported as CyberZHG/keras-self-attention#52: "Unknown layer"."""
    serialized = keras.saving.serialize_keras_object(CATALOGUE[name].make())
    assert serialized["registered_name"] == f"keras_attention>{name}"
    copy = keras.saving.deserialize_keras_object(serialized)
    assert type(copy) is CATALOGUE[name].cls


# Modes


@pytest.fixture(scope="module")
def graph_outputs(sweep):
    model, inputs, _ = sweep
    graph = tf.function(
        lambda inputs: model(inputs),
        input_signature=[
            {
                name: tf.TensorSpec((None, *shape), dtype, name=name)
                for name, (shape, dtype) in layer_catalogue.INPUTS.items()
            }
        ],
    )
    return graph(inputs)


@pytest.mark.parametrize("name", LAYERS)
def test_graph_equals_functional(name, sweep, graph_outputs):
    received = of_layer(name, graph_outputs)
    assert_outputs_equal(received, of_layer(name, sweep[2]), 2e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_eager_equals_functional(name, sweep):
    model, inputs, outputs = sweep
    layers = {layer.name: layer for layer in model.layers}
    tensors = {key: ops.convert_to_tensor(x) for key, x in inputs.items()}
    for key, tokens in (
        ("memory", "sources"),
        ("wide_memory", "sources"),
        ("sequences", "targets"),
    ):
        tensors[key] = layers[f"embed_{key}"](tensors[tokens])
    node = model.output[f"{name}_0"]._keras_history.operation
    layer = node
    if name in ("BahdanauRNNCell", "LuongRNNCell"):
        received = layer_catalogue.CATALOGUE["AttentionRNN"].call(
            layer, tensors
        )
    elif name.endswith("Score"):
        received = layer_catalogue.CATALOGUE["LuongAttention"].call(
            layer, tensors
        )
    else:
        received = CATALOGUE[name].call(layer, tensors)
    expected = of_layer(name, outputs)
    assert_outputs_equal(tree.flatten(received), expected, 1e-6)


# Fresh process


@pytest.mark.parametrize("kind", ["keras", "weights", "exported"])
@pytest.mark.parametrize("name", LAYERS)
def test_fresh_process_gives_the_same_numbers(name, kind, sweep, fresh):
    """No custom_objects, nothing but the library, which only `.keras` needs.

    Reported as philipperemy/keras-attention#51 (`.keras`),
    CyberZHG/keras-self-attention#55 ("Unknown layer"),
    tensorflow/addons#2675 (SavedModel) and tensorflow/tensorflow#38620 (the
    mask is missing after the reload).
    """
    results, _, _ = fresh
    expected = of_layer(name, sweep[2])
    received = [
        results[f"{kind}.{name}_{index}"] for index in range(len(expected))
    ]
    assert_outputs_equal(received, expected, 2e-6)


def test_fresh_process_decodes_the_same(fresh):
    """Decoding is exported with the loop in it, and needs no Keras.

    Reported as tensorflow/addons#2432, tensorflow/addons#2675.
    """
    results, expected, _ = fresh
    np.testing.assert_array_equal(
        results["decoded.tokens"], expected["decoded.tokens"]
    )
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, atol=1e-5)


def test_every_layer_has_its_weights_after_loading(sweep, fresh):
    """Reported as keras-team/keras#18823: "layer was never built"."""
    model, _, counts = sweep[0], sweep[1], fresh[2]
    assert counts == {layer.name: len(layer.weights) for layer in model.layers}


# Training


def weigh(outputs):
    """A scalar to which every output counts differently."""
    return sum(
        ops.mean(ops.sin(ops.cast(part, "float32") * (index % 3 + 1.3)))
        for index, part in enumerate(outputs.values())
    )


def values_and_gradients(model, inputs):
    with tf.GradientTape() as tape:
        outputs = model(inputs)
        total = weigh(outputs)
    variables = [weight.value for weight in model.trainable_weights]
    gradients = tape.gradient(total, variables)
    return outputs, [
        np.array(tf.cast(tf.convert_to_tensor(part), "float32"))
        for part in gradients
    ]


@pytest.fixture(scope="module", params=["mixed_float16", "mixed_bfloat16"])
def half(request, sweep):
    """Outputs and gradients under a policy, beside those of float32."""
    model, inputs, _ = sweep
    keras.config.set_dtype_policy(request.param)
    try:
        half_model = make_model()
    finally:
        keras.config.set_dtype_policy("float32")
    half_model.set_weights(model.get_weights())
    return (
        request.param,
        values_and_gradients(half_model, inputs),
        values_and_gradients(model, inputs),
    )


# bfloat16 has 8 bits, so that one rounding alone is 0.4 % wrong.
HALF_TOLERANCE = {"mixed_float16": 1e-2, "mixed_bfloat16": 5e-2}


@pytest.mark.parametrize("name", LAYERS)
def test_half_precision_is_near_float32(name, half):
    """Reported as tensorflow/addons#1968 and tensorflow/addons#2442."""
    policy, (outputs, _), (expected, _) = half
    for one, other in zip(
        of_layer(name, outputs), of_layer(name, expected), strict=True
    ):
        assert one.dtype == policy.removeprefix("mixed_")
        one, other = (
            np.array(ops.cast(part, "float32")) for part in (one, other)
        )
        scale = np.max(np.abs(other))
        assert np.max(np.abs(one - other)) < HALF_TOLERANCE[policy] * scale


def test_gradients_of_half_precision_are_near_those_of_float32(half, sweep):
    policy, (_, gradients), (_, expected) = half
    paths = [weight.path for weight in sweep[0].trainable_weights]
    for path, one, other in zip(paths, gradients, expected, strict=True):
        assert np.all(np.isfinite(one)), path
        scale = np.max(np.abs(other))
        assert np.max(np.abs(one - other)) < HALF_TOLERANCE[policy] * scale, (
            path
        )


def test_one_step_of_fit_changes_every_weight():
    rng = np.random.default_rng(13)
    model = make_model()
    layer_catalogue.randomize(model, rng, 0.4)
    inputs = draw_inputs(rng)

    class Training(keras.Model):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def call(self, inputs):
            return weigh(self.inner(inputs))

    before = model.get_weights()
    training = Training(model)
    training.compile(
        keras.optimizers.SGD(0.1),
        lambda _, total: total,
        run_eagerly=True,
    )
    training.fit(inputs, np.zeros(layer_catalogue.BATCH), verbose=0)
    for weight, old in zip(model.weights, before, strict=True):
        new = weight.numpy()
        assert np.all(np.isfinite(new)), weight.path
        assert np.any(new != old), weight.path
