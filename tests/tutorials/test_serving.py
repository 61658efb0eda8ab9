"""Hostile lines, through translate.py and through the SavedModel itself."""

import sys
import time

import hostile
import memory
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401
from processes import TUTORIALS
from processes import run

from keras_attention.datasets import spanish_english


pytestmark = pytest.mark.slow
END = 2
LINES = hostile.hostile_lines(1000)
CUT = [line[:16_000] for line in LINES]  # as translate.py reads them
SEARCHES = {
    "serving_default": "translate_with_attention",
    "beam_search": "beam_search_with_attention",
}


def command(finished, *options):
    path = str(TUTORIALS / "translate.py")
    return [sys.executable, path, str(finished), *options]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "lines.txt"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    return path


@pytest.fixture(scope="module")
def signatures(finished):
    return tf.saved_model.load(str(finished / "saved_model")).signatures


def translate(signatures, name, lines, batch_size=64):
    translations = []
    for start in range(0, len(lines), batch_size):
        batch = tf.constant(lines[start : start + batch_size])
        results = signatures[name](sentences=batch)
        translations += list(results["translations"].numpy())
    return translations


def is_line(translation):
    translation.decode("utf-8")  # or fails
    return b"\n" not in translation


@pytest.mark.parametrize("options", [[], ["--beam-search"]], ids=str)
def test_hostile_lines_have_a_line_each_again_and_again(
    finished, source, options
):
    started = time.time()
    first, second = (
        run(command(finished, "--input", source, *options)) for _ in range(2)
    )
    assert time.time() - started < 600
    assert first.returncode == 0, first.stderr
    translations = first.stdout.split(b"\n")
    assert len(translations) == len(LINES) + 1  # the last line ends, too
    assert all(map(is_line, translations))
    for line, translation in zip(CUT, translations, strict=False):
        assert line.strip(b" ") or not translation
    assert second.stdout == first.stdout


@pytest.mark.parametrize("name", SEARCHES)
def test_model_answers_whole_lines_within_a_time(signatures, name):
    started = time.time()
    translations = translate(signatures, name, LINES)
    assert time.time() - started < 300
    assert len(translations) == len(LINES)
    assert all(map(is_line, translations))


@pytest.mark.parametrize("name", SEARCHES)
def test_line_is_translated_alone_as_in_a_batch(signatures, name):
    lines = CUT[:200]
    alone = translate(signatures, name, lines, batch_size=1)
    together = translate(signatures, name, lines)
    assert alone == together


def test_whole_test_part_is_translated_one_by_one_as_in_batches(signatures):
    *_, test = spanish_english.load_data("phrases")
    lines = [source.encode() for source, _ in test]
    alone = translate(signatures, "serving_default", lines, batch_size=1)
    assert translate(signatures, "serving_default", lines) == alone


def test_pieces_are_counted_as_they_are_read(signatures):
    batch = tf.constant(CUT[:64])
    looked = signatures["translate_with_attention"](sentences=batch)
    counted = signatures["count_pieces"](sentences=batch)["pieces"]
    real = looked["source_pieces"].numpy() != b"<pad>"
    np.testing.assert_array_equal(counted, real.sum(axis=-1))


@pytest.mark.parametrize("name", SEARCHES)
def test_attention_comes_with_the_same_translations(signatures, name):
    batch = tf.constant(CUT[:64])
    looked = signatures[SEARCHES[name]](sentences=batch)
    looked = {name: value.numpy() for name, value in looked.items()}
    assert list(looked["translations"]) == translate(signatures, name, CUT[:64])
    written = looked["target_pieces"] != b"<pad>"
    sums = looked["attention_scores"].sum(axis=-1)
    np.testing.assert_allclose(sums, written, atol=1e-5)
    padding = looked["source_pieces"] == b"<pad>"
    assert not looked["attention_scores"].swapaxes(1, 2)[padding].any()


@pytest.mark.parametrize("name", SEARCHES.values())
def test_what_does_not_end_is_cut_by_the_length_of_its_source(finished, name):
    """Twice its pieces and ten, at most 200, whatever shares its batch."""
    loaded = tf.saved_model.load(str(finished / "saved_model"))
    function = loaded.signatures[name]
    biases = [one for one in function.variables if len(one.shape) == 1]
    logits = max(biases, key=lambda bias: bias.shape[0])  # one for each piece
    logits.assign(tf.tensor_scatter_nd_sub(logits, [[END]], [1000.0]))
    looked = function(sentences=tf.constant(CUT[:64]))
    read, written = (
        np.sum(looked[pieces].numpy() != b"<pad>", axis=1)
        for pieces in ("source_pieces", "target_pieces")
    )
    np.testing.assert_array_equal(written, np.minimum(2 * read + 10, 200))
    assert len(set(written)) > 7


def test_memory_does_not_grow_with_the_number_of_lines(finished, tmp_path):
    peaks = []
    for count in (2000, 6000):
        path = tmp_path / f"{count}.txt"
        path.write_text("¿Dónde está la casa roja de mi hermana?\n" * count)
        peaks.append(memory.peak(command(finished, "--input", path)))
    assert peaks[1] - peaks[0] < 40 * 2**20
