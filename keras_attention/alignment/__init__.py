"""Looking at attention scores as an alignment of two sequences."""

from keras_attention.alignment.alignment_error_rate import alignment_error_rate
from keras_attention.alignment.attention_links import attention_links
from keras_attention.alignment.attention_over_words import WordAttention
from keras_attention.alignment.attention_over_words import attention_over_words
from keras_attention.alignment.plot_attention import plot_attention


__all__ = [
    "WordAttention",
    "alignment_error_rate",
    "attention_links",
    "attention_over_words",
    "plot_attention",
]
