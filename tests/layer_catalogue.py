"""Every public layer once, with arguments and inputs, and what they are of.

Sizes are distinct primes, so that no axis can be taken for another.
"""

from typing import Any
from typing import NamedTuple

import keras
import numpy as np

import keras_attention


BATCH = 3
LENGTH = 5
MEMORY_LENGTH = 7
INPUT_UNITS = 2
MEMORY_UNITS = 11
CELL_UNITS = 13
ATTENTION_UNITS = 17
VOCABULARY_SIZE = 19

INNER_CELLS = {
    "gru": lambda: keras.layers.GRUCell(CELL_UNITS),
    "gru_reset_before": lambda: keras.layers.GRUCell(
        CELL_UNITS, reset_after=False
    ),
    "lstm": lambda: keras.layers.LSTMCell(CELL_UNITS),
    "simple_rnn": lambda: keras.layers.SimpleRNNCell(CELL_UNITS),
    "stacked": lambda: keras.layers.StackedRNNCells(
        [keras.layers.GRUCell(5), keras.layers.LSTMCell(CELL_UNITS)]
    ),
}

GLOBAL_ATTENTIONS = {
    "additive": lambda: keras_attention.BahdanauAttention(ATTENTION_UNITS),
    "normalized": lambda: keras_attention.BahdanauAttention(
        ATTENTION_UNITS, normalize=True
    ),
    "dot": lambda: keras_attention.LuongAttention("dot"),
    "general": lambda: keras_attention.LuongAttention("general"),
    "concat": lambda: keras_attention.LuongAttention(
        "concat", units=ATTENTION_UNITS
    ),
}

ATTENTIONS = {
    **GLOBAL_ATTENTIONS,
    "coverage": lambda: keras_attention.BahdanauAttention(
        ATTENTION_UNITS, coverage=True
    ),
    "local_m": lambda: keras_attention.LocalAttention(
        "general", "monotonic", half_width=2
    ),
    "local_p": lambda: keras_attention.LocalAttention(
        "additive", half_width=2, units=ATTENTION_UNITS
    ),
    "monotonic": lambda: keras_attention.MonotonicAttention(
        units=ATTENTION_UNITS, score_bias=-1.0
    ),
}

CELLS = {
    "bahdanau": keras_attention.BahdanauRNNCell,
    "bahdanau_context": lambda cell, attention: keras_attention.BahdanauRNNCell(
        cell, attention, output_context=True
    ),
    "bahdanau_residual": (
        lambda cell, attention: keras_attention.BahdanauRNNCell(
            cell, attention, output_context="residual"
        )
    ),
    "luong": lambda cell, attention: keras_attention.LuongRNNCell(
        cell, attention, attention_units=23
    ),
    "luong_residual": lambda cell, attention: keras_attention.LuongRNNCell(
        cell, attention, attentional_state="residual"
    ),
    "luong_feeding": lambda cell, attention: keras_attention.LuongRNNCell(
        cell, attention, attention_units=23, input_feeding=True
    ),
    "luong_feeding_residual": (
        lambda cell, attention: keras_attention.LuongRNNCell(
            cell,
            attention,
            input_feeding=True,
            attentional_state="residual",
        )
    ),
}


def make_cell(cell="bahdanau", inner="gru", attention="additive"):
    """Makes an attention cell from three names of this file."""
    return CELLS[cell](INNER_CELLS[inner](), ATTENTIONS[attention]())


def make_rnn(cell="bahdanau", inner="gru", attention="additive", **kwargs):
    """Makes an `AttentionRNN` from three names of this file."""
    return keras_attention.AttentionRNN(
        make_cell(cell, inner, attention), **kwargs
    )


def make_decoder(cell="bahdanau", inner="gru", mask_zero=True, **kwargs):
    """Makes an `AttentionDecoder` from two names of this file."""
    return keras_attention.AttentionDecoder(
        keras.layers.Embedding(
            VOCABULARY_SIZE, INPUT_UNITS, mask_zero=mask_zero
        ),
        make_rnn(cell, inner, return_sequences=True, **kwargs),
        keras.layers.Dense(VOCABULARY_SIZE),
    )


def draw(rng, *shape):
    """Draws numbers of either sign, none of them near 0."""
    signs = rng.choice([-1.0, 1.0], shape)
    return (signs * rng.uniform(0.2, 1.5, shape)).astype("float32")


def draw_sequences(rng):
    return draw(rng, BATCH, LENGTH, INPUT_UNITS)


def draw_memory(rng, attention="additive"):
    """Draws a memory; the dot score needs it as wide as the state."""
    units = CELL_UNITS if attention == "dot" else MEMORY_UNITS
    return draw(rng, BATCH, MEMORY_LENGTH, units)


def randomize(layer, rng, scale=0.6):
    """Sets all weights at random, those too that start as zeros or ones."""
    for weight in layer.weights:
        weight.assign(rng.normal(0.0, scale, weight.shape))


MASK = np.array(
    [
        [True, True, True, True, True],
        [True, True, True, False, False],
        [False, True, False, True, False],
    ]
)
MEMORY_MASK = np.array(
    [
        [True, True, True, True, True, False, False],
        [False, True, True, False, True, False, True],
        [True, True, True, True, True, True, True],
    ]
)


class Entry(NamedTuple):
    """A public class, the arguments it is made of, and how it is called.

    Attributes:
        cls: The class.
        arguments: Function that returns all arguments of the constructor,
            as far as possible none of them its default.
        call: Function of an object and of the inputs below that returns
            tensors; None for what is no layer.
    """

    cls: Any
    arguments: Any
    call: Any = None

    def make(self):
        return self.cls(**self.arguments())


# What every call of the catalogue may use: floats "query", "forward" and
# "backward", "memory" and "wide_memory" (as wide as the query) and
# "sequences" with masks attached, and the tokens "targets".
INPUTS = {
    "query": ((None, CELL_UNITS), "float32"),
    "sources": ((None,), "int32"),
    "targets": ((None,), "int32"),
    "forward": ((CELL_UNITS,), "float32"),
    "backward": ((CELL_UNITS,), "float32"),
}


def draw_inputs(rng):
    """Draws the arrays of `INPUTS`; the tokens are padded with 0."""
    sources = rng.integers(1, VOCABULARY_SIZE, MEMORY_MASK.shape)
    targets = rng.integers(1, VOCABULARY_SIZE, MASK.shape)
    return {
        "query": draw(rng, BATCH, LENGTH, CELL_UNITS),
        "sources": np.where(MEMORY_MASK, sources, 0).astype("int32"),
        "targets": np.where(MASK, targets, 0).astype("int32"),
        "forward": draw(rng, BATCH, CELL_UNITS),
        "backward": draw(rng, BATCH, CELL_UNITS),
    }


def embed(inputs):
    """Embeds the tokens of `INPUTS`, which attaches their masks."""
    results = dict(inputs)
    for name, tokens, units in (
        ("memory", "sources", MEMORY_UNITS),
        ("wide_memory", "sources", CELL_UNITS),
        ("sequences", "targets", INPUT_UNITS),
    ):
        embedding = keras.layers.Embedding(
            VOCABULARY_SIZE, units, mask_zero=True, name=f"embed_{name}"
        )
        results[name] = embedding(inputs[tokens])
    return results


def _score(score, inputs):
    return _attention(keras_attention.LuongAttention(score), inputs)


def _attention(attention, inputs):
    memory = "wide_memory" if _is_dot(attention) else "memory"
    return attention(
        [inputs["query"], inputs[memory]], return_attention_scores=True
    )


def _is_dot(attention):
    return isinstance(attention.score, keras_attention.DotScore)


def _pooling(pooling, inputs):
    return pooling(inputs["memory"], return_attention_scores=True)


def _cell(cell, inputs):
    return _rnn(keras_attention.AttentionRNN(cell, **EVERYTHING), inputs)


def _rnn(rnn, inputs):
    return rnn(inputs["sequences"], inputs["memory"])


def _bridge(bridge, inputs):
    return bridge([inputs["forward"], inputs["backward"]])


def _decoder(decoder, inputs):
    return decoder(
        inputs["targets"], inputs["memory"], initial_state=[inputs["forward"]]
    )


EVERYTHING = {
    "return_sequences": True,
    "return_state": True,
    "return_attention_scores": True,
}

CATALOGUE = {
    "AdditiveScore": Entry(
        keras_attention.AdditiveScore,
        lambda: {
            "units": ATTENTION_UNITS,
            "normalize": True,
            "coverage": False,
        },
        _score,
    ),
    "DotScore": Entry(
        keras_attention.DotScore, lambda: {"scale": "learned"}, _score
    ),
    "GeneralScore": Entry(
        keras_attention.GeneralScore, lambda: {"scale": "sqrt"}, _score
    ),
    "ConcatScore": Entry(
        keras_attention.ConcatScore, lambda: {"units": ATTENTION_UNITS}, _score
    ),
    "BahdanauAttention": Entry(
        keras_attention.BahdanauAttention,
        lambda: {
            "units": ATTENTION_UNITS,
            "normalize": True,
            "probability": "sparsemax",
            "dropout": 0.3,
            "temperature": 1.5,
            "coverage": True,
        },
        _attention,
    ),
    "LuongAttention": Entry(
        keras_attention.LuongAttention,
        lambda: {
            "score": "dot",
            "units": None,
            "scale": "sqrt",
            "probability": "softmax",
            "dropout": 0.3,
            "temperature": 1.3,
        },
        _attention,
    ),
    "LocalAttention": Entry(
        keras_attention.LocalAttention,
        lambda: {
            "score": "additive",
            "window": "predictive",
            "half_width": 2,
            "units": ATTENTION_UNITS,
            "scale": False,
            "position_scale": "sqrt",
            "probability": "softmax",
            "dropout": 0.3,
            "temperature": 0.7,
        },
        _attention,
    ),
    "MonotonicAttention": Entry(
        keras_attention.MonotonicAttention,
        lambda: {
            "score": keras_attention.GeneralScore("sqrt"),
            "units": None,
            "mode": "parallel",
            "noise": 0.7,
            "score_bias": -0.5,
        },
        _attention,
    ),
    "AttentionPooling": Entry(
        keras_attention.AttentionPooling,
        lambda: {
            "attention": ATTENTIONS["general"](),
            "query": "learned",
        },
        _pooling,
    ),
    "BahdanauRNNCell": Entry(
        keras_attention.BahdanauRNNCell,
        lambda: {
            "cell": INNER_CELLS["lstm"](),
            "attention": ATTENTIONS["normalized"](),
            "output_context": "residual",
        },
        _cell,
    ),
    "LuongRNNCell": Entry(
        keras_attention.LuongRNNCell,
        lambda: {
            "cell": INNER_CELLS["stacked"](),
            "attention": [ATTENTIONS["concat"](), ATTENTIONS["local_m"]()],
            "attention_units": CELL_UNITS,
            "input_feeding": True,
            "attentional_state": "residual",
        },
        _cell,
    ),
    "AttentionRNN": Entry(
        keras_attention.AttentionRNN,
        lambda: {
            "cell": make_cell("luong", "gru_reset_before", "general"),
            "go_backwards": True,
            "unroll": False,
            **EVERYTHING,
        },
        _rnn,
    ),
    "StateBridge": Entry(
        keras_attention.StateBridge,
        lambda: {
            "mode": "dense",
            "units": ATTENTION_UNITS,
            "activation": "softsign",
            "bidirectional": True,
        },
        _bridge,
    ),
    "AttentionDecoder": Entry(
        keras_attention.AttentionDecoder,
        lambda: {
            "embedding": keras.layers.Embedding(
                VOCABULARY_SIZE, INPUT_UNITS, mask_zero=True
            ),
            "rnn": make_rnn("luong_feeding", **EVERYTHING),
            "output_layer": keras.layers.Dense(VOCABULARY_SIZE),
            "seed": 29,
            "dropout": 0.1,
        },
        _decoder,
    ),
    "ConstantSampling": Entry(
        keras_attention.ConstantSampling, lambda: {"probability": 0.3}
    ),
    "LinearSampling": Entry(
        keras_attention.LinearSampling,
        lambda: {"slope": 0.02, "start": 0.1, "greatest": 0.7},
    ),
    "ExponentialSampling": Entry(
        keras_attention.ExponentialSampling, lambda: {"decay": 0.99}
    ),
    "InverseSigmoidSampling": Entry(
        keras_attention.InverseSigmoidSampling, lambda: {"time_constant": 31}
    ),
    "GreedySearch": Entry(keras_attention.GreedySearch, dict),
    "BeamSearch": Entry(
        keras_attention.BeamSearch,
        lambda: {
            "num_beams": 3,
            "length_penalty": 0.6,
            "coverage_penalty": 0.2,
            "num_return": 2,
        },
    ),
    "RandomSampling": Entry(
        keras_attention.RandomSampling,
        lambda: {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "seed": 17},
    ),
}

# Public names that are no class to make and call, and why.
NOT_IN_CATALOGUE = {
    "Attention": "abstract",
    "AttentionRNNCell": "abstract",
    "DecodingStrategy": "abstract",
    "Score": "abstract",
    "DecodingResult": "a tuple of results",
    "Hypotheses": "a tuple of results",
    "NextTokens": "made by the loop of `decode`",
    "WordAttention": "a tuple of results",
    "alignment_error_rate": "a function",
    "attention_links": "a function",
    "attention_over_words": "a function",
    "coverage_loss": "a function",
    "PreparedMemory": "a tuple of results",
    "datasets": "a module",
    "decode": "a function",
    "import_tfa_weights": "a function",
    "plot_attention": "a function",
}


def make_model():
    """Makes one model of all layers of the catalogue.

    Returns:
        A model from `INPUTS` to a flat dictionary, whose names are those of
        `CATALOGUE`, each with the number of one of its outputs.
    """
    symbols = {
        name: keras.Input(shape, dtype=dtype, name=name)
        for name, (shape, dtype) in INPUTS.items()
    }
    tensors = embed(symbols)
    outputs = {}
    for name, entry in CATALOGUE.items():
        if entry.call:
            results = keras.tree.flatten(entry.call(entry.make(), tensors))
            for index, result in enumerate(results):
                outputs[f"{name}_{index}"] = result
    return keras.Model(symbols, outputs)


def of_layer(name, outputs):
    """Returns the outputs of one layer of the catalogue, as a list."""
    return [
        outputs[f"{name}_{index}"]
        for index in range(len(outputs))
        if f"{name}_{index}" in outputs
    ]
