"""Every tutorial: its form, its executed twin, and a run of it by papermill.

The source is NN_name.py; the twin NN_name.ipynb is made of it, in the folder
tutorials, by `jupytext --to ipynb --execute NN_name.py`.
"""

import ast
import json
import re
import sys

import jupytext
import pytest
from processes import ENVIRONMENT
from processes import TUTORIALS
from processes import run


SOURCES = sorted(TUTORIALS.glob("[0-9][0-9]_*.py"))
NAMES = [source.stem for source in SOURCES]

# What replaces the values of the cell tagged "parameters", for a short run.
SMOKE = {
    "02_model_add": {"num_texts": 2000, "num_sentences": 8, "epochs": 3},
    "03_spanish_to_english": {
        "arguments": ["--epochs", "1", "--units", "32", "--sentences", "4000"]
    },
    "04_bahdanau_or_luong": {
        "LENGTHS": [10, 50],
        "LONG_LENGTHS": [10, 50],
        "REPEATS": 3,
        "TRANSLATORS": ["bahdanau"],
        "LONG_TRANSLATORS": ["local-m"],
        "TRAINING_PAIRS": 2000,
        "TRAINING_STEPS": 20,
        "LONG_STEPS": 20,
        "TEST_PAIRS": 20,
    },
    "05_decoding_and_serving": {"num_pairs": 2000, "epochs": 1, "units": 16},
}
# To these the folder of a finished run of 03 is given, as `run`.
NEED_A_RUN = ["05_decoding_and_serving"]

# Whatever else is on standard error, such as a bar, is nobody's mistake.
COMPLAINT = re.compile(r".*(Warning:|WARNING:tensorflow|Traceback).*")

each_tutorial = pytest.mark.parametrize("name", NAMES)


def source_of(name):
    return jupytext.read(TUTORIALS / f"{name}.py")


def twin_of(name):
    return jupytext.read(TUTORIALS / f"{name}.ipynb")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def complaints(notebook):
    """What went wrong in an executed notebook, as lines."""
    outputs = [o for cell in code_cells(notebook) for o in cell.outputs]
    errors = [o.evalue for o in outputs if o.output_type == "error"]
    text = "\n".join(o.text for o in outputs if o.get("name") == "stderr")
    return errors + [match[0] for match in COMPLAINT.finditer(text)]


def parameters_cell(name):
    """The names that the cell of parameters assigns."""
    cells = code_cells(source_of(name))
    tagged = [c for c in cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) <= 1
    nodes = [node for cell in tagged for node in ast.parse(cell.source).body]
    assert all(isinstance(node, ast.Assign) for node in nodes)
    return [target.id for node in nodes for target in node.targets]


@each_tutorial
def test_twin_is_in_step_with_its_source(name):
    cells, twins = (
        [
            (cell.cell_type, cell.source, cell.metadata.get("tags"))
            for cell in notebook.cells
        ]
        for notebook in (source_of(name), twin_of(name))
    )
    assert twins == cells


@each_tutorial
def test_twin_was_executed_from_top_to_bottom(name):
    twin = twin_of(name)
    counts = [cell.execution_count for cell in code_cells(twin)]
    assert counts == list(range(1, len(counts) + 1))
    assert complaints(twin) == []


@each_tutorial
def test_metadata_name_the_form_and_the_kernel(name):
    source, twin = source_of(name), twin_of(name)
    form = source.metadata.jupytext.text_representation
    assert form == {"extension": ".py", "format_name": "percent"}
    for notebook in (source, twin):
        assert notebook.metadata.kernelspec == {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        }
    assert twin.metadata.language_info.name == "python"


@each_tutorial
def test_cells_are_short_and_each_has_a_sentence_before_it(name):
    cells = source_of(name).cells
    for before, cell in zip([None, *cells], cells, strict=False):
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 25, cell.source
            assert before.cell_type == "markdown", cell.source


@each_tutorial
def test_tutorial_opens_with_title_and_installation(name):
    opening = source_of(name).cells[0]
    assert opening.cell_type == "markdown"
    assert opening.source.startswith("# ")
    assert 'pip install ".[tutorials]"' in opening.source
    assert "Colab" in opening.source


@each_tutorial
def test_last_code_cell_asserts_a_result(name):
    *_, last = code_cells(source_of(name))
    nodes = list(ast.walk(ast.parse(last.source)))
    named = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    named += [node.id for node in nodes if isinstance(node, ast.Name)]
    assert any(isinstance(node, ast.Assert) for node in nodes) or any(
        word.startswith("assert_") for word in named
    )


@pytest.mark.parametrize("name", SMOKE)
def test_parameters_of_the_short_run_are_those_of_the_tutorial(name):
    # papermill adds a parameter that does not exist, and so changes nothing.
    assert set(SMOKE[name]) <= set(parameters_cell(name))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables under which the kernel "tutorial" is this interpreter."""
    folder = tmp_path_factory.mktemp("jupyter")
    install = ["-m", "ipykernel", "install", "--prefix", str(folder)]
    result = run([sys.executable, *install, "--name", "tutorial"], text=True)
    assert result.returncode == 0, result.stderr
    return {
        **ENVIRONMENT,
        "JUPYTER_PATH": str(folder / "share" / "jupyter"),
        "IPYTHONDIR": str(folder / "ipython"),
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in NEED_A_RUN))
        for name in NAMES
    ],
)
def test_short_run_from_top_to_bottom(name, environment, tmp_path, request):
    parameters = dict(SMOKE.get(name, {}))
    if name in NEED_A_RUN:
        parameters["run"] = str(request.getfixturevalue("finished"))
    if name == "03_spanish_to_english":
        output = ["--output", str(tmp_path / "run")]
        parameters["arguments"] = parameters["arguments"] + output
    executed = tmp_path / "executed.ipynb"
    command = [sys.executable, "-m", "papermill", "--no-progress-bar"]
    command += ["--kernel", "tutorial", "--cwd", str(TUTORIALS)]
    command += ["--parameters_yaml", json.dumps(parameters)]
    command += [str(TUTORIALS / f"{name}.ipynb"), str(executed)]
    result = run(command, env=environment, text=True)
    assert result.returncode == 0, result.stderr
    assert complaints(jupytext.read(executed)) == []
