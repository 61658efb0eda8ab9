"""Measures translations, and draws what was measured.

BLEU and chrF are those of sacreBLEU, on whole sentences, cased and with
punctuation. A source may have several right translations; a translation is
compared with all of them.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers what a model consists of
from gold_alignments import alignment_errors
from matplotlib.figure import Figure
from sacrebleu.metrics import BLEU
from sacrebleu.metrics import CHRF
from translate import BATCH_SIZE
from translate import BATCHES_AT_ONCE
from translate import batches
from translate import longest_first
from translate import use_one_core_for_each_batch

from keras_attention.datasets import spanish_english


SIGNATURES = "serving_default", "beam_search", "align", "count_pieces"
COLOR = "tab:blue"
WORDS = {
    "up to 5": range(6),
    "6 to 10": range(6, 11),
    "11 to 15": range(11, 16),
    "above 15": range(16, sys.maxsize),
}


def group(pairs):
    """Finds the distinct sources, and for each its distinct references."""
    grouped = {}
    for source, target in pairs:
        references = grouped.setdefault(source, [])
        if target not in references:
            references.append(target)
    return list(grouped), list(grouped.values())


def translate_all(
    translate, sentences, batch_size=BATCH_SIZE, order=None, map_batches=map
):
    """Translates sentences of similar length together; keeps their order.

    Args:
        translate: A function of a batch of strings.
        sentences: Strings.
        batch_size: Integer.
        order: Positions of sentences, the order to make batches in; if None
            those of the most characters come first.
        map_batches: Works as `map`, which takes one batch after the other;
            that of a pool takes several at a time.
    """
    if order is None:
        order = longest_first([len(sentence) for sentence in sentences])
    every_rows = batches(order, batch_size)

    def translate_rows(rows):
        batch = tf.constant([sentences[row] for row in rows])
        return np.asarray(translate(batch)["translations"])

    translations = [""] * len(sentences)
    results = map_batches(translate_rows, every_rows)
    for rows, found in zip(every_rows, results, strict=True):
        for row, result in zip(rows, found, strict=True):
            translations[row] = result.decode("utf-8", "replace")
    return translations


def streams(references):
    """Lists first references, second ones, ...; None where there is none."""
    most = max(map(len, references))
    return [
        [row[i] if i < len(row) else None for row in references]
        for i in range(most)
    ]


def measure(translations, references):
    """Returns the score and the signature of each metric."""
    return {
        name: (
            metric.corpus_score(translations, streams(references)).score,
            str(metric.get_signature()),
        )
        for name, metric in [("BLEU", BLEU()), ("chrF", CHRF())]
    }


def bleu(translations, references):
    return BLEU().corpus_score(translations, streams(references)).score


def bleu_by_length(sources, translations, references, words=WORDS):
    """Lists a label, a number of sentences and their BLEU for each length."""
    rows = []
    for label, lengths in words.items():
        chosen = [
            (translation, known)
            for source, translation, known in zip(
                sources, translations, references, strict=True
            )
            if len(source.split()) in lengths
        ]
        if chosen:
            rows.append((label, len(chosen), bleu(*zip(*chosen, strict=True))))
    return rows


def start_axes(ax, **labels):
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)


def plot_history(history, path):
    """Draws loss and validation BLEU over the steps of the training."""
    figure = Figure(figsize=(7, 5), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    losses = [(at["step"], at["loss"]) for at in history if "loss" in at]
    scores = [(at["step"], at["bleu"]) for at in history if "bleu" in at]
    start_axes(upper, ylabel="training loss")
    start_axes(lower, xlabel="step", ylabel="validation BLEU")
    lower.xaxis.set_major_formatter("{x:,.0f}")
    lower.xaxis.get_major_locator().set_params(integer=True)
    upper.plot(*np.reshape(losses, (-1, 2)).T, color=COLOR)
    lower.plot(*np.reshape(scores, (-1, 2)).T, color=COLOR, marker=".")
    if scores:
        step, score = max(scores, key=lambda point: point[1])  # its first
        lower.plot(step, score, "o", color=COLOR, label=f"best: {score:.1f}")
        lower.legend(frameon=False)
    figure.savefig(path, dpi=150)


def plot_bleu_by_length(rows, path):
    """Draws the rows of `bleu_by_length` as bars."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    start_axes(ax, xlabel="words in the source", ylabel="BLEU")
    labels = [f"{label}\n({count:,} sentences)" for label, count, _ in rows]
    scores = [score for *_, score in rows]
    bars = ax.bar(labels, scores, width=0.6, color=COLOR)
    ax.bar_label(bars, fmt="%.1f", padding=2)
    ax.margins(y=0.1)
    figure.savefig(path, dpi=150)


def read_settings(folder):
    """Reads the settings of a run, all of them strings."""
    try:
        if (folder / "results.json").exists():
            return json.loads((folder / "settings.json").read_text())
    except (OSError, ValueError):
        pass
    raise SystemExit(
        f"{folder} is no finished run. Expected a folder that "
        "03_spanish_to_english.py wrote (its --output). An unfinished run "
        "goes on when it is started again in the same way."
    )


def load_test_part(folder, data):
    """Groups the pairs that the training of a run has not seen."""
    settings = read_settings(folder)
    if data is None and settings["data"] != "None":
        data = settings["data"]
    try:
        *_, test = spanish_english.load_data(settings["corpus"], path=data)
    except (OSError, ValueError) as error:
        raise SystemExit(f"The corpus could not be loaded. {error}") from error
    return group(test)


def load_model(folder):
    """Loads greedy search, beam search, alignment and a counter of pieces."""
    path = folder / "saved_model"
    try:
        signatures = tf.saved_model.load(str(path)).signatures
        return [signatures[name] for name in SIGNATURES]
    except (OSError, ValueError, LookupError) as error:
        raise SystemExit(
            f"The model {path} is damaged or from an older version: {error}. "
            "Train again, with --overwrite."
        ) from error


def translate_timed(translate, sources, order, map_batches=map):
    """Translates; returns the number of sentences per second, too."""

    def run(order):
        return translate_all(
            translate, sources, order=order, map_batches=map_batches
        )

    run(order[: 4 * BATCH_SIZE])  # the first are slow
    started = time.perf_counter()
    translations = run(order)
    return translations, len(sources) / (time.perf_counter() - started)


def report_translations(translate, sources, references, order):
    """Prints speed and scores; returns the scores by length."""
    with ThreadPoolExecutor(BATCHES_AT_ONCE) as pool:
        translations, speed = translate_timed(
            translate, sources, order, pool.map
        )
    for name, (score, signature) in measure(translations, references).items():
        print(f"{name:>15} {score:6.2f}  {signature}")
    rows = bleu_by_length(sources, translations, references)
    for label, count, score in rows:
        print(f"{label:>9} words {score:6.2f}  BLEU of {count:,} sentences")
    print(
        f"    sentences/s {speed:6,.0f}  in batches of {BATCH_SIZE}, "
        f"{BATCHES_AT_ONCE} at once"
    )
    return rows


def report_alignment(align, path):
    try:
        rate, count = alignment_errors(align, path)
    except OSError as error:
        raise SystemExit(
            f"--align {path}: {error.strerror}. Expected a file with a JSON "
            'object a line, or "phrases", the built-in corpus.'
        ) from error
    except ValueError as error:
        raise SystemExit(str(error)) from error
    print(f"alignment error rate {rate:.3f}, {count:,} sentences of {path}")


def draw(folder, rows):
    history, bars = folder / "history.jsonl", folder / "bleu_by_length.png"
    try:
        plot_bleu_by_length(rows, bars)
        print(f"BLEU by length: {bars}")
        if history.exists():
            lines = history.read_text().splitlines()
            curves = history.with_suffix(".png")
            plot_history([json.loads(line) for line in lines], curves)
            print(f"loss and validation BLEU: {curves}")
    except OSError as error:
        raise SystemExit(
            f"The pictures could not be written to {folder}: {error.strerror}"
        ) from error


def report(folder, data=None, align=None):
    """Measures a finished run on the test part of its corpus.

    Args:
        folder: What the tutorial wrote, its --output.
        data: The corpus, where it is not where the training found it.
        align: A file of word alignments, or "phrases", as `read_gold` of
            `gold_alignments.py` takes it.
    """
    use_one_core_for_each_batch()
    folder = Path(folder)
    sources, references = load_test_part(folder, data)
    greedy, beams, aligner, count_pieces = load_model(folder)
    pieces = count_pieces(sentences=tf.constant(sources))["pieces"]
    order = longest_first(pieces)
    if align:
        report_alignment(aligner, align)
    print(f"{len(sources):,} test sentences")
    print("greedy search:")
    report_translations(greedy, sources, references, order)
    print("beam search:")
    draw(folder, report_translations(beams, sources, references, order))
