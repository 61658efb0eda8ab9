import inspect
import json

import backends
import keras
import layer_catalogue
import numpy as np
import pytest
from backends import COMPILED_MODES
from backends import in_mode
from backends import tensorflow_only
from fresh_process import run_fresh
from gradients import value_and_gradients
from keras import ops
from keras import tree
from layer_catalogue import CATALOGUE
from layer_catalogue import draw_inputs
from layer_catalogue import make_model
from layer_catalogue import of_layer

import keras_attention


pytestmark = pytest.mark.every_case

LAYERS = [name for name, entry in CATALOGUE.items() if entry.call]

# Runs without the test's modules, so that nothing but the files is known.
FRESH_PROCESS = """
import json, sys
import numpy as np
import keras
import keras_attention

folder = sys.argv[1]
arrays = dict(np.load(folder + "/inputs.npz"))
memory = arrays.pop("memory")
model = keras.models.load_model(folder + "/model.keras")
weights = keras.models.model_from_json(model.to_json())
weights.load_weights(folder + "/model.weights.h5")
decoder = next(
    layer for layer in model.layers
    if isinstance(layer, keras_attention.AttentionDecoder)
)
decoded = decoder.generate(
    memory,
    memory_mask=arrays["sources"] != 0,
    start_token=1,
    end_token=2,
    max_length=9,
    strategy=keras_attention.BeamSearch(3, 0.6, 0.2, num_return=2),
)
results = {
    f"{kind}.{name}": keras.ops.convert_to_numpy(tensor)
    for kind, outputs in (
        ("keras", model(arrays)),
        ("weights", weights(arrays)),
        ("decoded", decoded._asdict()),
    )
    for name, tensor in outputs.items()
}
np.savez(folder + "/results.npz", **results)
with open(folder + "/counts.json", "w") as file:
    json.dump({layer.name: len(layer.weights) for layer in model.layers}, file)
"""

# Runs without the library too.
WITHOUT_LIBRARY = """
import sys
import numpy as np
import tensorflow as tf

folder = sys.argv[1]
arrays = dict(np.load(folder + "/inputs.npz"))
memory = arrays.pop("memory")
exported = tf.saved_model.load(folder + "/exported")
served = exported.serve({name: tf.constant(a) for name, a in arrays.items()})
decoder = tf.saved_model.load(folder + "/decoder")
decoded = decoder.generate(memory, arrays["sources"] != 0)
np.savez(folder + "/exported.npz", **served)
np.savez(folder + "/decoded.npz", **decoded)
assert "keras_attention" not in sys.modules
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
def decoder(sweep):
    """The decoder of the model."""
    return next(
        layer
        for layer in sweep[0].layers
        if isinstance(layer, keras_attention.AttentionDecoder)
    )


def generate(decoder, memory, memory_mask):
    return decoder.generate(
        memory,
        memory_mask=memory_mask,
        start_token=1,
        end_token=2,
        max_length=9,
        strategy=keras_attention.BeamSearch(3, 0.6, 0.2, num_return=2),
    )._asdict()


@pytest.fixture(scope="module")
def folder(sweep, tmp_path_factory):
    """A folder with the inputs of the model, and a memory for the decoder."""
    _, inputs, _ = sweep
    shape = *inputs["sources"].shape, layer_catalogue.MEMORY_UNITS
    memory = np.random.default_rng(3).normal(size=shape).astype("float32")
    folder = tmp_path_factory.mktemp("fresh")
    np.savez(folder / "inputs.npz", memory=memory, **inputs)
    return folder


@pytest.fixture(scope="module")
def fresh(sweep, folder):
    """What a fresh process makes of the saved model, and its weights."""
    model, _, _ = sweep
    model.save(folder / "model.keras")
    model.save_weights(folder / "model.weights.h5")
    run_fresh(FRESH_PROCESS, folder)
    counts = json.loads((folder / "counts.json").read_text())
    return dict(np.load(folder / "results.npz")), counts


@pytest.fixture(scope="module")
def exported(sweep, decoder, folder):
    """What a process without the library makes of SavedModels."""
    import tensorflow as tf

    model, _, _ = sweep
    model.export(folder / "exported", verbose=False)
    module = tf.Module()
    module.tracked = [variable.value for variable in decoder.variables]
    module.generate = in_mode(
        lambda *arguments: generate(decoder, *arguments),
        "graph",
        [
            ((None, None, layer_catalogue.MEMORY_UNITS), "float32"),
            ((None, None), "bool"),
        ],
    )
    tf.saved_model.save(module, str(folder / "decoder"))
    run_fresh(WITHOUT_LIBRARY, folder)
    return np.load(folder / "exported.npz"), np.load(folder / "decoded.npz")


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


@pytest.fixture(scope="module", params=COMPILED_MODES[:1])
def compiled_outputs(request, sweep):
    model, inputs, _ = sweep
    names = list(layer_catalogue.INPUTS)
    run = in_mode(
        lambda *arrays: model(dict(zip(names, arrays, strict=True))),
        request.param,
        [
            ((None, *shape), dtype)
            for shape, dtype in layer_catalogue.INPUTS.values()
        ],
    )
    return run(*(inputs[name] for name in names))


@pytest.mark.parametrize("name", LAYERS)
def test_compiled_equals_functional(name, sweep, compiled_outputs):
    received = of_layer(name, compiled_outputs)
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


@pytest.mark.parametrize("kind", ["keras", "weights"])
@pytest.mark.parametrize("name", LAYERS)
def test_fresh_process_gives_the_same_numbers(name, kind, sweep, fresh):
    """No custom_objects, nothing but the library.

    Reported as philipperemy/keras-attention#51 (`.keras`),
    CyberZHG/keras-self-attention#55 ("Unknown layer").
    """
    results, _ = fresh
    expected = of_layer(name, sweep[2])
    received = [
        results[f"{kind}.{name}_{index}"] for index in range(len(expected))
    ]
    assert_outputs_equal(received, expected, 2e-6)


def assert_decoded_equal(received, decoder, folder):
    inputs = np.load(folder / "inputs.npz")
    expected = generate(decoder, inputs["memory"], inputs["sources"] != 0)
    np.testing.assert_array_equal(received["tokens"], expected["tokens"])
    for name, value in expected.items():
        np.testing.assert_allclose(received[name], value, atol=1e-5)


def test_fresh_process_decodes_the_same(fresh, decoder, folder):
    """Reported as tensorflow/addons#2432: a decoder that cannot be saved."""
    results, _ = fresh
    received = {
        name: results[f"decoded.{name}"]
        for name in keras_attention.DecodingResult._fields
    }
    assert_decoded_equal(received, decoder, folder)


def test_every_layer_has_its_weights_after_loading(sweep, fresh):
    """Reported as keras-team/keras#18823: "layer was never built"."""
    model, _, _ = sweep
    _, counts = fresh
    assert counts == {layer.name: len(layer.weights) for layer in model.layers}


@tensorflow_only("SavedModels")
@pytest.mark.parametrize("name", LAYERS)
def test_export_gives_the_same_numbers(name, sweep, exported):
    """Reported as tensorflow/addons#2675, and as tensorflow/tensorflow#38620
    (the mask is missing after the reload).
    """
    outputs, _ = exported
    expected = of_layer(name, sweep[2])
    assert_outputs_equal(of_layer(name, outputs), expected, 2e-6)


@tensorflow_only("SavedModels")
def test_exported_decoder_decodes_the_same(exported, decoder, folder):
    """Decoding is exported with the loop in it, and needs no library.

    Reported as tensorflow/addons#2432, tensorflow/addons#2675.
    """
    _, received = exported
    assert_decoded_equal(received, decoder, folder)


# Training


def weigh(outputs):
    """A scalar to which every output counts differently."""
    return sum(
        ops.mean(ops.sin(ops.cast(part, "float32") * (index % 3 + 1.3)))
        for index, part in enumerate(outputs.values())
    )


def values_and_gradients(model, inputs):
    def function():
        outputs = model(inputs)
        return [weigh(outputs), *(outputs[name] for name in model.output)]

    # Eager JAX takes half a minute for what its `jit` does in a few seconds.
    mode = "jit" if backends.NAME == "jax" else "eager"
    (_, *values), gradients = value_and_gradients(
        function, [], model.trainable_weights, mode
    )
    outputs = dict(zip(model.output, values, strict=True))
    return outputs, [gradient.astype("float32") for gradient in gradients]


@pytest.fixture(scope="module")
def single(sweep):
    """Outputs and gradients in float32."""
    model, inputs, _ = sweep
    return values_and_gradients(model, inputs)


@pytest.fixture(scope="module", params=["mixed_float16", "mixed_bfloat16"])
def half(request, sweep, single):
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
        single,
    )


# bfloat16 has 8 bits, so that one rounding alone is 0.4 % wrong. The worst
# gradient, that of a kernel for coverage, is 5.5 % wrong on JAX.
HALF_TOLERANCE = {"mixed_float16": 1e-2, "mixed_bfloat16": 7e-2}


@pytest.mark.parametrize("name", LAYERS)
def test_half_precision_is_near_float32(name, half):
    """Reported as tensorflow/addons#1968 and tensorflow/addons#2442.

    Also as tensorflow/tensorflow#46321, tensorflow/tensorflow#46064 and
    tensorflow/tensorflow#43261.

    Also as tensorflow/tensorflow#46321, tensorflow/tensorflow#46064 and
    tensorflow/tensorflow#43261.
    """
    policy, (outputs, _), (expected, _) = half
    for one, other in zip(
        of_layer(name, outputs), of_layer(name, expected), strict=True
    ):
        if keras.backend.is_float_dtype(other.dtype):
            dtype = keras.backend.standardize_dtype(one.dtype)
            assert dtype == policy.removeprefix("mixed_")
        one, other = one.astype("float32"), other.astype("float32")
        scale = np.max(np.abs(other))
        assert np.max(np.abs(one - other)) < HALF_TOLERANCE[policy] * scale


def test_gradients_of_half_precision_are_near_those_of_float32(half, sweep):
    """Reported as tensorflow/tensorflow#46321, tensorflow/tensorflow#46064 and
    tensorflow/tensorflow#43261.

    Reported as tensorflow/tensorflow#46321, tensorflow/tensorflow#46064 and
    tensorflow/tensorflow#43261.
    """
    policy, (_, gradients), (_, expected) = half
    paths = [weight.path for weight in sweep[0].trainable_weights]
    largest = [np.max(np.abs(other)) for other in expected]
    for path, one, other in zip(paths, gradients, expected, strict=True):
        assert np.all(np.isfinite(one)), path
        scale = np.max(np.abs(other))
        if other.size == 1:
            # A single gain sums terms of either sign, which nearly cancel
            # out; what is rounded is as large as the layer's other gradients.
            layer = path.rpartition("/")[0]
            scale = max(
                size
                for name, size in zip(paths, largest, strict=True)
                if name.startswith(layer)
            )
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
        run_eagerly=not backends.COMPILE_FIT,
    )
    training.fit(inputs, np.zeros(layer_catalogue.BATCH), verbose=0)
    for weight, old in zip(model.weights, before, strict=True):
        new = np.array(weight)
        assert np.all(np.isfinite(new)), weight.path
        assert np.any(new != old), weight.path
