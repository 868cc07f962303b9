"""A real collector, a person who is logged in, and a site on another origin that asks."""

import http.client
import secrets
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit

from deniable.collector.access import LOGIN, Role, create
from deniable.collector.stores import open_store
from tests.browser.standin import Site
from tests.collector.conftest import today

_CONNECTIONS = 8
RECORD = """
    window.outcomes = [];
    window.violations = [];
    addEventListener("deniable", (event) => outcomes.push(String(event.detail)), true);
    addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
"""


def until(page, expression):
    """Wait until something holds in a page; Playwright's own way needs a policy with eval."""
    for _ in range(1000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{expression} never held at {page.url}")


def link(collector, role=Role.ADMIN):
    """Return the address of a new login link."""
    store = open_store(collector.settings.store)
    try:
        return f"{collector.address}/login?key={create(store, LOGIN, role, seconds=600)}"
    finally:
        store.close()


class Visit:
    """Pages in one browser profile, and everything that they asked for or broke."""

    def __init__(self, context, collector):
        self.context, self.collector = context, collector
        self.asked, self.wrong = [], []
        context.add_init_script(RECORD)
        context.on("request", self._note)
        context.on("weberror", lambda error: self.wrong.append(str(error.error)))

    def _note(self, request):
        self.asked.append(request)

    def log_in(self, role=Role.ADMIN):
        """Log in by a link, as a person does, and return the page that follows."""
        page = self.context.new_page()
        page.goto(link(self.collector, role))
        page.click("text=Log in to this collector")
        page.wait_for_url(f"{self.collector.address}/")
        return page

    def open(self, path):
        """Open a page of the collector in a new tab."""
        page = self.context.new_page()
        page.goto(self.collector.address + path)
        return page

    @property
    def sent(self):
        """The submissions that left the browser."""
        return [
            each for each in self.asked
            if each.method == "POST" and "/reports?" in each.url
        ]  # fmt: skip

    def violations(self):
        """Return what broke the policy of any page that is open."""
        return [each for page in self.context.pages for each in page.evaluate("violations")]

    def hosts(self):
        """Return which hosts were asked for anything."""
        return {urlsplit(each.url).netloc for each in self.asked}


def site_with(html, collector, *more):
    """Return a site of another origin whose page has the snippet; ``more`` are other pages."""
    page = f"<!doctype html><title>Site</title>{html}".encode()
    files = {"/": page, **{f"/{i}": text.encode() for i, text in enumerate(more)}}
    site = Site(files, SimpleNamespace(url=collector.address))
    site.policy = site.policy.replace("script-src 'self'", f"script-src {collector.address}")
    return site


def send_people(collector, question, answers, rng):
    """Send a report of each answer on its own, anonymously, over a few connections."""
    size = question.protocol.report_dtype.itemsize
    data = question.protocol.privatize(question.values(answers), rng).tobytes()
    reports = [data[start : start + size] for start in range(0, len(data), size)]
    path = f"/v1/questions/{question.digest}/reports?day={today()}"

    def send(some):
        connection = http.client.HTTPConnection(urlsplit(collector.address).netloc, timeout=60)
        try:
            for report in some:
                connection.request("POST", path, secrets.token_bytes(16) + report)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 204
        finally:
            connection.close()

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        list(pool.map(send, (reports[i::_CONNECTIONS] for i in range(_CONNECTIONS))))
