import keras
import pytest

from keras_attention import AdditiveScore
from keras_attention import ConcatScore
from keras_attention import DotScore
from keras_attention import GeneralScore
from keras_attention.scores.make_score import make_score
from keras_attention.scores.make_score import score_config


@pytest.mark.parametrize(
    ("name", "cls"), [("additive", AdditiveScore), ("concat", ConcatScore)]
)
def test_score_with_units_is_made_by_name(name, cls):
    score = make_score("Owner", name, 7, False, "float64")
    assert type(score) is cls
    assert score.units == 7
    assert score.compute_dtype == "float64"
    assert score_config(name, score) == name


@pytest.mark.parametrize("scale", [False, "learned", "sqrt"])
@pytest.mark.parametrize(
    ("name", "cls"), [("dot", DotScore), ("general", GeneralScore)]
)
def test_score_with_a_scale_is_made_by_name(name, cls, scale):
    score = make_score("Owner", name, None, scale, "mixed_float16")
    assert type(score) is cls
    assert score.get_config()["scale"] == scale
    assert score.dtype_policy.name == "mixed_float16"
    assert score_config(name, score) == name


def test_score_layer_is_taken_as_it_is():
    score = AdditiveScore(7, normalize=True, dtype="float64")
    assert make_score("Owner", score, None, False, "float32") is score
    again = keras.saving.deserialize_keras_object(score_config(None, score))
    assert again.get_config() == score.get_config()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("additive", None, False), "units=None and .*Expected the width of"),
        (("concat", None, False), r"for example Owner\('concat', units=64\)"),
        (("additive", 7, "sqrt"), "scale='sqrt'. Expected the .* and no scale"),
        (("additive", 0, False), "units=0. Expected a positive integer"),
        (("dot", 7, False), "units=7. Expected units only for 'additive' and"),
        (("general", 7, False), "units=7. Expected .* Leave units out"),
        (("dot", None, "half"), "Expected one of: False, 'learned', 'sqrt'"),
        (("Dot", None, False), "Expected one of: .*'dot', .*, or a score lay"),
        ((None, None, False), "score=None. Expected one of: 'additive', 'con"),
        ((["dot"], None, False), r"score=\['dot'\]. Expected one of: 'addit"),
        ((DotScore, None, False), "Expected one of: .* such as GeneralScore()"),
        ((DotScore(), 7, False), "units=7 .* Expected them in the layer its"),
        ((DotScore(), None, "sqrt"), "scale='sqrt' beside .*scale='sqrt'"),
    ],
)
def test_other_arguments_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        make_score("Owner", *arguments, "float32")
