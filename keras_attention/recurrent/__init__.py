"""Layers that run attention cells over sequences."""

from keras_attention.recurrent.attention_rnn import AttentionRNN
from keras_attention.recurrent.bridge import StateBridge


__all__ = ["AttentionRNN", "StateBridge"]
