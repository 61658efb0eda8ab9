"""Looking at attention scores as an alignment of two sequences."""

from keras_attention.alignment.plot_attention import plot_attention


__all__ = ["plot_attention"]
