"""The form that the dashboard hands out, pasted into a page: nothing leaks, and people are told."""

import json
import re
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

from deniable.answers import Choices
from deniable.collector.settings import Settings
from deniable.protocols.hashing import OLH, OpenLH
from deniable.question import Question
from tests.browser.dashboard import Visit, site_with, until
from tests.collector.conftest import start

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[1] / "data" / "v0.2.0"
SECRET = "Zwetschge"
CHOICE = Question("Which fruit?", ("Apfel", SECRET, "Birne"), OLH(1.0, 3))
TEXT = Question("Any fruit?", None, OpenLH(1.0))
THANKS = "Thank you. Your answer has arrived."
ALREADY = "You have already answered this question. Nothing more was sent."


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return a collector that asks both questions."""
    path = tmp_path_factory.mktemp("form") / "store.db"
    for found in start(Settings(store=str(path), port=0, minimum=1)):
        for question in (CHOICE, TEXT):
            document = question.to_json().encode()
            assert found.request("POST", "/v1/questions", document, role="admin").status == 201
        yield found


class Pasted(Visit):
    """A person on a page with the form, and everything that left their browser."""

    def __init__(self, context, collector, stack):
        super().__init__(context, collector)
        self.stack = stack

    def snippet(self, question):
        """Return what the dashboard hands out."""
        path = f"/questions/{question.digest}/collect"
        page = self.collector.request("GET", path, role="viewer", headers={"Accept": "text/html"})
        return unescape(
            re.search('<code id="snippet">(.*?)</code>', page.body.decode(), re.DOTALL)[1]
        )

    def serve(self, html, *more):
        """Serve pages of a site, and return it."""
        site = site_with(html, self.collector, *more)
        return self.stack.enter_context(site.running())

    def visit(self, html, *more, wait_until="load"):
        """Open the page of a new site."""
        self.site = self.serve(html, *more)
        self.page = self.context.new_page()
        self.page.goto(self.site.url, wait_until=wait_until)
        return self.page

    def leaked(self):
        """Return which requests held the answer in address, body or headers."""
        asked = [f"{each.url} {each.headers} {each.post_data_buffer!r}" for each in self.asked]
        came = [f"{each.path} {each.headers} {each.body!r}" for each in self.site.requests]
        return [line for line in (*asked, *came) if SECRET in unquote_plus(line)]

    def n(self, question):
        """Return how many reports the collector has."""
        return self.collector.n(question)

    def send(self):
        """Press Send as a person does, and return what the form says then."""
        seen = self.page.evaluate("outcomes.length")
        self.page.click("form button")
        until(self.page, f"outcomes.length > {seen}")
        return self.page.inner_text("[role=status]")


@pytest.fixture
def pasted(context, collector):
    """Return a visit whose pages broke no policy and had no error when it ends."""
    with ExitStack() as stack:
        found = Pasted(context, collector, stack)
        yield found
        assert found.wrong == []
        assert found.violations() == []


def careless(html, method, disabled):
    """Return the form without what some browser or page does without."""
    html = html if method else html.replace(' method="dialog"', "")
    return html if disabled else html.replace("<button disabled>", "<button>")


def give(page, question):
    """Answer, and do all that sends a form: press the button, and the return key."""
    if question.labels:
        page.select_option("select", SECRET)
        page.focus("select")
    else:
        page.fill("input", SECRET)
    page.keyboard.press("Enter")
    page.click("form button", force=True)


MARKUPS = [(True, True), (False, True), (True, False), (False, False)]
IDS = ["pasted", "no method", "enabled", "no method and enabled"]


@pytest.mark.parametrize("question", [CHOICE, TEXT], ids=["choice", "text"])
@pytest.mark.parametrize("markup", MARKUPS, ids=IDS)
@pytest.mark.parametrize("way", ["off", "blocked", "integrity"])
def test_nothing_leaks_where_the_client_does_not_run(browser, collector, way, markup, question):
    """With scripts off, the client blocked or its hash wrong, no request holds the answer."""
    context = browser.new_context(java_script_enabled=way != "off")
    with ExitStack() as stack:
        stack.callback(context.close)
        pasted = Pasted(context, collector, stack)
        html = careless(pasted.snippet(question), *markup)
        if way == "integrity":
            html = re.sub('integrity="sha384-....', 'integrity="sha384-AAAA', html)
        if way == "blocked":
            context.route("**/client/**", lambda route: route.abort())
        before = pasted.n(question)
        page = pasted.visit(html, "<!doctype html><title>Next</title>")
        give(page, question)
        page.wait_for_load_state()
        assert "Answering needs JavaScript." in page.inner_text("[role=status]")
        # Whatever the form sent is on its way before the next page is.
        page.goto(f"{pasted.site.url}/0")
        assert pasted.leaked() == []
        assert pasted.sent == []
        assert pasted.n(question) == before


@pytest.mark.parametrize("question", [CHOICE, TEXT], ids=["choice", "text"])
@pytest.mark.parametrize("markup", MARKUPS[:2], ids=IDS[:2])
def test_nothing_leaks_before_the_client_is_here(pasted, markup, question):
    """Send before the script has come does nothing; when it is there, Send sends one report."""
    held = []

    def hold(route):
        held.append(route)

    pasted.context.route("**/client/**", hold)
    html = careless(pasted.snippet(question), *markup)
    before = pasted.n(question)
    page = pasted.visit(html, wait_until="commit")
    page.wait_for_selector("form button")
    until(page, "document.readyState !== 'loading'")
    give(page, question)
    assert page.is_disabled("form button")
    assert [each.url for each in pasted.asked if "?" in each.url] == []
    for _ in range(1000):
        if held:
            break
        page.wait_for_timeout(20)
    held[0].continue_()
    until(page, "!document.querySelector('form button').disabled")
    assert page.inner_text("[role=status]") == ""
    assert pasted.send() == THANKS
    assert pasted.n(question) == before + 1
    assert pasted.leaked() == []


def test_one_report_a_thank_you_and_then_a_word_that_it_was_answered(pasted):
    """The first Send says thank you, a second one and a later visit that it was answered before."""
    before = pasted.n(CHOICE)
    page = pasted.visit(pasted.snippet(CHOICE))
    until(page, "!document.querySelector('form button').disabled")
    assert page.evaluate("document.querySelector('select').selectedIndex") == 0
    page.click("form button")  # nothing is chosen, and the browser says so
    assert page.evaluate("document.querySelector('select').matches(':invalid')")
    page.select_option("select", SECRET)
    assert pasted.send() == THANKS
    assert page.is_visible("[role=status]")
    assert pasted.send() == ALREADY
    page.reload()
    until(page, f"document.querySelector('[role=status]').innerText === {json.dumps(ALREADY)}")
    page.select_option("select", "Birne")
    assert pasted.send() == ALREADY
    assert len(pasted.sent) == 1
    assert pasted.n(CHOICE) == before + 1
    assert pasted.leaked() == []


def test_the_words_are_the_page_s(pasted):
    """A page that writes other words into the attributes is quoted, in any language."""
    html = (
        pasted.snippet(CHOICE)
        .replace(THANKS, "Vielen Dank – „angekommen“")
        .replace(ALREADY, "Schon da")
    )
    page = pasted.visit(html)
    page.select_option("select", SECRET)
    until(page, "!document.querySelector('form button').disabled")
    assert pasted.send() == "Vielen Dank – „angekommen“"
    assert pasted.send() == "Schon da"


INSERT = """(html) => {
    const box = document.createElement("div");
    box.innerHTML = html;
    // Scripts that come as text do not run: a page makes them anew.
    for (const old of box.querySelectorAll("script")) {
        const tag = document.createElement("script");
        for (const { name, value } of old.attributes) tag.setAttribute(name, value);
        old.replaceWith(tag);
    }
    document.body.append(...box.children);
}"""


def test_tags_and_forms_that_come_later_work(pasted):
    """A page that is put together by a script, and taken apart and put together again, works."""
    html = pasted.snippet(CHOICE)
    form, tag = html.split("<script", 1)
    page = pasted.visit("<p>An application</p>")
    page.evaluate(INSERT, html)
    until(page, "!document.querySelector('form button').disabled")
    page.select_option("select", SECRET)
    assert pasted.send() == THANKS
    # The same script is not run a second time, but its tag works.
    page.evaluate("document.querySelectorAll('form, script').forEach((each) => each.remove())")
    page.evaluate(INSERT, f"<script{tag}")
    page.evaluate(INSERT, form)
    until(page, f"document.querySelector('[role=status]').innerText === {json.dumps(ALREADY)}")
    assert page.is_enabled("form button")
    # A new tag for a form that stayed takes the place of the old one.
    page.evaluate("document.querySelector('script').remove()")
    page.evaluate(INSERT, f"<script{tag}")
    page.evaluate("localStorage.clear()")
    page.select_option("select", "Birne")
    assert pasted.send() == THANKS
    assert len(pasted.sent) == 2


def test_an_unknown_question_is_said_to_be_one(pasted):
    """A digest that the collector does not know does not read like an altered question."""
    html = pasted.snippet(CHOICE).replace(CHOICE.digest, "0" * 64)
    page = pasted.visit(html)
    until(page, "outcomes.length > 0")
    assert page.evaluate("outcomes") == ["DeniableError: no such question"]
    assert page.is_disabled("form button")
    assert "the question cannot be asked now" in page.inner_text("[role=status]")


@pytest.mark.parametrize("budget", ["ten", "", "-1", "0"])
def test_a_budget_that_is_none_sends_nothing(pasted, budget):
    """With ``data-budget="ten"`` the page is told why nothing is sent, and so is the person."""
    html = pasted.snippet(CHOICE).replace("data-form", f'data-budget="{budget}" data-form')
    page = pasted.visit(html)
    if budget in ("ten", "-1"):
        until(page, "outcomes.length > 0")
        assert page.evaluate("outcomes") == ["DeniableError: invalid budget"]
        assert page.is_disabled("form button")
    else:
        page.select_option("select", SECRET)
        until(page, "!document.querySelector('form button').disabled")
        assert "used up" in pasted.send()
    assert pasted.sent == []


FILL = """() => {
    for (let size = 1 << 20; size; size >>= 1) {
        try {
            for (let i = 0; ; i++) localStorage[`${size} ${i}`] = "x".repeat(size);
        } catch {}
    }
}"""


def test_full_storage_sends_nothing_after_opting_out(pasted):
    """What waited when a person opted out stays, though storage takes not one character more."""
    html = pasted.snippet(CHOICE)
    (client,) = re.findall('src="([^"]+)"', html)
    pasted.context.route("**/reports?*", lambda route: route.abort())
    page = pasted.visit(html)
    page.select_option("select", SECRET)
    until(page, "!document.querySelector('form button').disabled")
    assert "kept in this browser" in pasted.send()
    page.evaluate(FILL)
    script = (
        f"async () => (await import({client!r})).connect({pasted.collector.address!r}).optOut()"
    )
    assert page.evaluate(script) is True
    tried = len(pasted.sent)
    pasted.context.unroute("**/reports?*")
    page.reload()
    until(page, "document.querySelector('[role=status]').innerText.includes('not to take part')")
    page.select_option("select", SECRET)
    assert "not to take part" in pasted.send()
    assert len(pasted.sent) == tried


def test_a_tag_of_version_0_2_0_still_delivers(context, collector):
    """A page with the tag as 0.2.0 handed it out, to the letter, delivers its answer."""
    document = json.loads((DATA / "tag-questions.json").read_text())["choice"]
    question = Question.from_json(json.dumps(document))
    text = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", text, role="admin").status == 201
    tag = (DATA / "tag-choice.html").read_text()

    def forward(route):
        request = route.request
        url = request.url.replace("https://collector.example", collector.address)
        route.fulfill(response=route.fetch(url=url))

    context.route("https://collector.example/**", forward)
    with ExitStack() as stack:
        pasted = Pasted(context, collector, stack)
        pasted.site = site_with(tag, collector)
        pasted.site.policy = "default-src 'none'; script-src https:; connect-src https:"
        stack.enter_context(pasted.site.running())
        pasted.page = context.new_page()
        pasted.page.goto(pasted.site.url, wait_until="networkidle")
        pasted.page.select_option("[name=answer]", "Firefox")
        pasted.page.click("form button")
        until(pasted.page, "outcomes.length > 0")
        assert pasted.page.evaluate("outcomes") == ["answered"]
        assert pasted.n(question) == 1
        assert pasted.wrong == []


def test_boxes_are_counted_and_a_set_leaves_as_one_report(pasted):
    """No more boxes can be ticked than the question takes; both clients work on one page."""
    labels = ("Apfel", SECRET, "Birne", "Quitte <&>")
    question = Question("Which fruits?", Choices(labels, 2), epsilon=1.0)
    pasted.collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    before = pasted.n(question)
    page = pasted.visit(pasted.snippet(question) + pasted.snippet(CHOICE))
    until(page, "!document.querySelector('button:disabled')")
    form = page.locator("form").first
    assert form.locator("output").inner_text() == "0 / 2"
    form.get_by_label(SECRET).check()
    form.get_by_label("Quitte <&>").check()
    assert form.locator("output").inner_text() == "2 / 2"
    assert form.get_by_label("Apfel").is_disabled()
    form.get_by_label("Quitte <&>").uncheck()
    assert form.get_by_label("Apfel").is_enabled()
    assert pasted.send() == THANKS
    assert pasted.n(question) == before + 1
    page.select_option("select", "Birne")
    page.locator("form").nth(1).locator("button").click()
    until(page, "outcomes.length > 1")
    assert page.locator("[role=status]").all_inner_texts() == [THANKS, THANKS]
    assert pasted.leaked() == []
