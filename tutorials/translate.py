"""Translates sentences with an exported translator.

    python tutorials/translate.py runs/tatoeba "¿Dónde está la casa roja?"
    python tutorials/translate.py runs/tatoeba < spanish.txt > english.txt
    python tutorials/translate.py runs/tatoeba --beam-search \
        --input spanish.txt --output english.txt

One translation for each sentence given, or else for each line of the input,
in the same order. Every core works at a batch of its own. Input of any size
takes the same memory; of a line, the first 16,000 bytes count. It needs
tensorflow, tensorflow_text and tqdm, and nothing else.
"""

import argparse
import contextlib
import functools
import os
import signal
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm


BATCH_SIZE = 64
BATCHES_AT_ONCE = os.cpu_count() or 1
WINDOW_BYTES = 2**17
LINE_BYTES = 16_000  # 250 pieces of at most 16 characters of 4 bytes


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="what the tutorial wrote")
    add("sentences", nargs="*", metavar="SENTENCE", type=os.fsencode)
    add("--input", type=Path, metavar="FILE", help="default: standard input")
    add("--output", type=Path, metavar="FILE", help="default: standard output")
    add("--overwrite", action="store_true", help="replace the output file")
    add("--beam-search", action="store_true", help="slower, a little better")
    arguments = parser.parse_intermixed_args()
    output = arguments.output
    if arguments.sentences and arguments.input:
        parser.error("give sentences or --input, not both")
    if output and output.exists() and not output.is_file():
        parser.error(f"--output {output} is no regular file: give another")
    if output and output.exists() and not arguments.overwrite:
        parser.error(f"{output} exists: give --overwrite, or another --output")
    return arguments


def find_model(folder):
    """Finds the model of a run, or a SavedModel by itself."""
    for path in (folder / "saved_model", folder):
        if (path / "saved_model.pb").exists():
            return path
    raise SystemExit(
        f"{folder}: no SavedModel here. Give the folder that "
        "03_spanish_to_english.py wrote (its --output) once it has finished."
    )


def use_one_core_for_each_batch():
    """To be called before TensorFlow computes anything; see BATCHES_AT_ONCE.

    Cores that share the small operations of one batch wait a lot.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")


def load(path, *names):
    """Loads signatures as functions from a list of bytes to named arrays."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    use_one_core_for_each_batch()
    # Here, because they take seconds: a typing error is told before.
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers what the model consists of

    def as_function(signature):
        def call(sentences):
            results = signature(sentences=tf.constant(sentences))
            return {name: value.numpy() for name, value in results.items()}

        return call

    try:
        signatures = tf.saved_model.load(str(path)).signatures
    except (OSError, ValueError, LookupError) as error:
        raise SystemExit(
            f"{path}: the SavedModel is damaged ({error}). Export it again."
        ) from None
    missing = [name for name in names if name not in signatures]
    if missing:
        raise SystemExit(
            f"{path}: the SavedModel has no signature {missing}. Export it "
            "again with the 03_spanish_to_english.py beside this script."
        )
    return [as_function(signatures[name]) for name in names]


@contextlib.contextmanager
def open_output(path):
    """Opens standard output, or a file that has its name once complete."""
    if path is None:
        with open(1, "wb", closefd=False) as file:
            yield file
        return
    path = path.resolve()  # a link stays one
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        yield file
    part.replace(path)


def read_windows(file):
    """Yields lists of lines, each as soon as one read gives it.

    So a terminal or a slow pipe is answered line by line, and a file or a
    fast pipe in windows large enough to sort by length.

    Yields:
        The lines, cut at LINE_BYTES, and the number of bytes read for them.
    """
    size, start = 0, b""
    while chunk := file.read1(WINDOW_BYTES):
        size += len(chunk)
        *lines, start = (start + chunk).split(b"\n")
        start = start[:LINE_BYTES]
        if lines:
            lines = [line[:LINE_BYTES].removesuffix(b"\r") for line in lines]
            yield lines, size
            size = 0
    if start:
        yield [start.removesuffix(b"\r")], size


def longest_first(lengths):
    """Lists positions by length, so that no core is left with the longest."""
    lengths = list(map(int, lengths))
    return sorted(range(len(lengths)), key=lambda index: -lengths[index])


def batches(order, batch_size=BATCH_SIZE):
    """Cuts a list of positions into batches."""
    starts = range(0, len(order), batch_size)
    return [order[start : start + batch_size] for start in starts]


def translate(model, lines):
    """Translates a batch; a translation is one line, whatever it says."""
    translations = model(lines)["translations"]
    return [line.replace(b"\n", b" ") + b"\n" for line in translations]


def translate_windows(model, count_pieces, windows, target, bar):
    """Writes a translation for each line of the windows; counts them."""
    count = 0
    with ThreadPoolExecutor(BATCHES_AT_ONCE) as pool:
        for lines, size in windows:
            translations = [b""] * len(lines)
            step = 1 if bar.total is None else size / len(lines)
            every_rows = batches(longest_first(count_pieces(lines)["pieces"]))
            inputs = ([lines[row] for row in rows] for rows in every_rows)
            outputs = pool.map(functools.partial(translate, model), inputs)
            for rows, results in zip(every_rows, outputs, strict=True):
                for row, result in zip(rows, results, strict=True):
                    translations[row] = result
                bar.update(step * len(rows))
            target.writelines(translations)
            target.flush()
            count += len(lines)
    return count


def make_bar(source, target):
    """A bar over the bytes of a file, or over the lines of a pipe."""
    status = os.fstat(source.fileno())
    has_size = stat.S_ISREG(status.st_mode)
    watched = sys.stderr.isatty()
    return tqdm(
        total=status.st_size if has_size else None,
        unit="B" if has_size else " lines",
        unit_scale=has_size,
        delay=0 if watched else 60,
        mininterval=0.5 if watched else 15,
        disable=source.isatty() or target.isatty(),  # lines would mix with it
    )


def translate_file(functions, source, target):
    """Translates line by line, and says how fast it was."""
    started = time.perf_counter()
    with make_bar(source, target) as bar:
        windows = read_windows(source)
        count = translate_windows(*functions, windows, target, bar)
    speed = count / (time.perf_counter() - started)
    print(f"lines: {count:,} ({speed:,.1f} lines/s)", file=sys.stderr)


def main():
    """Translates the arguments, or else the input."""
    # Ctrl-C and a reader that has gone (`| head`) end it without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    arguments = parse_arguments()
    path = find_model(arguments.folder)
    name = "beam_search" if arguments.beam_search else "serving_default"
    names = name, "count_pieces"
    try:
        if arguments.sentences:
            functions = load(path, *names)
            with open_output(arguments.output) as target:
                windows = [(arguments.sentences, 0)]
                bar = tqdm(disable=True)
                translate_windows(*functions, windows, target, bar)
        else:
            with open(arguments.input or 0, "rb") as source:
                functions = load(path, *names)
                with open_output(arguments.output) as target:
                    translate_file(functions, source, target)
    except OSError as error:
        raise SystemExit(f"Stopped: {error}") from None


if __name__ == "__main__":
    main()
