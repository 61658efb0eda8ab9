"""Spanish-English sentence pairs, split without leaks."""

import collections
import hashlib
import io
import os
import re
import tempfile
import unicodedata
import zipfile
import zlib
from pathlib import Path

import keras

from keras_attention.datasets import phrases
from keras_attention.validation import check_choice


Pairs = list[tuple[str, str]]  # (spanish, english)

URL = "http://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
SHA256 = "0c4fd7825d3d872488d38c157f784e035edab4f2ff0df25a2a208790ecb5b58f"
VARIABLE = "KERAS_ATTENTION_DATA"

_CORPORA = ("phrases", "tatoeba")
_TEXT_NAME = "spa.txt"
# In a folder, the first of these that exists is read. `get_file` extracted
# to spa-eng/ in Keras 2 and extracts to spa-eng_extracted/ in Keras 3.
_PLACES = (
    "spa.txt",
    "spa-eng/spa.txt",
    "spa-eng_extracted/spa-eng/spa.txt",
    "spa-eng_extracted/spa.txt",
    "spa-eng.zip",
)
# Some ten times the size of the text that exists; a bomb is larger.
_MAX_BYTES = 100 * 2**20
_WAYS_ON = (
    "To go on, pass a good file by path=FILE (`--data FILE`), or use "
    'corpus="phrases" (`--corpus phrases`), which needs no file.'
)


def load_data(
    corpus: str = "phrases", path: str | os.PathLike | None = None
) -> tuple[Pairs, Pairs, Pairs]:
    """Loads sentence pairs for translation from Spanish to English.

    Pairs that share a sentence in either language, compared without case and
    punctuation, are all in the same part, so nothing of the validation and
    test part is seen in training.

    The `"tatoeba"` corpus is licensed CC BY 2.0 (France), attribution:
    "www.manythings.org/anki and tatoeba.org".

    Args:
        corpus: `"phrases"`, the built-in corpus of
            `keras_attention.datasets.phrases`, or `"tatoeba"`, 118,832
            distinct pairs written by people.
        path: Where the Tatoeba corpus is: the zip archive, its `spa.txt`, a
            text of the same form (UTF-8; English, tab, Spanish; further
            columns are ignored), or a folder that holds one of these. If
            absent, the environment variable `KERAS_ATTENTION_DATA` says it;
            if that is unset or empty, the archive is downloaded once to the
            Keras cache.

    Returns:
        `(train, validation, test)`, lists of `(spanish, english)` pairs of
        strings. `"phrases"`: at least 1,000 pairs in each of validation and
        test; `"tatoeba"`: 112,830, 3,000 and 3,002 pairs. Of a smaller text,
        a tenth goes to each.

    Raises:
        FileNotFoundError: If there is nothing to read at `path`.
        ValueError: If what is there is not such a corpus.
        ConnectionError: If the archive cannot be downloaded.

    Example:
        ```python
        train, validation, test = (
            keras_attention.datasets.spanish_english.load_data()
        )
        print(train[0][0])  # La profesora hablará inglés.
        print(len(validation), len(test))  # 1000 1000
        ```
    """
    check_choice("load_data", "corpus", corpus, _CORPORA)
    if corpus == "phrases":
        if path:
            raise ValueError(
                f"`load_data` received path={str(path)!r} with "
                'corpus="phrases", which is built in and reads no file. '
                'Expected corpus="tatoeba" (`--corpus tatoeba`) with a path, '
                "or no path."
            )
        pairs = [
            (phrase.spanish, phrase.english)
            for phrase in phrases.load_phrases()
        ]
        return split_pairs(pairs, 1000, 1000)
    source = path or os.environ.get(VARIABLE)
    file = _find(Path(source).expanduser()) if source else _download()
    pairs = _parse(_read_text(file), file)
    held_out = min(3000, len(pairs) // 10)
    parts = split_pairs(pairs, held_out, held_out)
    if not all(parts):
        raise ValueError(
            f"{file} has {len(pairs)} pairs of sentences, too few for "
            "training, validation and test. Expected at least some hundreds. "
            + _WAYS_ON
        )
    return parts


def split_pairs(
    pairs: Pairs, num_validation: int, num_test: int
) -> tuple[Pairs, Pairs, Pairs]:
    """Splits pairs so that no sentence is in two parts.

    Pairs that share a sentence on either side stay together, and so do pairs
    linked through others. Sentences are compared as their words: without
    case, punctuation and underscores. The split depends on the sentences
    alone, not on chance, and hardly on other pairs.

    Args:
        pairs: List of `(spanish, english)` strings. Of pairs with the same
            words the first is kept; a pair with a side without a word is
            dropped.
        num_validation: Least number of validation pairs.
        num_test: Least number of test pairs; the test part is filled first.

    Returns:
        `(train, validation, test)`, lists of pairs. The last two are larger
        than asked for by less than one group of linked pairs.

    Example:
        ```python
        pairs = [("Hola.", "Hi."), ("¡Hola!", "Hello."), ("Sí.", "Yes.")]
        train, validation, test = (
            keras_attention.datasets.spanish_english.split_pairs(pairs, 0, 1)
        )
        print(train)  # [('Sí.', 'Yes.')]
        print(test)  # [('Hola.', 'Hi.'), ('¡Hola!', 'Hello.')]
        ```
    """
    words = {}
    for pair in pairs:
        spanish, english = map(_words, pair)
        if spanish and english:
            words.setdefault(("e" + english, "s" + spanish), pair)
    groups = collections.defaultdict(list)
    roots = _roots(words)
    for (english, _), pair in words.items():
        groups[roots[english]].append(pair)
    train, validation, test = [], [], []
    for root in sorted(groups, key=_digest):
        if len(test) < num_test:
            test += groups[root]
        elif len(validation) < num_validation:
            validation += groups[root]
        else:
            train += groups[root]
    return train, validation, test


def _words(sentence):
    """The words of a sentence in one form, joined by spaces."""
    sentence = unicodedata.normalize("NFKC", sentence).casefold()
    sentence = sentence.replace("\u2019", "'").replace("\u200b", "")
    return " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)*", sentence))


def _roots(edges):
    """Maps each node to the least node of its connected component."""
    parents = {}

    def find(node):
        parent = parents.setdefault(node, node)
        while parent != node:
            # Halving the path keeps later look-ups short.
            parents[node] = parents[parent]
            node = parents[node]
            parent = parents[node]
        return node

    for one, other in edges:
        one, other = sorted((find(one), find(other)))
        parents[other] = one
    return {node: find(node) for node in list(parents)}


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _find(path):
    """The file at `path`, or the one that a folder there holds."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise FileNotFoundError(
            f"There is no file or folder {path}. Expected the spa-eng.zip "
            f"archive, its {_TEXT_NAME}, or a folder that holds one of them, "
            f"in `path` or the environment variable {VARIABLE}. " + _WAYS_ON
        )
    for place in _PLACES:
        if (path / place).is_file():
            return path / place
    expected = ", ".join(_PLACES)
    held = ", ".join(sorted(os.listdir(path))[:10]) or "nothing"
    raise FileNotFoundError(
        f"The folder {path} holds {held}. Expected one of {expected} in it. "
        + _WAYS_ON
    )


def _download():
    """Fetches the archive into the Keras cache, whole or not at all."""
    cache = Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    if not os.access(cache, os.W_OK):
        # Where `get_file` goes then; a failed download must be found again.
        cache = Path(tempfile.gettempdir()) / ".keras"
    file = cache / "datasets" / "spa-eng.zip"
    try:
        return Path(
            keras.utils.get_file(
                file.name, URL, file_hash=SHA256, cache_dir=str(cache)
            )
        )
    except ValueError as error:
        raise ValueError(
            f"The file from {URL} has the sha256 {_hash(file)}. Expected "
            f"{SHA256}: the download was cut short or changed on its way; it "
            "has been removed. Try again. " + _WAYS_ON
        ) from error
    # `get_file` raises a bare Exception when it cannot reach the address.
    except Exception as error:
        raise ConnectionError(
            f"The corpus could not be downloaded from {URL} to {file}: "
            f"{error}. Expected a network connection. " + _WAYS_ON
        ) from error
    finally:
        # Also when interrupted: what is not the archive would be in the way.
        if _hash(file) not in (None, SHA256):
            file.unlink()


def _hash(file):
    if not file.is_file():
        return None
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _read_text(file):
    """The text of a plain file or of the member of a zip archive."""
    with open(file, "rb") as stream:
        is_zip = stream.read(4) == b"PK\x03\x04" or file.suffix == ".zip"
    if is_zip:
        data = _read_member(file)
    else:
        _check_size(file, file.stat().st_size)
        data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not UTF-8 text: {error}. Expected UTF-8. " + _WAYS_ON
        ) from error


def _read_member(file):
    """Reads the text in memory: nothing of an archive reaches the disk."""
    if not zipfile.is_zipfile(file):
        raise ValueError(
            f"{file} ({file.stat().st_size} bytes) is not a whole zip archive "
            "(cut short, or something else under that name). Expected the "
            "spa-eng.zip archive. " + _WAYS_ON
        )
    try:
        with zipfile.ZipFile(file) as archive:
            # Archives made on a Mac hold a "._spa.txt" beside each file.
            members = [
                member
                for member in archive.infolist()
                if Path(member.filename).name == _TEXT_NAME
            ]
            if not members:
                held = ", ".join(archive.namelist()[:10]) or "nothing"
                raise ValueError(
                    f"The archive {file} holds {held}. Expected a member "
                    f"{_TEXT_NAME}. " + _WAYS_ON
                )
            _check_size(file, members[0].file_size)
            # Reading to the end compares the checksum too.
            return archive.read(members[0])
    # RuntimeError: encrypted. NotImplementedError: unknown compression.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(
            f"The archive {file} is damaged or cannot be read: {error}. "
            "Expected an intact spa-eng.zip. " + _WAYS_ON
        ) from error


def _check_size(file, size):
    if size > _MAX_BYTES:
        raise ValueError(
            f"The text of {file} has {size} bytes. Expected at most "
            f"{_MAX_BYTES}. " + _WAYS_ON
        )


def _parse(text, file):
    """Reads lines of English, tab, Spanish into (spanish, english) pairs."""
    pairs = []
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if not line.strip():
            continue
        columns = line.rstrip("\n").split("\t")
        if len(columns) < 2:
            raise ValueError(
                f"Line {number} of {file} has no tab: {line.strip()[:60]!r}. "
                "Expected English, tab, Spanish. " + _WAYS_ON
            )
        pairs.append((columns[1], columns[0]))
    return pairs
