"""Every page by axe-core, light and dark; on a narrow screen; with labels that mean harm."""

import csv
import io
import re
import secrets

import numpy as np
import pytest

from deniable.answers import Number
from deniable.collector.settings import Settings
from deniable.presentation import unguarded
from deniable.protocols.direct import DE
from deniable.protocols.hashing import OLH
from deniable.question import Question
from tests.browser.dashboard import Visit, link, until
from tests.browser.law import ROOT
from tests.collector.conftest import start, today

pytestmark = pytest.mark.browser

AXE = ROOT / "clients" / "js" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = (
    "<b>bold</b><script>alert(1)</script>",
    "=cmd()|' /C calc'!A0",
    "\u202eright to left\u202c",
    "y" * 10_000,
    '"><img src=x onerror=alert(1)>',
)
MANY = 41_270


def ask(collector, question, count, days=(0,)):
    """Create a question and send many reports of uniform answers on some days."""
    collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    rng = np.random.default_rng(count)
    values = rng.integers(0, len(question.labels), count)
    for later in days:
        data = question.protocol.privatize(values, rng).tobytes()
        assert collector.submit(question, data, day=today(later), role="relay").status == 204
    return question.digest


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return a collector with a question that has days, one with hostile labels, an empty one."""
    path = tmp_path_factory.mktemp("accessibility") / "store.db"
    for found in start(Settings(store=str(path), port=0, minimum=10)):
        fruit = Question("Favourite fruit", ("apple", "fig", "kiwi"), DE(1.0, 3))
        found.fruit = ask(found, fruit, 2000, (-2, -1, 0))
        terms = b'{"public_results": true}'
        found.request("PATCH", f"/v1/questions/{found.fruit}", terms, role="admin")
        hostile = Question("<script>alert(2)</script>" + "x" * 10_000, HOSTILE, DE(1.0, 5))
        found.hostile = ask(found, hostile, 2000)
        found.empty = found.ask().digest
        yield found


def pages(collector):
    """Return the address of every kind of page."""
    fruit = f"/questions/{collector.fruit}"
    return {
        "home": "/",
        "new": "/new",
        "question": fruit,
        "compared": f"{fruit}?from={today()}&compare_to={today(-1)}",
        "hostile": f"/questions/{collector.hostile}",
        "empty": f"/questions/{collector.empty}",
        "collect": f"{fruit}/collect",
        "quality": f"{fruit}/quality",
        "settings": f"{fruit}/settings",
        "results": f"/results/{collector.fruit}",
        "embed": f"/results/{collector.fruit}/embed",
        "check": "/check",
        "access": "/access",
        "status": "/status",
        "unknown": f"/questions/{'0' * 64}",
        "login": "/login",
        "try": f"/try/{collector.fruit}",
        "try hostile": f"/try/{collector.hostile}",
        "missing": "/nothing-here",
        "swapped": f"{fruit}?from={today()}&to={today(-1)}",
        "new, wrong": "/new",
        "settings, wrong": f"{fruit}/settings",
        "delete, wrong": f"{fruit}/settings",
        "token": "/access",
        "try, drawn": f"/try/{collector.fruit}",
    }


def bring(page, name):
    """Do on a page what its name says."""
    if name == "new":
        page.fill("[name=labels]", "a\nb\nc")
        until(page, "document.querySelector('.light.good') !== null")
    elif name == "new, wrong":
        page.fill("[name=labels]", "a\na")
        page.click("text=Create the question")
    elif name == "settings, wrong":
        page.fill("[name=origins]", "no site")
        page.click("text=Save")
    elif name == "delete, wrong":
        page.fill("[name=name]", "another name")
        page.click("button.danger")
    elif name == "token":
        page.fill("[name=name][required]", f"token {secrets.token_hex(4)}")
        page.click("text=Make a token")
        page.wait_for_selector(".panel.done")
    elif name == "try, drawn":
        page.click(".chips button")
        page.wait_for_selector("#first:not([hidden])")
    if name.endswith("wrong"):
        page.wait_for_selector("[aria-invalid]")


@pytest.fixture
def narrow(browser, collector, request):
    """Return a visit on a narrow screen, in the colours that the test wants."""
    scheme = getattr(request, "param", "light")
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    context.set_default_timeout(20_000)
    visit = Visit(context, collector)
    yield visit
    assert visit.wrong == []
    assert visit.violations() == []
    assert visit.hosts() == {collector.address.partition("://")[2]}
    context.close()


@pytest.mark.node
@pytest.mark.parametrize("narrow", ["light", "dark"], indirect=True)
def test_every_page_is_accessible_and_fits(narrow, collector):
    """axe-core finds nothing on any page, and no page is wider than a narrow screen."""
    narrow.log_in()
    script = AXE.read_text(encoding="utf-8")
    found = {}
    for name, path in pages(collector).items():
        page = narrow.open(path)
        bring(page, name)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.evaluate(script)
        results = page.evaluate("axe.run()")
        for violation in results["violations"]:
            found[name, violation["id"]] = [node["html"][:200] for node in violation["nodes"]]
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 360:
            found[name, "width"] = width
        page.evaluate("delete window.axe")
        assert narrow.violations() == []
        page.close()
    assert found == {}


@pytest.mark.node
@pytest.mark.parametrize("narrow", ["light", "dark"], indirect=True)
def test_pages_for_strangers_are_accessible(narrow, collector):
    """What is seen without a session, by a login link too, is found clean by axe-core."""
    for place in ("/", "/login?next=/new", link(collector).removeprefix(collector.address)):
        page = narrow.open(place)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate("axe.run()")["violations"] == [], place


@pytest.mark.node
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_empty_collector_is_accessible(browser, tmp_path, scheme):
    """The first page with no question yet, and its steps, are found clean by axe-core."""
    for found in start(Settings(store=str(tmp_path / "store.db"), port=0)):
        context = browser.new_context(color_scheme=scheme)
        page = Visit(context, found).log_in()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate("axe.run()")["violations"] == []
        assert "No questions yet" in page.inner_text("main")
        context.close()


def test_hostile_labels_harm_neither_page_nor_export(narrow, collector):
    """Markup, formulas, marks of direction and 10,000 characters are shown as text, cut or not."""
    alerts = []
    narrow.context.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    page = narrow.log_in()
    page.goto(f"{collector.address}/questions/{collector.hostile}")
    shown = [cell.inner_text() for cell in page.locator("#live .chart tbody th").all()]
    assert HOSTILE[0] in shown
    assert "\\u202eright to left\\u202c" in shown
    assert max(map(len, shown)) < 200
    assert page.locator("main script, main img").count() == 0
    assert len(page.inner_text("h1")) < 200
    assert alerts == []
    path = f"/v1/questions/{collector.hostile}/estimates?format=csv"
    rows = list(csv.DictReader(io.StringIO(narrow.collector.request(
        "GET", path, role="viewer").body.decode(), newline="")))  # fmt: skip
    assert [unguarded(row["label"]) for row in rows] == list(HOSTILE)
    assert not any(re.match("[=+@-]", row["label"]) for row in rows)


def test_many_answers_show_the_largest_and_export_all(narrow, collector):
    """A page of 41,270 answers has 50 rows, and the export has them all."""
    question = Question("Pages", tuple(f"page {i}" for i in range(MANY)), OLH(2.0, MANY))
    digest = ask(collector, question, 50_000)
    page = narrow.log_in()
    page.goto(f"{collector.address}/questions/{digest}")
    assert page.locator("#live .chart tbody tr").count() == 50
    assert "the largest 50 of 41,270" in page.inner_text("#live")
    path = f"/v1/questions/{digest}/estimates?format=csv"
    answer = narrow.collector.request("GET", path, role="viewer")
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert answer.body.count(b"\n") == MANY + 1


SMALL = """() => [...document.querySelectorAll("a, button, input, select, textarea, summary")]
    .filter((each) => each.offsetParent && !each.closest(".unseen, .skip, p, li p"))
    .map((each) => [each.outerHTML.slice(0, 80), each.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.height < 24 || box.width < 24))
    .map(([text, box]) => `${text} ${box.width}x${box.height}`)"""
"""Returns what can be pressed and is smaller than 24 pixels, except links inside sentences."""


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_no_page_overflows_and_targets_are_large(browser, collector, width):
    """At every width nothing is wider than the screen, and what can be pressed has 24 pixels."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    visit = Visit(context, collector)
    visit.log_in()
    wrong = {}
    for name, path in pages(collector).items():
        page = visit.open(path)
        bring(page, name)
        found = page.evaluate("document.documentElement.scrollWidth")
        if found > width:
            wrong[name, "width"] = found
        if small := page.evaluate(SMALL):
            wrong[name, "small"] = small
        page.close()
    context.close()
    assert wrong == {}


FAINT = """() => {
    const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const read = (colour) => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        return [...pixel.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map((x) => x / 255)
        .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (each) => {
        for (let at = each; at; at = at.parentElement) {
            const colour = read(getComputedStyle(at).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255, 255];
    };
    const found = {}, seen = {};
    const judge = (name, each, colour, ground) => {
        const [a, b] = [light(read(colour)), light(behind(ground))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        seen[name] = (seen[name] ?? 0) + 1;
        if (ratio < 3) found[name] = `${ratio.toFixed(2)} ${each.outerHTML.slice(0, 90)}`;
    };
    const all = (wanted) => [...document.querySelectorAll(wanted)]
        .filter((each) => each.checkVisibility());
    const filled = [".interval", ".dot", ".truth", ".traffic rect", ".meter .some", "rect.own"];
    for (const name of [...filled, ".line", ".whisker", ".bracket", ".histogram .bar", "path.axis"])
        for (const each of all(`svg ${name}, svg${name}`)) {
            const { fill, stroke } = getComputedStyle(each);
            const within = filled.includes(name) && fill !== "none";
            judge(name, each, within ? fill : stroke, each.closest("svg"));
        }
    const ticked = "[type=radio], [type=checkbox], [type=range]";
    for (const each of all(`input:not(${ticked}), select, textarea`))
        judge("border", each, getComputedStyle(each).borderTopColor, each.parentElement);
    for (const each of all("a, button, input, select, textarea, summary")) {
        each.focus({ focusVisible: true });
        if (document.activeElement === each)
            judge("ring", each, getComputedStyle(each).outlineColor, each.parentElement);
    }
    return [found, seen];
}"""
"""Returns which marks, borders of fields and rings of focus stand out by less than 3 to 1 from what
is behind them, and how many of each there were. Bars and bands are fainter: the interval on a bar
and the line in a band carry the meaning."""


@pytest.mark.long("every mark of many pages")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_stand_out(browser, collector, scheme):
    """Marks, borders and rings of focus of every page have a contrast of at least 3 as drawn."""
    minutes = Question("Minutes", Number(0, 60, 5), epsilon=2.0)
    collector.request("POST", "/v1/questions", minutes.to_json().encode(), role="admin")
    rng = np.random.default_rng(5)
    sent = minutes.privatize((5 * rng.integers(0, 13, 2000)).tolist(), rng).tobytes()
    assert collector.submit(minutes, sent, role="relay").status == 204
    context = browser.new_context(color_scheme=scheme)
    visit = Visit(context, collector)
    visit.log_in()
    wrong, seen = {}, set()
    places = {**pages(collector), "number": f"/questions/{minutes.digest}"}
    for name, path in places.items():
        page = visit.open(path)
        bring(page, name)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        found, some = page.evaluate(FAINT)
        seen |= some.keys()
        wrong.update({(name, mark): ratio for mark, ratio in found.items()})
        if name == "question":  # what is faint is found
            page.evaluate("document.querySelector('svg .interval').style.fill = '#9cc0ee'")
            assert scheme == "dark" or page.evaluate(FAINT)[0].keys() == {".interval"}
        page.close()
    context.close()
    assert wrong == {}
    marks = (".interval", ".line", ".dot", ".whisker", ".bracket", ".traffic rect", "ring")
    assert seen.issuperset(marks)
