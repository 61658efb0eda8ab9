"""How probable a decoder finds given sequences."""

from keras import ops
from keras import tree

from keras_attention.cells.shared_memory import repeat_rows
from keras_attention.masking import attached_mask


def score_tokens(
    decoder, tokens, memory, memory_mask, initial_state, start_token, end_token
):
    """Returns log-probabilities; see `AttentionDecoder.score`."""
    tokens = ops.cast(tokens, "int32")
    if len(tokens.shape) not in (2, 3):
        raise ValueError(
            "`AttentionDecoder.score` received tokens of shape "
            f"{tuple(tokens.shape)}. Expected (batch, length), or (batch, "
            "num_sequences, length)."
        )
    if len(tokens.shape) == 3:
        num_sequences = ops.shape(tokens)[1]
        if memory_mask is None:
            memory_mask = tree.map_structure(attached_mask, memory)
        memory, memory_mask, initial_state = repeat_rows(
            (memory, memory_mask, initial_state), num_sequences
        )
    shape = ops.shape(tokens)[:-1]
    tokens = ops.reshape(tokens, (-1, ops.shape(tokens)[-1]))  # rows length
    counts = _until_first(end_token, tokens)
    start = ops.full_like(tokens[:, :1], start_token)
    logits = decoder(
        ops.concatenate([start, tokens[:, :-1]], axis=-1),
        memory,
        initial_state=initial_state,
        mask=counts,
        memory_mask=memory_mask,
    )
    if isinstance(logits, tuple):
        logits, *_ = logits
    logits = ops.cast(logits, "float32")
    chosen = ops.take_along_axis(logits, tokens[..., None], axis=-1)
    costs = chosen[..., 0] - ops.logsumexp(logits, axis=-1)
    return ops.reshape(ops.sum(ops.where(counts, costs, 0.0), -1), shape)


def _until_first(end_token, tokens):
    """True up to the first end token of a row, which counts."""
    is_end = ops.cast(ops.equal(tokens, end_token), "int32")
    return ops.cumsum(is_end, axis=-1) - is_end == 0
