"""The decoding loop, for any model that can take one step."""

from typing import Any
from typing import NamedTuple

from keras import ops
from keras import tree

from keras_attention.decoding.strategy import check_strategy
from keras_attention.masking import MASKED_SCORE


class DecodingResult(NamedTuple):
    """Decoded sequences, best first.

    Attributes:
        tokens: int32, `(batch, num_return, max_length)`; ids, with the
            padding token after the end token.
        lengths: int32, `(batch, num_return)`; in tokens, the end token
            counted where there is one.
        scores: float32, `(batch, num_return)`; log-probability (natural
            log) of the sequence, its end token included.
        attention_scores: Float, `(batch, num_return, max_length,
            memory_length)`; probability, 0 after the end; or None if the
            step gave none.
    """

    tokens: Any
    lengths: Any
    scores: Any
    attention_scores: Any


class _Hypotheses(NamedTuple):
    """All that the loop carries; rows first, but for the history."""

    tokens: Any  # rows
    scores: Any  # rows
    finished: Any  # rows
    lengths: Any  # rows
    state: Any  # any structure of rows ...
    history: Any  # tokens max_length rows; attention max_length rows memory


def decode(
    step,
    state,
    *,
    batch_size,
    start_token,
    end_token,
    max_length,
    strategy,
    padding_token=0,
):
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
    rows = batch_size * strategy.num_beams

    def turn(index, hypotheses):
        tokens, scores, finished, lengths, state, history = hypotheses
        logits, state, attention_scores = step(tokens, state)
        log_probabilities = ops.log_softmax(ops.cast(logits, "float32"))
        log_probabilities = _freeze(log_probabilities, finished, padding_token)
        tokens, scores, parents = strategy.select(log_probabilities, scores)
        made = [tokens]
        if attention_scores is not None:
            # Nothing is looked at for a token that is not there.
            zero = ops.zeros((), dtype=attention_scores.dtype)
            made.append(ops.where(finished[:, None], zero, attention_scores))
        if history is None:
            history = [_start_history(part, max_length) for part in made]
        if parents is not None:
            finished, lengths, state, made[1:], history = _follow(
                parents, (finished, lengths, state, made[1:], history)
            )
        history = [
            _write(past, index, part)
            for past, part in zip(history, made, strict=True)
        ]
        return _Hypotheses(
            tokens,
            scores,
            finished | ops.equal(tokens, end_token),
            lengths + ops.cast(~finished, "int32"),
            state,
            history,
        )

    # The first turn is taken before the loop; it shows how wide all is.
    first = turn(
        0,
        _Hypotheses(
            tokens=ops.full((rows,), start_token, dtype="int32"),
            scores=ops.zeros((rows,), dtype="float32"),
            finished=ops.zeros((rows,), dtype="bool"),
            lengths=ops.zeros((rows,), dtype="int32"),
            state=state,
            history=None,
        ),
    )

    def unpack(flat):
        return tree.pack_sequence_as(first, list(flat))

    def is_unfinished(index, *flat):
        return (index < max_length) & ~ops.all(unpack(flat).finished)

    def loop_body(index, *flat):
        return index + 1, *tree.flatten(turn(index, unpack(flat)))

    _, *flat = ops.while_loop(
        is_unfinished,
        loop_body,
        (ops.ones((), dtype="int32"), *tree.flatten(first)),
    )
    return _collect(unpack(flat), batch_size, strategy, padding_token)


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


def _freeze(log_probabilities, finished, padding_token):
    """Leaves a finished hypothesis padding as its only choice, at no cost."""
    vocabulary_size = log_probabilities.shape[-1]
    _check_padding(padding_token, vocabulary_size)
    padding = ops.arange(vocabulary_size) == padding_token
    frozen = ops.cast(
        ops.where(padding, 0.0, MASKED_SCORE), log_probabilities.dtype
    )
    return ops.where(finished[:, None], frozen[None, :], log_probabilities)


def _follow(parents, structure):
    """Lets every hypothesis take over what belongs to its parent.

    Histories have the rows on their second axis, all else on the first.
    """
    *others, histories = structure
    others = tree.map_structure(
        lambda tensor: ops.take(tensor, parents, axis=0), others
    )
    histories = [ops.take(past, parents, axis=1) for past in histories]
    return *others, histories


def _start_history(part, max_length):
    return ops.zeros((max_length, *ops.shape(part)), dtype=part.dtype)


def _write(past, index, part):
    """Puts one step into a history; time first makes that a single slice."""
    index = ops.reshape(ops.cast(index, "int32"), (1, 1))
    return ops.scatter_update(past, index, ops.expand_dims(part, 0))


def _collect(hypotheses, batch_size, strategy, padding_token):
    """Gives the results the axes batch, num_return, and what follows."""
    grouped = (batch_size, strategy.num_beams)

    def best(tensor):  # rows ... -> batch num_return ...
        shape = (*grouped, *ops.shape(tensor)[1:])
        return ops.reshape(tensor, shape)[:, : strategy.num_return]

    tokens, *attention_scores = [
        best(ops.swapaxes(past, 0, 1)) for past in hypotheses.history
    ]
    lengths = best(hypotheses.lengths)
    positions = ops.arange(ops.shape(tokens)[-1], dtype="int32")
    # Where the loop stopped early, no turn wrote the padding.
    is_token = positions < ops.expand_dims(lengths, -1)
    return DecodingResult(
        ops.where(is_token, tokens, padding_token),
        lengths,
        best(hypotheses.scores),
        attention_scores[0] if attention_scores else None,
    )
