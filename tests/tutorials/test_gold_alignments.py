import json
import re

import gold_alignments
import numpy as np
import pytest
import tensorflow as tf


HOUSE = {
    "id": 7,
    "en": ["the", "red", "house"],
    "es": ["la", "casa", "roja"],
    "sure": [[0, 0], [1, 2]],
    "possible_only": [[2, 1]],
}
QUESTION = {
    "en": ["where", "?"],
    "es": ["¿", "dónde", "?"],
    "sure": [[0, 1], [1, 2]],
    "possible_only": [[1, 0]],
}


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        path = tmp_path / "links.jsonl"
        path.write_bytes(
            b"\n".join(
                line if isinstance(line, bytes) else json.dumps(line).encode()
                for line in lines
            )
        )
        return path

    return write


def pieces_of(sentence):
    """Pieces of one letter, and the position of the word of each."""
    words = re.findall(r"[¿¡?!.,]|[^\s¿¡?!.,]+", sentence)
    pieces = [piece for word in words for piece in ("▁" + word[0], *word[1:])]
    places = np.repeat(range(len(words)), [len(word) for word in words])
    return [*pieces, "</s>"], [*places, len(words)]


def looking_at(links, calls=None):
    """A translator that looks where the links of each sentence say.

    Args:
        links: Dictionary of (Spanish, English) sentences to a dictionary of
            English positions to Spanish ones. Other words look at the end.
        calls: List that is told the number of sentences of each call.
    """

    def align(sources, targets):
        rows = []
        for pair in zip(sources.numpy(), targets.numpy(), strict=True):
            source, target = [part.decode() for part in pair]
            looks = links[source, target]
            source_pieces, columns = pieces_of(source)
            target_pieces, positions = pieces_of(target)
            looked = [looks.get(word, columns[-1]) for word in positions]
            scores = np.equal.outer(looked, columns).astype("float32")
            scores /= scores.sum(axis=-1, keepdims=True)
            rows.append((source_pieces, target_pieces, scores.tolist()))
        if calls is not None:
            calls.append(len(rows))
        source_pieces, target_pieces, scores = zip(*rows, strict=True)
        return {
            "source_pieces": pad(source_pieces),
            "target_pieces": pad(target_pieces),
            "attention_scores": tf.ragged.constant(scores).to_tensor(),
        }

    return align


def pad(pieces):
    return tf.ragged.constant(pieces).to_tensor("<pad>")


LOOKS = {
    ("la casa roja", "the red house"): {0: 0, 1: 2, 2: 2},
    ("¿dónde?", "where?"): {0: 1, 1: 0},
}


def test_rate_is_the_one_worked_out_by_hand(write):
    # |A| = 5, |S| = 4; of A three links are sure and four possible.
    path = write(HOUSE, b"", QUESTION)
    rate, count = gold_alignments.alignment_errors(looking_at(LOOKS), path)
    assert rate == pytest.approx(1 - (3 + 4) / 9)
    assert count == 2


def test_gold_that_was_read_before_gives_the_same(write):
    gold = gold_alignments.read_gold(write(HOUSE, QUESTION))
    rate, count = gold_alignments.alignment_errors(looking_at(LOOKS), gold)
    assert (rate, count) == (pytest.approx(2 / 9), 2)


def test_word_that_looks_at_the_end_has_no_link(write):
    looks = {("la casa roja", "the red house"): {0: 0, 1: 2}}
    path = write(HOUSE)
    rate, _ = gold_alignments.alignment_errors(looking_at(looks), path)
    assert rate == 0


def test_corpus_goes_in_batches(write):
    calls = []
    path = write(*[HOUSE] * 70)
    align = looking_at(LOOKS, calls)
    rate, count = gold_alignments.alignment_errors(align, path)
    assert calls == [64, 6]
    assert count == 70
    assert rate == pytest.approx(1 - 4 / 5)


def test_built_in_corpus_has_exact_links():
    gold = gold_alignments.read_gold("phrases")
    assert len(gold) == 1000
    looks = {}
    for pair in gold:
        assert len(set(pair.sure)) == len(pair.sure) >= len(pair.english)
        first = {}
        for english, spanish in pair.sure:
            first.setdefault(english, spanish)
        sentences = map(
            gold_alignments.as_written, (pair.spanish, pair.english)
        )
        looks[tuple(sentences)] = first
    rate, count = gold_alignments.alignment_errors(looking_at(looks), gold)
    # One link for each English word, all of them right.
    made = sum(len(pair.english) for pair in gold)
    sure = sum(len(pair.sure) for pair in gold)
    assert count == 1000
    assert rate == pytest.approx(1 - 2 * made / (made + sure))


def test_what_is_no_unicode_is_read_as_a_question_mark(write):
    line = b'{"en": ["\\ud800"], "es": ["\\ud800"], "sure": [[0, 0]], '
    path = write(line + b'"possible_only": []}')
    looks = {("?", "?"): {0: 0}}
    assert gold_alignments.alignment_errors(looking_at(looks), path) == (0, 1)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"the red house", "this is no JSON object"),
        (b'{"en": ["the"', "this is no JSON object"),
        (b'{"en": ["\xff"]}', "this is no JSON object"),
        (b"[" * 100_000, "this is no JSON object"),
        (b"[1, 2]", "this is no JSON object"),
        ({"en": ["the"], "es": ["la"]}, 'there is no list "sure"'),
        (HOUSE | {"es": "la casa roja"}, 'there is no list "es"'),
        (HOUSE | {"en": ["the", 3]}, "3 is no word"),
        (HOUSE | {"en": ["the", "red house"]}, "'red house' is no word"),
        (HOUSE | {"es": ["la", "casa", ""]}, "'' is no word"),
        (HOUSE | {"sure": [[3, 0]]}, "[3, 0] links no two of 3 English and 3"),
        (HOUSE | {"possible_only": [[0, 3]]}, "[0, 3] links no two of 3"),
        (HOUSE | {"sure": [[0, -1]]}, "[0, -1] links no two"),
        (HOUSE | {"sure": [[0, 1, 2]]}, "[0, 1, 2] links no two"),
        (HOUSE | {"sure": [[0, 1.0]]}, "[0, 1.0] links no two"),
        (HOUSE | {"sure": [True]}, "True links no two"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_line_that_is_wrong_is_named(write, line, problem):
    path = write(HOUSE, b"", line)
    message = f"{path}, line 3: {problem}"
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        gold_alignments.read_gold(path)
    assert 'Expected a JSON object with "en" and "es"' in str(caught.value)


def test_mark_of_a_byte_order_is_no_part_of_the_text(write):
    line = b"\xef\xbb\xbf" + json.dumps(HOUSE).encode()
    (pair,) = gold_alignments.read_gold(write(line))
    assert pair.english == HOUSE["en"]


def test_empty_file_is_refused(write):
    with pytest.raises(ValueError, match=r"is empty. Expected a JSON object"):
        gold_alignments.read_gold(write(b"", b" "))


def test_sentence_that_the_translator_reads_otherwise_is_refused(write):
    """As when it is cut, or has a word with SentencePiece's mark inside."""
    path = write(HOUSE, HOUSE | {"en": ["the", "red", "hou▁se"]})

    def align(sources, targets):
        targets = tf.strings.regex_replace(targets, "▁", " ")
        looks = {("la casa roja", "the red hou se"): {}}
        return looking_at(LOOKS | looks)(sources, targets)

    match = (
        r"line 2: the translator reads '▁t h e ▁r e d ▁h o u ▁s e </s>'\. "
        r"Expected pieces of the words 'the red hou▁se': shorter sentences"
    )
    with pytest.raises(ValueError, match=match):
        gold_alignments.alignment_errors(align, path)


def test_marks_are_words_though_no_space_is_before_them():
    pieces = [b"\xe2\x96\x81\xc2\xbfD", b"a", b"?", b"</s>", b"<pad>"]
    with pytest.raises(ValueError, match="reads '▁¿D a"):
        gold_alignments.mark_words("here", ["¿", "Da", "?"], pieces)
    pieces[:1] = ["▁¿".encode(), b"D"]
    assert gold_alignments.mark_words("here", ["¿", "Da", "?"], pieces) == (
        ["▁¿", "▁D", "a", "▁?", "</s>", "<pad>"]
    )


def test_unknown_letters_stand_in_the_word_where_they_are():
    pieces = ["▁a", "<unk>", "▁", "<unk>", "c", ".", "</s>"]
    assert gold_alignments.mark_words("here", ["aé", "ñ€c", "."], pieces) == (
        ["▁a", "<unk>", "▁", "▁<unk>", "c", "▁.", "</s>"]
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["¿", "Qué", "?"], "¿Qué?"),
        (["No", ",", "no", "(", "hoy", ")", "."], "No, no (hoy)."),
        (["isn't", "mr.", "1.5"], "isn't mr. 1.5"),
    ],
)
def test_sentences_are_given_as_they_are_written(words, text):
    assert gold_alignments.as_written(words) == text
