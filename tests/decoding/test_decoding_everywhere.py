"""Every strategy in every mode, precision and form of a saved decoder."""

import keras
import numpy as np
import pytest
from backends import COMPILED_MODES
from backends import MODES
from backends import ONE_MODE
from backends import count_traces
from backends import in_mode
from backends import tensorflow_only
from fresh_process import run_fresh
from keras import ops
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import randomize
from test_attention_decoder import lively_decoder

from keras_attention import AttentionDecoder
from keras_attention import AttentionRNN
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import LuongRNNCell
from keras_attention import RandomSampling
from keras_attention import decode


PADDING, START, END = 0, 1, 2
IDS = {"start_token": START, "end_token": END}

STRATEGIES = {
    "greedy": GreedySearch(),
    "beam": BeamSearch(3, num_return=2),
    "random": RandomSampling(0.8, seed=5),
    "nucleus": RandomSampling(1.3, top_k=7, top_p=0.9, seed=5),
}
by_strategy = pytest.mark.parametrize(
    "strategy", STRATEGIES.values(), ids=STRATEGIES
)


def generate(decoder, memory, memory_mask=None, max_length=9, **options):
    return decoder.generate(
        memory, memory_mask, max_length=max_length, **options, **IDS
    )


def assert_equal(received, expected):
    """XLA orders its sums as it likes, so that only tokens are the same."""
    np.testing.assert_array_equal(received.tokens, expected.tokens)
    np.testing.assert_array_equal(received.lengths, expected.lengths)
    for name in ("scores", "attention_scores"):
        np.testing.assert_allclose(
            getattr(received, name),
            getattr(expected, name),
            rtol=0,
            atol=1e-4,
        )


# Graphs


class SamplingOfGivenNumbers(RandomSampling):
    """Draws by the same numbers in every mode.

    XLA draws others from a seed than TensorFlow does without it.
    """

    def draw_noise(self, num_steps, rows):
        noise = np.random.default_rng(self.seed).uniform(size=(num_steps, rows))
        return ops.convert_to_tensor(noise.astype("float32"))


COMPILED = {
    "random": SamplingOfGivenNumbers(1.3, seed=5),
    "nucleus": SamplingOfGivenNumbers(1.3, top_k=7, top_p=0.9, seed=5),
    "beam": BeamSearch(3, 0.7, 0.2, num_return=2),
}


@pytest.mark.parametrize("mode", COMPILED_MODES[-1:])
@pytest.mark.parametrize("strategy", COMPILED.values(), ids=COMPILED)
def test_compiled_decoding_equals_eager(strategy, mode, rng):
    """As greedy search does.

    Reported as keras-team/keras-hub#241 and keras-team/keras-hub#271: the
    functions for decoding were no graphs, nor compiled by XLA.
    """
    decoder = lively_decoder(rng, inner="simple_rnn", scale=0.6)
    # JAX compiles every number of rows; here all strategies have the same.
    examples = slice(-(BATCH // strategy.num_beams), None)
    inputs = draw_memory(rng)[examples], MEMORY_MASK[examples]

    def run(memory, memory_mask):
        return generate(decoder, memory, memory_mask, strategy=strategy)

    compiled = in_mode(run, mode)(*inputs)
    assert_equal(compiled, run(*inputs))
    assert np.min(compiled.lengths) < 9


OPTIONS = {
    "padding_token": 7,
    "min_length": 3,
    "forbidden_tokens": [0, 5],
    "no_repeat_ngram_size": 2,
}


@tensorflow_only("tensors of a size that is not known")
@by_strategy
def test_one_trace_serves_all_sizes_and_all_maximal_lengths(strategy, rng):
    """In a graph with all options, which gives what eager decoding gives."""
    decoder = lively_decoder(rng, "luong_feeding")
    calls = [
        [draw(rng, batch, length, MEMORY_UNITS), mask, max_length]
        for batch, length, max_length in [(3, 5, 7), (1, 11, 3), (2, 2, 13)]
        for mask in [np.arange(length) < rng.integers(1, length, (batch, 1))]
    ]

    def run(memory, memory_mask, max_length):
        return generate(
            decoder,
            memory,
            memory_mask,
            max_length,
            strategy=strategy,
            length_limits=2 * ops.sum(ops.cast(memory_mask, "int32"), axis=1),
            **OPTIONS,
        )

    results, traces = count_traces(
        run,
        [
            ((None, None, MEMORY_UNITS), "float32"),
            ((None, None), "bool"),
            ((), "int32"),
        ],
        calls,
    )
    assert traces == 1
    for call, result in zip(calls, results, strict=True):
        assert result.tokens.shape[-1] == call[-1]
        assert np.all(result.lengths <= 2 * np.sum(call[1], 1, keepdims=True))
        assert_equal(result, run(*call))


# Precision


# How wrong the log-probability of a token is at most: 11 and 8 bits.
PRECISIONS = {"mixed_float16": 0.004, "float16": 0.004, "mixed_bfloat16": 0.03}


def make_in(policy, memory_shape):
    """Makes a decoder in a precision."""
    keras.config.set_dtype_policy(policy)
    try:
        # Keras draws no orthogonal matrix in half precision.
        cell = keras.layers.GRUCell(
            CELL_UNITS, recurrent_initializer="glorot_uniform"
        )
        decoder = AttentionDecoder(
            keras.layers.Embedding(VOCABULARY_SIZE, INPUT_UNITS),
            AttentionRNN(
                LuongRNNCell(cell, ATTENTIONS["additive"]()),
                return_sequences=True,
            ),
            keras.layers.Dense(VOCABULARY_SIZE),
        )
    finally:
        keras.config.set_dtype_policy("float32")
    decoder.build((None, None), memory_shape)
    return decoder


@pytest.mark.parametrize("policy", PRECISIONS)
@by_strategy
def test_half_precision_gives_scores_of_float32(strategy, policy, rng):
    """Sums are float32, and near to what float32 says of the same tokens.

    Reported as NVIDIA/OpenSeq2Seq#52: beam search failed in float16.
    """
    memory = draw_memory(rng)
    single, half = (make_in(each, memory.shape) for each in ("float32", policy))
    randomize(single, rng)
    half.set_weights(single.get_weights())

    def run(memory, memory_mask):
        result = generate(half, memory, memory_mask, strategy=strategy)
        return result, single.score(result.tokens, memory, memory_mask, **IDS)

    result, scores = in_mode(run, ONE_MODE)(memory, MEMORY_MASK)
    tokens, lengths = np.array(result.tokens), np.array(result.lengths)
    assert np.array(result.scores).dtype == "float32"
    error = np.abs(np.array(result.scores) - np.array(scores)) / lengths
    assert np.max(error) < PRECISIONS[policy]
    assert np.all((tokens >= 0) & (tokens < VOCABULARY_SIZE))
    after = np.arange(9) >= lengths[..., None]
    assert np.all(tokens[after] == PADDING)
    is_last = np.arange(9) == lengths[..., None] - 1
    assert np.all((tokens[is_last] == END) | (lengths.ravel() == 9))
    assert np.all(tokens[~after & ~is_last] != END)


# Equal scores


@pytest.mark.parametrize("mode", sorted({ONE_MODE, MODES[-1]}))
@by_strategy
def test_equal_scores_are_always_in_the_same_order(strategy, mode, rng):
    """In every call, and in every row of a batch, with all options."""
    logits = rng.integers(0, 2, (2579, 2579)).astype("float32")

    def run():
        def step(tokens, state):
            now = ops.take(ops.convert_to_tensor(logits), tokens, axis=0)
            return now, state, None

        return decode(
            step,
            [],
            batch_size=3,
            max_length=5,
            strategy=strategy,
            **OPTIONS,
            **IDS,
        )

    run = in_mode(run, mode)
    first = run()
    for again in (run(), run()):
        np.testing.assert_array_equal(again.tokens, first.tokens)
        np.testing.assert_array_equal(again.scores, first.scores)
    if not isinstance(strategy, RandomSampling):
        for row in (1, 2):
            np.testing.assert_array_equal(first.tokens[row], first.tokens[0])


# SavedModels


# Runs without the library.
WITHOUT_LIBRARY = """
import sys
import numpy as np
import tensorflow as tf

folder = sys.argv[1]
arrays = np.load(folder + "/inputs.npz")
saved = tf.saved_model.load(folder + "/saved")
exported = tf.saved_model.load(folder + "/exported")
results = {}
for call in "01":
    for name in ("greedy", "beam", "nucleus", "generator"):
        result = getattr(saved, name)(arrays["memory"], arrays["mask"])
        for part, tensor in result.items():
            results[f"{name}.{call}.{part}"] = tensor
    results[f"exported.{call}"] = exported.serve(arrays["memory"])
np.savez(folder + "/results.npz", **results)
assert "keras_attention" not in sys.modules
"""


SAVED = {name: STRATEGIES[name] for name in ("greedy", "beam", "nucleus")}


class Sampler(keras.layers.Layer):
    """Keeps a generator of seeds; every call draws anew."""

    def __init__(self, decoder, seed):
        super().__init__()
        self.decoder = decoder
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.strategy = RandomSampling(seed=self.seed_generator)

    def call(self, memory):
        return generate(self.decoder, memory, strategy=self.strategy).tokens


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What a fresh process makes of a saved decoder, and what is expected.

    Returns:
        The arrays of the process; results of the strategies in this one; and
        two results that each of the generators gives here after the saving,
        in the module that was saved and in the model that was exported.
    """
    import tensorflow as tf

    rng = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("everywhere")
    memory = draw_memory(rng)
    np.savez(folder / "inputs.npz", memory=memory, mask=MEMORY_MASK)
    module = tf.Module()
    module.decoder = lively_decoder(rng, "luong_feeding", "lstm")
    module.sampler = Sampler(module.decoder, 3)
    # Keras has the state of a generator tracked for its own export only.
    module.state = module.sampler.seed_generator.state.value
    strategies = {**SAVED, "generator": module.sampler.strategy}

    def make(strategy):
        return in_mode(
            lambda memory, mask: generate(
                module.decoder, memory, mask, strategy=strategy
            )._asdict(),
            "graph",
            [((None, None, MEMORY_UNITS), "float32"), ((None, None), "bool")],
        )

    for name, strategy in strategies.items():
        setattr(module, name, make(strategy))
    tf.saved_model.save(module, str(folder / "saved"))
    symbol = keras.Input((None, MEMORY_UNITS))
    model = keras.Model(symbol, Sampler(module.decoder, 4)(symbol))
    model.export(folder / "exported", verbose=False)
    run_fresh(WITHOUT_LIBRARY, folder)
    expected = {
        name: generate(
            module.decoder, memory, MEMORY_MASK, strategy=strategy
        )._asdict()
        for name, strategy in SAVED.items()
    }
    generators = {
        "generator": [
            module.generator(memory, MEMORY_MASK)["tokens"] for _ in range(2)
        ],
        "exported": [model(memory) for _ in range(2)],
    }
    return dict(np.load(folder / "results.npz")), expected, generators


@tensorflow_only("SavedModels")
@pytest.mark.parametrize("name", SAVED)
def test_saved_decoder_gives_the_same_sequences(name, served):
    """Also samples, where the strategy has a seed, at every call."""
    results, expected, _ = served
    for call in range(2):
        for part, value in expected[name].items():
            received = results[f"{name}.{call}.{part}"]
            np.testing.assert_allclose(received, value, rtol=0, atol=1e-5)


@tensorflow_only("SavedModels")
@pytest.mark.parametrize(
    ("name", "key"), [("generator", "{}.{}.tokens"), ("exported", "{}.{}")]
)
def test_saved_generator_draws_on_from_where_it_was(name, key, served):
    """Every call something new, as it would have been without the saving."""
    results, _, generators = served
    first, second = (results[key.format(name, call)] for call in range(2))
    assert np.any(first != second)
    np.testing.assert_array_equal(first, generators[name][0])
    np.testing.assert_array_equal(second, generators[name][1])
