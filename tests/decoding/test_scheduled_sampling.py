import math

import keras
import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from keras import ops

import keras_attention
from keras_attention.decoding.scheduled_sampling import SamplingSchedule


STEPS = [0, 1, 2, 7, 100, 4999, 10**6, 10**9]

# The probability of the true token, as Bengio et al. (2015) write it.
SCHEDULES = {
    "constant": (
        lambda: keras_attention.ConstantSampling(0.3),
        lambda step: 0.7,
    ),
    "linear": (
        lambda: keras_attention.LinearSampling(0.003, 0.1, 0.75),
        lambda step: max(0.25, 0.9 - 0.003 * step),
    ),
    "exponential": (
        lambda: keras_attention.ExponentialSampling(0.99),
        lambda step: 0.99**step,
    ),
    "slow_exponential": (
        lambda: keras_attention.ExponentialSampling(1 - 1e-9),
        lambda step: (1 - 1e-9) ** step,
    ),
    "inverse_sigmoid": (
        lambda: keras_attention.InverseSigmoidSampling(31),
        lambda step: 31 / (31 + math.exp(min(step / 31, 700))),
    ),
    "steep_inverse_sigmoid": (
        lambda: keras_attention.InverseSigmoidSampling(1),
        lambda step: 1 / (1 + math.exp(min(step, 700))),
    ),
}


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("name", SCHEDULES)
def test_probability_is_one_minus_that_of_the_paper(name, mode):
    make, true_probability = SCHEDULES[name]
    run = in_mode(make(), mode)
    for step in STEPS:
        probability = run(ops.convert_to_tensor(step, dtype="int32"))
        assert tuple(probability.shape) == ()
        assert keras.backend.standardize_dtype(probability.dtype) == "float32"
        expected = 1 - true_probability(step)
        np.testing.assert_allclose(float(probability), expected, atol=3e-7)


@pytest.mark.parametrize("name", SCHEDULES)
def test_step_may_be_a_number_or_a_variable(name):
    make, _ = SCHEDULES[name]
    variable = keras.Variable(100, dtype="int32", trainable=False)
    optimizer = keras.optimizers.SGD()
    optimizer.iterations.assign(100)
    expected = float(make()(ops.convert_to_tensor(100)))
    for step in (100, np.int64(100), variable, optimizer.iterations):
        assert float(make()(step)) == expected


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_survives_serialization(name):
    make, _ = SCHEDULES[name]
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(make())
    )
    for step in STEPS:
        assert float(copy(step)) == float(make()(step))


@pytest.mark.parametrize("probability", [-0.1, 1.1, "often", None])
def test_what_is_no_probability_raises(probability):
    with pytest.raises(ValueError, match=r"Expected a probability.* 0 to 1"):
        keras_attention.ConstantSampling(probability)
    for name in ("start", "greatest"):
        with pytest.raises(ValueError, match=f"{name}=.*Expected a probab"):
            keras_attention.LinearSampling(0.1, **{name: probability})


@pytest.mark.parametrize("slope", [0, -0.1, float("inf"), None])
def test_slope_that_is_not_above_0_raises(slope):
    with pytest.raises(ValueError, match="slope=.*Expected a number above 0"):
        keras_attention.LinearSampling(slope)


def test_start_above_the_greatest_probability_raises():
    with pytest.raises(ValueError, match="a start that is not above"):
        keras_attention.LinearSampling(0.1, start=0.6, greatest=0.5)


@pytest.mark.parametrize("decay", [0, 1, 0.0, 1.0, 1.5, -0.5])
def test_decay_that_does_not_decay_raises(decay):
    with pytest.raises(ValueError, match=r"decay=.*Expected a"):
        keras_attention.ExponentialSampling(decay)


@pytest.mark.parametrize("time_constant", [0.5, 0, -3, "long"])
def test_time_constant_below_1_raises(time_constant):
    with pytest.raises(ValueError, match="time_constant=.*Expected"):
        keras_attention.InverseSigmoidSampling(time_constant)


def test_abstract_schedule_says_what_to_define():
    with pytest.raises(NotImplementedError, match="must define `sampling_pro"):
        SamplingSchedule()(3)
    with pytest.raises(NotImplementedError, match="must define `get_config"):
        SamplingSchedule().get_config()
