"""The page of results, and a short run of what measures them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "tests" / "benchmarks" / "papers.py"
PAGE = ROOT / "docs" / "results.md"
RESULTS = ROOT / "docs" / "results.json"
ROW = "phrases-general"


def run(*arguments):
    return subprocess.run(
        [sys.executable, PAPERS, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    """Options of a run of one row, and what it printed."""
    folder = tmp_path_factory.mktemp("papers")
    options = [
        *("--rows", ROW, "--minutes", 0.2),
        *("--results", folder / "results.json", "--folder", folder / "pieces"),
    ]
    result = run(*options)
    assert result.returncode == 0, result.stderr
    return options, result.stdout


def results_of(options):
    return json.loads(options[options.index("--results") + 1].read_text())


def test_row_is_trained_and_measured(short_run):
    options, printed = short_run
    assert printed.startswith("0 finished, 1 to do\n")
    (entry,) = results_of(options).values()
    assert entry["row"] == ROW
    # 3 seconds of training, a quarter of 0.2 minutes, of one core.
    assert 3 <= entry["seconds"] < 4
    assert entry["steps"] == pytest.approx(
        len(entry["losses"]) * entry["loss_every"], abs=entry["loss_every"]
    )
    assert entry["losses"][-1] < entry["losses"][0]
    # Chance among 1,000 pieces would be as perplex as their number.
    assert 1 < entry["perplexity"] < 1000
    assert 0 < entry["alignment_error_rate"]["phrases"] < 1
    words = [part["words"] for part in entry["bleu_by_length"]]
    assert words[0] == "1-5"
    assert words[-1] == "31+"


def test_finished_row_is_not_done_again(short_run):
    options, _ = short_run
    before = results_of(options)
    result = run(*options)
    assert result.stdout == "1 finished, 0 to do\n"
    assert results_of(options) == before


def test_rows_of_other_minutes_are_not_mixed(short_run):
    options, _ = short_run
    options = [9 if value == 0.2 else value for value in options]
    result = run(*options)
    assert result.returncode == 1
    assert "holds rows of 0.2 minutes, which cannot be" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --rows, or --plot, or both"),
        (["--rows", "all"], "--rows needs --minutes, more than 0"),
        (["--rows", "all", "--minutes", "-1"], "--rows needs --minutes"),
        (
            ["--rows", "dot", "transformer", "--minutes", "8"],
            "no row is called transformer. Expected all, or some of bahdanau,",
        ),
    ],
)
def test_options_that_cannot_be_meant_are_refused(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr


@pytest.fixture
def page_module(monkeypatch):
    monkeypatch.syspath_prepend(str(PAPERS.parent))
    from claims import page

    return page


def test_page_shows_what_was_measured(page_module):
    rows = page_module.rows_of(json.loads(RESULTS.read_text()))
    text = PAGE.read_text()
    assert page_module.fill(text, rows) == text


def test_page_without_a_place_for_a_table_is_refused(page_module):
    with pytest.raises(ValueError, match="no place for the table 'machines'"):
        page_module.fill("# Results\n", {})


def test_no_row_is_shown_that_can_not_be_made_again(page_module):
    entries = json.loads(RESULTS.read_text()).values()
    assert {entry["row"] for entry in entries} <= set(page_module.ROWS)
