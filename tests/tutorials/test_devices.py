"""Several devices, other precisions, XLA: the same training."""

import json
import os
import socket
import subprocess

import pytest
from processes import ENVIRONMENT
from processes import read_history
from processes import run
from processes import train
from processes import tutorial


pytestmark = pytest.mark.slow

OPTIONS = ["--sentences", "1280", "--epochs", "2", "--units", "16"]
OPTIONS += ["--dropout", "0"]


def losses(output):
    return [one["loss"] for one in read_history(output) if "loss" in one]


@pytest.fixture(scope="module")
def one_device(tmp_path_factory):
    output = tmp_path_factory.mktemp("one") / "run"
    assert "1 share a batch" in train(tutorial(output, *OPTIONS))
    return losses(output)


def test_two_devices_have_the_losses_of_one(one_device, tmp_path):
    output = tmp_path / "run"
    options = [*OPTIONS, "--strategy", "mirrored", "--cpu-devices", "2"]
    result = run(tutorial(output, *options), text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "CPU:1; 2 share a batch" in result.stdout
    assert losses(output) == pytest.approx(one_device, rel=1e-5)


def test_two_processes_have_the_losses_of_one(one_device, tmp_path):
    output = tmp_path / "run"
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    workers = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    command = tutorial(output, *OPTIONS, "--strategy", "multiworker")
    processes = []
    for index in range(2):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": workers}, "task": task}
        environment = {**ENVIRONMENT, "TF_CONFIG": json.dumps(config)}
        processes.append(
            subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    printed = [process.communicate(timeout=900)[0] for process in processes]
    assert [one.returncode for one in processes] == [0, 0], printed
    assert all("2 share a batch" in text for text in printed)
    assert losses(output) == pytest.approx(one_device, rel=1e-5)
    assert os.listdir(tmp_path) == ["run"]  # of the first process alone


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_half_precision_trains(one_device, tmp_path, precision):
    output = tmp_path / "run"
    options = [*OPTIONS, "--precision", precision]
    result = run(tutorial(output, *options), text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{precision} on " in result.stdout
    assert losses(output) == pytest.approx(one_device, rel=0.05)


def test_step_compiled_by_xla_trains_alike(one_device, tmp_path):
    output = tmp_path / "run"
    train(tutorial(output, *OPTIONS, "--jit-compile"))
    assert losses(output) == pytest.approx(one_device, rel=1e-3)


def test_several_processes_need_to_be_named(tmp_path):
    environment = {k: v for k, v in ENVIRONMENT.items() if k != "TF_CONFIG"}
    command = tutorial(tmp_path / "run", "--strategy", "multiworker")
    result = run(command, text=True, env=environment)
    assert result.returncode == 1
    assert "needs the variable TF_CONFIG" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()
