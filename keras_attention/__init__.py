"""Attention for recurrent models in Keras 3."""

from keras_attention import datasets
from keras_attention.alignment import WordAttention
from keras_attention.alignment import alignment_error_rate
from keras_attention.alignment import attention_links
from keras_attention.alignment import attention_over_words
from keras_attention.alignment import plot_attention
from keras_attention.attention import Attention
from keras_attention.attention import AttentionPooling
from keras_attention.attention import BahdanauAttention
from keras_attention.attention import LocalAttention
from keras_attention.attention import LuongAttention
from keras_attention.attention import MonotonicAttention
from keras_attention.attention import PreparedMemory
from keras_attention.attention import coverage_loss
from keras_attention.cells import AttentionRNNCell
from keras_attention.cells import BahdanauRNNCell
from keras_attention.cells import LuongRNNCell
from keras_attention.cells import import_tfa_weights
from keras_attention.decoding import AttentionDecoder
from keras_attention.decoding import BeamSearch
from keras_attention.decoding import ConstantSampling
from keras_attention.decoding import DecodingResult
from keras_attention.decoding import DecodingStrategy
from keras_attention.decoding import ExponentialSampling
from keras_attention.decoding import GreedySearch
from keras_attention.decoding import Hypotheses
from keras_attention.decoding import InverseSigmoidSampling
from keras_attention.decoding import LinearSampling
from keras_attention.decoding import NextTokens
from keras_attention.decoding import RandomSampling
from keras_attention.decoding import decode
from keras_attention.recurrent import AttentionRNN
from keras_attention.recurrent import StateBridge
from keras_attention.scores import AdditiveScore
from keras_attention.scores import ConcatScore
from keras_attention.scores import DotScore
from keras_attention.scores import GeneralScore
from keras_attention.scores import Score


__version__ = "0.1.0"

__all__ = [
    "AdditiveScore",
    "Attention",
    "AttentionDecoder",
    "AttentionPooling",
    "AttentionRNN",
    "AttentionRNNCell",
    "BahdanauAttention",
    "BahdanauRNNCell",
    "BeamSearch",
    "ConcatScore",
    "ConstantSampling",
    "DecodingResult",
    "DecodingStrategy",
    "DotScore",
    "ExponentialSampling",
    "GeneralScore",
    "GreedySearch",
    "Hypotheses",
    "InverseSigmoidSampling",
    "LinearSampling",
    "LocalAttention",
    "LuongAttention",
    "LuongRNNCell",
    "MonotonicAttention",
    "NextTokens",
    "PreparedMemory",
    "RandomSampling",
    "Score",
    "StateBridge",
    "WordAttention",
    "alignment_error_rate",
    "attention_links",
    "attention_over_words",
    "coverage_loss",
    "datasets",
    "decode",
    "import_tfa_weights",
    "plot_attention",
]
