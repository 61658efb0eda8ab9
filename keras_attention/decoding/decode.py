"""The decoding loop, for any model that can take one step."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from keras import ops
from keras import tree

from keras_attention.decoding.constraints import Constraints
from keras_attention.decoding.next_tokens import NextTokens
from keras_attention.decoding.strategy import DecodingStrategy
from keras_attention.decoding.strategy import Hypotheses
from keras_attention.decoding.strategy import check_strategy
from keras_attention.validation import shapes_agree


class DecodingResult(NamedTuple):
    """Decoded sequences, best first.

    Attributes:
        tokens: int32, `(batch, num_return, max_length)`; ids, with the
            padding token after the end token.
        lengths: int32, `(batch, num_return)`; in tokens, the end token
            counted where there is one.
        scores: float32, `(batch, num_return)`; log-probability (natural
            log) of the sequence, its end token included, after the
            penalties of the strategy. -inf where there are fewer sequences
            than were asked for; their length is then 0.
        attention_scores: Float, `(batch, num_return, max_length,
            memory_length)`; probability, 0 after the end; or None where the
            step gave none or none were asked for.

    Example:
        ```python
        def step(tokens, state):  # after token n comes token n + 1
            return keras.ops.one_hot(tokens + 1, 5) * 9.0, state, None

        result = keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=1,
            end_token=4,
            max_length=6,
            strategy=keras_attention.GreedySearch(),
        )
        print(result.tokens.shape, result.lengths)  # (1, 1, 6) [[3]]
        print(result.attention_scores)  # None
        ```
    """

    tokens: Any
    lengths: Any
    scores: Any
    attention_scores: Any


class _Carried(NamedTuple):
    """All that the loop carries; rows first, but for attention scores."""

    tokens: Any  # rows
    scores: Any  # rows
    finished: Any  # rows
    lengths: Any  # rows
    coverage: Any  # a list of one: rows memory; or of none
    state: Any  # any structure of rows ...
    history: Any  # rows max_length; all tokens
    origins: Any  # a list of one: rows max_length; where their scores are
    attention: Any  # likewise: max_length rows memory; or lists of none


def decode(
    step: Callable,
    state,
    *,
    batch_size,
    start_token: int,
    end_token: int,
    max_length,
    strategy: DecodingStrategy,
    padding_token: int = 0,
    memory_mask=None,
    min_length: int = 0,
    forbidden_tokens: Sequence[int] = (),
    no_repeat_ngram_size: int | None = None,
    length_limits=None,
    return_attention_scores: bool = True,
) -> DecodingResult:
    """Decodes with a step function of your own.

    The loop runs in the graph and stops as soon as every row is finished.
    Under `jit_compile=True`, and on JAX, `max_length` must be a Python
    integer.

    Args:
        step: Function of tokens (int32, `(rows,)`) and a state that returns
            logits `(rows, vocabulary_size)`, the next state, and attention
            scores `(rows, memory_length)` or None.
        state: What `step` needs beside the token: any structure of tensors,
            each with the rows first. May be empty.
        batch_size: Number of examples, integer or scalar tensor.
        start_token: Id that every sequence starts from; not put out.
        end_token: Id that ends a sequence.
        max_length: Most tokens to put out, the end token included.
        strategy: A `DecodingStrategy`.
        padding_token: Id put out after the end token.
        memory_mask: Boolean, `(batch, memory_length)`, True marks a real
            token, or None; what a strategy that minds coverage must cover.
        min_length: Fewest tokens to put out, the end token included.
        forbidden_tokens: Ids that are never put out, for example that of the
            unknown token; not the end token.
        no_repeat_ngram_size: Length of the runs of tokens that must not occur
            twice in a sequence, for example 3; None where any may.
        length_limits: Integer, `(batch,)`, most tokens of each example, or
            None. Where a limit is less than `max_length`, or than
            `min_length`, it is the limit that counts; one token is always
            put out. With twice the tokens of its source and ten, say, a
            sequence that repeats itself without end does not keep the
            others of its batch waiting, and each still gets what it would
            get alone.
        return_attention_scores: Whether to keep what the step returns of
            them. To decode hundreds of tokens with many rows is faster
            without: TensorFlow copies all that is kept at every step, unless
            it is compiled by XLA.

    Tokens that are not allowed do not change the probabilities of the others:
    a score is the log-probability that the model gives a sequence.

    Returns:
        A `DecodingResult`.

    Example:
        ```python
        def step(tokens, state):  # after token n comes token n + 1
            return keras.ops.one_hot(tokens + 1, 5) * 9.0, state, None

        result = keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=1,
            end_token=4,
            max_length=6,
            strategy=keras_attention.GreedySearch(),
        )
        print(result.tokens[0, 0])  # [2 3 4 0 0 0]
        ```
    """
    check_strategy("decode", strategy)
    _check_arguments(max_length, start_token, end_token)
    constraints = Constraints(
        end_token,
        min_length,
        tuple(map(int, forbidden_tokens)),
        no_repeat_ngram_size,
    )
    constraints.check(max_length)
    rows = batch_size * strategy.num_beams
    limits = max_length
    if length_limits is not None:
        limits = ops.cast(length_limits, "int32")
        _check_limits(tuple(limits.shape), batch_size)
        limits = ops.minimum(limits, max_length)
        limits = ops.repeat(limits, strategy.num_beams)  # rows
    noise = strategy.draw_noise(max_length, rows)

    def turn(index, carried):
        tokens, scores, finished, lengths, coverage, state, *past = carried
        history, origins, attention = past
        logits, state, attention_scores = step(tokens, state)
        vocabulary_size = logits.shape[-1]
        _check_padding(padding_token, vocabulary_size)
        constraints.check_forbidden(vocabulary_size)
        next_tokens = NextTokens(
            logits,
            finished,
            padding_token,
            constraints.forbid(index, history, vocabulary_size),
        )
        lengths = lengths + ops.cast(~finished, "int32")
        if strategy.needs_coverage:
            if not coverage:
                coverage = [
                    _start_coverage(strategy, attention_scores, memory_mask)
                ]
            coverage = [_cover(coverage[0], attention_scores, finished)]
        tokens, scores, parents = strategy.select(
            next_tokens,
            Hypotheses(scores, lengths, *coverage),
            None if noise is None else ops.take(noise, index, axis=0),
        )
        keep = return_attention_scores and attention_scores is not None
        if keep and not attention:
            shape = (max_length, *ops.shape(attention_scores))
            attention = [ops.zeros(shape, dtype=attention_scores.dtype)]
            origins = [ops.zeros((rows, max_length), dtype="int32")]
        if parents is not None:
            follow = finished, lengths, coverage, state, history, origins
            follow = tree.map_structure(
                lambda tensor: ops.take(tensor, parents, axis=0), follow
            )
            finished, lengths, coverage, state, history, origins = follow
        if keep:
            attention = [_write_step(attention[0], index, attention_scores)]
            if parents is None:
                parents = ops.arange(rows, dtype="int32")
            origins = [_write_column(origins[0], index, parents)]
        return _Carried(
            tokens,
            scores,
            finished | ops.equal(tokens, end_token) | (lengths >= limits),
            lengths,
            coverage,
            state,
            _write_column(history, index, tokens),
            origins,
            attention,
        )

    start = ops.full((rows,), start_token, dtype="int32")
    # The first turn is taken before the loop; it shows how wide all is.
    first = turn(
        0,
        _Carried(
            tokens=start,
            scores=strategy.initial_scores(batch_size),
            finished=ops.zeros((rows,), dtype="bool"),
            lengths=ops.zeros((rows,), dtype="int32"),
            coverage=[],
            state=state,
            history=ops.zeros((rows, max_length), dtype="int32"),
            origins=[],
            attention=[],
        ),
    )

    def unpack(flat):
        return tree.pack_sequence_as(first, list(flat))

    def is_unfinished(index, *flat):
        carried = unpack(flat)
        settled = strategy.is_settled(
            _hypotheses(carried), carried.finished, limits
        )
        return (index < max_length) & ~ops.all(settled)

    def loop_body(index, *flat):
        return index + 1, *tree.flatten(turn(index, unpack(flat)))

    _, *flat = ops.while_loop(
        is_unfinished,
        loop_body,
        (ops.ones((), dtype="int32"), *tree.flatten(first)),
    )
    return _collect(unpack(flat), batch_size, strategy, padding_token)


def _hypotheses(carried):
    return Hypotheses(carried.scores, carried.lengths, *carried.coverage)


def _start_coverage(strategy, attention_scores, memory_mask):
    """Before any step: nothing of what is real, and all of the padding."""
    if attention_scores is None:
        raise ValueError(
            f"`decode` received strategy={strategy!r}, which minds coverage, "
            "and a step that returns no attention scores. Expected attention "
            "scores `(rows, memory_length)` as the third result of the step, "
            "or no coverage_penalty."
        )
    coverage = ops.zeros_like(attention_scores, dtype="float32")
    if memory_mask is None:
        return coverage
    is_padding = ops.repeat(
        ~ops.cast(memory_mask, "bool"), strategy.num_beams, axis=0
    )
    return coverage + ops.cast(is_padding, "float32")


def _cover(coverage, attention_scores, finished):
    """Adds what one more token looked at, where there is one."""
    added = coverage + ops.cast(attention_scores, "float32")
    return ops.where(finished[:, None], coverage, added)


def _check_arguments(max_length, start_token, end_token):
    if isinstance(max_length, int) and max_length < 1:
        raise ValueError(
            f"`decode` received max_length={max_length}. Expected at least 1 "
            "token."
        )
    if isinstance(start_token, int) and start_token == end_token:
        raise ValueError(
            f"`decode` received {start_token} as start_token and as "
            "end_token. Expected two different ids."
        )


def _check_limits(shape, batch_size):
    batch_size = batch_size if isinstance(batch_size, int) else None
    if not shapes_agree(shape, (batch_size,)):
        raise ValueError(
            f"`decode` received length_limits of shape {shape} and "
            f"batch_size={batch_size}. Expected a limit for each example, "
            "`(batch,)`; one that holds for all is max_length."
        )


def _check_padding(padding_token, vocabulary_size):
    if isinstance(padding_token, int) and not (
        0 <= padding_token < vocabulary_size
    ):
        raise ValueError(
            f"`decode` received padding_token={padding_token}. Expected an id "
            f"from 0 to {vocabulary_size - 1}, since the step gives "
            f"{vocabulary_size} logits; what follows the end can be replaced "
            "with the help of `lengths`."
        )


def _write_step(past, index, part):
    """Puts one step into what has steps first: a single slice."""
    index = ops.reshape(ops.cast(index, "int32"), (1, 1))
    return ops.scatter_update(past, index, ops.expand_dims(part, 0))


def _write_column(past, index, part):
    """Puts one step into what has rows first, which is fast to reorder."""
    columns = ops.arange(ops.shape(past)[1], dtype="int32")
    is_now = ops.equal(columns, ops.cast(index, "int32"))
    return ops.where(is_now, ops.expand_dims(part, 1), past)


def _collect(carried, batch_size, strategy, padding_token):
    """Gives the results the axes batch, num_return, and what follows."""
    grouped = (batch_size, strategy.num_beams)

    def best(tensor):  # rows ... -> batch num_return ...
        shape = (*grouped, *ops.shape(tensor)[1:])
        return ops.reshape(tensor, shape)[:, : strategy.num_return]

    is_vacant = strategy.is_vacant(carried.scores)
    scores = strategy.final_scores(_hypotheses(carried))
    scores = best(ops.where(is_vacant, -float("inf"), scores))
    lengths = best(ops.where(is_vacant, 0, carried.lengths))
    tokens = best(carried.history)
    positions = ops.arange(ops.shape(tokens)[-1], dtype="int32")
    # Where the loop stopped early, no turn wrote the padding.
    is_token = positions < ops.expand_dims(lengths, -1)
    attention_scores = None
    if carried.attention:
        attention_scores = _follow(
            carried.attention[0], best(carried.origins[0]), is_token
        )
    return DecodingResult(
        ops.where(is_token, tokens, padding_token),
        lengths,
        scores,
        attention_scores,
    )


def _follow(attention, origins, is_token):
    """Finds the attention scores with which every token was chosen.

    To follow the hypotheses here, once, is cheaper than to put all attention
    scores in their order again at every step.

    Args:
        attention: `(max_length, rows, memory_length)`.
        origins: int32, `(batch, num_return, max_length)`.
        is_token: Boolean, of the same shape.
    """
    max_length, rows, memory_length = ops.shape(attention)
    steps = ops.arange(max_length, dtype="int32")
    attention = ops.reshape(attention, (-1, memory_length))
    found = ops.take(attention, steps * rows + origins, axis=0)
    zero = ops.zeros((), dtype=found.dtype)
    # Nothing is looked at for a token that is not there.
    return ops.where(is_token[..., None], found, zero)
