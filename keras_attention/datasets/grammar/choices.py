"""Which of all possible sentences to make."""

import math

from keras_attention.datasets.grammar.subjects import ME


MOODS = ("statement", "negative", "question")


def spread(count, *tables):
    """Takes `count` combinations, spread evenly over the whole product.

    Steps of about the golden ratio of the product, coprime to it, so that no
    combination comes twice and each row of each table gets its share.

    Args:
        count: How many to take; all, if there are fewer.
        *tables: Iterables of rows.
    """
    tables = [tuple(table) for table in tables]
    total = math.prod(map(len, tables))
    step = total * 618034 // 1000000
    while math.gcd(step, total) != 1:
        step += 1
    for i in range(min(count, total)):
        index = i * step % total
        chosen = []
        for table in tables:
            index, row = divmod(index, len(table))
            chosen.append(table[row])
        yield chosen


def asks_oneself(subject, tense, mood):
    """Whether it is right by grammar only, as "Do I buy it?"."""
    usual = ("can", "must", "future", "going")
    return mood == "question" and subject is ME and tense not in usual


def denies_some(mood, thing):
    """Whether it is right by grammar only, as "I do not buy some shirts"."""
    return mood == "negative" and thing.piece.english[:1] == ("some",)
