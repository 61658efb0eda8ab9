"""Scheduled sampling: inputs that a decoder in training draws itself."""

import numbers

import keras
from keras import ops
from keras import tree

from keras_attention.decoding.draw_tokens import draw_tokens
from keras_attention.loop import loop
from keras_attention.masking import attached_mask
from keras_attention.recurrent.initial_state import complete_state
from keras_attention.validation import check_probability


def sample_inputs(
    decoder, tokens, memory, initial_state, mask, memory_mask, probability
):
    r"""Replaces given tokens by those that the decoder draws, at random.

    $$x_t = \begin{cases} \hat{y}_t \sim p(y_t \mid x_{\le t-1}, h) &
    \text{with the given probability} \\ y_t & \text{otherwise}\end{cases}$$

    Source: Bengio et al. (2015), section 2.4,
    https://arxiv.org/abs/1506.03099. As there, each row and step is decided
    alone, and no gradient flows through the drawing. So all inputs can be
    drawn first: the decoder that is given them has the logits and gradients
    of scheduled sampling, and what is fast in teacher forcing stays so.

    Args:
        decoder: An `AttentionDecoder` that is built. As in decoding, its
            dropout and noise are off.
        tokens: Integer, `(batch, length)`, the given ones.
        memory: See `AttentionDecoder`, as all other arguments.
        initial_state: A list of states, or None.
        mask: Boolean, `(batch, length)`, or None. A step that is masked
            draws nothing, so that the next one has the distribution of the
            last real step.
        memory_mask: Boolean, `(batch, memory_length)`, or None.
        probability: Scalar from 0 to 1.

    Returns:
        int32, `(batch, length)`. The first real token of every row, and what
        is masked, are the given ones.
    """
    if memory_mask is None:
        memory_mask = tree.map_structure(attached_mask, memory)
    cell = decoder.rnn.cell
    batch_size, length = ops.shape(tokens)
    prepared = cell.prepare_memory(memory, memory_mask)
    states = complete_state(cell, initial_state, batch_size, prepared)
    prepared, states = _stop_gradients((prepared, states))
    # Before the loop, for JAX draws nothing within one.
    uniform = keras.random.uniform(
        (batch_size, length, 2), dtype="float32", seed=decoder.seed_generator
    )
    probability = ops.cast(probability, "float32")

    def step(given, states, uniform):
        states, drawn = states
        use_drawn = (uniform[:, :1] < probability) & (drawn >= 0)
        token = ops.where(use_drawn, drawn, ops.cast(given, "int32"))
        logits, states, _ = decoder.take_step(token[:, 0], states, prepared)
        drawn = draw_tokens(logits, uniform[:, 1])
        # Tokens have no gradient, but JAX and PyTorch would keep of every step
        # what the gradient of its states needs.
        return token, (_stop_gradients(states), ops.expand_dims(drawn, 1))

    nothing_drawn = ops.full((batch_size, 1), -1, dtype="int32")
    sampled, _ = loop(
        step,
        # One tensor is all that a loop takes in: float32 holds every id up to
        # 2^24, and the random numbers as they are.
        ops.cast(ops.expand_dims(tokens, -1), "float32"),
        (states, nothing_drawn),
        ops.zeros((batch_size, 1), dtype="int32"),
        mask=mask,
        unroll=decoder.rnn.unroll,
        columns=[uniform],
    )
    sampled = ops.squeeze(sampled, -1)  # batch length
    if mask is None:
        return sampled
    return ops.where(mask, sampled, ops.cast(tokens, "int32"))


def _stop_gradients(structure):
    return tree.map_structure(
        lambda tensor: None if tensor is None else ops.stop_gradient(tensor),
        structure,
    )


def check_sampling_probability(value):
    """Raises ValueError unless `value` can be a sampling probability."""
    if isinstance(value, numbers.Real):
        check_probability("AttentionDecoder", "sampling_probability", value)
        return
    shape = getattr(value, "shape", None)
    if shape is None or len(shape):
        received = repr(value) if shape is None else f"shape {tuple(shape)}"
        raise ValueError(
            f"`AttentionDecoder` received a sampling_probability of {received}."
            " Expected a number from 0 to 1, or a scalar tensor: one "
            "probability for all rows and steps, for example what a schedule "
            "returns, InverseSigmoidSampling(1000)(steps)."
        )
