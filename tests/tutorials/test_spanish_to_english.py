"""The translator tutorial, run as a user runs it: as processes."""

import json
import sys

import pytest
from processes import ENVIRONMENT
from processes import run
from processes import tutorial
from sacrebleu.metrics import BLEU
from sacrebleu.metrics import CHRF


def run_loading(folder, code, *arguments):
    """Runs code in a process that has TensorFlow, and not this library."""
    code = (
        "import sys, numpy, tensorflow, tensorflow_text\n"
        f"model = tensorflow.saved_model.load({str(folder / 'saved_model')!r})"
        f"\n{code}\nassert 'keras_attention' not in sys.modules\n"
    )
    environment = {**ENVIRONMENT, "PYTHONPATH": ""}
    command = [sys.executable, "-c", code, *arguments]
    return run(command, env=environment, timeout=300, text=True, cwd=folder)


@pytest.mark.slow
def test_run_ends_with_scores_translations_plots_and_model(finished):
    lines = (finished.parent / "printed.txt").read_text().splitlines()
    for search in ("serving_default", "beam_search"):
        assert sum(line.startswith(f"{search}: ") for line in lines) == 1
    assert sum(line.startswith("BLEU ") for line in lines) == 2
    assert sum(line.startswith("chrF ") for line in lines) == 2
    assert sum(line.startswith("    -> ") for line in lines) == 10
    assert f"attention plot: {finished / 'attention.png'}" in lines
    assert f"SavedModel: {finished / 'saved_model'}" in lines
    for name in ("attention", "history", "bleu_by_length"):
        picture = (finished / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
    assert (finished / "saved_model" / "saved_model.pb").exists()


@pytest.mark.slow
def test_finished_folder_is_not_overwritten(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    again = run(tutorial(finished), text=True)
    assert again.returncode != 0
    assert "--overwrite" in again.stderr
    assert "Traceback" not in again.stderr
    after = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
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
    results = json.loads((finished / "results.json").read_text())
    lines = (finished / "test.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    translations = [row[1] for row in rows]
    most = max(len(row) - 2 for row in rows)
    references = [
        [row[2 + i] if len(row) > 2 + i else None for row in rows]
        for i in range(most)
    ]
    for name, metric in [("BLEU", BLEU()), ("chrF", CHRF())]:
        score = metric.corpus_score(translations, references).score
        assert score == pytest.approx(results["beam_search"][name])
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
    rows = (finished / "test.tsv").read_text(encoding="utf-8").splitlines()
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
    loaded = run_loading(finished, code, *sources)
    assert loaded.returncode == 0, loaded.stderr


@pytest.mark.slow
def test_saved_model_gives_attention_on_request(finished):
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
    loaded = run_loading(finished, code)
    assert loaded.returncode == 0, loaded.stderr
