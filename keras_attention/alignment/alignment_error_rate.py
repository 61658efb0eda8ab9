"""How far links between words are from those of people."""

import operator


def alignment_error_rate(
    links: list[set[tuple[int, int]]],
    sure: list[set[tuple[int, int]]],
    possible: list[set[tuple[int, int]]] | None = None,
) -> float:
    r"""Compares links between words with links made by people.

    $$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$

    Source: Och and Ney (2003), https://aclanthology.org/J03-1002. Their $A$
    is our `links`, their $S$ `sure`, their $P$ `possible`; each is counted
    over all sentences.

    Args:
        links: A list with one set of links for each sentence; a link is a
            pair of positions, `(target_index, source_index)`, as
            `attention_links` returns it. Links that are there twice count
            once.
        sure: Likewise, the links that must be there.
        possible: Likewise, the links that may be there; sure links need not
            be repeated. None if there are no others.

    Returns:
        Float from 0 (every sure link is there, and none that is not
        possible) to 1. It is 0 where there are neither links nor sure links.

    Raises:
        ValueError: If the numbers of sentences differ, or what is given is
            no list of sets of pairs.

    Example:
        ```python
        links = [{(0, 0), (1, 2), (2, 2)}]
        sure, possible = [{(0, 0), (1, 2)}], [{(2, 1)}]
        rate = keras_attention.alignment_error_rate(links, sure, possible)
        print(rate)  # 0.2
        ```
    """
    links = _as_sets("links", links)
    sure = _as_sets("sure", sure)
    possible = sure if possible is None else _as_sets("possible", possible)
    sizes = len(links), len(sure), len(possible)
    if len(set(sizes)) > 1:
        raise ValueError(
            "`alignment_error_rate` received links of {} sentences, sure "
            "links of {} and possible links of {}. Expected as many of each: "
            "one set for each sentence, an empty one where there is no "
            "link.".format(*sizes)
        )
    right = 0
    for made, must, may in zip(links, sure, possible, strict=True):
        right += len(made & must) + len(made & (must | may))
    total = sum(map(len, links)) + sum(map(len, sure))
    return (total - right) / total if total else 0.0


def _as_sets(name, sentences):
    return [
        _as_set(f"{name}[{number}]", sentence)
        for number, sentence in enumerate(sentences)
    ]


def _as_set(name, sentence):
    try:
        return {tuple(map(operator.index, (i, j))) for i, j in sentence}
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`alignment_error_rate` received {name}={sentence!r}. Expected "
            "the links of one sentence: pairs of integers, (target_index, "
            "source_index). A single sentence is passed as a list of one, "
            "for example links=[{(0, 0), (1, 2)}]."
        ) from error
