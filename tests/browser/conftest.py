"""A real browser, found or skipped with a reason; where ``CI=true``, its absence is a failure."""

import os
import shutil

import pytest

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)
ARGUMENTS = [
    "--no-sandbox",  # tests may run as root, where the sandbox does not start
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP *.test 127.0.0.1",  # hosts that are no secure context
]


def miss(reason):
    """Skip a test for want of a browser; where everything must be there, fail."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


# By module and not by session: while Playwright runs, no other event loop can in this process.
@pytest.fixture(scope="module")
def browser():
    """Start Chromium: that of DENIABLE_BROWSER, or the first that is found."""
    try:
        from playwright import sync_api  # noqa: PLC0415 - it may be missing
    except ImportError:
        miss("playwright is not installed")
    path = os.environ.get("DENIABLE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        miss("no Chromium found; apt-get install chromium, or set DENIABLE_BROWSER")
    with sync_api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        except sync_api.Error as error:
            miss(f"{path} does not start: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def context(browser):
    """Return a new profile of the browser: no storage, no cookies, no cache."""
    found = browser.new_context()
    found.set_default_timeout(20_000)
    yield found
    found.close()
