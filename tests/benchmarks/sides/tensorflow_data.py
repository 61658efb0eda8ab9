"""Data for the sides on TensorFlow, of any version; made once for a size."""

import functools

import numpy as np
import tensorflow as tf


START_TOKEN = 1


@functools.cache
def draw_tokens(batch, length, vocabulary):
    """Returns tokens of sources and of targets, and the lengths."""
    generator = np.random.default_rng(0)
    sources, targets = (
        tf.constant(generator.integers(4, vocabulary, (batch, length)), "int32")
        for _ in range(2)
    )
    return sources, targets, tf.fill([batch], length)


@functools.cache
def draw_vectors(batch, length, units):
    """Returns sequences, a memory, and the lengths."""
    shape = (batch, length, units)
    sequences, memory = tf.random.normal(shape), tf.random.normal(shape)
    return sequences, memory, tf.fill([batch], length)
