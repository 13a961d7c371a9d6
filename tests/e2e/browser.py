"""Debian's Chromium, headless, driven by Selenium."""

import contextlib
import shutil
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from host import HANG_S


@contextlib.contextmanager
def chromium(width=1200, height=900):
    """A browser with a profile of its own."""
    profile = tempfile.mkdtemp(prefix="odyssey-console-")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    # Chromium's own sandbox does not start as root; the pages here are our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", f"--window-size={width},{height}", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        try:
            browser.set_page_load_timeout(HANG_S)
            yield browser
        finally:
            browser.quit()
    finally:
        shutil.rmtree(profile, ignore_errors=True)


# What a page has loaded: name and bytes of each, over the network.
LOADED = ("return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
          ".map(e => [e.name, e.transferSize])")
