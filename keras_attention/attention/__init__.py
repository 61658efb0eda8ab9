"""Attention layers: scores, probabilities, and the context they select."""

from keras_attention.attention.attention import Attention
from keras_attention.attention.attention import PreparedMemory
from keras_attention.attention.bahdanau_attention import BahdanauAttention
from keras_attention.attention.luong_attention import LuongAttention


__all__ = [
    "Attention",
    "BahdanauAttention",
    "LuongAttention",
    "PreparedMemory",
]
