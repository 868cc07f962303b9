"""The blocks of HTML and JavaScript that pages of the documentation show work as they stand."""

import base64
import hashlib
from contextlib import contextmanager

import pytest

from deniable.answers import Number
from deniable.question import Question
from tests.browser.dashboard import RECORD, until
from tests.browser.standin import Collector, Site
from tests.browser.test_client import STATIC
from tests.pages import ROOT
from tests.test_docs import fences

pytestmark = pytest.mark.browser

FRUIT = Question("Favourite fruit", ("kiwi", "fig"), epsilon=1.0)
LOADING = Question("How long did it load?", Number(0, 8000, 100, "ms"), epsilon=1.0)
SCRIPT = '<body><script type="module" src="/page.js"></script>'


def block(page, language):
    """Return the only block of a page in one language."""
    (found,) = [text for name, text in fences(ROOT / page) if name == language]
    return found


@contextmanager
def opened(context, question, html, script="", client="deniable.js"):
    """Open a page of a site that serves the client itself, and yield it and the collector."""
    context.add_init_script(RECORD)
    with Collector(question).running() as collector:
        files = {"/": f"<!doctype html><title>Site</title>{html}", "/page.js": script}
        for path, text in files.items():
            named = text.replace("https://collector.example", collector.url)
            files[path] = named.replace("DIGEST", question.digest).encode()
        files["/deniable.js"] = (STATIC / client).read_bytes()
        with Site(files, collector).running() as site:
            page = context.new_page()
            page.goto(f"{site.url}/")
            yield page, collector


def test_the_form_and_tag_count_an_answer(context):
    """Somebody fills in the form, sends it, and is told that it arrived."""
    with opened(context, FRUIT, block("clients/js/README.md", "html")) as (page, collector):
        page.wait_for_selector("#survey button:enabled")
        page.fill("#survey input", "kiwi")
        page.click("#survey button")
        until(page, "outcomes.length > 0")
        assert page.inner_text("[role=status]") == "Thank you. Your answer has arrived."
        assert len(collector.counted) == 1


def test_the_module_counts_an_answer(context):
    """The lines end with an outcome; the package is the file that the collector serves."""
    script = block("clients/js/README.md", "js").replace('"deniable"', '"/deniable.js"')
    script += "\noutcomes.push(outcome);"
    with opened(context, FRUIT, SCRIPT, script) as (page, collector):
        until(page, "outcomes.length > 0")
        assert page.evaluate("outcomes") == ["answered"]
        assert len(collector.counted) == 1


def test_a_page_sends_how_long_it_took_to_load(context):
    """The lines that measure it make a tag, here with the client of this site and its hash."""
    client = "deniable-views.js"
    hashed = base64.b64encode(hashlib.sha384((STATIC / client).read_bytes()).digest()).decode()
    script = block("docs/answers.md", "js")
    script = script.replace("https://collector.example/client/…/deniable.js", "/deniable.js")
    script = script.replace("…", f"sha384-{hashed}")
    with opened(context, LOADING, SCRIPT, script, client) as (page, collector):
        until(page, "outcomes.length > 0")
        assert page.evaluate("outcomes") == ["answered"]
        (data,) = collector.counted.values()
        assert len(LOADING.parse(data[16:])) == 1
