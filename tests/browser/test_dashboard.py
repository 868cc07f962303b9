"""The dashboard in a real browser, on a real collector, with a site of another origin."""

import re
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from deniable.collector.access import Role
from deniable.collector.settings import Settings
from tests.browser.dashboard import Visit, send_people, site_with, until
from tests.collector.conftest import start, today

pytestmark = pytest.mark.browser

LABELS = ("apple", "banana", "cherry", "fig", "grape", "kiwi")
PEOPLE = 5_000


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return one collector for the tests of this file."""
    path: Path = tmp_path_factory.mktemp("dashboard") / "store.db"
    yield from start(Settings(store=str(path), port=0, minimum=1))


@pytest.fixture
def visit(context, collector):
    """Return a visit that broke no policy, asked no other host and had no error when it ends."""
    found = Visit(context, collector)
    yield found
    assert found.wrong == []
    assert found.violations() == []


def reports(page):
    """Return the number of reports that a page of a question shows."""
    found = re.search(r"([0-9,]+) report", page.inner_text("#standing"))
    return int(found[1].replace(",", "")) if found else 0


def create(visit, name, labels=LABELS):
    """Plan and create a question in the form, and return the page that says how to collect."""
    page = visit.log_in()
    page.click("text=New question")
    page.fill("[name=name]", name)
    page.fill("[name=labels]", "\n".join(labels))
    until(page, "document.querySelector('[data-plan-text]').innerText.includes('95')")
    page.click("text=Create the question")
    page.wait_for_url("**/questions/*/collect")
    return page


def digest_of(page):
    """Return the digest in the address of a page."""
    return re.search("[0-9a-f]{64}", page.url)[0]


def answer(page, label):
    """Give an answer on a page of the site, as a person does, and return what came of it."""
    page.wait_for_selector("form button:enabled")
    seen = page.evaluate("outcomes.length")
    page.select_option("select", label)
    page.click("button")
    until(page, f"outcomes.length > {seen}")
    return page.evaluate("outcomes.at(-1)")


@pytest.fixture
def site(visit):
    """Return a function that serves the snippet of a question's page on another origin."""
    with ExitStack() as stack:

        def serve(page, *more):
            html = page.inner_text("#snippet")
            return stack.enter_context(site_with(html, visit.collector, *more).running())

        yield serve


def test_from_an_empty_store_to_a_first_report(visit, site):
    """Log in, plan, create, paste the snippet, answer: it counts once, whatever a person does."""
    page = create(visit, "First fruit")
    assert reports(page) == 0
    asking = site(page)
    tab = visit.context.new_page()
    tab.goto(asking.url)
    assert answer(tab, "fig") == "answered"
    page.reload()
    assert reports(page) == 1
    assert answer(tab, "kiwi") == "already"
    tab.reload()
    assert answer(tab, "kiwi") == "already"
    second = visit.context.new_page()
    second.goto(asking.url)
    assert answer(second, "apple") == "already"
    assert len(visit.sent) == 1
    page.reload()
    assert reports(page) == 1
    own = visit.collector.address.partition("://")[2]
    assert visit.hosts() == {own, asking.url.partition("://")[2]}


def test_a_lost_reply_still_counts_once(visit, site):
    """The same bytes come again after a reply that got lost, and the collector counts one."""
    page = create(visit, "Lost fruit")
    tab = visit.context.new_page()
    lost = []

    def lose(route):
        if route.request.method != "POST" or lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.abort()

    tab.route("**/reports?*", lose)
    tab.goto(site(page).url)
    assert answer(tab, "fig") == "waiting"
    until(tab, "localStorage.deniable.includes('answered')")
    assert lost == [204]
    assert len(visit.sent) == 2
    assert len({request.post_data_buffer for request in visit.sent}) == 1
    page.reload()
    assert reports(page) == 1


def test_nothing_is_sent_without_storage(visit, site):
    """Where storage is blocked, 100 loads of a page that knows an answer send nothing."""
    page = create(visit, "Blocked fruit")
    tag = re.search("<script.*</script>", page.inner_text("#snippet"), re.DOTALL)[0]
    asking = site(page, re.sub('data-form="[^"]*"', 'data-answer="fig"', tag))
    tab = visit.context.new_page()
    tab.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } })"
    )
    for _ in range(100):
        tab.goto(asking.url + "/0")
        until(tab, "outcomes.length > 0")
        assert tab.evaluate("outcomes") == ["no-storage"]
    assert visit.sent == []
    page.reload()
    assert reports(page) == 0


def test_an_answer_given_offline_arrives_later(visit, site):
    """Offline nothing breaks, and the report comes when the browser is online again."""
    page = create(visit, "Offline fruit")
    tab = visit.context.new_page()
    tab.goto(site(page).url)
    tab.wait_for_selector("form button:enabled")
    visit.context.set_offline(True)
    assert answer(tab, "fig") == "waiting"
    visit.context.set_offline(False)
    until(tab, "localStorage.deniable.includes('answered')")
    page.reload()
    assert reports(page) == 1


def test_only_listed_sites_collect_and_none_asks_first(visit, site):
    """A page of a site that is not listed is refused, a listed one collects, without preflight."""
    page = create(visit, "Listed fruit")
    asking = site(page)
    page.click("nav >> text=Settings")
    page.fill("[name=origins]", "https://elsewhere.example")
    page.click("text=Save")
    assert "The settings are saved." in page.inner_text("main")
    tab = visit.context.new_page()
    tab.goto(asking.url)
    # A list that is mended within a week lets in what was refused.
    assert answer(tab, "fig") == "waiting"
    page.reload()
    assert reports(page) == 0
    page.click("nav >> text=Quality")
    assert "a page of a site that is not listed" in page.inner_text("main")
    page.click("nav >> text=Settings")
    page.fill("[name=origins]", asking.url)
    page.click("text=Save")
    tab.reload()
    until(tab, "localStorage.deniable.includes('answered')")
    page.reload()
    assert reports(page) == 1
    assert {each.method for each in visit.asked if "/v1/" in each.url} == {"GET", "POST"}


def test_numbers_move_while_people_answer(visit):
    """With 5,000 people over HTTP the page follows without a reload; the intervals hold the truth.

    Reports are drawn from a seed, so that this either always holds or never.
    """
    page = create(visit, "Moving fruit")
    rng = np.random.default_rng(20170816)
    answers = rng.choice(LABELS, size=PEOPLE, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    asked = collector_question(visit.collector, digest_of(page))
    page.click("nav >> text=Results")
    page.evaluate("window.stays = true")
    send_people(visit.collector, asked, answers[:200].tolist(), rng)
    until(page, "document.querySelectorAll('.chart tbody tr').length > 0")
    order = page.locator(".chart tbody th").all_inner_texts()
    send_people(visit.collector, asked, answers[200:].tolist(), rng)
    until(page, f"document.querySelector('#standing').innerText.includes('{PEOPLE:,}')")
    until(page, f"document.querySelector('#numbers caption').textContent.includes('{PEOPLE:,}')")
    assert page.evaluate("window.stays")
    assert page.locator(".chart tbody th").all_inner_texts() == order
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    shown = {
        row.query_selector("th").inner_text(): [cell.inner_text() for cell in cells]
        for row in page.query_selector_all("#numbers tbody tr")
        if (cells := row.query_selector_all("td"))
    }
    held = 0
    for label in LABELS:
        lower, _, upper = shown[label][2].replace(",", "").partition(" to ")
        held += float(lower) <= np.count_nonzero(answers == label) <= float(upper)
    assert held == len(LABELS)


def collector_question(collector, digest):
    """Return a question that the collector asks."""
    from deniable.question import Question  # noqa: PLC0415 - beside its only use

    return Question.from_json(collector.request("GET", f"/v1/questions/{digest}").body)


def test_a_viewer_sees_and_changes_nothing(visit):
    """Who may only look has neither the form for questions nor the settings."""
    question = visit.collector.ask()
    page = visit.log_in(Role.VIEWER)
    assert page.query_selector("text=New question") is None
    page.goto(f"{visit.collector.address}/questions/{question.digest}")
    assert page.query_selector("nav >> text=Settings") is None
    assert page.goto(f"{visit.collector.address}/new").status == 403
    assert "Not allowed" in page.inner_text("h1")


def test_everything_works_without_scripts(browser, collector):
    """With JavaScript off a question is planned, created, compared, closed and deleted."""
    context = browser.new_context(java_script_enabled=False)
    try:
        page = Visit(context, collector).log_in()
        page.click("text=New question")
        page.fill("[name=name]", "Plain fruit")
        page.fill("[name=labels]", "\n".join(LABELS))
        page.check("[name=solve][value=users]")
        page.click("text=Work it out")
        assert "95\u00a0% sure" in page.inner_text("main")
        assert int(page.input_value("[name=users]")) > 0
        assert page.input_value("[name=labels]").split() == list(LABELS)
        page.click("text=Create the question")
        page.wait_for_url("**/questions/*/collect")
        page.click("nav >> text=Results")
        question = collector_question(collector, digest_of(page))
        rng = np.random.default_rng(5)
        for later in (-1, 0):
            reports_ = question.protocol.privatize(rng.integers(0, 6, 400), rng).tobytes()
            assert collector.submit(
                question, reports_, day=today(later), role="relay"
            ).status == 204  # fmt: skip
        page.click("text=Refresh")
        assert reports(page) == 800
        assert page.locator("svg.trend").count() == 6
        page.click("summary:has-text('Compare')")
        page.fill("[name=from]", today())
        page.fill("[name=compare_to]", today(-1))
        page.click("text=Show")
        assert "What changed" in page.inner_text("main")
        page.click("nav >> text=Settings")
        page.click("text=Close this question")
        assert "The question is closed" in page.inner_text("main")
        page.click("text=Open this question")
        page.fill("form:has(button.danger) [name=name]", "Plain fruit")
        page.click("button.danger")
        page.wait_for_url(f"{collector.address}/")
        assert "Plain fruit" not in page.inner_text("main")
    finally:
        context.close()


def test_an_open_question_counts_what_is_named(visit):
    """A question that takes any text shows the answers that somebody names."""
    page = visit.log_in()
    page.click("text=New question")
    page.fill("[name=name]", "Any text")
    page.check("[name=kind][value=open]")
    page.click("text=Create the question")
    page.wait_for_url("**/questions/*/collect")
    page.click("nav >> text=Results")
    question = collector_question(visit.collector, digest_of(page))
    rng = np.random.default_rng(6)
    data = question.privatize(["Zürich"] * 900 + ["Basel"] * 100, rng).tobytes()
    assert visit.collector.submit(question, data, role="relay").status == 204
    page.reload()
    assert "Name the answers to count" in page.inner_text("main")
    page.fill("[name=candidates]", "Zürich\nBasel\nGenève")
    page.click("text=Show")
    rows = page.locator(".chart tbody tr")
    assert rows.first.locator("th").inner_text() == "Zürich"
    assert rows.count() == 3


def test_exports_are_those_of_the_interface(visit):
    """Each panel downloads as CSV, JSON and tally, and the numbers are the collector's."""
    question = visit.collector.ask()
    rng = np.random.default_rng(7)
    data = question.privatize(rng.choice(["a", "b", "c"], 2000), rng).tobytes()
    visit.collector.submit(question, data, role="relay")
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/questions/{question.digest}")
    found = {}
    for link in page.locator("#live .links a").all():
        with page.expect_download() as download:
            link.click()
        found[link.inner_text()] = Path(download.value.path()).read_bytes()
    path = f"/v1/questions/{question.digest}/estimates"
    want = visit.collector.request("GET", f"{path}?format=csv", role="viewer").body
    assert found["Estimates as CSV"] == want
    assert found["Estimates as JSON"] == visit.collector.request("GET", path, role="viewer").body
    assert question.estimate(_tally(found["Tally"])).n == 2000


def _tally(data):
    from deniable.tally import Tally  # noqa: PLC0415 - beside its only use

    return Tally.from_bytes(data)


def test_a_draft_survives_the_end_of_a_session(visit):
    """What was entered is there again after logging in, and the errors stand at their fields."""
    page = visit.log_in()
    page.click("text=New question")
    page.fill("[name=name]", "Draft fruit")
    page.fill("[name=labels]", "kiwi\nfig\nkiwi")
    until(page, "document.querySelector('[data-counter]').innerText.includes('twice')")
    page.click("text=Remove repeats")
    assert page.input_value("[name=labels]") == "kiwi\nfig"
    cookies = visit.context.cookies()
    visit.context.clear_cookies()
    page.click("text=Create the question")
    page.wait_for_url("**/login?next=/new")
    visit.context.add_cookies(cookies)
    page.goto(f"{visit.collector.address}/new")
    assert page.input_value("[name=name]") == "Draft fruit"
    assert page.input_value("[name=labels]") == "kiwi\nfig"
    page.fill("[name=name]", "")
    page.click("text=Create the question")
    assert page.get_attribute("#name", "aria-invalid") == "true"
    assert page.evaluate("document.activeElement.id") == "name"


def test_answers_are_put_in_another_order(visit):
    """By dragging one onto another's place, or by the buttons beside it."""
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/new")
    page.fill("[name=labels]", "apple\nfig\nkiwi")
    page.click("text=Change the order")
    page.click("[aria-label='Move apple down']")
    assert page.input_value("[name=labels]") == "fig\napple\nkiwi"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Move apple down"
    page.drag_and_drop(".order li:nth-child(3) span", ".order li:nth-child(1) span")
    assert page.input_value("[name=labels]") == "kiwi\nfig\napple"


def test_a_line_of_answers_is_split_and_a_slow_plan_says_so(visit):
    """Answers with commas between them become lines; while the plan is made, the page says so."""
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/new")
    held = []
    page.route("**/new", lambda route: held.append(route))  # noqa: PLW0108 - it takes attributes
    page.fill("[name=labels]", "kiwi, fig,pear,")
    page.click("text=Split at the commas")
    assert page.input_value("[name=labels]") == "kiwi\nfig\npear"
    assert page.inner_text("[data-counter]") == "3 answers"
    until(page, "document.querySelector('[aria-busy=true]') !== null")
    busy = "getComputedStyle(document.querySelector('[aria-busy]'), '::before').content"
    assert "Working it out" in page.evaluate(busy)
    for each in held:
        each.continue_()
    until(page, "document.querySelector('[aria-busy]') === null")


def test_a_hundred_thousand_answers_are_planned_while_one_waits(visit):
    """A pasted list of that length is counted, and its plan stands on the page."""
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/new")
    page.evaluate("""() => {
        const field = document.querySelector("[name=labels]");
        field.value = Array.from({ length: 100_000 }, (_, i) => `label ${i}`).join("\\n");
        field.dispatchEvent(new Event("input", { bubbles: true }));
    }""")
    assert page.inner_text("[data-counter]") == "100,000 answers"
    until(page, "document.querySelector('.light:not(.missing)') !== null")
