"""The sentences of a row: pieces, joined sentences, and batches."""

import io
from typing import NamedTuple

import keras
import numpy as np
import sentencepiece

from keras_attention.datasets import spanish_english


PADDING, START, END, UNKNOWN = range(4)
VOCABULARY_SIZES = {"phrases": 1000, "tatoeba": 4000}
BATCH_SIZE = 64


class Corpus(NamedTuple):
    """Pairs of strings, and what splits each language into pieces."""

    train: list[tuple[str, str]]
    test: list[tuple[str, str]]
    joined: list[tuple[str, str]]  # 2, 3 and 4 pairs of the test part
    longer: list[tuple[str, str]]  # 5 to 8 of them, for "tatoeba" alone
    spanish: sentencepiece.SentencePieceProcessor
    english: sentencepiece.SentencePieceProcessor


def load_corpus(name, data, folder, most_joined):
    """Loads a corpus; its pieces are learned once and kept in a folder.

    Args:
        name: "tatoeba" or "phrases".
        data: The Tatoeba zip, text or folder, or None.
        folder: Where the pieces are kept.
        most_joined: How many pairs in a row the longest of "tatoeba" are.
    """
    train, _, test = spanish_english.load_data(name, path=data)
    sides = zip(("spanish", "english"), zip(*train, strict=True), strict=True)
    processors = {
        language: load_pieces(
            sentences, VOCABULARY_SIZES[name], folder / f"{name}.{language}"
        )
        for language, sentences in sides
    }
    joined = join_each(test, range(2, 5), 500)
    longer = []
    if name == "tatoeba":  # for the question how length matters
        train = mix(train, most_joined)
        longer = join_each(test, range(5, 9), 250)
    return Corpus(train, test, joined, longer, **processors)


def load_pieces(sentences, vocabulary_size, path):
    if not path.exists():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            vocab_size=vocabulary_size,
            hard_vocab_limit=False,  # a small corpus may not have as many
            character_coverage=1.0,
            normalization_rule_name="identity",
            pad_id=PADDING,
            bos_id=START,
            eos_id=END,
            unk_id=UNKNOWN,
            minloglevel=2,
        )
        path.with_suffix(".part").write_bytes(model.getvalue())
        path.with_suffix(".part").replace(path)
    return sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())


def join(pairs, counts):
    """Joins as many pairs as each count says, drawn without replacement."""
    order = iter(np.random.default_rng(0).permutation(len(pairs)))
    groups = [
        [pairs[row] for _, row in zip(range(count), order, strict=False)]
        for count in counts
    ]
    return [
        tuple(" ".join(side) for side in zip(*group, strict=True))
        for group in groups
        if group
    ]


def join_each(pairs, counts, number):
    """Joins so many times as many pairs as each count says."""
    return [pair for count in counts for pair in join(pairs, [count] * number)]


def mix(pairs, most_joined):
    """Joins some pairs of a training part: 3 of 10 sources are longer.

    A corpus of single sentences teaches that all ends with the first full
    stop, whatever a decoder could look at beyond it.
    """
    shares = [0.7] + [0.3 / (most_joined - 1)] * (most_joined - 1)
    counts = np.random.default_rng(0).choice(
        np.arange(1, most_joined + 1), size=len(pairs), p=shares
    )
    return join(pairs, counts)


def tokens_of(corpus, pairs):
    """Returns lists of ids; targets begin and end, sources end."""
    sources, targets = zip(*pairs, strict=True)
    return (
        corpus.spanish.encode(list(sources), add_eos=True),
        corpus.english.encode(list(targets), add_bos=True, add_eos=True),
    )


def pad(rows):
    return keras.utils.pad_sequences(rows, padding="post", value=PADDING)


def batches(sources, targets, seed):
    """Yields inputs and outputs of training steps, without end.

    Sentences of similar length share a batch, the order is drawn anew each
    time that the corpus has been gone through.
    """
    random = np.random.default_rng(seed)
    lengths = [[len(row) for row in rows] for rows in (sources, targets)]
    while True:
        order = np.lexsort((random.random(len(sources)), *lengths))
        starts = np.arange(
            random.integers(BATCH_SIZE),
            len(order) - BATCH_SIZE + 1,
            BATCH_SIZE,
        )
        for start in random.permutation(starts):
            rows = order[start : start + BATCH_SIZE]
            source, target = (
                pad([table[row] for row in rows])
                for table in (sources, targets)
            )  # batch source_length, batch target_length
            yield (source, target[:, :-1]), target[:, 1:]
