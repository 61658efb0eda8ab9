"""Spanish-English sentence pairs to learn translation from."""

from keras_attention.datasets import phrases
from keras_attention.datasets import spanish_english


__all__ = ["phrases", "spanish_english"]
