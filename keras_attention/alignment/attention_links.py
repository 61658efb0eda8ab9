"""Which word goes with which, from attention."""

from collections.abc import Sequence

from keras_attention.alignment.attention_over_words import SENTENCE_ENDS
from keras_attention.alignment.fitting_scores import fitting_scores


def attention_links(
    attention_scores, source_words: Sequence[str], target_words: Sequence[str]
) -> set[tuple[int, int]]:
    r"""Links each target word to the source word it has looked at most.

    $$A = \{(i, j) : j = \mathrm{argmax}_{j'} \, \alpha_{ij'}\}$$

    Source: Luong, Pham and Manning (2015), section 5.4,
    https://arxiv.org/abs/1508.04025.
    Differs from the paper: the ends of a sentence are no words and take no
    part.

    Args:
        attention_scores: Probability, `(target_length, source_length)`, of
            one sentence. Rows and columns beyond the words given are padding
            and left out.
        source_words: Sequence of strings; `"<s>"` and `"</s>"` are never
            linked, even where they have the greatest score.
        target_words: Likewise.

    Returns:
        A set of `(target_index, source_index)` pairs of integers, as
        `alignment_error_rate` takes it: one for each target word, but none
        for one that has looked at no source word at all. Of equal scores the
        first counts.

    Raises:
        ValueError: If there are more words than rows or columns.

    Example:
        ```python
        links = keras_attention.attention_links(
            [[0.8, 0.1, 0.1], [0.1, 0.3, 0.6], [0.0, 0.2, 0.8]],
            source_words=["la", "casa", "</s>"],
            target_words=["the", "house", "</s>"],
        )
        print(sorted(links))  # [(0, 0), (1, 1)]
        ```
    """
    scores = fitting_scores(
        "attention_links", attention_scores, source_words, target_words
    )
    sources = _words_only(source_words)
    links = set()
    for target in _words_only(target_words):
        row = scores[target]
        source = max(sources, key=row.__getitem__, default=None)
        if source is not None and row[source] > 0:
            links.add((target, source))
    return links


def _words_only(words):
    return [i for i, word in enumerate(words) if word not in SENTENCE_ENDS]
