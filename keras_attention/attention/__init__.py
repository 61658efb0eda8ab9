"""Attention layers: scores, probabilities, and the context they select."""

from keras_attention.attention.attention import Attention
from keras_attention.attention.attention_pooling import AttentionPooling
from keras_attention.attention.bahdanau_attention import BahdanauAttention
from keras_attention.attention.coverage_loss import coverage_loss
from keras_attention.attention.local_attention import LocalAttention
from keras_attention.attention.luong_attention import LuongAttention
from keras_attention.attention.monotonic_attention import MonotonicAttention
from keras_attention.attention.prepared_memory import PreparedMemory


__all__ = [
    "Attention",
    "AttentionPooling",
    "BahdanauAttention",
    "LocalAttention",
    "LuongAttention",
    "MonotonicAttention",
    "PreparedMemory",
    "coverage_loss",
]
