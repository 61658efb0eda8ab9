"""Schedules: how often a decoder in training is fed what it drew itself."""

import math
from typing import Self

import keras
from keras import ops

from keras_attention.validation import check_positive_number
from keras_attention.validation import check_probability


class SamplingSchedule:
    r"""A function of the number of training steps so far.

    Call arguments:
        step: Integer or scalar tensor, 0 at the first step of training.

    Returns:
        Sampling probability, float32 scalar: what Bengio et al. (2015) call
        $1 - \epsilon_i$ at step $i$.
    """

    def __call__(self, step):
        return self.sampling_probability(ops.cast(step, "float32"))

    def sampling_probability(self, step):
        """Returns the sampling probability at a step, a float32 scalar."""
        raise NotImplementedError(
            f"`{type(self).__name__}` must define `sampling_probability(step)`."
        )

    def get_config(self) -> dict:
        """Returns the arguments of the constructor."""
        raise NotImplementedError(
            f"`{type(self).__name__}` must define `get_config()`."
        )

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Makes the schedule that `get_config` described."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_attention")
class ConstantSampling(SamplingSchedule):
    r"""Samples with the same probability at every step.

    $$1 - \epsilon_i = p$$

    Args:
        probability: $p$, from 0 to 1.

    Example:
        ```python
        schedule = keras_attention.ConstantSampling(0.25)
        print(float(schedule(1000)))  # 0.25
        ```
    """

    def __init__(self, probability: float):
        check_probability("ConstantSampling", "probability", probability)
        self.probability = probability

    def sampling_probability(self, step):
        return ops.full_like(step, self.probability)

    def get_config(self):
        return {"probability": self.probability}


@keras.saving.register_keras_serializable(package="keras_attention")
class LinearSampling(SamplingSchedule):
    r"""Samples more often by the same amount at every step.

    $$1 - \epsilon_i = \min(\mathrm{greatest},
    \mathrm{start} + \mathrm{slope} \cdot i)$$

    Source: Bengio et al. (2015), section 2.4, linear decay
    $\epsilon_i = \max(\epsilon, k - c i)$: our `slope` is their $c$, `start`
    is $1 - k$, `greatest` is $1 - \epsilon$.

    Args:
        slope: What the probability grows by at every step, above 0.
        start: Probability at the first step.
        greatest: Probability that it stays at, once it is reached.

    Example:
        ```python
        schedule = keras_attention.LinearSampling(slope=0.001, greatest=0.75)
        print(float(schedule(500)), float(schedule(1000)))  # 0.5 0.75
        ```
    """

    def __init__(self, slope: float, start: float = 0.0, greatest: float = 1.0):
        check_positive_number("LinearSampling", "slope", slope)
        check_probability("LinearSampling", "start", start)
        check_probability("LinearSampling", "greatest", greatest)
        if start > greatest:
            raise ValueError(
                f"`LinearSampling` received start={start} and "
                f"greatest={greatest}. Expected a start that is not above "
                "the greatest probability."
            )
        self.slope = slope
        self.start = start
        self.greatest = greatest

    def sampling_probability(self, step):
        return ops.minimum(self.start + self.slope * step, self.greatest)

    def get_config(self):
        return {
            "slope": self.slope,
            "start": self.start,
            "greatest": self.greatest,
        }


@keras.saving.register_keras_serializable(package="keras_attention")
class ExponentialSampling(SamplingSchedule):
    r"""Samples more often at once, then ever more slowly so.

    $$1 - \epsilon_i = 1 - \mathrm{decay}^i$$

    Source: Bengio et al. (2015), section 2.4, exponential decay
    $\epsilon_i = k^i$: our `decay` is their $k$.

    Args:
        decay: Above 0 and below 1; the true token is as probable as at the
            step before, times this.

    Example:
        ```python
        schedule = keras_attention.ExponentialSampling(0.5)
        print(float(schedule(0)), float(schedule(2)))  # 0.0 0.75
        ```
    """

    def __init__(self, decay: float):
        check_probability("ExponentialSampling", "decay", decay)
        if decay in (0, 1):
            raise ValueError(
                f"`ExponentialSampling` received decay={decay!r}. Expected a "
                "number between 0 and 1, neither of them included; with it "
                "the probability would not change after the first step. Use "
                "ConstantSampling for that."
            )
        self.decay = decay

    def sampling_probability(self, step):
        # float32 has no number between 1 and 0.99999997; it has logarithms.
        return -ops.expm1(step * math.log(self.decay))

    def get_config(self):
        return {"decay": self.decay}


@keras.saving.register_keras_serializable(package="keras_attention")
class InverseSigmoidSampling(SamplingSchedule):
    r"""Samples seldom for a while, then often.

    $$1 - \epsilon_i = 1 - \frac{k}{k + \exp(i / k)}
    = \mathrm{sigmoid}(i / k - \ln k)$$

    Source: Bengio et al. (2015), section 2.4, inverse sigmoid decay. The
    probability is $1 / (1 + k)$ at the first step and 1/2 at step
    $k \ln k$.

    Args:
        time_constant: $k$, in steps, 1 or more.

    Example:
        ```python
        schedule = keras_attention.InverseSigmoidSampling(100)
        print(round(float(schedule(460.517)), 3))  # 0.5
        ```
    """

    def __init__(self, time_constant: float):
        check_positive_number(
            "InverseSigmoidSampling", "time_constant", time_constant
        )
        if time_constant < 1:
            raise ValueError(
                "`InverseSigmoidSampling` received "
                f"time_constant={time_constant!r}. Expected 1 or more: a "
                "number of training steps."
            )
        self.time_constant = time_constant

    def sampling_probability(self, step):
        # As a sigmoid it cannot overflow.
        return ops.sigmoid(
            step / self.time_constant - math.log(self.time_constant)
        )

    def get_config(self):
        return {"time_constant": self.time_constant}
