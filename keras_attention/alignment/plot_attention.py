"""The picture of an alignment."""

from collections.abc import Sequence

from keras_attention.alignment.fitting_scores import fitting_scores


def plot_attention(
    attention_scores,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    ax=None,
):
    """Draws attention scores, a target token a row, a source token a column.

    Needs matplotlib, which is imported only here.

    Args:
        attention_scores: Probability, `(target_length, source_length)`.
            Rows and columns beyond the tokens given (padding) are left out.
        source_tokens: Sequence of strings, written above the columns.
        target_tokens: Sequence of strings, written beside the rows.
        ax: matplotlib Axes to draw on; a new figure if None.

    Returns:
        The matplotlib Axes.

    Raises:
        ValueError: If there are more tokens than rows or columns.

    Example:
        ```python
        ax = keras_attention.plot_attention(
            [[0.9, 0.1], [0.2, 0.8]], ["la", "casa"], ["the", "house"]
        )
        rows = [label.get_text() for label in ax.get_yticklabels()]
        print(rows)  # ['the', 'house']
        ax.figure.savefig("attention.png")
        ```
    """
    import matplotlib.pyplot as plt

    scores = fitting_scores(
        "plot_attention", attention_scores, source_tokens, target_tokens
    )
    rows, columns = scores.shape
    if ax is None:
        size = (1.5 + 0.45 * columns, 1.2 + 0.4 * rows)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    image = ax.imshow(scores, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(
        range(columns),
        source_tokens,
        rotation=60,
        ha="left",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(rows), target_tokens)
    ax.xaxis.tick_top()
    ax.figure.colorbar(image, ax=ax, label="attention score (probability)")
    return ax
