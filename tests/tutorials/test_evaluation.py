import json
import re
import shutil
import sys

import evaluation
import matplotlib.pyplot as plt
import numpy as np
import pytest
import tensorflow as tf
from processes import SCRIPT
from processes import run
from sacrebleu.metrics import BLEU
from sacrebleu.metrics import CHRF


REFERENCES = [
    ["The red house is old.", "The red house is ancient."],
    ["Where is it?"],
    ["I do not know them.", "I don't know them.", "They are unknown to me."],
]
TRANSLATIONS = [
    "The red house is ancient.",
    "Where is he?",
    "I do not know them well.",
]


def test_pairs_are_grouped_by_source_in_order_without_repetition():
    pairs = [("b", "2"), ("a", "1"), ("b", "3"), ("b", "2"), ("c", "1")]
    assert evaluation.group(pairs) == (
        ["b", "a", "c"],
        [["2", "3"], ["1"], ["1"]],
    )


def reverse(batches):
    """A translator that notes its batches and turns sentences round."""

    def translate(sentences):
        batch = [text.decode() for text in sentences.numpy()]
        batches.append(batch)
        return {"translations": tf.constant([text[::-1] for text in batch])}

    return translate


def test_translations_come_back_in_the_order_of_the_sentences():
    sentences = ["abc", "", "a", "ñandú", "ab", "abcd", "b"]
    batches = []
    translations = evaluation.translate_all(reverse(batches), sentences, 3)
    assert translations == [text[::-1] for text in sentences]
    # Similar lengths share a batch.
    assert batches == [["ñandú", "abcd", "abc"], ["ab", "a", "b"], [""]]


def test_batches_are_taken_in_the_order_and_by_the_map_that_are_given():
    taken, batches = [], []

    def take(function, items):
        taken.extend(map(list, items))
        return map(function, items)

    translations = evaluation.translate_all(
        reverse(batches), ["ab", "cd", "ef", "gh"], 2, [2, 0, 3], take
    )
    assert translations == ["ba", "", "fe", "hg"]  # one was not asked for
    assert taken == [[2, 0], [3]]
    assert batches == [["ef", "ab"], ["gh"]]


def test_the_greatest_lengths_come_first():
    order = evaluation.longest_first([3, 1, 4, 1, 5])
    np.testing.assert_array_equal(order, [4, 2, 0, 1, 3])


def test_sixty_four_sentences_are_translated_at_a_time():
    batches = []
    evaluation.translate_all(reverse(batches), ["a"] * 130)
    assert list(map(len, batches)) == [64, 64, 2]
    assert evaluation.translate_all(reverse(batches), []) == []


def test_bytes_that_are_no_text_do_not_stop_it():
    def translate(sentences):
        return {"translations": tf.constant([b"caf\xe9", b"ok"])}

    assert evaluation.translate_all(translate, ["a", "b"]) == [
        "caf\ufffd",
        "ok",
    ]


def test_scores_are_those_of_sacrebleu_with_all_references():
    streams = [
        ["The red house is old.", "Where is it?", "I do not know them."],
        ["The red house is ancient.", None, "I don't know them."],
        [None, None, "They are unknown to me."],
    ]
    measured = evaluation.measure(TRANSLATIONS, REFERENCES)
    assert list(measured) == ["BLEU", "chrF"]
    for name, metric in [("BLEU", BLEU()), ("chrF", CHRF())]:
        score = metric.corpus_score(TRANSLATIONS, streams).score
        signature = str(metric.get_signature())
        assert measured[name] == (score, signature)
        assert "nrefs:var" in signature
    assert evaluation.bleu(TRANSLATIONS, REFERENCES) == measured["BLEU"][0]


def test_bleu_is_the_one_worked_out_by_hand():
    """Of 7 words 6 are right, of 6 pairs 5, of 5 triples 4, of 4 fours 3."""
    translation, reference = "I do not know them well", "I do not know them now"
    score = evaluation.bleu([translation + "."], [[reference + "."]])
    expected = 100 * (6 / 7 * 4 / 6 * 3 / 5 * 2 / 4) ** (1 / 4)
    assert score == pytest.approx(expected)


def test_any_of_the_references_will_do():
    second = [row[-1] for row in REFERENCES]
    assert evaluation.bleu(second, REFERENCES) == pytest.approx(100)
    assert evaluation.bleu(second, [row[:1] for row in REFERENCES]) < 99


def words(count):
    return " ".join(["casa"] * count)


def test_lengths_are_counted_in_words_and_every_length_has_its_place():
    counts = [1, 5, 6, 10, 11, 15, 16, 40]
    sources = [words(count) for count in counts]
    references = [[f"This is sentence number {count}."] for count in counts]
    translations = [row[0] for row in references]
    rows = evaluation.bleu_by_length(sources, translations, references)
    assert [row[:2] for row in rows] == [
        ("up to 5", 2),
        ("6 to 10", 2),
        ("11 to 15", 2),
        ("above 15", 2),
    ]
    assert [row[2] for row in rows] == pytest.approx([100] * 4)


def test_length_without_sentences_is_left_out_and_others_have_their_own():
    sources = [words(3), words(12), words(4)]
    rows = evaluation.bleu_by_length(sources, TRANSLATIONS, REFERENCES)
    short = [TRANSLATIONS[0], TRANSLATIONS[2]], [REFERENCES[0], REFERENCES[2]]
    assert rows == [
        ("up to 5", 2, evaluation.bleu(*short)),
        ("11 to 15", 1, evaluation.bleu(TRANSLATIONS[1:2], REFERENCES[1:2])),
    ]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are drawn."""
    figures = []

    class Figure(evaluation.Figure):
        def savefig(self, path, **options):
            figures.append(self)
            super().savefig(path, **options)

    monkeypatch.setattr(evaluation, "Figure", Figure)
    yield figures
    assert plt.get_fignums() == []  # nothing is left open


def test_history_is_drawn_over_the_steps(drawn, tmp_path):
    history = [
        {"step": 20, "seconds": 3.0, "loss": 5.0},
        {"step": 40, "seconds": 6.0, "loss": 4.0},
        {"step": 40, "seconds": 6.0, "bleu": 11.0},
        {"step": 60, "seconds": 9.0, "loss": 3.5},
        {"step": 60, "seconds": 9.0, "bleu": 37.0},
        {"step": 80, "seconds": 11.0, "bleu": 31.0},
    ]
    evaluation.plot_history(history, tmp_path / "history.png")
    (figure,) = drawn
    upper, lower = figure.axes
    (loss,), (scores, best) = upper.get_lines(), lower.get_lines()
    np.testing.assert_array_equal(
        loss.get_xydata(), [(20, 5), (40, 4), (60, 3.5)]
    )
    np.testing.assert_array_equal(
        scores.get_xydata(), [(40, 11), (60, 37), (80, 31)]
    )
    np.testing.assert_array_equal(best.get_xydata(), [(60, 37)])
    assert best.get_label() == "best: 37.0"
    assert "loss" in upper.get_ylabel()
    assert "BLEU" in lower.get_ylabel()
    png = (tmp_path / "history.png").read_bytes()
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "history", [[], [{"step": 20, "seconds": 1.0, "loss": 5.0}]], ids=len
)
def test_history_without_a_validation_is_drawn(drawn, tmp_path, history):
    evaluation.plot_history(history, tmp_path / "history.png")
    assert (tmp_path / "history.png").exists()
    assert len(drawn[0].axes[1].get_lines()) == 1


def test_bars_have_their_heights_and_names(drawn, tmp_path):
    rows = [("up to 5", 1234, 55.25), ("above 15", 18, 30.0)]
    evaluation.plot_bleu_by_length(rows, tmp_path / "bars.png")
    (ax,) = drawn[0].axes
    assert [bar.get_height() for bar in ax.patches] == [55.25, 30.0]
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names == ["up to 5\n(1,234 sentences)", "above 15\n(18 sentences)"]
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def folder(tmp_path):
    """What a run leaves, but for its model."""
    settings = {"corpus": "phrases", "data": "None"}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    (tmp_path / "results.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "results.json").unlink(),
        lambda folder: (folder / "settings.json").unlink(),
        lambda folder: (folder / "settings.json").write_text('{"corp'),
    ],
    ids=["unfinished", "no settings", "broken settings"],
)
def test_folder_without_a_finished_run_is_refused(folder, damage):
    damage(folder)
    with pytest.raises(SystemExit, match=r"is no finished run. Expected a fol"):
        evaluation.report(folder)


def test_run_without_its_model_is_refused(folder):
    with pytest.raises(SystemExit, match=r"saved_model is damaged or from"):
        evaluation.report(folder)


def test_run_of_an_older_version_is_refused(folder):
    module = tf.Module()
    module.serve = tf.function(
        lambda sentences: {"translations": sentences},
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    path = str(folder / "saved_model")
    tf.saved_model.save(module, path, signatures=module.serve)
    with pytest.raises(SystemExit, match=r"older version: 'beam_search'\. T"):
        evaluation.report(folder)


def test_corpus_is_read_from_where_the_run_had_it_or_from_data(folder):
    settings = {"corpus": "tatoeba", "data": str(folder / "moved.zip")}
    (folder / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(SystemExit, match=r"no file or folder .*moved\.zip"):
        evaluation.report(str(folder))
    with pytest.raises(SystemExit, match=r"no file or folder .*other\.zip"):
        evaluation.report(folder, data=str(folder / "other.zip"))


class Tick:
    """A clock that goes on by what each translation took."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


def test_speed_leaves_the_first_batches_out(monkeypatch):
    clock, batches = Tick(), []
    translate = reverse(batches)

    def slow_at_first(sentences):
        clock.now += 100.0 if not batches else 0.5
        return translate(sentences)

    monkeypatch.setattr(evaluation, "time", clock)
    sentences = ["a"] * 640
    translations, speed = evaluation.translate_timed(
        slow_at_first, sentences, range(640)
    )
    assert translations == sentences
    assert speed == pytest.approx(640 / (10 * 0.5))


def test_missing_alignments_are_refused_without_a_traceback(tmp_path):
    with pytest.raises(SystemExit, match=r"--align .*none: No such file"):
        evaluation.report_alignment(None, tmp_path / "none")
    (tmp_path / "links.jsonl").write_text("\n5\n")
    with pytest.raises(SystemExit, match=r"links.jsonl, line 2: this is no JS"):
        evaluation.report_alignment(None, tmp_path / "links.jsonl")


def evaluate(folder, *options):
    command = [sys.executable, str(SCRIPT), "--evaluate", str(folder)]
    return run([*command, *options], text=True)


@pytest.fixture(scope="module")
def evaluated(finished, tmp_path_factory):
    """A copy of a finished run without pictures, and what is printed of it."""
    folder = tmp_path_factory.mktemp("evaluated") / "run"
    pictures = shutil.ignore_patterns("*.png")
    shutil.copytree(finished, folder, ignore=pictures)
    result = evaluate(folder, "--align", "phrases")
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


@pytest.mark.slow
def test_report_has_the_scores_of_both_searches(evaluated):
    """Measured again, a run has the scores that it ended with."""
    folder, printed = evaluated
    greedy, beams = printed.split("greedy search:")[1].split("beam search:")
    results = json.loads((folder / "results.json").read_text())
    for search, text in [("serving_default", greedy), ("beam_search", beams)]:
        for name in ("BLEU", "chrF"):
            line = rf"^ *{name} +(\S+)  (nrefs:\S+version:\S+)$"
            ((score, signature),) = re.findall(line, text, re.MULTILINE)
            expected = pytest.approx(results[search][name], abs=0.006)
            assert float(score) == expected
            assert "case:mixed" in signature


@pytest.mark.slow
def test_report_has_bleu_by_length_and_speed(evaluated):
    _, printed = evaluated
    (total,) = re.findall(r"^([\d,]+) test sentences$", printed, re.MULTILINE)
    beams = printed.split("beam search:")[1]
    counts = re.findall(r"words +[\d.]+  BLEU of ([\d,]+) sentences", beams)
    assert len(counts) >= 2
    assert sum(map(read_number, counts)) == read_number(total)
    (speed,) = re.findall(r"sentences/s +([\d,]+)  in batches of 64", beams)
    assert read_number(speed) > 0


def read_number(text):
    return int(text.replace(",", ""))


@pytest.mark.slow
def test_report_draws_history_and_bleu_by_length(evaluated):
    folder, _ = evaluated
    for name in ("history.png", "bleu_by_length.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_attention_finds_links_of_the_built_in_corpus(evaluated):
    _, printed = evaluated
    line = r"^alignment error rate (\S+), ([\d,]+) sentences of phrases$"
    ((rate, count),) = re.findall(line, printed, re.MULTILINE)
    assert 0 < float(rate) < 0.5
    assert count == "1,000"


@pytest.mark.slow
def test_evaluation_of_no_run_says_so(tmp_path):
    result = evaluate(tmp_path / "nothing")
    assert result.returncode != 0
    assert "is no finished run" in result.stderr
    assert "Traceback" not in result.stderr
