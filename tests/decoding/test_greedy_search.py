import keras
import numpy as np
import pytest
from keras import ops

import keras_attention


def test_most_probable_token_is_taken_and_its_cost_added():
    probabilities = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], "float32")
    tokens, scores, parents = keras_attention.GreedySearch().select(
        keras_attention.NextTokens(
            ops.log(probabilities), ops.zeros(2, "bool"), 0
        ),
        keras_attention.Hypotheses(ops.convert_to_tensor([-1.0, -2.0]), None),
        None,
    )
    np.testing.assert_array_equal(tokens, [1, 0])
    np.testing.assert_allclose(
        scores, [-1.0 + np.log(0.5), -2.0 + np.log(0.7)], rtol=1e-6
    )
    assert parents is None
    assert keras.backend.standardize_dtype(tokens.dtype) == "int32"


def test_of_equally_probable_tokens_the_first_is_taken():
    next_tokens = keras_attention.NextTokens(
        ops.log([[0.2, 0.4, 0.4]]), ops.zeros(1, "bool"), 0
    )
    tokens, _, _ = keras_attention.GreedySearch().select(
        next_tokens, keras_attention.Hypotheses(ops.zeros(1), None), None
    )
    np.testing.assert_array_equal(tokens, [1])


def test_strategy_is_serializable():
    strategy = keras_attention.GreedySearch()
    config = keras.saving.serialize_keras_object(strategy)
    assert config["registered_name"] == "keras_attention>GreedySearch"
    copy = keras.saving.deserialize_keras_object(config)
    assert type(copy) is keras_attention.GreedySearch


def test_abstract_strategy_says_what_to_define():
    with pytest.raises(NotImplementedError, match=r"must define `select\(next"):
        keras_attention.DecodingStrategy().select(None, None, None)
