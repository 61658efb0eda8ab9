"""Random sampling."""

import keras
from keras import ops

from keras_attention.decoding.draw_tokens import draw_tokens
from keras_attention.decoding.strategy import DecodingStrategy
from keras_attention.masking import MASKED_SCORE
from keras_attention.validation import check_positive


@keras.saving.register_keras_serializable(package="keras_attention")
class RandomSampling(DecodingStrategy):
    r"""Draws every token from the distribution of the model.

    $$y_t \sim \frac{p(w \mid y_{<t}, x)^{1/T}}
    {\sum_{v \in V_t} p(v \mid y_{<t}, x)^{1/T}}, \quad w \in V_t$$

    With `top_k`, $V_t$ holds the $k$ most probable tokens (Fan et al. 2018,
    https://arxiv.org/abs/1805.04833); with `top_p`, the fewest most probable
    ones whose probabilities, after the temperature $T$ and `top_k`, add up
    to $p$ or more (Holtzman et al. 2020, https://arxiv.org/abs/1904.09751);
    else all that are allowed.

    The scores of the result are log-probabilities of the model itself, as
    those of every strategy: without temperature, `top_k` and `top_p`.

    Args:
        temperature: $T$, more than 0. Below 1 what is probable becomes more
            probable still.
        top_k: How many tokens may be drawn, or None.
        top_p: Probability $p$, more than 0 and at most 1, or None.
        seed: An integer: every decoding draws the same, but for XLA, which
            draws other numbers on TensorFlow. A `keras.random.SeedGenerator`:
            every decoding draws anew, and a generator made with the same seed
            repeats them all; keep it on your layer or model, where it must be
            for `model.export` and for JAX (for `tf.saved_model.save`, its
            `state.value` too). None: every decoding draws anew.

    Example:
        ```python
        def step(tokens, state):  # 3 in three of four cases
            logits = keras.ops.log([[0.0, 0.0, 0.25, 0.75, 0.0]])
            logits = keras.ops.repeat(logits, tokens.shape[0], axis=0)
            return logits, state, None

        result = keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=1,
            end_token=4,
            max_length=100,
            strategy=keras_attention.RandomSampling(seed=7),
        )
        print(keras.ops.mean(result.tokens == 3) > 0.6)  # True
        ```
    """

    def __init__(
        self,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | keras.random.SeedGenerator | None = None,
    ):
        if not temperature > 0:
            raise ValueError(
                f"`RandomSampling` received temperature={temperature}. "
                "Expected more than 0; GreedySearch always takes the most "
                "probable token."
            )
        if top_k is not None:
            check_positive("RandomSampling", "top_k", top_k)
        if top_p is not None and not 0 < top_p <= 1:
            raise ValueError(
                f"`RandomSampling` received top_p={top_p}. Expected a "
                "probability: more than 0 and at most 1."
            )
        if not isinstance(seed, (int, keras.random.SeedGenerator, type(None))):
            raise TypeError(
                f"`RandomSampling` received seed={seed!r}. Expected an "
                "integer, a keras.random.SeedGenerator or None."
            )
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self.seed = seed

    def draw_noise(self, num_steps, rows):
        return keras.random.uniform(
            (num_steps, rows), dtype="float32", seed=self.seed
        )

    def select(self, next_tokens, hypotheses, noise):
        if self.top_k is None and self.top_p is None:
            tokens = None  # each is its own position
            log_probabilities = next_tokens.log_probabilities()
        else:
            log_probabilities, tokens = next_tokens.most_probable(self.top_k)
        scaled = log_probabilities / self.temperature
        if self.top_p is not None:
            scaled = _keep_nucleus(scaled, self.top_p)
        drawn = draw_tokens(scaled, noise)[:, None]
        cost = ops.take_along_axis(log_probabilities, drawn, axis=1)
        if tokens is not None:
            drawn = ops.take_along_axis(tokens, drawn, axis=1)
        return drawn[:, 0], hypotheses.scores + cost[:, 0], None

    def get_config(self):
        return {
            "temperature": self.temperature,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "seed": keras.saving.serialize_keras_object(self.seed),
        }

    @classmethod
    def from_config(cls, config):
        seed = keras.saving.deserialize_keras_object(config["seed"])
        return cls(**{**config, "seed": seed})


def _keep_nucleus(log_probabilities, top_p):
    """Masks what the tokens before it, the more probable ones, make up for."""
    probabilities = ops.softmax(log_probabilities)
    before = ops.cumsum(probabilities, axis=-1) - probabilities
    # What rounding leaves of a difference must not shut out the first one.
    first = ops.arange(log_probabilities.shape[-1]) == 0
    return ops.where((before < top_p) | first, log_probabilities, MASKED_SCORE)
