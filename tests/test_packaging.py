"""What the files of the package say in more than one place."""

import re
from pathlib import Path

import keras_attention


ROOT = Path(__file__).parents[1]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_changelog_begins_with_the_version():
    heading = re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)
    assert heading[1] == keras_attention.__version__


def test_commits_are_checked_by_the_ruff_of_the_tests():
    hooks = re.findall(r"ruff==[\d.]+", read(".pre-commit-config.yaml"))
    assert set(hooks) == set(re.findall(r"ruff==[\d.]+", read("setup.py")))
