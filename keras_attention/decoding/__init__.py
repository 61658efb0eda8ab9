"""Decoding: from a memory to a sequence of tokens."""

from keras_attention.decoding.attention_decoder import AttentionDecoder
from keras_attention.decoding.beam_search import BeamSearch
from keras_attention.decoding.decode import DecodingResult
from keras_attention.decoding.decode import decode
from keras_attention.decoding.greedy_search import GreedySearch
from keras_attention.decoding.next_tokens import NextTokens
from keras_attention.decoding.random_sampling import RandomSampling
from keras_attention.decoding.scheduled_sampling import ConstantSampling
from keras_attention.decoding.scheduled_sampling import ExponentialSampling
from keras_attention.decoding.scheduled_sampling import InverseSigmoidSampling
from keras_attention.decoding.scheduled_sampling import LinearSampling
from keras_attention.decoding.strategy import DecodingStrategy
from keras_attention.decoding.strategy import Hypotheses


__all__ = [
    "AttentionDecoder",
    "BeamSearch",
    "ConstantSampling",
    "DecodingResult",
    "DecodingStrategy",
    "ExponentialSampling",
    "GreedySearch",
    "Hypotheses",
    "InverseSigmoidSampling",
    "LinearSampling",
    "NextTokens",
    "RandomSampling",
    "decode",
]
