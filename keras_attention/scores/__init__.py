"""Scores: how well a query fits each key."""

from keras_attention.scores.additive_score import AdditiveScore
from keras_attention.scores.concat_score import ConcatScore
from keras_attention.scores.dot_score import DotScore
from keras_attention.scores.general_score import GeneralScore
from keras_attention.scores.score import Score


__all__ = [
    "AdditiveScore",
    "ConcatScore",
    "DotScore",
    "GeneralScore",
    "Score",
]
