"""Recurrent cells that attend to a memory."""

from keras_attention.cells.attention_rnn_cell import AttentionRNNCell
from keras_attention.cells.bahdanau_rnn_cell import BahdanauRNNCell
from keras_attention.cells.luong_rnn_cell import LuongRNNCell
from keras_attention.cells.tfa_weights import import_tfa_weights


__all__ = [
    "AttentionRNNCell",
    "BahdanauRNNCell",
    "LuongRNNCell",
    "import_tfa_weights",
]
