"""Recurrent cells that attend to a memory."""

from keras_attention.cells.attention_rnn_cell import AttentionRNNCell
from keras_attention.cells.bahdanau_rnn_cell import BahdanauRNNCell
from keras_attention.cells.luong_rnn_cell import LuongRNNCell


__all__ = ["AttentionRNNCell", "BahdanauRNNCell", "LuongRNNCell"]
