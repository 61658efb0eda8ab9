"""The translator tutorial, run as a user runs it: as processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jupytext
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.metrics import CHRF


ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tutorials" / "03_spanish_to_english.py"
TRANSLATE = ROOT / "tutorials" / "translate.py"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def tutorial(output, *options):
    return [
        sys.executable,
        str(SCRIPT),
        *("--epochs", "3", "--units", "32", "--output", str(output)),
        *options,
    ]


def run(command, **options):
    return subprocess.run(
        command,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=900,
        check=False,
        **options,
    )


def run_loading(folder, code, *arguments):
    """Runs code in a process that has TensorFlow, and not this library."""
    code = (
        "import sys, numpy, tensorflow, tensorflow_text\n"
        f"model = tensorflow.saved_model.load({str(folder / 'saved_model')!r})"
        f"\n{code}\nassert 'keras_attention' not in sys.modules\n"
    )
    environment = {**ENVIRONMENT, "PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        timeout=300,
        check=False,
        text=True,
        cwd=folder,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that was killed in the middle and started again."""
    output = tmp_path_factory.mktemp("tutorial") / "run"
    process = subprocess.Popen(
        tutorial(output),
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.time() + 300
    while not (output / "last" / "checkpoint").exists():
        assert process.poll() is None, "ended before its first checkpoint"
        assert time.time() < deadline, "no checkpoint within five minutes"
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (output / "results.json").exists()
    second = run(tutorial(output), text=True)
    assert second.returncode == 0, second.stdout + second.stderr
    return output, second.stdout


@pytest.mark.slow
def test_killed_training_goes_on_from_its_last_checkpoint(finished):
    output, printed = finished
    (line,) = [x for x in printed.splitlines() if x.startswith("Going on")]
    step = int(line.split()[-1].rstrip(".").replace(",", ""))
    steps = json.loads((output / "results.json").read_text())["steps"]
    assert 0 < step < steps


@pytest.mark.slow
def test_run_ends_with_scores_translations_plot_and_model(finished):
    output, printed = finished
    lines = printed.splitlines()
    assert any(line.startswith("BLEU ") for line in lines)
    assert any(line.startswith("chrF ") for line in lines)
    assert sum(line.startswith("    -> ") for line in lines) == 10
    assert f"attention plot: {output / 'attention.png'}" in lines
    assert f"SavedModel: {output / 'saved_model'}" in lines
    assert (output / "attention.png").read_bytes().startswith(b"\x89PNG")
    assert (output / "saved_model" / "saved_model.pb").exists()


@pytest.mark.slow
def test_finished_folder_is_not_overwritten(finished):
    output, _ = finished
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    again = run(tutorial(output), text=True)
    assert again.returncode != 0
    assert "--overwrite" in again.stderr
    assert "Traceback" not in again.stderr
    after = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    assert after == before


@pytest.mark.slow
def test_folder_of_other_files_is_refused_and_kept(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    refused = run(tutorial(tmp_path, "--overwrite"), text=True)
    assert refused.returncode != 0
    assert "holds other files" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.slow
def test_missing_data_says_how_to_go_on_and_leaves_no_folder(tmp_path):
    options = ["--corpus", "tatoeba", "--data", str(tmp_path / "no.zip")]
    refused = run(tutorial(tmp_path / "run", *options), text=True)
    assert refused.returncode != 0
    assert "--corpus phrases" in refused.stderr
    assert "--data FILE" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_bleu_is_that_of_sacrebleu_on_whole_sentences(finished):
    """BLEU on detokenised words, no piece left in.

    facebookresearch/fairseq#1939 (BLEU inflated where subwords were not
    merged), tensorflow/nmt#21.
    """
    output, _ = finished
    results = json.loads((output / "results.json").read_text())
    lines = (output / "test.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    translations = [row[1] for row in rows]
    most = max(len(row) - 2 for row in rows)
    references = [
        [row[2 + i] if len(row) > 2 + i else None for row in rows]
        for i in range(most)
    ]
    for name, metric in [("BLEU", BLEU()), ("chrF", CHRF())]:
        score = metric.corpus_score(translations, references).score
        assert score == pytest.approx(results[name], abs=1e-9)
    assert not any("▁" in line or "</s>" in line for line in translations)
    perfect = [row[2] for row in rows]
    assert BLEU().corpus_score(perfect, references).score == pytest.approx(100)


@pytest.mark.slow
def test_saved_model_takes_any_batch_in_one_trace(finished):
    """Strings in, strings out, in a fresh process.

    tensorflow/addons#2675 (a batch baked into the export),
    tensorflow/tensorflow#34865 (a reloaded tutorial model that cannot be
    called).
    """
    output, _ = finished
    rows = (output / "test.tsv").read_text(encoding="utf-8").splitlines()
    sources = [row.split("\t")[0] for row in rows[:63]]
    sources.append(" ".join(sources[:4]))  # pads all others
    code = """
sources = sys.argv[1:]
serve = model.signatures['serving_default']
(sentences,) = serve.structured_input_signature[1].values()
assert sentences.shape.as_list() == [None], sentences
def translate(batch):
    return list(serve(sentences=tensorflow.constant(batch))
                ['translations'].numpy())
alone = [translate([source])[0] for source in sources]
assert translate(sources) == alone
assert translate(sources[-3:]) == alone[-3:]
assert len(set(alone)) > 1
"""
    loaded = run_loading(output, code, *sources)
    assert loaded.returncode == 0, loaded.stderr


@pytest.mark.slow
def test_saved_model_gives_attention_on_request(finished):
    output, _ = finished
    code = """
look = model.signatures['translate_with_attention']
looked = look(sentences=tensorflow.constant(['¿Dónde está la casa roja?']))
pieces = [p.decode() for p in looked['source_pieces'].numpy()[0]]
assert ''.join(pieces) == '▁¿Dónde▁está▁la▁casa▁roja?</s>', pieces
targets = list(looked['target_pieces'].numpy()[0])
length = targets.index(b'</s>') + 1
scores = looked['attention_scores'].numpy()[0]
assert scores.shape[1] == len(pieces)
numpy.testing.assert_allclose(scores[:length].sum(-1), 1, atol=1e-5)
assert not scores[length:].any()
"""
    loaded = run_loading(output, code)
    assert loaded.returncode == 0, loaded.stderr


@pytest.mark.slow
def test_translate_takes_any_line_and_keeps_the_count(finished):
    output, _ = finished
    lines = [
        "¿Todavía están en casa?".encode(),
        b"",
        b"casa " * 200,
        "😀 🇪🇸".encode(),
        b"\xff\xfe\x00 casa \x80",
        b"la casa roja",
    ]
    result = run(
        [sys.executable, str(TRANSLATE), str(output)],
        input=b"\n".join(lines) + b"\n",
    )
    assert result.returncode == 0, result.stderr
    translations = result.stdout.decode("utf-8").split("\n")
    assert len(translations) == len(lines) + 1  # the last line ends, too
    assert translations[1] == ""
    assert translations[0]
    alone = run([sys.executable, str(TRANSLATE), str(output), "la casa roja"])
    assert alone.stdout.decode() == translations[5] + "\n"


@pytest.mark.slow
def test_translate_without_a_model_says_what_to_give(tmp_path):
    result = run([sys.executable, str(TRANSLATE), str(tmp_path)], text=True)
    assert result.returncode != 0
    assert "no SavedModel here" in result.stderr


def test_translate_imports_only_tensorflow():
    text = TRANSLATE.read_text()
    assert "import tensorflow_text" in text
    assert "keras" not in text


def test_notebook_is_in_step_with_its_source():
    source = jupytext.read(SCRIPT)
    notebook = jupytext.read(SCRIPT.with_suffix(".ipynb"))
    cells = [(cell.cell_type, cell.source) for cell in source.cells]
    twins = [(cell.cell_type, cell.source) for cell in notebook.cells]
    assert twins == cells
    assert all(
        cell.outputs or cell.execution_count
        for cell in notebook.cells
        if cell.cell_type == "code"
    )


def test_cells_are_short_and_each_has_a_sentence_before_it():
    cells = jupytext.read(SCRIPT).cells
    for before, cell in zip(cells, cells[1:], strict=False):
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 25, cell.source
            assert before.cell_type == "markdown", cell.source
