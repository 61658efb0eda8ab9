"""What was reported against other libraries and holds here: masks."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_catalogue import ATTENTION_UNITS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_inputs
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import make_decoder
from layer_catalogue import make_rnn
from layer_catalogue import randomize

from keras_attention import AttentionPooling
from keras_attention import BahdanauAttention


def make_attention():
    return BahdanauAttention(ATTENTION_UNITS)


def make_embedding(units, rng):
    """Makes an embedding with a mask, and no number near 0 in it."""
    embedding = keras.layers.Embedding(VOCABULARY_SIZE, units, mask_zero=True)
    embedding.build()
    embedding.embeddings.assign(draw(rng, VOCABULARY_SIZE, units))
    return embedding


def draw_tokens(rng):
    """Draws tokens for queries and for a memory; 0 is padding."""
    inputs = draw_inputs(rng)
    return [inputs["targets"], inputs["sources"]]


def make_symbols():
    return [keras.Input((None,), dtype="int32") for _ in range(2)]


def assert_close(received, expected):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


# Masks come in.


def attend(attention, query, memory, **masks):
    return attention([query, memory], return_attention_scores=True, **masks)


def run(rnn, sequences, memory, **masks):
    return rnn(sequences, memory, **masks)


@pytest.mark.parametrize(
    ("make", "call", "masks"),
    [
        (make_attention, attend, {"mask": [MASK, MEMORY_MASK]}),
        (
            lambda: make_rnn(return_attention_scores=True),
            run,
            {"mask": MASK, "memory_mask": MEMORY_MASK},
        ),
    ],
    ids=["list", "one_by_one"],
)
def test_both_inputs_bring_their_masks(make, call, masks, rng):
    """Reported as keras-team/keras#19311: with two inputs there was none."""
    layer, tokens, symbols = make(), draw_tokens(rng), make_symbols()
    embeddings = [make_embedding(u, rng) for u in (INPUT_UNITS, MEMORY_UNITS)]

    def embed(tokens):
        return [layer(x) for layer, x in zip(embeddings, tokens, strict=True)]

    model = keras.Model(symbols, call(layer, *embed(symbols)))
    plain = [ops.convert_to_numpy(tensor) for tensor in embed(tokens)]
    expected, unmasked = call(layer, *plain, **masks), call(layer, *plain)
    assert_close(model(tokens), expected)
    assert_close(call(layer, *embed(tokens)), expected)
    for one, other in zip(unmasked, expected, strict=True):
        assert np.max(np.abs(one - other)) > 1e-2


@pytest.mark.parametrize("columns", [0, 7])
def test_masks_need_no_recurrent_layer_to_go_on(columns, monkeypatch, rng):
    """Each sentence is as if alone, though Keras hands on no mask.

    Reported as keras-team/keras#23228; since keras-team/keras#23235 recurrent
    layers hand no masks on.
    """
    for name in ("RNN", "Bidirectional", "TimeDistributed"):
        layer = getattr(keras.layers, name)
        monkeypatch.setattr(layer, "compute_mask", lambda *_: None)
    encoder = keras.layers.Bidirectional(
        keras.layers.GRU(5, return_sequences=True)
    )
    embedding, rnn = make_embedding(3, rng), make_rnn(return_sequences=True)
    pooling = AttentionPooling(make_attention())

    def read(sources, sequences, mask):
        memory = encoder(embedding(sources), mask=mask)
        return [
            rnn(sequences, memory, memory_mask=mask),
            pooling(memory, mask=mask),
        ]

    lengths, sequences = [4, 2, 7], draw_sequences(rng)
    sources = rng.integers(1, VOCABULARY_SIZE, (BATCH, MEMORY_LENGTH))
    mask = np.arange(MEMORY_LENGTH + columns) < np.array(lengths)[:, None]
    padded = np.pad(sources, [(0, 0), (0, columns)]) * mask
    received = [np.array(part) for part in read(padded, sequences, mask)]
    for row, length in enumerate(lengths):
        one = slice(row, row + 1)
        expected = read(sources[one, :length], sequences[one], None)
        assert_close([part[one] for part in received], expected)


# Masks go on.


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
@pytest.mark.parametrize("kind", ["attention", "rnn", "decoder"])
def test_mask_by_hand_is_that_of_the_output(kind, policy, dtype, rng):
    """Reported as keras-team/keras#21449 and, for inputs of another dtype,
    keras-team/keras#21946.
    """
    keras.config.set_dtype_policy(policy)
    try:
        attention, decoder = make_attention(), make_decoder(mask_zero=False)
        rnn = make_rnn(return_sequences=True)
    finally:
        keras.config.set_dtype_policy("float32")
    sequences = draw_sequences(rng).astype(dtype)
    memory = draw_memory(rng).astype(dtype)
    if kind == "attention":
        output = attention([sequences, memory], mask=[MASK, MEMORY_MASK])
    elif kind == "rnn":
        output = rnn(sequences, memory, mask=MASK, memory_mask=MEMORY_MASK)
    else:
        targets, _ = draw_tokens(rng)
        output = decoder(targets, memory, mask=MASK)
    np.testing.assert_array_equal(output._keras_mask, MASK)


def test_sum_of_query_and_context_keeps_the_mask(rng):
    """Reported as keras-team/keras#18416 and keras-team/keras-core#798.

    Where an operator of Keras loses the mask, it is given by hand.
    """
    attention, pooling = make_attention(), AttentionPooling(make_attention())
    query = make_embedding(MEMORY_UNITS, rng)(draw_tokens(rng)[0])
    context = attention([query, draw_memory(rng)])
    added = keras.layers.Add()([query, context])
    np.testing.assert_array_equal(added._keras_mask, MASK)
    garbage = np.where(MASK[..., None], np.array(added), np.nan)
    expected = pooling(garbage.astype("float32"), mask=MASK)
    assert_close([pooling(added)], [expected])
    assert_close([pooling(query + context, mask=MASK)], [expected])


@pytest.mark.parametrize(
    "cell", ["bahdanau_residual", "luong_residual", "luong_feeding_residual"]
)
def test_residual_cell_keeps_the_mask_of_its_input(cell, rng):
    """Reported as keras-team/keras#18416: a sum of tensors has no mask."""
    sequences = make_embedding(INPUT_UNITS, rng)(draw_tokens(rng)[0])
    output = make_rnn(cell, return_sequences=True)(sequences, draw_memory(rng))
    np.testing.assert_array_equal(output._keras_mask, MASK)


def in_sequential(attention):
    return keras.Sequential([keras.layers.ReLU(), attention])


def in_functional(attention):
    query = keras.Input((None, MEMORY_UNITS))
    return keras.Model(query, attention(keras.layers.ReLU()(query)))


def after_identity(attention):
    layers = [keras.layers.ReLU(), keras.layers.Dropout(0.3), attention]
    return keras.Sequential([keras.Sequential(layers), keras.layers.Dropout(0)])


# Keras warns that a nested model destroys the mask, and then hands it on.
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
@pytest.mark.parametrize("nest", [in_sequential, in_functional, after_identity])
def test_mask_goes_into_nested_models_and_out(nest, rng):
    """Reported as tensorflow/tensorflow#31638 (a nested Sequential),
    tensorflow/tensorflow#32322 (a layer that returns its input) and
    tensorflow/tensorflow#36894 (ReLU).
    """
    attention, pooling = make_attention(), AttentionPooling(make_attention())
    embedding = make_embedding(MEMORY_UNITS, rng)
    model = keras.Sequential(
        [embedding, nest(attention), keras.layers.ReLU(), pooling]
    )
    _, tokens = draw_tokens(rng)
    value = ops.relu(np.array(embedding(tokens)))
    context = attention([value, value], mask=[MEMORY_MASK, MEMORY_MASK])
    expected = pooling(ops.relu(np.array(context)), mask=MEMORY_MASK)
    assert_close([model(tokens)], [expected])
    assert_close([model(np.pad(tokens, [(0, 0), (0, 7)]))], [expected])


# Training.


def translator(rng):
    """Makes a model from sources and targets to logits."""
    targets, sources = make_symbols()
    mask = ops.not_equal(sources, 0)
    encoder = keras.layers.GRU(
        CELL_UNITS, return_sequences=True, return_state=True
    )
    memory, state = encoder(make_embedding(5, rng)(sources), mask=mask)
    logits = make_decoder()(
        targets, memory, initial_state=[state], memory_mask=mask
    )
    model = keras.Model([targets, sources], logits)
    randomize(model, rng)
    return model


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize("lengths", [[7, 0, 3], [7, 0, 7], [0, 0, 0]], ids=str)
def test_batch_with_an_empty_source_trains(lengths, run_eagerly, rng):
    """No row depends on what else is in the batch.

    Reported as tensorflow/tensorflow#36139, tensorflow/tensorflow#43103 and
    tensorflow/tensorflow#33148.
    """
    model = translator(rng)
    is_token = np.arange(MEMORY_LENGTH) < np.array(lengths)[:, None]
    sources = rng.integers(1, VOCABULARY_SIZE, is_token.shape) * is_token
    targets, labels = rng.integers(1, VOCABULARY_SIZE, (2, BATCH, LENGTH))
    model.compile(
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        run_eagerly=run_eagerly,
    )
    alone = [
        model.evaluate([targets[row], sources[row]], labels[row], verbose=0)
        for row in (slice(0, 1), slice(1, 2), slice(2, 3))
    ]
    history = model.fit([targets, sources], labels, verbose=0).history
    loss = history["loss"][0]
    np.testing.assert_allclose(loss, np.mean(alone), rtol=1e-5)
    for weight in model.weights:
        assert np.all(np.isfinite(np.array(weight))), weight.path


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_loss_and_accuracy_are_means_over_real_tokens(run_eagerly, rng):
    """Reported as keras-team/keras#4594 (accuracy falls with a mask),
    keras-team/keras#882 and keras-team/keras#1154.
    """
    model = translator(rng)
    inputs = draw_tokens(rng)
    labels = rng.integers(1, VOCABULARY_SIZE, MASK.shape)
    logits = np.array(model(inputs), dtype="float64")
    best = np.argmax(logits, axis=-1)
    labels[0], labels[1, 3:] = best[0], best[1, 3:]
    model.compile(
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        run_eagerly=run_eagerly,
    )
    chosen = np.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    losses = np.log(np.sum(np.exp(logits), axis=-1)) - chosen
    accuracy = (best == labels)[MASK].mean()
    assert accuracy != (best == labels).mean()
    # On JAX the metrics that Keras reports in `fit` see no mask.
    received = model.evaluate(inputs, labels, verbose=0)
    np.testing.assert_allclose(received, [losses[MASK].mean(), accuracy], 1e-5)
    history = model.fit(inputs, labels, verbose=0).history
    np.testing.assert_allclose(history["loss"], received[:1], 1e-5)
