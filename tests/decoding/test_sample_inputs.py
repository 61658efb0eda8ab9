import keras
import numpy as np
import pytest
import reference_recurrent
from backends import COMPILE_FIT
from backends import SIZES_MAY_BE_UNKNOWN
from backends import TWO_MODES
from backends import in_mode
from comparison import assert_close
from fresh_process import run_fresh
from gradients import value_and_gradients
from keras import ops
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import randomize
from reference_recurrent import number

import keras_attention
from keras_attention.decoding.sample_inputs import sample_inputs


SEED = 5
KINDS = ["bahdanau_residual", "luong", "luong_feeding"]
EVERYTHING = {"return_state": True, "return_attention_scores": True}


def make_decoder(
    rng,
    cell="bahdanau",
    inner="gru",
    attention="additive",
    vocabulary_size=VOCABULARY_SIZE,
    seed=SEED,
    **kwargs,
):
    """A decoder with random weights, the same for the same state of `rng`."""
    rnn = keras_attention.AttentionRNN(
        CELLS[cell](INNER_CELLS[inner](), ATTENTIONS[attention]()),
        return_sequences=True,
        **kwargs,
    )
    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(vocabulary_size, INPUT_UNITS),
        rnn,
        keras.layers.Dense(vocabulary_size),
        seed=seed,
    )
    decoder.build((None, None), (None, None, MEMORY_UNITS))
    randomize(decoder, rng)
    return decoder


def remake(decoder):
    """A decoder of the same weights that has drawn nothing yet."""
    copy = keras_attention.AttentionDecoder.from_config(decoder.get_config())
    copy.build((None, None), (None, None, MEMORY_UNITS))
    copy.set_weights(decoder.get_weights())
    return copy


def always_draw(decoder, token):
    """Lets the decoder say one token, whatever it sees."""
    bias = np.full(VOCABULARY_SIZE, -1e4)
    bias[token] = 1e4
    decoder.output_layer.bias.assign(bias)


def draw_tokens(rng, *shape):
    shape = shape or (BATCH, LENGTH)
    return rng.integers(1, VOCABULARY_SIZE, shape).astype("int32")


def sample(
    decoder,
    tokens,
    memory,
    probability,
    initial_state=None,
    mask=None,
    memory_mask=None,
):
    """What a new decoder feeds itself in its first call."""
    tensors = keras.tree.map_structure(
        lambda array: (
            ops.convert_to_tensor(array)
            if isinstance(array, np.ndarray)
            else array
        ),
        (tokens, memory, initial_state, mask, memory_mask),
    )
    return np.array(sample_inputs(remake(decoder), *tensors, probability))


def random_numbers(rows, length):
    """What a decoder made of SEED draws in its first call."""
    return np.array(
        keras.random.uniform(
            (rows, length, 2), seed=keras.random.SeedGenerator(SEED)
        )
    )


def sample_in_python(
    decoder, tokens, memory, probability, mask=None, memory_mask=None
):
    """One row and one step after the other, in NumPy."""
    numbers = random_numbers(*tokens.shape)
    mask = np.ones(tokens.shape, bool) if mask is None else mask
    chosen = tokens.copy()
    kernel = number(decoder.output_layer.kernel)
    bias = number(decoder.output_layer.bias)
    for row in range(len(tokens)):
        last = None  # distribution after the last real step
        for time in range(tokens.shape[1]):
            if not mask[row, time]:
                continue
            coin, _ = numbers[row, time]
            if last is not None and coin < probability:
                chosen[row, time] = last
            outputs, _, _ = reference_recurrent.attention_rnn(
                decoder.rnn.cell,
                number(decoder.embedding.embeddings)[
                    chosen[row : row + 1, : time + 1]
                ],
                memory[row : row + 1],
                mask[row : row + 1, : time + 1],
                None if memory_mask is None else memory_mask[row : row + 1],
            )
            logits = outputs[0, -1] @ kernel + bias
            probabilities = np.exp(logits - np.max(logits))
            rest = numbers[row, time, 1] * np.sum(probabilities)
            last = 0
            while rest >= probabilities[last]:
                rest -= probabilities[last]
                last += 1
    return chosen


# What is fed


@pytest.mark.parametrize("probability", [0.4, 1.0])
@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize(
    ("cell", "inner"), [*zip(KINDS, ["gru", "lstm", "stacked"], strict=True)]
)
def test_inputs_are_those_of_plain_loops(cell, inner, masked, probability, rng):
    decoder = make_decoder(rng, cell, inner)
    rows = 11
    tokens = draw_tokens(rng, rows, LENGTH)
    memory = draw(rng, rows, MEMORY_LENGTH, MEMORY_UNITS)
    masks = {}
    if masked:
        masks["mask"] = rng.uniform(size=tokens.shape) < 0.7
        masks["memory_mask"] = rng.uniform(size=(rows, MEMORY_LENGTH)) < 0.7
    received = sample(decoder, tokens, memory, probability, **masks)
    expected = sample_in_python(decoder, tokens, memory, probability, **masks)
    np.testing.assert_array_equal(received, expected)
    assert np.any(received != tokens)
    assert len(np.unique(received[received != tokens])) > 3


CASES = [
    *[(cell, "gru", "additive") for cell in CELLS],
    *[("bahdanau", inner, "additive") for inner in INNER_CELLS],
    *[
        (cell, "lstm", attention)
        for cell in ("bahdanau", "luong")
        for attention in ("general", "coverage", "local_m", "local_p")
    ],
    ("bahdanau", "gru", "monotonic"),
    ("luong_feeding", "gru", "monotonic"),
]


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize(("cell", "inner", "attention"), CASES)
def test_results_are_those_of_teacher_forcing_with_what_is_fed(
    cell, inner, attention, mode, rng
):
    decoder = make_decoder(rng, cell, inner, attention, **EVERYTHING)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    masks = {"mask": MASK, "memory_mask": MEMORY_MASK}
    fed = sample(decoder, tokens, memory, 0.6, **masks)
    assert np.any(fed != tokens)

    def run(tokens, memory, mask, memory_mask):
        return decoder(
            tokens,
            memory,
            mask=mask,
            memory_mask=memory_mask,
            sampling_probability=0.6,
            training=True,
        )

    run = in_mode(run, mode, state=[decoder.seed_generator.state])
    received = run(
        *map(ops.convert_to_tensor, (tokens, memory, *masks.values()))
    )
    assert_close(received, decoder(fed, memory, **masks), 1e-5)


@pytest.mark.parametrize("cell", KINDS)
def test_probability_0_is_teacher_forcing(cell, rng):
    decoder = make_decoder(rng, cell, **EVERYTHING)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    expected = decoder(tokens, memory)
    for probability in (0.0, 0, ops.zeros(())):
        received = decoder(
            tokens, memory, sampling_probability=probability, training=True
        )
        assert_close(received, expected, 1e-6)


@pytest.mark.parametrize("cell", KINDS)
def test_probability_1_leaves_only_the_first_of_the_given_tokens(cell, rng):
    decoder = make_decoder(rng, cell)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    others = (tokens + 3) % VOCABULARY_SIZE
    others[:, 0] = tokens[:, 0]
    received = decoder(tokens, memory, sampling_probability=1, training=True)
    expected = remake(decoder)(
        others, memory, sampling_probability=1.0, training=True
    )
    assert_close(received, expected)
    always_draw(decoder, 17)
    fed = sample(decoder, tokens, memory, 1.0)
    np.testing.assert_array_equal(fed[:, 0], tokens[:, 0])
    np.testing.assert_array_equal(fed[:, 1:], 17)


def test_nothing_is_sampled_outside_of_training(rng):
    decoder = make_decoder(rng)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    state = np.array(decoder.seed_generator.state)
    expected = decoder(tokens, memory)
    received = decoder(tokens, memory, sampling_probability=1.0)
    assert_close(received, expected)
    received = decoder(tokens, memory, training=True)
    assert_close(received, expected)
    np.testing.assert_array_equal(decoder.seed_generator.state, state)


def test_initial_state_is_that_of_the_run(rng):
    decoder = make_decoder(rng, "luong_feeding", "lstm")
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    state = list(9 * draw(rng, 2, BATCH, CELL_UNITS))
    fed = sample(decoder, tokens, memory, 1.0, initial_state=state)
    assert np.any(fed != sample(decoder, tokens, memory, 1.0))
    received = decoder(
        tokens,
        memory,
        initial_state=state,
        sampling_probability=1.0,
        training=True,
    )
    expected = decoder(fed, memory, initial_state=state)
    assert_close(received, expected, 1e-5)


def test_attached_mask_of_the_memory_is_used(rng):
    decoder = make_decoder(rng)
    sources = np.where(MEMORY_MASK, rng.integers(1, 5, MEMORY_MASK.shape), 0)
    embedding = keras.layers.Embedding(5, MEMORY_UNITS, mask_zero=True)
    embedding.build(None)
    randomize(embedding, rng, 3.0)
    tokens, memory = draw_tokens(rng), embedding(sources)
    arguments = decoder, tokens, np.array(memory), 1.0
    fed = sample(*arguments, memory_mask=MEMORY_MASK)
    assert np.any(fed != sample(*arguments))
    np.testing.assert_array_equal(sample(decoder, tokens, memory, 1.0), fed)
    received = decoder(tokens, memory, sampling_probability=1.0, training=True)
    assert_close(received, decoder(fed, memory), 1e-5)


def test_every_attention_sees_its_own_memory(rng):
    rnn = keras_attention.AttentionRNN(
        CELLS["luong_feeding"](
            INNER_CELLS["lstm"](),
            [ATTENTIONS["additive"](), ATTENTIONS["general"]()],
        ),
        return_sequences=True,
        return_attention_scores=True,
    )
    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, 3),
        rnn,
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    tokens = draw_tokens(rng)
    memories = [draw_memory(rng), draw(rng, BATCH, 3, 23)]
    decoder(tokens, memories)
    always_draw(decoder, 17)
    arguments = {"memory_mask": [MEMORY_MASK, None]}
    received = decoder(
        tokens, memories, **arguments, sampling_probability=1.0, training=True
    )
    fed = np.full_like(tokens, 17)
    fed[:, 0] = tokens[:, 0]
    assert_close(received, decoder(fed, memories, **arguments), 2e-3)


# Masks


def test_masked_steps_keep_their_tokens_and_draw_nothing(rng):
    """The first real token is a given one, also behind padding."""
    decoder = make_decoder(rng)
    always_draw(decoder, 17)
    tokens = rng.integers(1, 17, (BATCH, LENGTH))
    fed = sample(decoder, tokens, draw_memory(rng), 1.0, mask=MASK)
    first = MASK & (np.cumsum(MASK, axis=1) == 1)
    np.testing.assert_array_equal(fed, np.where(MASK & ~first, 17, tokens))


def test_token_that_is_drawn_is_no_padding(rng):
    """A drawn 0 is a token like any other, also with `mask_zero`."""
    decoder = make_decoder(rng)
    config = decoder.get_config()
    config["embedding"]["config"]["mask_zero"] = True
    masking = keras_attention.AttentionDecoder.from_config(config)
    masking.build((None, None), (None, None, MEMORY_UNITS))
    masking.set_weights(decoder.get_weights())
    always_draw(masking, 0)
    always_draw(decoder, 0)
    tokens, memory = np.where(MASK, draw_tokens(rng), 0), draw_memory(rng)
    received = masking(tokens, memory, sampling_probability=1.0, training=True)
    np.testing.assert_array_equal(received._keras_mask, MASK)
    first = np.cumsum(MASK, axis=1) == 1
    expected = decoder(np.where(first, tokens, 0), memory, mask=MASK)
    assert_close(received, expected, 1e-5)


def test_garbage_under_the_masks_changes_nothing(rng):
    decoder = make_decoder(rng)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    results = [
        copy(
            np.where(MASK, tokens, token),
            np.where(MEMORY_MASK[..., None], memory, value),
            mask=MASK,
            memory_mask=MEMORY_MASK,
            sampling_probability=1.0,
            training=True,
        )
        for copy, token, value in (
            (decoder, 0, 0.0),
            (remake(decoder), 13, np.nan),
        )
    ]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


# Randomness


def test_share_of_replaced_tokens_is_the_probability(rng):
    """Four standard deviations of a binomial: exceeded once in 16000."""
    rows, probability = 997, 0.3
    decoder = make_decoder(rng)
    always_draw(decoder, 17)
    tokens = rng.integers(1, 17, (rows, LENGTH))
    memory = draw(rng, rows, 2, MEMORY_UNITS)
    replaced = sample(decoder, tokens, memory, probability) == 17
    counts = np.sum(replaced, axis=0)
    assert counts[0] == 0
    spread = 4 * np.sqrt(rows * probability * (1 - probability))
    assert np.all(np.abs(counts[1:] - rows * probability) < spread)
    # One step knows nothing of another.
    both = np.sum(replaced[:, 1] & replaced[:, 2])
    assert abs(both - rows * 0.09) < 4 * np.sqrt(rows * 0.09 * 0.91)


@pytest.mark.parametrize("probability", [0.2, 1.0])
def test_drawn_tokens_follow_the_softmax(probability, rng):
    """Chi-squared with 6 degrees of freedom: above 22.5 once in 1000.

    Also of those alone that were replaced: the number that decides whether
    is another one than that which decides by what.
    """
    decoder = make_decoder(rng, vocabulary_size=11)
    expected = np.array([0, 0.05, 0.3, 0.01, 0, 0.2, 0.14, 0.1, 0, 0.2, 0])
    decoder.output_layer.kernel.assign(np.zeros((CELL_UNITS, 11)))
    decoder.output_layer.bias.assign(np.log(expected + 1e-30) + 2.0)
    rows = 1511
    tokens = np.full((rows, LENGTH), 10)
    memory = draw(rng, rows, 2, MEMORY_UNITS)
    fed = sample(decoder, tokens, memory, probability)
    drawn = fed[fed != 10]
    counts = np.bincount(drawn, minlength=11)
    possible = expected > 0
    assert np.all(counts[~possible] == 0)
    expected = len(drawn) * expected[possible]
    assert np.sum((counts[possible] - expected) ** 2 / expected) < 22.5


def test_every_call_draws_anew_and_the_same_seed_the_same(rng):
    decoder = make_decoder(rng)
    copy = remake(decoder)
    tokens, memory = draw_tokens(rng), draw_memory(rng)

    def run(decoder):
        return np.array(
            decoder(tokens, memory, sampling_probability=0.9, training=True)
        )

    first, second = run(decoder), run(decoder)
    assert np.max(np.abs(first - second)) > 0.01
    assert_close([run(copy), run(copy)], [first, second])
    config = {**decoder.get_config(), "seed": SEED + 1}
    other = remake(keras_attention.AttentionDecoder.from_config(config))
    other.set_weights(decoder.get_weights())
    assert np.max(np.abs(run(other) - first)) > 0.01


def test_compiled_calls_draw_anew(rng):
    decoder = make_decoder(rng)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    run = in_mode(
        lambda tokens, memory: decoder(
            tokens, memory, sampling_probability=0.9, training=True
        ),
        TWO_MODES[-1],
        state=[decoder.seed_generator.state],
    )
    first, second = (
        np.array(
            run(ops.convert_to_tensor(tokens), ops.convert_to_tensor(memory))
        )
        for _ in range(2)
    )
    assert np.max(np.abs(first - second)) > 0.01


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("cell", KINDS)
def test_unrolled_equals_looped(cell, mode, rng):
    decoder = make_decoder(rng, cell, "lstm")
    unrolled = make_decoder(rng, cell, "lstm", unroll=True)
    unrolled.set_weights(decoder.get_weights())
    arrays = [draw_tokens(rng), draw_memory(rng)]
    received, expected = (
        in_mode(
            lambda tokens, memory, layer=layer: layer(
                tokens, memory, sampling_probability=0.7, training=True
            ),
            mode,
            state=[layer.seed_generator.state],
        )(*map(ops.convert_to_tensor, arrays))
        for layer in (unrolled, decoder)
    )
    assert_close(received, expected, 1e-5)


@pytest.mark.parametrize(
    "attention",
    [
        lambda: keras_attention.BahdanauAttention(17, dropout=0.5),
        lambda: keras_attention.MonotonicAttention(
            "general", units=None, noise=0.7
        ),
    ],
    ids=["dropout", "noise"],
)
@pytest.mark.parametrize("cell", KINDS)
def test_what_is_random_in_the_cell_is_drawn_for_every_batch(
    cell, attention, rng
):
    decoder = keras_attention.AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, INPUT_UNITS),
        keras_attention.AttentionRNN(
            CELLS[cell](
                keras.layers.GRUCell(
                    CELL_UNITS, dropout=0.5, recurrent_dropout=0.5
                ),
                attention(),
            ),
            return_sequences=True,
        ),
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    for rows in (3, 2):
        tokens = draw_tokens(rng, rows, LENGTH)
        memory = draw(rng, rows, MEMORY_LENGTH, MEMORY_UNITS)
        one, other = (
            np.array(
                decoder(tokens, memory, sampling_probability=0.0, training=True)
            )
            for _ in range(2)
        )
        assert np.max(np.abs(one - other)) > 1e-3
        assert np.all(np.isfinite(one))


def test_random_numbers_do_not_go_through_half_precision(rng):
    """float16 has 2048 numbers between 1/2 and 1; the vocabulary has more."""
    size, rows = 8009, 31
    keras.config.set_dtype_policy("mixed_float16")
    try:
        decoder = make_decoder(rng, vocabulary_size=size)
    finally:
        keras.config.set_dtype_policy("float32")
    decoder.output_layer.kernel.assign(np.zeros((CELL_UNITS, size)))
    decoder.output_layer.bias.assign(np.zeros(size))
    tokens = draw_tokens(rng, rows, LENGTH) + 7001
    memory = draw(rng, rows, 2, MEMORY_UNITS)
    fed = sample(decoder, tokens, memory, 0.5)
    numbers = random_numbers(rows, LENGTH)
    expected = tokens.astype("float64")
    replaced = numbers[:, 1:, 0] < 0.5
    expected[:, 1:][replaced] = np.floor(numbers[:, :-1, 1] * size)[replaced]
    np.testing.assert_allclose(fed, expected, atol=1)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("cell", KINDS)
def test_half_precision_is_sampled_and_trained(cell, policy, rng):
    keras.config.set_dtype_policy(policy)
    try:
        decoder = make_decoder(rng, cell, "lstm", **EVERYTHING)
    finally:
        keras.config.set_dtype_policy("float32")
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    masks = {"mask": MASK, "memory_mask": MEMORY_MASK}
    fed = sample(decoder, tokens, memory, 0.6, **masks)

    def run():
        logits, *_ = decoder(
            tokens,
            memory,
            **masks,
            sampling_probability=0.6,
            training=True,
        )
        logits = ops.cast(logits, "float32")
        return [ops.mean(ops.sin(logits)), logits]

    (_, logits), gradients = value_and_gradients(
        run, [], decoder.trainable_weights
    )
    expected, *_ = decoder(fed, memory, **masks)
    assert_close(logits, ops.cast(expected, "float32"), 1e-5)
    assert all(np.all(np.isfinite(part)) for part in gradients)


# Gradients


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("cell", KINDS)
def test_gradients_are_those_of_teacher_forcing_with_what_is_fed(
    cell, mode, rng
):
    """So an embedding learns from the tokens that were drawn, too."""
    decoder = make_decoder(rng, cell)
    bias = np.where(np.arange(VOCABULARY_SIZE) == 17, 15.0, 0.0)
    decoder.output_layer.bias.assign(bias)
    tokens = rng.integers(1, 17, (BATCH, LENGTH)).astype("int32")
    memory, state = draw_memory(rng), draw(rng, BATCH, CELL_UNITS)
    fed = sample(decoder, tokens, memory, 0.6, initial_state=[state])
    assert np.any(fed == 17)

    def differentiate(tokens, **arguments):
        def function(memory, state):
            logits = decoder(
                ops.convert_to_tensor(tokens),
                memory,
                initial_state=[state],
                **arguments,
            )
            return [ops.mean(ops.sin(logits)), logits]

        weights = [
            decoder.embedding.embeddings,
            *decoder.rnn.trainable_weights,
            *decoder.output_layer.trainable_weights,
        ]
        return value_and_gradients(function, [memory, state], weights, mode)

    received = differentiate(tokens, sampling_probability=0.6, training=True)
    assert_close(received, differentiate(fed), 1e-5)
    _, (_, _, of_embeddings, *_) = received
    assert np.max(np.abs(of_embeddings[17])) > 1e-4


# Models


class Translator(keras.Model):
    """The model of the documentation; notes what it did at every step."""

    def __init__(self, decoder, schedule, num_steps):
        super().__init__()
        self.decoder = decoder
        self.schedule = schedule
        self.steps = self.add_weight(
            initializer="zeros", dtype="int32", trainable=False
        )
        self.probabilities = self.add_weight(
            (num_steps,), initializer="zeros", trainable=False
        )
        self.traces = []

    def call(self, inputs, training=False):
        tokens, memory = inputs
        probability = self.schedule(self.steps)
        if training:
            self.traces.append(None)
            noted = self.probabilities.value
            is_now = ops.arange(noted.shape[0]) == self.steps.value
            noted = ops.where(is_now, probability, noted)
            self.probabilities.assign(noted)
            self.steps.assign_add(1)
        return self.decoder(
            tokens,
            memory,
            sampling_probability=probability,
            training=training,
        )


def compile_model(model, learning_rate):
    model.compile(
        keras.optimizers.SGD(learning_rate),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=COMPILE_FIT,
    )


def test_fit_takes_the_probability_from_the_schedule_at_every_step(rng):
    num_steps = 7
    schedule = keras_attention.LinearSampling(0.13, greatest=0.6)
    model = Translator(make_decoder(rng), schedule, num_steps)
    compile_model(model, 0.1)
    tokens = draw_tokens(rng, 2 * num_steps, LENGTH)
    memory = draw(rng, 2 * num_steps, MEMORY_LENGTH, MEMORY_UNITS)
    seed = np.array(model.decoder.seed_generator.state)
    before = model.decoder.get_weights()
    model.fit([tokens, memory], tokens, batch_size=2, verbose=0)
    assert int(model.steps) == num_steps
    np.testing.assert_allclose(
        model.probabilities,
        np.minimum(0.13 * np.arange(num_steps), 0.6),
        atol=1e-6,
    )
    assert np.any(np.array(model.decoder.seed_generator.state) != seed)
    for old, new in zip(before, model.decoder.get_weights(), strict=True):
        assert np.all(np.isfinite(new))
        assert np.any(old != new)
    if len(TWO_MODES) > 1:  # it was compiled
        assert len(model.traces) < num_steps


def test_fit_samples_and_validates_by_teacher_forcing(rng):
    """No weight changes, so that the losses tell what was fed."""
    decoder = make_decoder(rng)
    bias = np.where(np.arange(VOCABULARY_SIZE) == 17, 30.0, 0.0)
    decoder.output_layer.bias.assign(bias)
    # The first step samples nothing, the second all there is.
    model = Translator(decoder, keras_attention.LinearSampling(1.0), 2)
    compile_model(model, 0.0)
    tokens, memory = rng.integers(1, 17, (BATCH, LENGTH)), draw_memory(rng)
    inputs, labels = [tokens, memory], draw_tokens(rng)
    own = np.full(tokens.shape, 17)
    own[:, 0] = tokens[:, 0]
    history = model.fit(
        inputs,
        labels,
        validation_data=(inputs, labels),
        epochs=2,
        verbose=0,
    ).history
    forced, sampled = (
        model.evaluate([array, memory], labels, verbose=0)
        for array in (tokens, own)
    )
    assert abs(forced - sampled) > 0.01
    np.testing.assert_allclose(history["loss"], [forced, sampled], rtol=1e-5)
    np.testing.assert_allclose(history["val_loss"], [forced] * 2, rtol=1e-5)


def test_functional_model_samples_in_training_alone(rng):
    decoder = make_decoder(rng)
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    inputs = [
        keras.Input((None,), dtype="int32"),
        keras.Input((None, MEMORY_UNITS)),
    ]
    model = keras.Model(inputs, decoder(*inputs, sampling_probability=0.7))
    fed = sample(decoder, tokens, memory, 0.7)
    assert_close(model([tokens, memory]), decoder(tokens, memory), 1e-6)
    received = model([tokens, memory], training=True)
    assert_close(received, decoder(fed, memory), 1e-5)


FRESH_PROCESS = """
import sys
import numpy as np
import keras
import keras_attention

folder = sys.argv[1]
arrays = np.load(folder + "/arrays.npz")
model = keras.models.load_model(folder + "/model.keras")
logits = model([arrays["tokens"], arrays["memory"]], training=True)
np.save(folder + "/logits.npy", keras.ops.convert_to_numpy(logits))
"""


def test_saved_decoder_samples_the_same_in_a_fresh_process(rng, tmp_path):
    decoder = make_decoder(rng, "luong_feeding", "stacked")
    tokens, memory = draw_tokens(rng), draw_memory(rng)
    inputs = [
        keras.Input((None,), dtype="int32"),
        keras.Input((None, MEMORY_UNITS)),
    ]
    model = keras.Model(inputs, decoder(*inputs, sampling_probability=0.7))
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "arrays.npz", tokens=tokens, memory=memory)
    run_fresh(FRESH_PROCESS, tmp_path)
    fed = sample(decoder, tokens, memory, 0.7)
    assert np.any(fed != tokens)
    received = np.load(tmp_path / "logits.npy")
    assert_close(received, decoder(fed, memory), 1e-5)


def test_one_trace_serves_all_batches_lengths_and_probabilities(rng):
    decoder = make_decoder(rng, "luong")
    always_draw(decoder, 17)
    traces = []

    def traced(tokens, memory, mask, probability):
        traces.append(None)
        return decoder(
            tokens,
            memory,
            mask=mask,
            sampling_probability=probability,
            training=True,
        )

    run = in_mode(
        traced,
        TWO_MODES[-1],
        [
            ((None, None), "int32"),
            ((None, None, MEMORY_UNITS), "float32"),
            ((None, None), "bool"),
            ((), "float32"),
        ],
        state=[decoder.seed_generator.state],
    )
    sizes = [(3, 5, 0.0), (1, 11, 1.0), (2, 1, 1.0), (5, 7, 0.0)]
    for rows, length, probability in sizes:
        tokens = draw_tokens(rng, rows, length)
        memory = draw(rng, rows, length + 2, MEMORY_UNITS)
        mask = np.arange(length) < rng.integers(1, length + 1, (rows, 1))
        received = run(
            *map(ops.convert_to_tensor, (tokens, memory, mask)),
            ops.convert_to_tensor(probability, dtype="float32"),
        )
        fed = tokens.copy()
        if probability == 1.0:
            fed[:, 1:] = 17
        assert_close(received, decoder(fed, memory, mask=mask), 1e-3)
    if SIZES_MAY_BE_UNKNOWN:
        assert len(traces) == 1


# Errors


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("probability", [-0.1, 1.5, float("nan")])
def test_number_that_is_no_probability_raises(probability, training, rng):
    with pytest.raises(ValueError, match="sampling_probability=.*from 0 to 1"):
        make_decoder(rng)(
            draw_tokens(rng),
            draw_memory(rng),
            sampling_probability=probability,
            training=training,
        )


@pytest.mark.parametrize(
    ("probability", "received"),
    [
        (np.full(BATCH, 0.5), r"shape \(3,\)"),
        ("always", "'always'"),
        (keras_attention.ConstantSampling(0.5), "ConstantSampling object"),
    ],
    ids=["vector", "word", "schedule"],
)
def test_what_is_no_scalar_raises(probability, received, rng):
    expected = f"of .*{received}.*Expected a number from 0 to 1, or a scalar"
    with pytest.raises(ValueError, match=expected):
        make_decoder(rng)(
            draw_tokens(rng),
            draw_memory(rng),
            sampling_probability=probability,
            training=True,
        )
