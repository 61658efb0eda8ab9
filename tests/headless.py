"""A browser without a window, where one is installed."""

import contextlib
import shutil

import pytest


webdriver = pytest.importorskip(
    "selenium.webdriver", reason="pages are looked at with Selenium"
)


@contextlib.contextmanager
def open_browser(logs=("browser",)):
    """Opens Chromium, or skips the test where it is missing.

    Args:
        logs: Of what the browser keeps logs: "browser" is its console,
            "performance" what it asks for.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("needs Chromium and chromedriver, which are not here")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.add_argument("--headless=new")
    options.add_argument("--no-sandbox")  # which root has not
    options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", dict.fromkeys(logs, "ALL"))
    service = webdriver.ChromeService(driver)
    with webdriver.Chrome(options, service) as browser:
        yield browser
