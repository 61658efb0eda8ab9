"""The site: built without a warning, complete, and looked at in a browser."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest
from headless import open_browser
from public_names import PUBLIC


pytest.importorskip("mkdocs", reason="the site needs the extra docs")


ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WIDTH = 390  # of a phone

# Facts of a page as a browser shows it.
LOOK = """
const article = document.querySelector("article");
const all = [...article.querySelectorAll("*")];
const formulas = [...article.querySelectorAll("math")];
const prose = article.cloneNode(true);
const notProse = "pre, code, script, style, .jp-CodeCell";
for (const part of prose.querySelectorAll(notProse)) {
  part.remove();
}
return {
  width: document.scrollingElement.scrollWidth,
  lost: [...document.images].filter(
    (image) => !image.complete || !image.naturalWidth
  ).map((image) => image.src),
  blocks: formulas.filter((one) => one.matches("[display=block]")).length,
  flat: formulas.filter((one) => one.getBoundingClientRect().height < 5).length,
  formulas: formulas.length,
  font: document.fonts.check("16px 'STIX Two Math of this site'"),
  leftTex: prose.textContent.match(/\\$|\\\\[a-z]+/g),
  logs: article.innerText.match(/InitializeLog.*/g),
  links: [...article.querySelectorAll("a[href]")].map((link) => link.href),
  strange: all.filter(
    (one) => one instanceof HTMLUnknownElement || one.matches("s, merror")
  ).map((one) => one.outerHTML),
};
"""


def build(root, folder):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--site-dir", str(folder)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    result = build(ROOT, folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def pages_of(site):
    pages = [page.parent for page in site.rglob("index.html")]
    return sorted(page.relative_to(site).as_posix() for page in pages)


def test_every_page_and_notebook_is_there(site):
    sources = [*DOCS.glob("*.md"), *DOCS.glob("api/*.md")]
    names = [
        file.relative_to(DOCS).with_suffix("").as_posix() for file in sources
    ]
    names += [f"tutorials/{file.stem}" for file in notebooks()]
    assert len(notebooks()) == 6
    names[names.index("index")] = "."
    assert pages_of(site) == sorted(names)


def notebooks():
    return sorted(ROOT.glob("tutorials/*.ipynb"))


def test_reference_has_every_public_name(site):
    text = "".join(page.read_text() for page in site.glob("api/*/index.html"))
    headings = re.findall(r'<h2 id="([\w.]+)"', text)
    assert last_parts(headings) == last_parts(PUBLIC)


def last_parts(names):
    return {name.split(".")[-1] for name in names}


def test_broken_links_and_lost_pages_are_refused(tmp_path):
    for part in ("hooks", "stylesheets", "templates", "theme"):
        shutil.copytree(DOCS / part, tmp_path / "docs" / part)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "docs" / "index.md").write_text(
        "# Start\n[one](none.md) [two](#none) [three](../README.md)"
    )
    (tmp_path / "docs" / "lost.md").write_text("# Lost")
    result = build(tmp_path, tmp_path / "site")
    assert result.returncode != 0
    for expected in (
        "link 'none.md', but the target is not found",
        "link '#none', but there is no such anchor",
        "link '../README.md', but the target is not found",
        'not included in the "nav" configuration:\n  - lost.md',
        "'overview.md' is included in the 'nav' configuration, which is not",
    ):
        assert expected in result.stderr


def test_formula_that_is_no_tex_is_refused(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(r"$$\frac{1}$$")
    hook = DOCS / "hooks" / "formulas.py"
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\nhooks: [{hook}]")
    assert "LatexError" in build(tmp_path, tmp_path / "site").stderr


@pytest.fixture(scope="module")
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    with open_browser(logs=("browser", "performance")) as browser:
        yield browser


@pytest.fixture(scope="module")
def seen(site, address, browser):
    """What a browser finds on every page."""
    screen = {"height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": WIDTH, **screen}
    )
    found = {}
    for page in pages_of(site):
        browser.get(f"{address}{page}/")
        browser.execute_async_script("document.fonts.ready.then(arguments[0])")
        found[page] = {
            **browser.execute_script(LOOK),
            "console": browser.get_log("browser"),
            "requests": requests_of(browser),
        }
    return found


def requests_of(browser):
    messages = [
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    ]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize(
    "name", ["console", "leftTex", "logs", "lost", "strange"]
)
def test_nothing_is_wrong_on_any_page(seen, name):
    """Errors in the console, TeX that is no formula, what TensorFlow logs,
    pictures that do not load, and elements that no page should have.
    """
    assert {
        page: found[name] for page, found in seen.items() if found[name]
    } == {}


def test_nothing_comes_from_elsewhere(seen, address):
    asked = {url for found in seen.values() for url in found["requests"]}
    assert any(url.endswith(".css") for url in asked)
    own = (address, "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []


def test_links_lead_somewhere(seen, address, site):
    """Of notebooks too, whose links mkdocs does not check."""
    links = {link for found in seen.values() for link in found["links"]}
    own = [link for link in links if link.startswith(address)]
    assert len(own) > 100
    for link in own:
        path, _, anchor = link.removeprefix(address).partition("#")
        file = site / path
        file = file / "index.html" if file.is_dir() else file
        assert file.is_file(), link
        assert not anchor or f'id="{unquote(anchor)}"' in file.read_text(), link


def test_no_page_is_wider_than_a_phone(seen):
    widths = {page: found["width"] for page, found in seen.items()}
    assert {
        page: width for page, width in widths.items() if width > WIDTH
    } == {}


def blocks_of(file):
    """The number of formulas with a line of their own in a source."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "".join(
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "markdown"
        )
    return text.count("$$") // 2


def test_formulas_are_shown(seen):
    for page, found in seen.items():
        assert found["flat"] == 0, page
        assert found["font"] or not found["formulas"], page
    for file in [*DOCS.glob("*.md"), *notebooks()]:
        folder = DOCS if file.suffix == ".md" else ROOT
        page = file.relative_to(folder).with_suffix("").as_posix()
        blocks = seen["." if page == "index" else page]["blocks"]
        assert blocks == blocks_of(file), page
    assert seen["equations"]["blocks"] > 9
    assert seen["api/scores"]["blocks"] > 3


def test_page_is_dark_where_that_is_preferred(address, browser):
    browser.get(address)
    brightness = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [feature]}
        )
        browser.get(address)
        color = browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )
        brightness.append(sum(map(int, re.findall(r"\d+", color)[:3])))
    assert brightness[0] > 600
    assert brightness[1] < 150
