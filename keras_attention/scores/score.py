"""The contract of a score."""

import keras

from keras_attention.validation import check_depth
from keras_attention.validation import check_rank
from keras_attention.validation import check_same_size


class Score(keras.layers.Layer):
    """Compares every query with every position of a memory.

    A score works in two parts, so that what depends on the memory alone is
    computed once, however many queries follow: `project(memory)` once per
    sequence, then the call once per query, or for all queries.

    Subclasses define `call(query, keys)`, and `project(memory)` unless keys
    are the memory itself. `build(query_shape, keys_shape)` creates all
    weights; its `keys_shape` is the shape of the memory before `project`.

    Call arguments:
        query: Float, `(batch, query_length, query_units)`.
        keys: Float, `(batch, memory_length, key_units)`, from `project`.

    Output shape:
        `(batch, query_length, memory_length)`. Not normalised, any real.

    Example:
        ```python
        class CosineScore(keras_attention.Score):
            def project(self, memory):
                return keras.ops.normalize(memory)

            def call(self, query, keys):
                query = keras.ops.normalize(query)
                return keras.ops.einsum("bqu,bmu->bqm", query, keys)


        score = CosineScore()
        keys = score.project(keras.random.normal((2, 7, 6)))
        print(score(keras.random.normal((2, 3, 6)), keys).shape)  # (2, 3, 7)
        ```
    """

    def project(self, memory):
        """Turns a memory into keys.

        Args:
            memory: Float, `(batch, memory_length, memory_units)`.

        Returns:
            Float, `(batch, memory_length, key_units)`.
        """
        return memory

    def call(self, query, keys):
        raise NotImplementedError(
            f"`{type(self).__name__}` must define `call(query, keys)`."
        )

    def compute_output_shape(self, query_shape, keys_shape, **_):
        return (*query_shape[:2], keys_shape[1])


def check_shapes(owner, query_shape, keys_shape):
    """Raises ValueError unless both are rank 3, known, of the same batch."""
    check_rank(
        owner, "query", query_shape, ("batch", "query_length", "query_units")
    )
    check_rank(
        owner, "memory", keys_shape, ("batch", "memory_length", "memory_units")
    )
    check_depth(owner, "query", query_shape)
    check_depth(owner, "memory", keys_shape)
    check_same_size(owner, "batch", query=query_shape[0], memory=keys_shape[0])


def check_keys(owner, keys, units):
    """Raises ValueError unless keys are as wide as `project` makes them."""
    if keys.shape[-1] != units:
        raise ValueError(
            f"`{owner}` received keys of shape {tuple(keys.shape)}. Expected "
            f"{units} units on the last axis, as `project(memory)` returns: "
            "call `score.project(memory)` first and pass its result."
        )
