"""What is measured of a trained translator."""

import sys

import evaluation
import gold_alignments
import numpy as np
import tensorflow as tf
from claims.corpus import BATCH_SIZE
from claims.corpus import UNKNOWN
from claims.corpus import pad
from claims.corpus import tokens_of


LENGTHS = {
    "1-5": range(6),
    "6-10": range(6, 11),
    "11-15": range(11, 16),
    "16-20": range(16, 21),
    "21-30": range(21, 31),
    "31+": range(31, sys.maxsize),
}
LONGER = {
    "31-40": range(31, 41),
    "41-50": range(41, 51),
    "51+": range(51, sys.maxsize),
}
TOKENS = tf.TensorSpec([None, None], tf.int32)


def measure(model, corpus, gold):
    """Returns all figures of a translator.

    Args:
        model: A `Translator`.
        corpus: A `Corpus`.
        gold: Names and sentences with word alignments, of `read_gold`.
    """
    sources, references = evaluation.group(corpus.test)
    translate = make_translate(model, corpus)
    translations = evaluation.translate_all(translate, sources)
    # Short and long sentences in one batch: much of it is padding.
    order = np.random.default_rng(0).permutation(len(sources))
    shuffled = evaluation.translate_all(translate, sources, order=order)
    return {
        "bleu": evaluation.bleu(translations, references),
        "shuffled_bleu": evaluation.bleu(shuffled, references),
        "shuffled_changes": float(
            np.mean(np.array(translations) != np.array(shuffled))
        ),
        "perplexity": perplexity(model, corpus),
        "bleu_by_length": bleu_by_length(
            translate, sources, translations, references, corpus
        ),
        "bleu_of_longer": bleu_of_longer(translate, corpus),
        "alignment_error_rate": alignment_error_rates(model, corpus, gold),
    }


def make_translate(model, corpus):
    """Returns a function of strings, as `translate_all` takes it."""
    search = tf.function(model.translate, input_signature=[TOKENS])

    def translate(sentences):
        strings = [sentence.decode() for sentence in sentences.numpy()]
        source = pad(corpus.spanish.encode(strings, add_eos=True))
        rows = search(source).numpy().tolist()
        words = [[token for token in row if token > UNKNOWN] for row in rows]
        english = corpus.english.decode(words)
        return {"translations": [line.encode() for line in english]}

    return translate


def perplexity(model, corpus):
    """Returns e to the mean cross-entropy of a piece, the end included."""
    score = tf.function(
        model.log_probabilities, input_signature=[TOKENS, TOKENS]
    )
    sources, targets = tokens_of(corpus, sorted(corpus.test, key=pair_length))
    total = 0.0
    for start in range(0, len(sources), BATCH_SIZE):
        rows = slice(start, start + BATCH_SIZE)
        total += np.sum(score(pad(sources[rows]), pad(targets[rows])))
    return float(np.exp(-total / sum(len(row) - 1 for row in targets)))


def pair_length(pair):
    return len(pair[0])


def bleu_by_length(translate, sources, translations, references, corpus):
    """Lists sentences and BLEU for each length of the source, in words.

    Sources are those of the test part and those joined from it.
    """
    joined_sources, joined_references = evaluation.group(corpus.joined)
    joined = evaluation.translate_all(translate, joined_sources)
    rows = evaluation.bleu_by_length(
        sources + joined_sources,
        translations + joined,
        references + joined_references,
        LENGTHS,
    )
    return as_entries(rows)


def bleu_of_longer(translate, corpus):
    """The same for sources longer than most that are trained on."""
    sources, references = evaluation.group(corpus.longer)
    translations = evaluation.translate_all(translate, sources)
    return as_entries(
        evaluation.bleu_by_length(sources, translations, references, LONGER)
    )


def as_entries(rows):
    return [
        {"words": label, "count": count, "bleu": bleu}
        for label, count, bleu in rows
    ]


def alignment_error_rates(model, corpus, gold):
    if model.row.attention == "none":
        return {}
    align_tokens = tf.function(model.align, input_signature=[TOKENS, TOKENS])

    def align(sources, targets):
        strings = (
            [line.decode() for line in part.numpy()]
            for part in (sources, targets)
        )
        source, target = map(
            pad, tokens_of(corpus, list(zip(*strings, strict=True)))
        )
        return {
            "attention_scores": align_tokens(source, target),
            "source_pieces": pieces_of(corpus.spanish, source),
            "target_pieces": pieces_of(corpus.english, target[:, 1:]),
        }

    return {
        name: gold_alignments.alignment_errors(align, sentences)[0]
        for name, sentences in gold.items()
    }


def pieces_of(processor, tokens):
    return np.array([processor.id_to_piece(row) for row in tokens.tolist()])
