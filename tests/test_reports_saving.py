"""What was reported against other libraries and holds here: saving."""

import json

import keras
import numpy as np
import pytest
from backends import COMPILE_FIT
from backends import tensorflow_only
from fresh_process import run_fresh
from keras import ops
from layer_catalogue import CATALOGUE
from layer_catalogue import CELL_UNITS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_inputs
from layer_catalogue import embed
from layer_catalogue import make_cell
from layer_catalogue import make_decoder
from layer_catalogue import make_rnn
from layer_catalogue import randomize

import keras_attention


# Runs without the test's modules and without `custom_objects`.
FRESH_PROCESS = """
import json, sys
import numpy as np
import keras
import keras_attention

folder, *names = sys.argv[1:]
arrays = dict(np.load(folder + "/inputs.npz"))
results, shapes = {}, {}
for name in names:
    model = keras.models.load_model(f"{folder}/{name}.keras")
    rebuilt = keras.models.model_from_json(model.to_json())
    rebuilt.load_weights(f"{folder}/{name}.weights.h5")
    shapes[name] = {key: part.shape for key, part in model.input.items()}
    for kind, made, size in (
        ("keras", model, "other"),
        ("weights", rebuilt, "first"),
        ("keras", model, "first"),
    ):
        inputs = {key: arrays[f"{size}.{key}"] for key in model.input}
        for index, part in enumerate(keras.tree.flatten(made(inputs))):
            part = keras.ops.convert_to_numpy(part)
            results[f"{name}.{kind}.{size}.{index}"] = part
    if model.compiled:
        model.train_on_batch(inputs, arrays["labels"])
        trained = keras.ops.convert_to_numpy(model(inputs))
        results[f"{name}.trained"] = trained
np.savez(folder + "/results.npz", **results)
with open(folder + "/shapes.json", "w") as file:
    json.dump(shapes, file)
"""

# Runs without the library too.
WITHOUT_LIBRARY = """
import json, sys
import numpy as np
import tensorflow as tf

folder, *names = sys.argv[1:]
arrays = dict(np.load(folder + "/inputs.npz"))
results = {}
for name in names:
    exported = tf.saved_model.load(f"{folder}/{name}.exported")
    saved = tf.saved_model.load(f"{folder}/{name}.saved")
    for size in ("first", "other"):
        inputs = {
            key: tf.constant(arrays[f"{size}.{key}"])
            for key in ("sources", "targets")
        }
        results[f"{name}.exported.{size}"] = exported.serve(inputs)
        serve = saved.signatures["serving_default"]
        # Keras numbers the inputs.
        numbered = sorted(serve.structured_input_signature[1])
        served = serve(**dict(zip(numbered, inputs.values())))
        [results[f"{name}.saved.{size}"]] = served.values()
np.savez(folder + "/served.npz", **results)

with open(folder + "/sentences.json") as file:
    sentences = json.load(file)
strings = {}
for kind in ("exported", "saved"):
    model = tf.saved_model.load(f"{folder}/strings.{kind}")
    serve = model.signatures["serving_default"]
    [name] = serve.structured_input_signature[1]

    def translate(batch):
        [words] = serve(**{name: tf.constant(batch)}).values()
        return [word.decode() for word in words.numpy()]

    # A GRU of Keras takes no batch in which every sentence is empty.
    strings[kind] = [
        translate(sentences),
        [translate([sentence, "house"])[0] for sentence in sentences],
    ]
with open(folder + "/strings.json", "w") as file:
    json.dump(strings, file)
assert "keras_attention" not in sys.modules
"""


# Translators of tokens, and a model that a memory is put into


def make_translator(cell):
    """Makes a model from sources and targets to logits."""
    sources = keras.Input((None,), dtype="int32", name="sources")
    targets = keras.Input((None,), dtype="int32", name="targets")
    memory_mask = ops.not_equal(sources, 0)
    embedded = keras.layers.Embedding(VOCABULARY_SIZE, 3, mask_zero=True)
    memory, state = keras.layers.GRU(
        7, return_sequences=True, return_state=True
    )(embedded(sources), mask=memory_mask)
    bridge = keras_attention.StateBridge(units=CELL_UNITS, bidirectional=False)
    sequences = keras.layers.Embedding(VOCABULARY_SIZE, 2, mask_zero=True)
    output = keras_attention.AttentionRNN(cell, return_sequences=True)(
        sequences(targets),
        memory,
        initial_state=bridge([state]),
        memory_mask=memory_mask,
    )
    logits = keras.layers.Dense(VOCABULARY_SIZE)(output)
    return keras.Model({"sources": sources, "targets": targets}, logits)


def make_model_of_memory():
    """Makes a model whose memory, of any length, is one of its inputs."""
    inputs = {
        name: keras.Input(shape, dtype=dtype, name=name)
        for name, shape, dtype in (
            ("sequences", (None, INPUT_UNITS), "float32"),
            ("memory", (None, MEMORY_UNITS), "float32"),
            ("memory_mask", (None,), "bool"),
        )
    }
    rnn = make_rnn(
        "luong_feeding",
        "stacked",
        return_sequences=True,
        return_state=True,
        return_attention_scores=True,
    )
    return keras.Model(inputs, rnn(**inputs))


TRANSLATORS = {
    "bahdanau": lambda: make_translator(make_cell("bahdanau")),
    "luong": lambda: make_translator(
        make_cell("luong", "gru_reset_before", "general")
    ),
}
MODELS = {**TRANSLATORS, "memory": make_model_of_memory}
SIZES = {"first": (3, 5, 7), "other": (2, 3, 11)}


# Strings in, strings out

WORDS = ["cat", "dog", "house", "the", "red", "sleeps", "in", "and", "small"]
SENTENCES = [
    "the cat sleeps",
    "The dog sleeps in the small red house!",
    "house",
    "",
    "the unknown dog and the cat",
]


def make_string_translator():
    """Makes a subclassed model from sentences to sentences."""
    import tensorflow as tf

    class Translator(keras.Model):
        def __init__(self):
            super().__init__()
            self.vectorize = keras.layers.TextVectorization(vocabulary=WORDS)
            self.embedding = keras.layers.Embedding(
                len(WORDS) + 2, 3, mask_zero=True
            )
            self.encoder = keras.layers.GRU(
                CELL_UNITS, return_sequences=True, return_state=True
            )
            self.decoder = make_decoder("luong_feeding")
            self.look_up = keras.layers.StringLookup(
                vocabulary=[f"word{i}" for i in range(VOCABULARY_SIZE - 2)],
                mask_token="",
                invert=True,
            )

        def call(self, sentences):
            sources = self.vectorize(sentences)
            mask = ops.not_equal(sources, 0)
            memory, state = self.encoder(self.embedding(sources), mask=mask)
            tokens = self.decoder.generate(
                memory,
                memory_mask=mask,
                initial_state=[state],
                start_token=2,
                end_token=3,
                max_length=5,
            ).tokens
            words = self.look_up(tokens[:, 0])
            return tf.strings.reduce_join(words, axis=-1, separator=" ")

    return Translator()


# Files


def draw_arrays(rng, batch, length, memory_length):
    """Draws the inputs of all models."""
    lengths = rng.integers(1, memory_length, batch)
    memory_mask = np.arange(memory_length) < lengths[:, None]
    sources, targets = (
        rng.integers(1, VOCABULARY_SIZE, (batch, size)).astype("int32")
        for size in (memory_length, length)
    )
    return {
        "sources": (sources * memory_mask).astype("int32"),
        "targets": targets,
        "sequences": draw(rng, batch, length, INPUT_UNITS),
        "memory": draw(rng, batch, memory_length, MEMORY_UNITS),
        "memory_mask": memory_mask,
    }


def inputs_of(model, arrays, size):
    return {key: arrays[f"{size}.{key}"] for key in model.input}


def outputs_of(model, inputs):
    results = keras.tree.flatten(model(inputs))
    return [ops.convert_to_numpy(part) for part in results]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the inputs of all models."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(11)
    arrays = {
        f"{size}.{key}": part
        for size, sizes in SIZES.items()
        for key, part in draw_arrays(rng, *sizes).items()
    }
    labels = rng.integers(1, VOCABULARY_SIZE, SIZES["first"][:2])
    np.savez(folder / "inputs.npz", labels=labels, **arrays)
    return folder


@pytest.fixture(scope="module")
def arrays(folder):
    return dict(np.load(folder / "inputs.npz"))


@pytest.fixture(scope="module")
def models(arrays):
    """All models with random weights; the translators trained for a step."""
    keras.utils.set_random_seed(11)
    rng = np.random.default_rng(11)
    models = {name: make() for name, make in MODELS.items()}
    for name, model in models.items():
        randomize(model, rng)
        if name in TRANSLATORS:
            model.compile(
                keras.optimizers.Adam(0.1),
                keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                run_eagerly=not COMPILE_FIT,
            )
            inputs = inputs_of(model, arrays, "first")
            model.fit(inputs, arrays["labels"], verbose=0)
    return models


@pytest.fixture(scope="module")
def expected(models, arrays):
    """What the models put out before they are saved."""
    return {
        f"{name}.{size}": outputs_of(model, inputs_of(model, arrays, size))
        for name, model in models.items()
        for size in SIZES
    }


@pytest.fixture(scope="module")
def fresh(models, expected, folder):
    """What a fresh process makes of the saved models, and their inputs."""
    for name, model in models.items():
        model.save(folder / f"{name}.keras")
        model.save_weights(folder / f"{name}.weights.h5")
    run_fresh(FRESH_PROCESS, folder, *models)
    shapes = json.loads((folder / "shapes.json").read_text())
    return dict(np.load(folder / "results.npz")), shapes


@pytest.fixture(scope="module")
def string_translator():
    """A translator with random weights, and what it makes of `SENTENCES`."""
    keras.utils.set_random_seed(11)
    model = make_string_translator()
    model(ops.convert_to_tensor(SENTENCES))
    randomize(model, np.random.default_rng(11), 1.2)
    results = model(ops.convert_to_tensor(SENTENCES))
    return model, [result.decode() for result in results.numpy()]


@pytest.fixture(scope="module")
def served(models, expected, string_translator, folder):
    """What a process without the library makes of SavedModels.

    Returns:
        Arrays of the models, and the strings of the string translator.
    """
    import tensorflow as tf

    for name in TRANSLATORS:
        path = str(folder / name)
        models[name].export(f"{path}.exported", verbose=False)
        tf.saved_model.save(models[name], f"{path}.saved")
    model, _ = string_translator
    signature = [tf.TensorSpec((None,), tf.string, name="sentences")]
    path = str(folder / "strings")
    model.export(f"{path}.exported", verbose=False, input_signature=signature)
    module = tf.Module()
    module.model = model
    module.serve = tf.function(
        lambda sentences: model(sentences), input_signature=signature
    )
    tf.saved_model.save(module, f"{path}.saved", signatures=module.serve)
    (folder / "sentences.json").write_text(json.dumps(SENTENCES))
    run_fresh(WITHOUT_LIBRARY, folder, *TRANSLATORS)
    strings = json.loads((folder / "strings.json").read_text())
    return dict(np.load(folder / "served.npz")), strings


by_name = pytest.mark.parametrize("name", MODELS)
by_translator = pytest.mark.parametrize("name", TRANSLATORS)
by_size = pytest.mark.parametrize("size", SIZES)


def assert_close(received, expected, tolerance=2e-6):
    assert received.shape == expected.shape
    np.testing.assert_allclose(received, expected, rtol=0, atol=tolerance)


@by_size
@by_name
def test_loaded_model_gives_the_same_numbers_at_any_size(
    name, size, fresh, expected
):
    """Reported as philipperemy/keras-attention#51,
    philipperemy/keras-attention#53 and philipperemy/keras-attention#55 (a
    layer in the layer is called wrongly on loading),
    CyberZHG/keras-self-attention#52, CyberZHG/keras-self-attention#55 and
    CyberZHG/keras-multi-head#9 ("Unknown layer"), and
    tensorflow/tensorflow#43369 (a cell with constants is not saved).
    """
    results, _ = fresh
    for index, part in enumerate(expected[f"{name}.{size}"]):
        assert_close(results[f"{name}.keras.{size}.{index}"], part)


@by_name
def test_weights_alone_give_the_same_numbers(name, fresh, expected):
    """Reported as OpenNMT/OpenNMT-tf#733: a checkpoint, which holds weights
    only, was taken for a SavedModel.
    """
    results, _ = fresh
    for index, part in enumerate(expected[f"{name}.first"]):
        assert_close(results[f"{name}.weights.first.{index}"], part)


def test_memory_keeps_its_rank_and_any_length(fresh):
    """Reported as keras-team/keras#19224, keras-team/tf-keras#770 and
    tensorflow/tensorflow#63047: saving changed the rank of the constants.
    """
    _, shapes = fresh
    assert shapes["memory"] == {
        "sequences": [None, None, INPUT_UNITS],
        "memory": [None, None, MEMORY_UNITS],
        "memory_mask": [None, None],
    }


@by_translator
def test_loaded_model_trains_on_from_where_it_was(name, fresh, models, arrays):
    """With the optimizer as it was, of which Adam keeps two moments.

    Reported as tensorflow/tensorflow#59337: "'Adam' object has no attribute
    'get_slot_names'".
    """
    results, _ = fresh
    model = models[name]
    inputs = inputs_of(model, arrays, "first")
    weights = model.get_weights()
    model.train_on_batch(inputs, arrays["labels"])
    assert_close(results[f"{name}.trained"], outputs_of(model, inputs)[0], 1e-5)
    model.set_weights(weights)


# SavedModels


@tensorflow_only("SavedModels")
@pytest.mark.parametrize("kind", ["exported", "saved"])
@by_size
@by_translator
def test_served_model_gives_the_same_numbers_without_the_library(
    name, size, kind, served, expected
):
    """By `model.export` and by `tf.saved_model.save`, after `fit`, at another
    batch size and other lengths than it was trained with.

    Reported as tensorflow/addons#2675 (the memory of one batch is part of
    the graph), tensorflow/tensorflow#59337 (the optimizer stops the saving).
    """
    arrays, _ = served
    assert_close(arrays[f"{name}.{kind}.{size}"], *expected[f"{name}.{size}"])


@tensorflow_only("strings")
@pytest.mark.parametrize("kind", ["exported", "saved"])
def test_exported_translator_takes_strings_and_gives_the_same_ones(
    kind, served, string_translator
):
    """A subclassed model with tables in it, any number of sentences at once.

    Reported as tensorflow/addons#2675 (nothing with an attention wrapper was
    saved), tensorflow/tensorflow#34865 (a reloaded encoder and decoder that
    nobody can call), keras-team/keras-hub#2015, keras-team/keras-hub#1629 and
    keras-team/keras-io#1863 (a tokenizer is an "untracked resource"), and
    keras-team/keras#20676 (an embedding is one).
    """
    _, expected = string_translator
    assert len(set(expected)) == len(SENTENCES)
    _, strings = served
    together, two_by_two = strings[kind]
    assert together == expected
    assert two_by_two == expected


# Weights


LAYERS = [name for name, entry in CATALOGUE.items() if entry.call]


@pytest.mark.parametrize("name", LAYERS)
def test_copy_has_all_its_weights_before_it_is_called(name, rng):
    """As loading makes it: from the configurations, without a call.

    Reported as keras-team/keras#18823 ("layer was never built") and
    keras-team/keras#20004 (a layer hides the weights of those within it),
    thushv89/attention_keras#19 and thushv89/attention_keras#23 (a layer
    without a configuration).
    """
    entry = CATALOGUE[name]
    layer = entry.make()
    entry.call(layer, embed(draw_inputs(rng)))
    copy = type(layer).from_config(layer.get_config())
    copy.build_from_config(layer.get_build_config())
    received, expected = (
        [(weight.name, tuple(weight.shape)) for weight in part.weights]
        for part in (copy, layer)
    )
    assert received == expected
    # The dot score, which has none, is that of the `LuongAttention`.
    assert bool(expected) == (name != "LuongAttention")


@tensorflow_only("tf.train.Checkpoint")
@pytest.mark.parametrize("name", LAYERS)
def test_checkpoint_of_tensorflow_holds_every_weight(name, tmp_path, rng):
    """Weights of layers in lists too, which Keras hides from TensorFlow."""
    import tensorflow as tf

    first, other = (CATALOGUE[name].make() for _ in range(2))
    for layer in (first, other):
        CATALOGUE[name].call(layer, embed(draw_inputs(rng)))
        randomize(layer, rng)
    path = tf.train.Checkpoint(layer=first).save(tmp_path / "checkpoint")
    restored = tf.train.Checkpoint(layer=other).restore(path)
    restored.assert_existing_objects_matched()
    for received, expected in zip(other.weights, first.weights, strict=True):
        np.testing.assert_array_equal(
            np.array(received), np.array(expected), err_msg=expected.path
        )


def make_gru(reset_after):
    """Makes a model whose inner cell is a GRU of either kind."""
    rnn = make_rnn("bahdanau", "gru" if reset_after else "gru_reset_before")
    inputs = [keras.Input((None, INPUT_UNITS)), keras.Input((None, 11))]
    return keras.Model(inputs, rnn(*inputs))


@pytest.mark.parametrize("reset_after", [True, False])
def test_weights_of_a_gru_load_into_its_own_kind_only(
    reset_after, tmp_path, rng
):
    """Reported as keras-team/keras#8860, keras-team/keras#10080 and
    keras-team/keras#10356 (weights of one kind of GRU in the other),
    BrikerMan/Kashgari#182 and BrikerMan/Kashgari#226 (a model that its own
    library cannot load).
    """
    model, copy = make_gru(reset_after), make_gru(reset_after)
    randomize(model, rng)
    model.save_weights(tmp_path / "model.weights.h5")
    copy.load_weights(tmp_path / "model.weights.h5")
    for one, other in zip(copy.weights, model.weights, strict=True):
        np.testing.assert_array_equal(np.array(one), np.array(other))
    with pytest.raises(ValueError, match=r"\(39,\)|\(2, 39\)"):
        make_gru(not reset_after).load_weights(tmp_path / "model.weights.h5")
