"""Attention scores cut to the tokens that they belong to."""

import numpy as np


def fitting_scores(owner, attention_scores, source_tokens, target_tokens):
    """Cuts away the rows and columns beyond the tokens: padding.

    Args:
        owner: Name of the function, for the error message.
        attention_scores: Float, `(target_length, source_length)`.
        source_tokens: Sequence, one for each column that is kept.
        target_tokens: Sequence, one for each row that is kept.

    Returns:
        A float32 NumPy array.

    Raises:
        ValueError: If there are more tokens than rows or columns.
    """
    scores = np.asarray(attention_scores, dtype="float32")
    rows, columns = len(target_tokens), len(source_tokens)
    fits = scores.ndim == 2 and rows <= scores.shape[0]
    if not fits or columns > scores.shape[1]:
        raise ValueError(
            f"`{owner}` received attention scores of shape "
            f"{scores.shape} for {rows} target tokens and {columns} source "
            "tokens. Expected (target_length, source_length): one row for "
            "each target token, one column for each source token. Of a "
            "batch, pass one sentence at a time, for example "
            "attention_scores[0]."
        )
    return scores[:rows, :columns]
