"""Trainings that are killed, run out of disk, or meet in one folder."""

import random
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import tensorflow as tf
from processes import ENVIRONMENT
from processes import read_history
from processes import run
from processes import train
from processes import tutorial
from processes import wait_for


pytestmark = pytest.mark.slow

OPTIONS = [
    *("--sentences", "6400", "--units", "16"),
    *("--checkpoint-seconds", "0.5"),
]


def start(output):
    """A run in the background, given back when it has a checkpoint."""
    process = subprocess.Popen(
        tutorial(output, *OPTIONS),
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def has_checkpoint():
        assert process.poll() is None, "ended before its first checkpoint"
        return (output / "last" / "checkpoint").exists()

    wait_for(has_checkpoint, seconds=300)
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def finish(output, **options):
    return run(tutorial(output, *OPTIONS), text=True, **options)


def step_gone_on_from(printed):
    (line,) = [x for x in printed.splitlines() if x.startswith("Going on")]
    return int(line.split()[-1].rstrip(".").replace(",", ""))


def arrays(checkpoint):
    """All that a checkpoint holds, by name, but for what tells the time."""
    reader = tf.train.load_checkpoint(checkpoint)
    names = sorted(reader.get_variable_to_shape_map())
    return {
        name: reader.get_tensor(name)
        for name in names
        if not name.startswith(("run/", "_CHECKPOINTABLE", "save_counter"))
    }


def losses(output):
    return [
        (one["step"], one.get("loss"), one.get("bleu"))
        for one in read_history(output)
    ]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    output = tmp_path_factory.mktemp("uninterrupted") / "run"
    train(tutorial(output, *OPTIONS))
    return output


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that was killed in the middle."""
    output = tmp_path_factory.mktemp("stopped") / "run"
    kill(start(output))
    assert not (output / "results.json").exists()
    return output


def test_killed_run_comes_to_the_same_weights(uninterrupted, tmp_path):
    """Killed at two moments by chance; the same bits in the end."""
    output = tmp_path / "run"
    moments = random.Random(1)
    for _ in range(2):
        process = start(output)
        time.sleep(moments.uniform(0, 3))
        kill(process)
    result = finish(output)
    assert result.returncode == 0, result.stdout + result.stderr
    assert 0 < step_gone_on_from(result.stdout) < 300
    assert losses(output) == losses(uninterrupted)
    expected = arrays(tf.train.latest_checkpoint(uninterrupted / "best"))
    found = arrays(tf.train.latest_checkpoint(output / "best"))
    assert found.keys() == expected.keys()
    assert any("dropout" in name for name in found)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_full_disk_is_said_and_leaves_the_last_checkpoint(stopped, tmp_path):
    output = tmp_path / "run"
    shutil.copytree(stopped, output)
    before = arrays(tf.train.latest_checkpoint(output / "last"))
    largest = max(path.stat().st_size for path in (output / "last").iterdir())

    def fill_the_disk():  # as far as one file is concerned
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest // 2, largest // 2))

    result = finish(output, preexec_fn=fill_the_disk)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"A checkpoint could not be written to {output}" in result.stderr
    assert "goes on from the last checkpoint" in result.stderr
    assert "Traceback" not in result.stderr
    after = arrays(tf.train.latest_checkpoint(output / "last"))
    assert after.keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
    mended = finish(output)
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert step_gone_on_from(mended.stdout) > 0


def test_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("no folder")
    result = finish(tmp_path / "file" / "run")
    assert result.returncode == 1
    assert "The folder could not be written" in result.stderr
    assert "Traceback" not in result.stderr


def test_two_runs_on_one_folder(tmp_path):
    output = tmp_path / "run"
    first = start(output)
    try:
        second = run(tutorial(output, *OPTIONS, "--overwrite"), text=True)
        assert first.poll() is None, "the first run ended too soon"
    finally:
        kill(first)
    assert second.returncode == 1
    assert "is in use by another run" in second.stderr
    assert "Traceback" not in second.stderr
    assert (output / "last" / "checkpoint").exists()
