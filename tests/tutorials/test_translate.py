"""What translate.py reads, writes and refuses, on a model that only echoes."""

import ast
import io
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading

import hostile
import memory
import pytest
import tensorflow as tf
import translate
from processes import ENVIRONMENT
from processes import TUTORIALS
from processes import run
from processes import wait_for
from tqdm import tqdm
from translate import read_windows


TRANSLATE = TUTORIALS / "translate.py"
SENTENCES = tf.TensorSpec([None], tf.string, name="sentences")


class Echo(tf.Module):
    @tf.function(input_signature=[SENTENCES])
    def greedy(self, sentences):
        return {"translations": sentences}

    @tf.function(input_signature=[SENTENCES])
    def beams(self, sentences):
        return {"translations": "beams: " + sentences}

    @tf.function(input_signature=[SENTENCES])
    def count_pieces(self, sentences):
        return {"pieces": tf.strings.length(sentences)}


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("echo")
    module = Echo()
    tf.saved_model.save(
        module,
        str(folder / "saved_model"),
        {
            "serving_default": module.greedy,
            "beam_search": module.beams,
            "count_pieces": module.count_pieces,
        },
    )
    return folder


def command(folder, *options):
    return [sys.executable, str(TRANSLATE), str(folder), *options]


def start(folder, *options, **streams):
    """A process whose input stays open."""
    return subprocess.Popen(
        command(folder, *options),
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        **streams,
    )


def test_lines_keep_order_and_count_and_every_byte(echo, tmp_path):
    lines = hostile.hostile_lines(5000)
    (tmp_path / "spanish.txt").write_bytes(b"\n".join(lines))
    with open(tmp_path / "spanish.txt", "rb") as source:
        result = run(command(echo), stdin=source)
    assert result.returncode == 0, result.stderr
    wanted = [line[:16_000].removesuffix(b"\r") for line in lines]
    assert result.stdout.split(b"\n") == [*wanted, b""]
    assert b"\nlines: 5,000 (" in result.stderr
    assert result.stderr.endswith(b" lines/s)\n")
    assert b"%|" not in result.stderr  # no bar where nobody watches


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"\n\nla\n\n", [b"", b"", b"la", b""]),
        (b"la\ncasa", [b"la", b"casa"]),
        (b"la\r\ncasa\r", [b"la", b"casa"]),
        (b"x" * 16_001 + b"\ny", [b"x" * 16_000, b"y"]),
        (b"x" * 900_000, [b"x" * 16_000]),
        (b"a\n" + b"x" * 900_000 + b"\nb\n", [b"a", b"x" * 16_000, b"b"]),
    ],
    ids=[
        "nothing",
        "an empty line",
        "empty lines",
        "no last newline",
        "returns",
        "a long line",
        "a longer line than one read",
        "a longer line among others",
    ],
)
def test_lines_of_an_input(given, lines):
    windows = list(read_windows(io.BytesIO(given)))
    assert [line for window, _ in windows for line in window] == lines
    assert sum(size for _, size in windows) == len(given)  # what the bar adds


def test_several_batches_at_once_the_longest_first(monkeypatch):
    """Each waits until three are there, so one after the other would fail."""
    monkeypatch.setattr(translate, "BATCHES_AT_ONCE", 3)
    three, seen = threading.Barrier(3, timeout=60), []

    def echo(lines):
        seen.append(sorted(map(len, lines), reverse=True))
        three.wait()
        return {"translations": lines}

    lines = [b"x" * (i % 97) for i in range(6 * 64)]
    target = io.BytesIO()
    count = translate.translate_windows(
        echo,
        lambda lines: {"pieces": list(map(len, lines))},
        [(lines, 0)],
        target,
        tqdm(disable=True),
    )
    assert count == len(lines)
    assert target.getvalue() == b"\n".join(lines) + b"\n"
    lengths = sorted(map(len, lines), reverse=True)
    wanted = [lengths[start : start + 64] for start in range(0, 384, 64)]
    assert sorted(seen, reverse=True) == wanted
    assert sorted(seen[:3], reverse=True) == wanted[:3]


def test_windows_are_small():
    windows = list(read_windows(io.BytesIO(b"la casa\n" * 100_000)))
    assert max(len(window) for window, _ in windows) < 20_000


def test_arguments_are_sentences_also_after_an_option(echo):
    odd = os.fsdecode(b"\xff\nno")
    result = run(command(echo, "¿Sí?", "--beam-search", "", odd))
    assert result.returncode == 0, result.stderr
    wanted = "beams: ¿Sí?\nbeams: \n".encode() + b"beams: \xff no\n"
    assert result.stdout == wanted


def test_line_is_answered_at_once_and_a_closed_output_ends_it(echo):
    process = start(
        echo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    process.stdin.write(b"la casa\n")
    assert select.select([process.stdout], [], [], 120)[0]
    assert process.stdout.readline() == b"la casa\n"  # while input is open
    process.stdout.close()
    process.stdin.write(b"roja\n")
    errors = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert process.wait(60) == -signal.SIGPIPE
    assert b"Traceback" not in errors


def test_interrupted_output_has_not_its_name(echo, tmp_path):
    output, part = tmp_path / "english.txt", tmp_path / "english.txt.part"
    process = start(
        echo, "--output", str(output), stderr=subprocess.PIPE, bufsize=0
    )
    process.stdin.write(b"la casa\nroja")
    wait_for(lambda: part.exists() and part.read_bytes() == b"la casa\n")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert b"Traceback" not in errors
    assert not output.exists()


def test_bar_is_shown_where_somebody_watches_and_file_is_written(
    echo, tmp_path
):
    source, output = tmp_path / "spanish.txt", tmp_path / "english.txt"
    source.write_bytes(b"la casa roja\n" * 20_000)
    output.write_text("older")
    leader, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    process = subprocess.Popen(
        command(echo, "--input", source, "--output", output, "--overwrite"),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(leader, 1000):
            shown += chunk
    except OSError:  # a terminal's end, on Linux
        os.close(leader)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, shown
    assert printed == b""
    assert b"100%|" in shown
    assert b"260k/260k" in shown
    assert output.read_bytes() == source.read_bytes()
    assert sorted(tmp_path.iterdir()) == [output, source]


def test_finished_output_is_kept(echo, tmp_path):
    output = tmp_path / "english.txt"
    output.write_text("a night of work")
    result = run(command(echo, "--output", output, "la casa"))
    assert result.returncode == 2
    assert b"--overwrite" in result.stderr
    assert output.read_text() == "a night of work"


def test_output_that_is_no_file_is_kept(echo, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run(command(echo, "--output", pipe, "--overwrite", "la casa"))
    assert result.returncode == 2
    assert b"no regular file" in result.stderr
    assert pipe.is_fifo()


def test_full_disk_is_told(echo):
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            command(echo, "la casa"),
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert result.returncode == 1
    assert b"\nStopped: [Errno 28] No space left" in result.stderr
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("missing", ["model", "signature", "input"])
def test_what_is_missing_is_told(missing, echo, tmp_path):
    options, wanted = [echo, "--input", tmp_path / "no.txt"], b"no.txt"
    if missing == "model":
        options, wanted = [tmp_path, "la casa"], b"no SavedModel here"
    if missing == "signature":
        tf.saved_model.save(Echo(), str(tmp_path))
        options, wanted = [tmp_path, "la casa"], b"Export it again"
    result = run(command(*options))
    assert result.returncode == 1
    assert wanted in result.stderr
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("content", [b"", b"half"])
def test_damaged_model_is_told(tmp_path, content):
    (tmp_path / "saved_model.pb").write_bytes(content)
    result = run(command(tmp_path, "la casa"))
    assert result.returncode == 1
    assert b"the SavedModel is damaged (" in result.stderr
    assert b"Traceback" not in result.stderr


def test_memory_does_not_grow_with_the_input(echo, tmp_path):
    """200 MB of one line; 260,000 lines."""
    short = tmp_path / "short.txt"
    short.write_bytes(b"la casa\n" * 10)
    line = tmp_path / "line.txt"
    with open(line, "wb") as file:
        file.truncate(200 * 2**20)  # a hole in the file, of zeros
    many = tmp_path / "many.txt"
    many.write_bytes(b"la casa\n" * 260_000)
    peaks = {
        path: memory.peak(command(echo, "--input", path))
        for path in (short, line, many)
    }
    assert peaks[line] - peaks[short] < 30 * 2**20
    assert peaks[many] - peaks[short] < 30 * 2**20


def test_only_tensorflow_and_tqdm_are_imported():
    tree = ast.parse(TRANSLATE.read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    others = imported - sys.stdlib_module_names
    assert others == {"tensorflow", "tensorflow_text", "tqdm"}
