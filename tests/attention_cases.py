"""Every attention layer with its equation, for parametrized tests."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import reference
from gradients import value_and_gradients
from keras import ops
from score_cases import BATCH
from score_cases import MEMORY_LENGTH
from score_cases import MEMORY_UNITS
from score_cases import QUERY_LENGTH
from score_cases import SCORES
from score_cases import UNITS
from score_cases import ScoreCase
from score_cases import fill_weights

from keras_attention import BahdanauAttention
from keras_attention import GeneralScore
from keras_attention import LuongAttention


class AttentionCase(NamedTuple):
    """An attention layer.

    Attributes:
        make: Takes layer arguments, returns the layer.
        score: The case of its score.
    """

    make: Callable
    score: ScoreCase


ATTENTIONS = {
    "bahdanau": AttentionCase(
        lambda **kwargs: BahdanauAttention(UNITS, **kwargs), SCORES["additive"]
    ),
    "bahdanau_normalized": AttentionCase(
        lambda **kwargs: BahdanauAttention(UNITS, normalize=True, **kwargs),
        SCORES["additive_normalized"],
    ),
    "dot": AttentionCase(
        lambda **kwargs: LuongAttention("dot", **kwargs), SCORES["dot"]
    ),
    "dot_learned": AttentionCase(
        lambda **kwargs: LuongAttention("dot", scale="learned", **kwargs),
        SCORES["dot_learned"],
    ),
    "general": AttentionCase(
        lambda **kwargs: LuongAttention(**kwargs), SCORES["general"]
    ),
    "general_sqrt": AttentionCase(
        lambda **kwargs: LuongAttention(scale="sqrt", **kwargs),
        SCORES["general_sqrt"],
    ),
    "concat": AttentionCase(
        lambda **kwargs: LuongAttention("concat", units=UNITS, **kwargs),
        SCORES["concat"],
    ),
    "score_layer": AttentionCase(
        lambda **kwargs: LuongAttention(
            GeneralScore("learned", dtype=kwargs.get("dtype")), **kwargs
        ),
        SCORES["general_learned"],
    ),
}

# One for each way of making a score: for what does not depend on weights.
MAIN = ["bahdanau", "dot", "general", "concat"]

# Rows of different lengths; the last token of no row is real in all rows.
QUERY_MASK = np.array([[True, True, False], [True, True, True]])
VALUE_MASK = np.array(
    [[True, True, True, False, False], [True, True, True, True, False]]
)


def built_attention(case, rng, **kwargs):
    """Returns an attention layer with random weights."""
    attention = case.make(**kwargs)
    attention.build(
        [
            (BATCH, QUERY_LENGTH, case.score.query_units),
            (BATCH, MEMORY_LENGTH, MEMORY_UNITS),
        ]
    )
    fill_weights(attention, rng)
    return attention


def query_and_value(case, rng, dtype="float32"):
    """Returns a random query and a random value of the layer's sizes."""
    query = rng.normal(size=(BATCH, QUERY_LENGTH, case.score.query_units))
    value = rng.normal(size=(BATCH, MEMORY_LENGTH, MEMORY_UNITS))
    return query.astype(dtype), value.astype(dtype)


def joined_mask(query_mask=None, value_mask=None):
    """Returns the mask of pairs: both the query and the value are real."""
    mask = np.ones((BATCH, QUERY_LENGTH, MEMORY_LENGTH), dtype=bool)
    if query_mask is not None:
        mask &= query_mask[:, :, None]
    if value_mask is not None:
        mask &= value_mask[:, None, :]
    return mask


def expected_attention(case, attention, query, value, key=None, mask=None):
    """Returns context and attention scores of the equations."""
    weights = map(np.array, case.score.weights(attention.score))
    key = value if key is None else key
    scores = case.score.equation(query, key, *weights)
    return reference.attend(scores, value, mask)


def attend_and_differentiate(
    attention, query, value, masks, rng_seed=3, mode="eager"
):
    """Returns all that a training step sees, as a list of arrays.

    Context, attention scores, then the gradients for query, value and every
    weight of a random weighted sum of both results.
    """
    rng = np.random.default_rng(rng_seed)
    context_shares = rng.normal(size=(*query.shape[:2], value.shape[-1]))
    score_shares = rng.normal(size=(*query.shape[:2], value.shape[1]))

    def function(query, value):
        context, scores = attention(
            [query, value], mask=masks, return_attention_scores=True
        )
        context = ops.cast(context, "float64")
        scores = ops.cast(scores, "float64")
        loss = ops.sum(ops.multiply(context_shares, context))
        loss += ops.sum(ops.multiply(score_shares, scores))
        return [loss, context, scores]

    results, gradients = value_and_gradients(
        function, [query, value], attention.trainable_weights, mode
    )
    return [*results[1:], *gradients]
