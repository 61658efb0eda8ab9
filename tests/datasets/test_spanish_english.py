import hashlib
import os
import zipfile

import keras
import pytest

from keras_attention.datasets import spanish_english


TEXT = "".join(f"English number {i}.\tFrase número {i}.\n" for i in range(101))
PAIR = ("Frase número 7.", "English number 7.")


@pytest.fixture
def archive(tmp_path):
    """Returns a function that writes a zip archive from its members."""

    def write(**members):
        path = tmp_path / "spa-eng.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as stream:
            for name, text in members.items():
                stream.writestr(name.replace("__", "/") + ".txt", text)
        return path

    return write


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty Keras cache, no environment variable; returns the file."""
    monkeypatch.delenv("KERAS_ATTENTION_DATA", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets" / "spa-eng.zip"


def load(path):
    return spanish_english.load_data("tatoeba", path)


def every_pair(parts):
    return [pair for part in parts for pair in part]


def sentences(part):
    return {
        (side, spanish_english._words(sentence))
        for pair in part
        for side, sentence in enumerate(pair)
    }


def assert_no_leak(parts):
    train, validation, test = map(sentences, parts)
    assert not train & test
    assert not train & validation
    assert not validation & test


def test_phrases_are_split_without_leaks():
    parts = spanish_english.load_data()
    assert_no_leak(parts)
    train, validation, test = parts
    assert len(train) > 18000
    assert len(validation) >= 1000
    assert len(test) >= 1000


def test_pairs_are_spanish_then_english():
    pairs = every_pair(spanish_english.load_data())
    assert ("La casa roja.", "The red house.") in pairs


def test_loading_twice_gives_the_same_parts():
    assert spanish_english.load_data() == spanish_english.load_data("phrases")


def test_split_keeps_pairs_together_that_are_linked_through_others():
    chain = [(f"es {i // 2}", f"en {(i + 1) // 2}") for i in range(60)]
    singles = [(f"solo {i}", f"alone {i}") for i in range(60)]
    parts = spanish_english.split_pairs(chain + singles, 5, 5)
    assert_no_leak(parts)
    (holder,) = [part for part in parts if chain[0] in part]
    assert set(chain) <= set(holder)


def test_split_does_not_depend_on_the_order_of_pairs():
    pairs = [(f"es {i % 47}", f"en {i}") for i in range(101)]
    one = spanish_english.split_pairs(pairs, 11, 13)
    other = spanish_english.split_pairs(pairs[::-1], 11, 13)
    assert list(map(set, one)) == list(map(set, other))


def test_split_keeps_one_of_pairs_with_the_same_words():
    pairs = [("¡Hola!", "Hello!"), ("hola", "HELLO"), ("...", "Hm")]
    assert spanish_english.split_pairs(pairs, 0, 0) == (
        [("¡Hola!", "Hello!")],
        [],
        [],
    )


@pytest.mark.parametrize(
    "place",
    [
        "spa.txt",
        "spa-eng/spa.txt",
        "spa-eng_extracted/spa-eng/spa.txt",
        "spa-eng_extracted/spa.txt",
    ],
)
def test_folder_that_holds_the_text_is_read(tmp_path, place):
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TEXT, encoding="utf-8")
    assert PAIR in every_pair(load(tmp_path))
    assert load(tmp_path) == load(str(file))


@pytest.mark.parametrize("member", ["spa", "spa-eng__spa"])
def test_archive_is_read_and_not_extracted(tmp_path, archive, member):
    path = archive(**{"__MACOSX__._spa": "\0", member: TEXT})
    assert PAIR in every_pair(load(path))
    assert load(tmp_path) == load(path)
    assert os.listdir(tmp_path) == ["spa-eng.zip"]


def test_windows_line_ends_byte_order_mark_and_blank_lines_do_not_matter(
    tmp_path,
):
    file = tmp_path / "anything.txt"
    file.write_text(TEXT, encoding="utf-8")
    plain = load(file)
    windows = "\ufeff" + TEXT.replace("\n", "\r\n") + "\r\n"
    file.write_bytes(windows.encode())
    assert load(file) == plain


def test_attribution_column_is_ignored(tmp_path):
    file = tmp_path / "spa.txt"
    file.write_text(TEXT.replace("\n", "\tCC-BY 2.0\n"), encoding="utf-8")
    assert PAIR in every_pair(load(file))


def test_environment_variable_names_the_file(archive, monkeypatch):
    monkeypatch.setenv("KERAS_ATTENTION_DATA", str(archive(spa=TEXT)))
    assert PAIR in every_pair(load(None))


def test_small_text_gives_a_tenth_to_validation_and_test(archive):
    train, validation, test = load(archive(spa=TEXT))
    assert (len(train), len(validation), len(test)) == (81, 10, 10)


def test_text_that_is_too_small_is_refused(archive):
    with pytest.raises(ValueError, match="has 1 pairs .* too few"):
        load(archive(spa="Go.\tVe.\n"))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.zip.*--corpus phrases"):
        load(tmp_path / "no.zip")


def test_folder_without_the_corpus_lists_what_it_holds(tmp_path):
    (tmp_path / "fra.txt").write_text("")
    with pytest.raises(FileNotFoundError, match=r"holds fra\.txt.*spa\.txt"):
        load(tmp_path)


def test_truncated_archive_is_refused(archive):
    path = archive(spa=TEXT)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="not a whole zip archive"):
        load(path)


def test_damaged_archive_is_refused(archive):
    path = archive(spa=TEXT)
    data = bytearray(path.read_bytes())
    data[60:70] = b"0123456789"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        load(path)


def test_web_page_under_the_name_of_the_archive_is_refused(tmp_path):
    path = tmp_path / "spa-eng.zip"
    path.write_text("<html>Please log in</html>")
    with pytest.raises(ValueError, match="something else under that name"):
        load(path)


def test_archive_of_another_language_lists_what_it_holds(archive):
    with pytest.raises(ValueError, match=r"holds fra\.txt.*member spa\.txt"):
        load(archive(fra=TEXT))


def test_text_larger_than_any_corpus_is_refused(archive, monkeypatch):
    monkeypatch.setattr(spanish_english, "_MAX_BYTES", 100)
    with pytest.raises(ValueError, match="at most 100"):
        load(archive(spa=TEXT))


def test_text_without_tabs_names_the_line(archive):
    with pytest.raises(ValueError, match="Line 102 .* 'Go home.'"):
        load(archive(spa=TEXT + "Go home.\n"))


def test_text_that_is_not_utf8_is_refused(archive):
    with pytest.raises(ValueError, match="Expected UTF-8"):
        load(archive(spa=TEXT.encode("latin-1")))


def test_unknown_corpus_lists_the_known():
    with pytest.raises(ValueError, match="'phrases', 'tatoeba'"):
        spanish_english.load_data("europarl")


def test_path_with_the_built_in_corpus_is_refused():
    with pytest.raises(ValueError, match="reads no file"):
        spanish_english.load_data("phrases", "spa.txt")


@pytest.mark.parametrize("variable", [None, ""], ids=["unset", "empty"])
def test_corpus_is_downloaded_where_nothing_names_a_file(
    cache, archive, monkeypatch, variable
):
    asked = []
    path = archive(spa=TEXT)

    def get_file(fname, origin, file_hash, **options):
        asked.append((fname, origin, file_hash))
        return str(path)

    monkeypatch.setattr(keras.utils, "get_file", get_file)
    if variable is not None:
        monkeypatch.setenv("KERAS_ATTENTION_DATA", variable)
    assert PAIR in every_pair(load(None))
    assert asked == [
        ("spa-eng.zip", spanish_english.URL, spanish_english.SHA256)
    ]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Exception("URL fetch failure"), ConnectionError),
        (TimeoutError("timed out"), ConnectionError),
        (ValueError("hash does not match"), ValueError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["no network", "timeout", "wrong hash", "interrupted"],
)
def test_failed_download_leaves_no_part_of_the_file(
    cache, monkeypatch, failure, expected
):
    beside = cache.with_name("other.zip")
    beside.write_bytes(b"of somebody else")

    def get_file(*args, **options):
        cache.write_bytes(b"PK half")
        raise failure

    monkeypatch.setattr(keras.utils, "get_file", get_file)
    with pytest.raises(expected) as raised:
        load(None)
    assert os.listdir(cache.parent) == ["other.zip"]
    if expected is not KeyboardInterrupt:
        assert "--corpus phrases" in str(raised.value)
        assert "path=FILE" in str(raised.value)


def test_wrong_hash_is_told(cache, monkeypatch):
    def urlretrieve(origin, target, *args):
        with open(target, "wb") as stream:
            stream.write(b"login page")

    monkeypatch.setattr("keras.src.utils.file_utils.urlretrieve", urlretrieve)
    received = hashlib.sha256(b"login page").hexdigest()
    with pytest.raises(ValueError, match=received):
        load(None)
    assert not cache.exists()


@pytest.mark.skipif(
    not os.environ.get("KERAS_ATTENTION_DATA"),
    reason="KERAS_ATTENTION_DATA does not name the Tatoeba corpus",
)
def test_tatoeba_is_split_as_published():
    parts = load(None)
    assert [len(part) for part in parts] == [112830, 3000, 3002]
    assert_no_leak(parts)
    digests = [
        hashlib.sha256(
            "".join(f"{en}\t{es}\n" for es, en in part).encode()
        ).hexdigest()
        for part in parts
    ]
    assert digests == [
        "f1d85e0e6ee8b9c4c7c7f22e5da4c57174f7edbc919bb0a01682e3006cad2565",
        "7d575d287d1fde7681b15bdfb722dd5197a61bfa8786360bedeb31238043476e",
        "fba5e63bef81f8e0aa3150300e201b2752d89786ef8011db211c0ba122a92909",
    ]
