"""The sum of the additive score, at once and one query at a time."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.scores import additive_scores as module


BATCH, QUERY_LENGTH, MEMORY_LENGTH, UNITS = 3, 7, 5, 11


def draw(rng, dtype="float32"):
    shapes = [
        (BATCH, QUERY_LENGTH, UNITS),
        (BATCH, MEMORY_LENGTH, UNITS),
        (UNITS,),
        (BATCH, QUERY_LENGTH, MEMORY_LENGTH),
    ]
    return [tf.constant(rng.normal(size=shape), dtype) for shape in shapes]


def scores_and_gradients(query, keys, direction, upstream):
    with tf.GradientTape() as tape:
        tape.watch([query, keys, direction])
        scores = module.additive_scores(query, keys, direction)
        total = tf.reduce_sum(scores * upstream)
    return scores, *tape.gradient(total, [query, keys, direction])


@pytest.mark.parametrize("mode", ["eager", "graph", "unknown sizes", "xla"])
def test_one_query_at_a_time_gives_the_same_numbers(mode, monkeypatch, rng):
    tensors = draw(rng)
    expected = scores_and_gradients(*tensors)
    monkeypatch.setattr(module, "MAX_ELEMENTS", 0)
    run = scores_and_gradients
    if mode == "unknown sizes":
        run = tf.function(
            run,
            input_signature=[
                tf.TensorSpec([None, None, UNITS]),
                tf.TensorSpec([None, None, UNITS]),
                tf.TensorSpec([UNITS]),
                tf.TensorSpec([None, None, None]),
            ],
        )
    elif mode != "eager":
        run = tf.function(run, jit_compile=mode == "xla")
    for received, wanted in zip(run(*tensors), expected, strict=True):
        np.testing.assert_allclose(received, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_dtype_keeps_its_own(dtype, monkeypatch, rng):
    tensors = draw(rng, dtype)
    exact = [tf.cast(tensor, "float64") for tensor in tensors]
    expected = scores_and_gradients(*exact)
    monkeypatch.setattr(module, "MAX_ELEMENTS", 0)
    tolerance = {"float16": 1e-2, "bfloat16": 8e-2, "float64": 1e-12}[dtype]
    for received, wanted in zip(
        scores_and_gradients(*tensors), expected, strict=True
    ):
        assert received.dtype == dtype
        scale = np.max(np.abs(wanted))
        received = tf.cast(received, "float64")
        np.testing.assert_allclose(received, wanted, atol=tolerance * scale)


def test_long_sequences_never_hold_every_pair_and_unit():
    batch, length, units = 2, 256, 64
    assert batch * length * length * units > module.MAX_ELEMENTS
    concrete = tf.function(scores_and_gradients).get_concrete_function(
        tf.TensorSpec([batch, length, units]),
        tf.TensorSpec([batch, length, units]),
        tf.TensorSpec([units]),
        tf.TensorSpec([batch, length, length]),
    )
    graphs, seen = [concrete.graph], set()
    largest = 0
    while graphs:
        graph = graphs.pop()
        for operation in graph.get_operations():
            for output in operation.outputs:
                if output.shape.is_fully_defined():
                    largest = max(largest, output.shape.num_elements())
            for name in ("body", "cond", "f"):
                if name in operation.node_def.attr:
                    inner = operation.node_def.attr[name].func.name
                    if inner and inner not in seen:
                        seen.add(inner)
                        graphs.append(graph._get_function(inner).graph)
    assert seen, "no loop was found"
    assert batch * length * units <= largest
    assert largest < batch * length * length * units / 8


def test_short_sequences_are_summed_at_once(rng):
    concrete = tf.function(module.additive_scores).get_concrete_function(
        *draw(rng)[:3]
    )
    kinds = {operation.type for operation in concrete.graph.get_operations()}
    assert not any("While" in kind for kind in kinds)
