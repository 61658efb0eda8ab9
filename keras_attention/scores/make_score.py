"""Scores by name, for layers that leave the choice to their user."""

import keras

from keras_attention.scores.additive_score import AdditiveScore
from keras_attention.scores.concat_score import ConcatScore
from keras_attention.scores.dot_score import DotScore
from keras_attention.scores.general_score import GeneralScore
from keras_attention.scores.score import Score


WITH_UNITS = {"additive": AdditiveScore, "concat": ConcatScore}
WITH_SCALE = {"dot": DotScore, "general": GeneralScore}


def make_score(owner, score, units, scale, dtype):
    """Returns a score layer.

    Args:
        owner: Name of the class that asks, for error messages.
        score: `"additive"`, `"concat"`, `"dot"`, `"general"`, or a `Score`,
            which is returned as it is.
        units: Width of the hidden layer of `"additive"` and `"concat"`; None
            for all others.
        scale: As in `DotScore`, for `"dot"` and `"general"`; False for all
            others.
        dtype: Dtype policy of the layer.
    """
    if isinstance(score, Score):
        if units is not None or scale:
            raise ValueError(
                f"`{owner}` received units={units!r} and scale={scale!r} "
                "beside a score layer. Expected them in the layer itself, for "
                "example AdditiveScore(units=64) or DotScore(scale='sqrt')."
            )
        return score
    if isinstance(score, str) and score in WITH_UNITS:
        if units is None or scale:
            raise ValueError(
                f"`{owner}` received score={score!r} with units={units!r} and "
                f"scale={scale!r}. Expected the width of its hidden layer and "
                f"no scale, for example {owner}({score!r}, units=64)."
            )
        return WITH_UNITS[score](units, dtype=dtype, name="score")
    if isinstance(score, str) and score in WITH_SCALE:
        if units is not None:
            raise ValueError(
                f"`{owner}` received score={score!r} with units={units!r}. "
                "Expected units only for 'additive' and 'concat'; the other "
                "scores take their width from the query and the value. Leave "
                "units out."
            )
        return WITH_SCALE[score](scale, dtype=dtype, name="score")
    names = ", ".join(map(repr, [*WITH_UNITS, *WITH_SCALE]))
    raise ValueError(
        f"`{owner}` received score={score!r}. Expected one of: {names}, or a "
        "score layer such as GeneralScore()."
    )


def score_config(score, layer):
    """Returns what stands for a score in the configuration of its owner.

    Args:
        score: The argument that `make_score` got.
        layer: What it returned.
    """
    if isinstance(score, str):
        return score
    return keras.saving.serialize_keras_object(layer)
