"""Numbers, several attributes, sets and texts to be discovered: from the form to a report."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from deniable.answers import Choices, Number, Record, Text
from deniable.collector.pages.templating import client_address
from deniable.protocols.hashing import OpenLH
from deniable.question import Question
from deniable.rota import Repeat
from deniable.segments import Dimension
from tests.browser.dashboard import site_with, until
from tests.browser.test_accessibility import AXE
from tests.browser.test_dashboard import collector, digest_of, reports  # noqa: F401 - a fixture
from tests.browser.test_try import Trying
from tests.collector.conftest import today

pytestmark = pytest.mark.browser

FIELDS = {
    "record": {"parts": "country: DE, FR, IT\nplan: free, pro, no answer\nage: 0 to 100 step 5"},
    "number": {"low": "0", "high": "8000", "step": "50", "unit": "ms"},
    "choices": {"boxes": "ads\ndark mode\nnotes\nspelling\nvim", "at_most": "2"},
    "discover": {"examples": "hello\nworld\n"},
}
"""What a person enters for a question of each kind."""
SURVEY = Record(
    country=("DE", "FR", "IT"), plan=("free", "pro", "no answer"), age=Number(0, 100, 5, "years"),
    tables="pairs",
)  # fmt: skip
ASKED = {
    "record": Question("About you", SURVEY, epsilon=1.0),
    "number": Question("How long did it load?", Number(0, 8000, 50, "ms"), epsilon=1.0),
    "mean": Question("How many hours?", Number(0, 80, 5, "h", ("mean",)), epsilon=1.0),
    "choices": Question("Which plug-ins?", Choices(tuple("abcdefgh"), 3), epsilon=1.0),
    "polynomial": Question(
        "Which of many?", Choices(tuple(f"box {i}" for i in range(40)), 8), epsilon=1.0
    ),
    "discover": Question("Which word?", Text("english"), epsilon=2.0),
    "text": Question("Which word first?", None, OpenLH(2.0)),
}
FIRST_SCREEN = ("h1", "#choices", "#own", "#sent-words", "#reveals", "#before-after")


@pytest.fixture
def visit(context, collector):  # noqa: F811 - a fixture
    """Return a visit during which no page had an error or broke the policy."""
    found = Trying(context, collector)
    yield found
    assert found.wrong == []
    assert found.violations() == []


def fill(page, kind):
    """Answer a form as a person does."""
    if kind == "record":
        for name, label in (("country", "FR"), ("plan", "pro")):
            page.select_option(f"[data-name={name}]", label)
        page.fill("[data-name=age]", "42")
    elif kind in ("number", "mean"):
        page.fill("[type=number]", "61")
    elif kind in ("choices", "polynomial"):
        for box in page.query_selector_all("[type=checkbox]")[1:3]:
            box.check()
    else:
        page.fill("[name=answer]" if kind == "text" else "[type=text]", "hello")


def violations(page):
    """Return what axe-core finds."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


@pytest.mark.parametrize("kind", FIELDS)
def test_from_the_form_to_a_counted_report(visit, kind):
    """Create a question on the dashboard, paste its tag elsewhere, answer: one report counts."""
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/new")
    page.fill("[name=name]", f"A question of the kind {kind}")
    page.check(f"[name=kind][value={kind}]")
    for name, text in FIELDS[kind].items():
        page.fill(f"[name={name}]", text)
    until(page, "/% sure|be found/.test(document.querySelector('[data-plan-text]').innerText)")
    assert violations(page) == []
    page.click("text=Create the question")
    page.wait_for_url("**/questions/*/collect")
    digest, html = digest_of(page), page.inner_text("#snippet")
    assert violations(page) == []
    assert " name=" not in html
    assert 'method="dialog"' in html
    with site_with(html, visit.collector).running() as site:
        tab = visit.context.new_page()
        tab.goto(site.url)
        tab.wait_for_selector("form button:enabled")
        fill(tab, kind)
        tab.click("button")
        until(tab, "outcomes.length > 0")
        assert tab.evaluate("outcomes.at(-1)") == "answered"
        assert tab.inner_text("[role=status]") == "Thank you. Your answer has arrived."
        tab.reload()
        tab.wait_for_selector("form button:enabled")
        fill(tab, kind)
        tab.click("button")
        until(tab, "outcomes.length > 0")
        assert tab.evaluate("outcomes.at(-1)") == "already"
        assert len(visit.sent) == visit.collector.n(SimpleNamespace(digest=digest)) == 1
        without = visit.context.browser.new_context(java_script_enabled=False)
        plain = without.new_page()
        left = []
        plain.on("request", lambda request: left.append(request.url))
        plain.goto(site.url)
        assert plain.is_disabled("form button")
        fill(plain, kind)
        plain.keyboard.press("Enter")
        assert [url for url in left if "?" in url or "hello" in url] == []
        without.close()
    page.reload()
    assert reports(page) == 1


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("choices", "secret 7;a"),
        ("choices", ""),
        ("choices", "7"),
        ("number", "secret 7"),
        ("record", '{"country": "secret 7", "plan": pro}'),
    ],
)
def test_no_error_quotes_what_the_page_wrote(visit, kind, given):
    """An answer that is no JSON, or no answer, is told of in words that are the same for all."""
    said, address = [], visit.collector.address
    visit.context.on("console", lambda message: said.append(message.text))
    question, build = visit.ask(ASKED[kind]), "choices" if kind == "choices" else "views"
    tag = (
        f'<script type="module" crossorigin src="{address}{client_address(build)}"'
        f' data-collector="{address}" data-kind="{build}" data-question="{question.digest}"'
        f" data-answer='{given}'></script>"
    )
    with site_with(tag, visit.collector).running() as site:
        tab = visit.context.new_page()
        tab.goto(site.url)
        until(tab, "outcomes.length > 0")
        (outcome,) = tab.evaluate("outcomes.map(String)")
    assert outcome.startswith("DeniableError: no such answer of {")
    assert [text for text in said if "no such answer" in text]
    assert not [text for text in said if "secret" in text or "7;" in text]
    assert visit.sent == []


KNOWN = {
    "record": '{ country: "FR", plan: "pro", age: 42 }',
    "number": "61.4",
    "choices": '["b", "c"]',
    "discover": '"hello"',
    "text": '"hello"',
}
"""What the script of a page knows, as an expression."""


@pytest.mark.parametrize("kind", KNOWN)
def test_a_page_that_knows_the_answer_needs_no_form(visit, kind):
    """The script of the tab Collect sends one report of ANSWER, and nothing while that is open."""
    from playwright.sync_api import Error  # noqa: PLC0415 - absent where these tests are not run

    # Another name than in other tests, whose reports are counted by the same collector.
    question, page = visit.ask(replace(ASKED[kind], name="Measured")), visit.log_in()
    page.goto(f"{visit.collector.address}/questions/{question.digest}/collect")
    lines = page.inner_text("#lines")
    with site_with("<p>A page that measures</p>", visit.collector).running() as site:
        tab = visit.context.new_page()
        tab.goto(site.url)
        with pytest.raises(Error, match="ANSWER is not defined"):
            tab.evaluate(f"() => {{ {lines} }}")
        tab.evaluate(f"() => {{ {lines.replace('ANSWER', KNOWN[kind])} }}")
        until(tab, "outcomes.length > 0")
        assert tab.evaluate("outcomes") == ["answered"]
    assert len(visit.sent) == visit.collector.n(question) == 1


def test_a_mistake_is_told_at_its_field(visit):
    """A line without answers, a range without whole steps, too many boxes: each at its field."""
    page = visit.log_in()
    for kind, fields, place, said in (
        ("record", {"parts": "plan: free, pro\ncountry"}, "parts", "“country” has no answers"),
        ("record", {"parts": "age: 0 to 9 step 2\nplan: a, b"}, "parts", "“age”"),
        ("number", {"step": "7"}, "step", "Steps of 7 from 0 on miss 100"),
        ("number", {"low": "200"}, "high", "must be above the least"),
        ("choices", {"boxes": "a\nb", "at_most": "2"}, "at_most", "from 1 to 1"),
        ("discover", {}, "examples", "a few examples"),
    ):
        page.goto(f"{visit.collector.address}/new")
        page.evaluate("sessionStorage.clear()")
        page.fill("[name=name]", "Wrong")
        page.check(f"[name=kind][value={kind}]")
        for name, text in fields.items():
            page.fill(f"[name={name}]", text)
        page.click("text=Create the question")
        page.wait_for_selector("[role=alert]")
        assert said in page.inner_text(f"#{place}-wrong")


def read(question, kind, report):
    """Return what the page says of a report at first: what fits it, or how many answers do."""
    if kind == "text":
        return f"one in {question.protocol.g} of all texts"
    if kind in ("choices", "polynomial"):
        every = enumerate(question.labels)
        some = [f"“{label}”" for i, label in every if question.protocol.supports(report, i)[0]]
        more = f" and {len(some) - 3} more" if len(some) > 3 else ""
        return " and ".join(some[:3]) + more if some else "none of the boxes"
    (cells,) = [cells for n, cells in question.protocol.counted(question.tally(report)) if n]
    if kind == "number":  # the last ranges are beyond the largest number
        share = len(cells) / math.prod(question.protocol.radices)
        cells = cells[: math.ceil(question.answers.steps * share)]
    return int(np.count_nonzero(cells))


def shown(page, kind):
    """Return the same as the page has it."""
    said = page.inner_text("#sent-words")
    if kind not in ("record", "number"):
        return said
    more = re.search(r"or one of ([\d,]+) more", said)
    return said.count("“") + (int(more[1].replace(",", "")) if more else 0)


@pytest.mark.parametrize("kind", ASKED)
def test_what_was_shown_is_what_is_sent(visit, kind):
    """The page to try says what was asked by lot, and sends the report that it showed first."""
    question = visit.ask(ASKED[kind], collect=True)
    visit.begin(question)
    page = visit.page
    assert visit.collector.n(question) == 0
    fill(page, kind)
    page.click("#ask button")
    page.wait_for_selector("#first:not([hidden])")
    said = page.inner_text("#first")
    own = {"record": "FR, pro, 40 years", "number": "50 ms", "mean": "60 h", "discover": "hello"}
    assert page.inner_text("#own") == own.get(kind, page.inner_text("#own"))
    first = shown(page, kind)
    if kind not in ("choices", "polynomial", "text"):
        assert re.search("(You were asked|Your number was rounded) .*, by lot", said)
    elif kind != "text":  # as often as one of both ticked labels is in a report
        answer = [question.labels[i] for i in (1, 2)]
        some = question.privatize([answer] * 20_000, np.random.default_rng(1))
        fits = question.protocol.supports(some, 1) | question.protocol.supports(some, 2)
        often = int(re.match(r"(\d+) in 10", page.inner_text("#often"))[1])
        assert abs(often - 10 * fits.mean()) < 0.6
    for _ in range(3):
        page.click("#again")
    until(page, "document.querySelectorAll('#strip i').length === 4")
    assert violations(page) == []
    for width, height in ((1280, 800), (360, 740)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.click("#send")
    until(page, "document.querySelector('#sent').textContent.startsWith('Thank you')")
    (sent,) = visit.sent
    body = sent.post_data_buffer
    assert visit.collector.n(question) == len(question.parse(body[16:])) == 1
    assert body[16:].hex(" ") in page.inner_text("#left")
    if kind == "text":
        fits = question.protocol.supports(question.parse(body[16:]), question.values(["hello"])[0])
        assert ("This time it does." in said) == fits[0]
    if kind not in ("mean", "discover"):  # what they show is no list of answers
        assert read(question, kind, question.parse(body[16:])) == first


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_first_screen_tells_it_all(visit, language):
    """Question, answers, what is sent and what it reveals are seen without scrolling."""
    drinks = "Coffee", "Tea", "Water", "Orange juice", "Milk", "Nothing", "Cocoa", "Cola"
    repeat, groups = Repeat(today(-1), every=7, rounds=26), {"age": ("under 30", "30 and more")}
    asked = ASKED | {
        "choice": Question("What do you drink first?", drinks, epsilon=2.0),
        "rounds": Question("Which of these do you use every day?", Choices(drinks[:5], 3),
                           epsilon=2.0, repeat=repeat, segments=groups),
    }  # fmt: skip
    for kind, question in asked.items():
        visit.ask(question, collect=True)
        page = visit.page = visit.open(f"/try/{question.digest}?lang={language}")
        page.wait_for_selector("#try:not([hidden])")
        if kind == "choice":
            page.locator("#choices button").nth(1).click()
        else:
            fill(page, "choices" if kind == "rounds" else kind)
            page.click("#ask button")
        page.wait_for_selector("#first:not([hidden])")
        for width, height in ((1280, 800), (360, 740)):
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("scrollTo(0, 0)")
            for place in FIRST_SCREEN:
                box = page.locator(place).bounding_box()
                assert box["height"] > 0, (kind, place)
                assert box["y"] + box["height"] <= height, (kind, place, width)
        page.close()


def test_groups_rounds_and_all_bytes_are_told_before_anything_is_sent(visit):
    """The group is counted among the bytes; rounds, turns and epsilon in all are told at first."""
    repeat = Repeat(today(-1), every=7, rounds=2, times=2)
    groups = {"platform": ("linux", "mac")}
    asked = Question("Boxes?", Choices(tuple("abcdefgh"), 3), epsilon=1.0, repeat=repeat,
                     segments=groups)  # fmt: skip
    question = visit.ask(asked, collect=True, public_results=True)
    visit.begin(question)
    page = visit.page
    said = page.inner_text("main")
    often = "asked 2 times at most, ε = 1 each time and 2 in all"
    for text in (often, "group (platform)", "“not stated”", "which one of 2 ", "89\u202f% sure"):
        assert text in said
    fill(page, "choices")
    page.click("#ask button")
    page.wait_for_selector("#first:not([hidden])")
    size = question.protocol.report_dtype.itemsize + 1
    assert f"{size} bytes, a random id, the date" in page.inner_text("#sent-size")
    assert "only when it is asked again" in page.inner_text("#first")
    page.goto(f"{visit.collector.address}/results/{question.digest}")
    assert often in page.inner_text("main")
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/questions/{question.digest}/collect")
    assert "2 times at most, epsilon = 2 in all" in page.inner_text("main")


def test_the_group_that_leaves_is_shown_as_such(visit):
    """The id, the byte of the group and the report stand apart, as they were sent."""
    segments = (Dimension("platform", ("linux", "mac", "rest"), "rest"),)
    question = visit.ask(
        Question("Boxes?", Choices(tuple("abcdefgh"), 3), epsilon=1.0, segments=segments),
        collect=True,
    )
    visit.begin(question)
    assert "it says “rest”" in visit.page.inner_text("main")
    fill(visit.page, "choices")
    visit.page.click("#ask button")
    visit.page.click("#send")
    until(visit.page, "document.querySelector('#sent').textContent.startsWith('Thank you')")
    (sent,) = visit.sent
    body = sent.post_data_buffer
    left = f"the report: {body[:16].hex(' ')} · {body[16:17].hex()} · {body[17:].hex(' ')}"
    assert visit.page.inner_text("#left").endswith(f"the id, the public group and {left}")
    assert body[16] == 2
    visit.begin(question)
    until(visit.page, "document.querySelector('#sent').textContent.includes('already')")
    fill(visit.page, "choices")
    visit.page.click("#ask button")
    visit.page.wait_for_selector("#first:not([hidden])")
    assert visit.page.is_disabled("#send")


def test_an_empty_set_is_an_answer(visit):
    """Nothing is said to be included where nothing was ticked."""
    visit.begin(visit.ask(ASKED["choices"]))
    visit.page.click("#ask button")
    visit.page.wait_for_selector("#first:not([hidden])")
    said = visit.page.inner_text("#often")
    assert (
        said.strip() == "You ticked nothing, which is an answer too: whatever such a report "
        "contains is there by chance."
    )


def test_the_rest_is_named_only_where_there_is_one(visit):
    """A view of both attributes leaves nothing that was not looked at."""
    both = Record(country=("DE", "FR"), plan=("free", "pro"), tables="pairs")
    visit.begin(visit.ask(Question("Both?", both, epsilon=1.0)))
    visit.page.select_option("[data-name=country]", "FR")
    visit.page.select_option("[data-name=plan]", "pro")
    for roll in range(12):
        visit.page.click("#ask button" if roll == 0 else "#again")
        until(visit.page, f"document.querySelectorAll('#strip i').length === {roll + 1}")
        said = visit.page.inner_text("#asked")
        assert ("The rest" in said) == ("country and plan" not in said)


def test_the_page_reads_reports_as_the_protocol_does(visit):
    """Over many rolls, what the page says of a record's report is what its views say."""
    question = visit.ask(ASKED["record"])
    visit.begin(question)
    page = visit.page
    fill(page, "record")
    asked = set()
    for roll in range(40):
        page.click("#ask button" if roll == 0 else "#again")
        until(page, f"document.querySelectorAll('#strip i').length === {min(roll + 1, 30)}")
        asked.add(re.search("asked about (.*), by lot", page.inner_text("#asked"))[1])
    names = {" and ".join(SURVEY.names[d] for d in view) for view in question.protocol.views}
    assert asked <= names
    assert len(asked) > 2
