import keras
import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from keras import ops

import keras_attention
from keras_attention import RandomSampling


NUM_SAMPLES = 20_000
# Nearly equal, rare and impossible tokens; the third is the end.
LOGITS = np.array([0.4, 1.3, -1.0, 0.2, 2.1, 1.2, -9.0, -1e30, 0.9, 1.7])


def expect(temperature=1.0, top_k=None, top_p=None, allowed=None):
    """The distribution, token by token."""
    scaled = LOGITS / temperature
    if allowed is not None:
        scaled = np.where(allowed, scaled, -np.inf)
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    kept, total = np.zeros(len(LOGITS), bool), 0.0
    order = np.argsort(-probabilities, kind="stable")[:top_k]
    among = probabilities[order].sum()
    for token in order:
        if top_p is not None and total >= top_p:
            break
        kept[token] = True
        total += probabilities[token] / among
    return np.where(kept, probabilities, 0) / probabilities[kept].sum()


def sample(strategy, rows=NUM_SAMPLES, max_length=1, **options):
    logits = ops.convert_to_tensor(LOGITS.astype("float32")[None])

    def step(tokens, state):
        return ops.repeat(logits, ops.shape(tokens)[0], axis=0), state, None

    return keras_attention.decode(
        step,
        [],
        batch_size=rows,
        start_token=1,
        end_token=2,
        max_length=max_length,
        strategy=strategy,
        **options,
    )


def check_frequencies(tokens, probabilities):
    """Pearson's chi-squared test, at a level of one in a thousand or less.

    Reference values of the 0.999 quantile for 0 to 9 degrees of freedom:
    NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.4.
    """
    quantiles = [0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.13, 28]
    counts = np.bincount(tokens, minlength=len(probabilities))
    possible = probabilities > 0
    assert counts[~possible].sum() == 0
    expected = len(tokens) * probabilities[possible]
    # Cells of less than five would not follow the distribution.
    rare = expected < 5
    observed = counts[possible]
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    statistic = np.sum((observed - expected) ** 2 / expected)
    assert statistic < quantiles[len(expected) - 1] + 1e-9


DISTRIBUTIONS = {
    "plain": {},
    "cold": {"temperature": 0.6},
    "hot": {"temperature": 2.5},
    "top_k": {"top_k": 3},
    "top_k_of_all": {"top_k": 50},
    "top_p": {"top_p": 0.7},
    "top_p_of_all": {"top_p": 1.0},
    "top_p_of_one": {"top_p": 0.01},
    "all": {"temperature": 1.7, "top_k": 6, "top_p": 0.8},
}


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("arguments", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_frequencies_are_those_of_the_distribution(arguments, mode):
    strategy = RandomSampling(**arguments, seed=11)
    tokens = np.array(in_mode(lambda: sample(strategy).tokens, mode)())
    check_frequencies(tokens[:, 0, 0], expect(**arguments))


def test_distribution_of_the_second_token_too_and_of_what_is_allowed():
    result = sample(
        RandomSampling(top_k=4, seed=5),
        max_length=2,
        min_length=2,
        forbidden_tokens=[4, 5],
    )
    allowed = np.ones(len(LOGITS), bool)
    allowed[[4, 5]] = False
    early = allowed.copy()
    early[2] = False  # the end
    tokens = np.array(result.tokens)[:, 0]
    check_frequencies(tokens[:, 0], expect(top_k=4, allowed=early))
    check_frequencies(tokens[:, 1], expect(top_k=4, allowed=allowed))
    # One does not depend on the other.
    joint = expect(top_k=4, allowed=early)[:, None]
    joint = joint * expect(top_k=4, allowed=allowed)
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(tokens.T), 1)
    spread = np.sqrt(NUM_SAMPLES * joint * (1 - joint))
    assert np.all(np.abs(counts - NUM_SAMPLES * joint) <= 5 * spread)


def test_scores_are_log_probabilities_of_the_model():
    """Neither temperature nor top_k is in them."""
    result = sample(
        RandomSampling(2.0, top_k=5, top_p=0.9, seed=3), rows=7, max_length=5
    )
    log_probabilities = LOGITS - np.log(np.exp(LOGITS).sum())
    for row in range(7):
        length = int(result.lengths[row, 0])
        tokens = np.array(result.tokens)[row, 0, :length]
        np.testing.assert_allclose(
            result.scores[row, 0], log_probabilities[tokens].sum(), rtol=1e-5
        )


def tokens_of(strategy):
    return np.array(sample(strategy, rows=5, max_length=19).tokens)


def test_one_seed_gives_the_same_samples_also_after_saving():
    strategy = RandomSampling(0.9, top_k=7, top_p=0.95, seed=23)
    expected = tokens_of(strategy)
    np.testing.assert_array_equal(tokens_of(strategy), expected)
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(strategy)
    )
    assert copy.get_config() == strategy.get_config()
    np.testing.assert_array_equal(tokens_of(copy), expected)
    other = RandomSampling(0.9, top_k=7, top_p=0.95, seed=24)
    assert np.any(tokens_of(other) != expected)


def test_without_a_seed_every_decoding_draws_anew():
    strategy = RandomSampling()
    assert np.any(tokens_of(strategy) != tokens_of(strategy))


def test_generator_draws_anew_and_can_be_repeated():
    def two(strategy):
        return tokens_of(strategy), tokens_of(strategy)

    first, second = two(RandomSampling(seed=keras.random.SeedGenerator(31)))
    assert np.any(first != second)
    strategy = RandomSampling(seed=keras.random.SeedGenerator(31))
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(strategy)
    )
    for again in (strategy, copy):
        np.testing.assert_array_equal(two(again), (first, second))


def test_random_numbers_are_float32_whatever_keras_draws():
    """In float16 there are 1,024 of them: what is rare was never drawn."""
    dtype = keras.config.floatx()
    keras.config.set_floatx("float16")
    try:
        noise = RandomSampling(seed=3).draw_noise(20, 500)
    finally:
        keras.config.set_floatx(dtype)
    assert keras.backend.standardize_dtype(noise.dtype) == "float32"
    assert len(np.unique(noise)) > 9000


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        ({"temperature": 0}, ValueError, "GreedySearch always"),
        ({"temperature": float("nan")}, ValueError, "temperature=nan"),
        ({"top_k": 0}, ValueError, "top_k"),
        ({"top_p": 0.0}, ValueError, "top_p=0.0"),
        ({"top_p": 1.1}, ValueError, "top_p=1.1"),
        ({"seed": "7"}, TypeError, "seed='7'"),
    ],
)
def test_errors_of_the_constructor(arguments, error, expected):
    with pytest.raises(error, match=expected):
        RandomSampling(**arguments)
