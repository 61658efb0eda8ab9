"""The page of serve.py and what it answers, by HTTP and in a browser."""

import contextlib
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import hostile
import numpy as np
import pytest
import serve
import tensorflow as tf
import tensorflow_text  # noqa: F401
import uvicorn
from headless import open_browser
from processes import ENVIRONMENT
from processes import TUTORIALS
from processes import run
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait


SERVE = TUTORIALS / "serve.py"
MARKUP = "<img src=x onerror=document.title='broken'> &amp; <b>sí</b>"


class Scripted:
    """Writes the words backwards, each from the same word alone."""

    def __init__(self):
        self.gate = threading.Event()
        self.running = self.most_running = 0

    def __call__(self, words, beam_search):
        if words == ["fail"]:
            raise RuntimeError("as the script says")
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        if words == ["wait"]:
            assert self.gate.wait(60)
        time.sleep(0.02)
        self.running -= 1
        backwards = words[::-1]
        scores = np.eye(len(words) + 1)[[*range(len(words))][::-1] + [-1]]
        return {
            "translation": " ".join(["beams:"] * beam_search + backwards),
            "source_words": [*words, "</s>"],
            "target_words": [*backwards, "</s>"],
            "attention_scores": scores.tolist(),
            "num_words_left_out": 3 * (words == ["long"]),
        }


@contextlib.contextmanager
def serving(translate):
    """Serves the page in this process; gives its address."""
    listener = serve.open_socket("127.0.0.1", 0)
    config = uvicorn.Config(serve.make_app(translate), log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=[[listener]])
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def address():
    with serving(Scripted()) as address:
        yield address


def get(url, body=None):
    """Status and text of an answer."""
    try:
        with urllib.request.urlopen(url, body, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(address, **request):
    status, text = get(f"{address}/translate", json.dumps(request).encode())
    return status, json.loads(text)


def test_answer_is_that_of_the_translator(address):
    status, results = ask(address, sentence=" la\tcasa\u2028\n ¿roja?\u00a0")
    assert status == 200
    assert results == Scripted()(["la", "casa", "¿roja?"], False)
    status, results = ask(address, sentence="la▁casa", beam_search=True)
    assert status == 200
    assert results == Scripted()(["la", "casa"], True)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"la casa", 400, "no JSON. Expected {"),
        (b"", 400, "no JSON"),
        (b'{"sentence": "la', 400, "no JSON"),
        (b"\xff\xfe\xfd", 400, "no JSON"),
        (b"[" * 60_000, 400, "no JSON"),
        (b'["la casa"]', 422, "no JSON object"),
        (b"{}", 422, '"sentence" is no text'),
        (b'{"sentence": 5}', 422, '"sentence" is no text'),
        (b'{"sentence": ["la"]}', 422, '"sentence" is no text'),
        (b'{"sentence": ""}', 422, "no word"),
        (b'{"sentence": " \\n\\u2028"}', 422, "no word"),
        (b'{"sentence": "la", "beam_search": "no"}', 422, "no boolean"),
        (b'{"sentence": "la", "beam_search": 1}', 422, "no boolean"),
        (b'{"sentence": "la", "beams": 5}', 422, "Unknown: ['beams']"),
        (b'{"sentence": "%s"}' % (b"la " * 30_000), 413, "65,536 bytes"),
        (b" " * 20_000_000, 413, "65,536 bytes"),
    ],
)
def test_bad_request_is_told_what_is_wrong(address, body, status, words):
    answered, text = get(f"{address}/translate", body)
    assert answered == status
    assert words in json.loads(text)["error"]


def test_other_addresses_and_methods_are_refused(address):
    status, text = get(f"{address}/etc/passwd")
    assert (status, json.loads(text)) == (404, {"error": "Not Found"})
    status, text = get(f"{address}/translate")
    assert (status, json.loads(text)) == (405, {"error": "Method Not Allowed"})


def test_failure_is_an_answer_too(address):
    status, results = ask(address, sentence="fail")
    assert status == 500
    assert "its log says why" in results["error"]
    assert ask(address, sentence="la")[0] == 200


def test_page_is_answered_while_a_sentence_is_translated():
    translator = Scripted()
    with serving(translator) as address, ThreadPoolExecutor() as threads:
        answer = threads.submit(ask, address, sentence="wait")
        status, page = get(address)
        assert status == 200
        assert "<title>Spanish to English</title>" in page
        assert not answer.done()
        translator.gate.set()
        assert answer.result()[0] == 200


def test_sentences_are_translated_one_at_a_time():
    translator = Scripted()
    sentences = [f"casa {number}" for number in range(20)]
    with serving(translator) as address, ThreadPoolExecutor(20) as threads:
        answers = list(
            threads.map(lambda words: ask(address, sentence=words), sentences)
        )
    for sentence, (status, results) in zip(sentences, answers, strict=True):
        assert status == 200
        assert results["source_words"] == [*sentence.split(), "</s>"]
    assert translator.most_running == 1


def test_page_loads_nothing_from_elsewhere():
    page = SERVE.with_suffix(".html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    loaded = re.findall(r"""(?:src|href)=["']?([^"' >]*)""", page)
    assert [address.split(":")[0] for address in loaded] == ["data"]
    assert not re.search(r"@import|url\(|<script [^>]", page)


def test_port_in_use_is_told_before_the_model_is_loaded(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = run(
            [sys.executable, str(SERVE), str(tmp_path), "--port", port],
            text=True,
        )
    assert result.returncode == 1
    assert f"Port {port} of 127.0.0.1 cannot be used" in result.stderr
    assert "--port" in result.stderr
    assert "Traceback" not in result.stderr


def test_impossible_port_is_told(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    result = run(
        [sys.executable, str(SERVE), str(tmp_path), "--port", "70000"],
        text=True,
    )
    assert result.returncode == 1
    assert "Port 70000 of 127.0.0.1 cannot be used" in result.stderr
    assert "Traceback" not in result.stderr


def test_folder_without_a_model_is_told(tmp_path):
    result = run([sys.executable, str(SERVE), str(tmp_path)], text=True)
    assert result.returncode == 1
    assert "no SavedModel here" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture(scope="module")
def real(finished):
    """A server as a user starts it, which Ctrl-C ends quietly."""
    process = subprocess.Popen(
        [sys.executable, str(SERVE), str(finished), "--port", "0"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield re.search(r"http://\S+", process.stdout.readline())[0]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert "Traceback" not in errors


@pytest.fixture(scope="module")
def signatures(finished):
    return tf.saved_model.load(str(finished / "saved_model")).signatures


@pytest.fixture(scope="module")
def sentence(signatures):
    """One that the two ways to search translate differently."""
    draw = random.Random(7)
    drawn = [draw.choices(hostile.WORDS, k=10) for _ in range(100)]
    sentences = [" ".join(["😀", *words]) for words in drawn]
    greedy, beams = (
        signatures[name](sentences=tf.constant(sentences))["translations"]
        for name in ("serving_default", "beam_search")
    )
    return sentences[int(tf.where(greedy != beams)[0, 0])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beam_search", "signature"),
    [
        (False, "translate_with_attention"),
        (True, "beam_search_with_attention"),
    ],
)
def test_words_and_scores_are_those_of_the_model(
    real, signatures, sentence, beam_search, signature
):
    status, results = ask(real, sentence=sentence, beam_search=beam_search)
    assert status == 200
    wanted = signatures[signature](sentences=tf.constant([sentence]))
    wanted = {name: value[0].numpy() for name, value in wanted.items()}
    assert results["translation"] == wanted["translations"].decode()
    assert results["source_words"] == [*sentence.split(), "</s>"]
    *words, end = results["target_words"]
    assert (" ".join(words), end) == (results["translation"], "</s>")
    scores = np.array(results["attention_scores"])
    assert scores.shape == (len(words) + 1, 12)
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-3)
    # The last row and the last column are of one piece each.
    last = list(wanted["target_pieces"]).index(b"</s>")
    column = wanted["attention_scores"][last, -1]
    assert scores[-1, -1] == pytest.approx(column, abs=1e-4)
    assert results["num_words_left_out"] == 0


@pytest.mark.slow
def test_any_text_has_an_answer(real):
    for line in hostile.hostile_lines(200):
        sentence = line[:20_000].decode("utf-8", "surrogateescape")
        status, results = ask(real, sentence=sentence)
        if not sentence.replace("▁", " ").split():
            assert status == 422
        elif status != 413:  # escapes of JSON may be six times as long
            shape = np.shape(results["attention_scores"])
            sizes = len(results["target_words"]), len(results["source_words"])
            assert (status, shape) == (200, sizes)


@pytest.mark.slow
def test_words_beyond_the_longest_source_are_counted(real):
    status, results = ask(real, sentence="casa " * 1000)
    assert status == 200
    read = len(results["source_words"]) - 1
    assert results["source_words"][:read] == ["casa"] * read
    assert 0 < read < 1000
    assert results["num_words_left_out"] == 1000 - read


@pytest.mark.slow
def test_request_that_ends_early_leaves_the_server_well(real):
    host, port = real.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\n")
        connection.sendall(b"Content-Length: 1000\r\n\r\n{")
    assert ask(real, sentence="la")[0] == 200


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser, address):
    browser.get(address)
    yield browser
    errors = browser.get_log("browser")
    # A refused request is logged, too.
    assert [
        error for error in errors if "status of 422" not in str(error)
    ] == []


def text_of(page, name):
    return page.find_element(By.ID, name).text


def translate(page, sentence, *keys):
    """Types a sentence; waits until its answer is there."""
    box = page.find_element(By.ID, "sentence")
    box.clear()
    box.click()
    if sentence:
        # Not by key: the driver knows no keys for characters such as 😀.
        page.execute_cdp_cmd("Input.insertText", {"text": sentence})
    box.send_keys(*(keys or [Keys.ENTER]))
    WebDriverWait(page, 60).until(
        lambda page: (
            page.find_element(By.ID, "button").is_enabled()
            and (text_of(page, "translation") or text_of(page, "error"))
        )
    )


def heat_map(page):
    """Column headings, row headings, and rows of numbers."""
    return page.execute_script("""
        const texts = (part, query) =>
          [...part.querySelectorAll(query)].map((cell) => cell.textContent);
        const map = document.getElementById("heat-map");
        return [
          texts(map, "thead th[scope=col]"), texts(map, "tbody th[scope=row]"),
          [...map.tBodies[0].rows].map((row) => texts(row, "td")),
        ];
    """)


def test_page_shows_translation_and_heat_map(page):
    translate(page, "la casa roja")
    assert text_of(page, "translation") == "roja casa la"
    columns, rows, numbers = heat_map(page)
    assert columns == ["la", "casa", "roja", "end"]
    assert rows == ["roja", "casa", "la", "end"]
    assert numbers == [
        ["", "", "100", ""],
        ["", "100", "", ""],
        ["100", "", "", ""],
        ["", "", "", "100"],
    ]
    full, empty = page.find_elements(By.CSS_SELECTOR, "tbody td")[2:4]
    assert full.get_attribute("title") == "roja ← roja: 100.0 %"
    assert empty.get_attribute("title") == "roja ← </s>: 0.0 %"
    colors = [
        cell.value_of_css_property("background-color") for cell in (full, empty)
    ]
    assert colors[0] != colors[1]


def test_markup_is_shown_as_text(page):
    translate(page, MARKUP)
    assert text_of(page, "translation") == " ".join(MARKUP.split()[::-1])
    columns, rows, _ = heat_map(page)
    assert columns == [*MARKUP.split(), "end"]
    assert rows == [*MARKUP.split()[::-1], "end"]
    assert page.title == "Spanish to English"
    assert page.find_elements(By.CSS_SELECTOR, "img, b") == []


def test_bad_input_is_told_in_words_until_it_is_better(page):
    translate(page, "")
    assert text_of(page, "error") == "There is no word to translate."
    box = page.find_element(By.ID, "sentence")
    assert box.get_attribute("aria-invalid") == "true"
    assert not page.find_element(By.ID, "results").is_displayed()
    translate(page, "la casa")
    assert text_of(page, "error") == ""
    assert box.get_attribute("aria-invalid") == "false"
    assert text_of(page, "translation") == "casa la"


def test_search_is_chosen_by_its_label_and_sent_by_button(page):
    label = "//label[normalize-space()='beam search']"
    page.find_element(By.XPATH, label).click()
    page.find_element(By.ID, "sentence").send_keys("casa")
    page.find_element(By.ID, "button").click()
    WebDriverWait(page, 60).until(
        lambda page: text_of(page, "translation") == "beams: casa"
    )


def test_keys(page):
    translate(page, "la", Keys.CONTROL, Keys.ENTER)
    assert text_of(page, "translation") == "la"
    # The line that Shift+Enter starts is read as well.
    translate(
        page, "la", Keys.SHIFT, Keys.ENTER, Keys.SHIFT, "casa", Keys.ENTER
    )
    assert text_of(page, "translation") == "casa la"


def test_words_that_were_not_read_are_told(page):
    translate(page, "long")
    assert "its last 3 words were not read" in text_of(page, "left-out")
    translate(page, "short")
    assert text_of(page, "left-out") == ""


def test_page_without_its_server_says_so(browser):
    with serving(Scripted()) as address:
        browser.get(address)
    translate(browser, "la casa")
    assert "does not answer" in text_of(browser, "error")
    browser.get_log("browser")  # has the refused connection


@pytest.mark.parametrize("width", [320, 1280])
def test_page_fits_its_window_whatever_the_sentence(page, width):
    sizes = {"width": width, "height": 700, "deviceScaleFactor": 1}
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {**sizes, "mobile": width < 600}
    )
    translate(page, "extraordinariamente " * 30 + "x" * 300)
    assert (
        page.execute_script("return document.scrollingElement.scrollWidth")
        <= width
    )
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_page_is_dark_where_that_is_preferred(page):
    backgrounds = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [feature]}
        )
        color = page.find_element(By.TAG_NAME, "body").value_of_css_property(
            "background-color"
        )
        backgrounds.append(sum(map(int, re.findall(r"\d+", color)[:3])))
    assert backgrounds[0] > 600
    assert backgrounds[1] < 150


@pytest.mark.slow
def test_page_shows_what_the_model_says(browser, real):
    sentence = "¿Dónde está la casa roja?"
    _, results = ask(real, sentence=sentence)
    browser.get(real)
    translate(browser, sentence)
    assert text_of(browser, "translation") == results["translation"]
    columns, rows, numbers = heat_map(browser)
    assert columns == [*sentence.split(), "end"]
    assert rows == [*results["translation"].split(), "end"]
    wanted = 100 * np.array(results["attention_scores"])
    shown = [[int(number or 0) for number in row] for row in numbers]
    np.testing.assert_allclose(shown, wanted, atol=0.51)
    assert browser.get_log("browser") == []
