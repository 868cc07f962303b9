"""A real browser, with a new profile for each test."""

import pytest

from tests import components

ARGUMENTS = [
    "--no-sandbox",  # tests may run as root, where the sandbox does not start
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP *.test 127.0.0.1",  # hosts that are no secure context
]


# By module and not by session: while Playwright runs, no other event loop can in this process.
@pytest.fixture(scope="module")
def browser():
    """Start Chromium."""
    from playwright import sync_api  # noqa: PLC0415 - absent where these tests are not run

    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=components.browser(), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def context(browser):
    """Return a new profile of the browser: no storage, no cookies, no cache."""
    found = browser.new_context()
    found.set_default_timeout(20_000)
    yield found
    found.close()
