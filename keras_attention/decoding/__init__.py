"""Decoding: from a memory to a sequence of tokens."""

from keras_attention.decoding.attention_decoder import AttentionDecoder
from keras_attention.decoding.beam_search import BeamSearch
from keras_attention.decoding.decode import DecodingResult
from keras_attention.decoding.decode import decode
from keras_attention.decoding.greedy_search import GreedySearch
from keras_attention.decoding.strategy import DecodingStrategy
from keras_attention.decoding.strategy import Hypotheses


__all__ = [
    "AttentionDecoder",
    "BeamSearch",
    "DecodingResult",
    "DecodingStrategy",
    "GreedySearch",
    "Hypotheses",
    "decode",
]
