"""Every page of every kind of question: by axe-core, at four widths, in print, without scripts."""

import csv
import io
import json
import re
import secrets
from pathlib import Path

import numpy as np
import pytest

from deniable.answers import Choices, Number, Record, Text
from deniable.cli import demonstration
from deniable.collector.access import Role
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.presentation import unguarded
from deniable.protocols.basic_rappor import BasicRAPPOR
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


def ask_numbers(collector, question):
    """Create a question for a number and send reports of it."""
    collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    reports = question.privatize([20.0, 35.0, 40.0] * 300, np.random.default_rng(5))
    assert collector.submit(question, reports.tobytes(), role="relay").status == 204
    return question.digest


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return a collector with the questions of the demonstration, a hostile and an empty one."""
    path = tmp_path_factory.mktemp("accessibility") / "store.db"
    settings = Settings(store=str(path), port=0, minimum=10, window=demonstration.HISTORY + 1)
    store = open_store(settings.store, window=settings.window)
    demonstration.fill(store)
    asked = [Question.from_json(each.document) for each in store.all_asked()]
    store.close()
    for found in start(settings):
        found.drinks, *others = (question.digest for question in asked)
        found.kinds = dict(zip(KINDS, others, strict=True))
        hostile = Question("<script>alert(2)</script>" + "x" * 10_000, HOSTILE, DE(1.0, 5))
        found.hostile = ask(found, hostile, 2000)
        boxes = Question("Boxes", Choices((*HOSTILE, "👩‍👩‍👧‍👦 می‌خواهم", "שלום"), 2), epsilon=1.0)
        found.request("POST", "/v1/questions", boxes.to_json().encode(), role="admin")
        found.boxes = boxes.digest
        named = Record(**{"y" * 60: HOSTILE[:2], "שלום": ("a", "b")})
        names = Question("Names", named, epsilon=1.0)
        found.request("POST", "/v1/questions", names.to_json().encode(), role="admin")
        found.names = names.digest
        found.empty = found.ask().digest
        again = Question("Again", ("yes", "so so", "no"), BasicRAPPOR(3, 0.5, 0.75, 0.25))
        found.again = ask(found, again, 300, days=(-1, 0))
        mean = Question("Hours", Number(0, 80, 5, "h", ("mean",)), epsilon=1.0)
        found.mean = ask_numbers(found, mean)
        items = tuple(f"item {i}" for i in range(40))
        found.few = ask(found, Question("Few", items, epsilon=1.0), 4)
        found.hopeless = ask(found, Question("Too few for so many", items, epsilon=0.5), 10)
        found.closed = ask(found, Question("Closed", HOSTILE, epsilon=2.0), 900, days=(-1, 0))
        assert close(found, found.closed) == 200
        yield found


def close(collector, digest):
    """Close a question, and return the status of the answer."""
    body = json.dumps({"state": "closed"}).encode()
    return collector.request("PATCH", f"/v1/questions/{digest}", body, role="admin").status


WEEKS = f"?from={today(-6)}&to={today()}&compare_from={today(-13)}&compare_to={today(-7)}"
KINDS = ("many", "text", "set", "number", "record", "discovery")
"""The questions of the demonstration after the first, in their order."""


def pages(collector):
    """Return the address of every page, of each kind of question that differs there."""
    drinks = f"/questions/{collector.drinks}"
    found = {
        "home": "/",
        "new": "/new",
        "question": drinks,
        "compared": f"{drinks}?from={today()}&compare_to={today(-1)}",
        "hostile": f"/questions/{collector.hostile}",
        "empty": f"/questions/{collector.empty}",
        "few": f"/questions/{collector.few}",
        "hopeless": f"/questions/{collector.hopeless}",
        "closed": f"/questions/{collector.closed}",
        "closed, collect": f"/questions/{collector.closed}/collect",
        "closed, settings": f"/questions/{collector.closed}/settings",
        "closed, too short": f"/questions/{collector.closed}?from={today(-9)}&to={today(-8)}",
        "saved": f"{drinks}/settings?done=saved",
        "searched": "/?find=drink&state=open",
        "nothing found": "/?find=no+such+question",
        "hostile, collect": f"/questions/{collector.hostile}/collect",
        "boxes, collect": f"/questions/{collector.boxes}/collect",
        "boxes, drawn": f"/try/{collector.boxes}",
        "again": f"/questions/{collector.again}",
        "again, collect": f"/questions/{collector.again}/collect",
        "again, not tried": f"/try/{collector.again}",
        "mean": f"/questions/{collector.mean}",
        "mean, drawn": f"/try/{collector.mean}",
        "names, drawn": f"/try/{collector.names}",
        "collect": f"{drinks}/collect",
        "quality": f"{drinks}/quality",
        "settings": f"{drinks}/settings",
        "results": f"/results/{collector.drinks}",
        "embed": f"/results/{collector.drinks}/embed",
        "check": "/check",
        "access": "/access",
        "status": "/status",
        "unknown": f"/questions/{'0' * 64}",
        "login": "/login",
        "try": f"/try/{collector.drinks}",
        "try hostile": f"/try/{collector.hostile}",
        "missing": "/nothing-here",
        "swapped": f"{drinks}?from={today()}&to={today(-1)}",
        "new, wrong": "/new",
        "settings, wrong": f"{drinks}/settings",
        "delete, wrong": f"{drinks}/settings",
        "token": "/access",
        "token, wrong": "/access",
        "link": "/access",
        "drawn": f"/try/{collector.drinks}",
        "named": f"/questions/{collector.kinds['text']}?candidates=hello%0Acoffee",
        "unwatched": f"/questions/{collector.kinds['discovery']}/quality",
    }
    for kind, digest in collector.kinds.items():
        found[kind] = f"/questions/{digest}"
        found[f"{kind}, compared"] = f"/questions/{digest}{WEEKS}"
        found[f"{kind}, collect"] = f"/questions/{digest}/collect"
        found[f"{kind}, results"] = f"/results/{digest}"
        found[f"{kind}, drawn"] = f"/try/{digest}"
    return found | {
        f"{kind}, wrong": "/new" for kind in ("record", "number", "choices", "discover")
    }


FILLED = {
    "settings, wrong": ("[name=origins]", "no site", "text=Save"),
    "delete, wrong": ("[name=name]", "another name", "button.danger"),
    "token": ("[name=name][required]", "token", "text=Make a token"),
    "token, wrong": ("[name=name][required]", "\u00a0", "text=Make a token"),
}
"""What is entered where, and which button is pressed then."""


def bring(page, name):
    """Do on a page what its name says."""
    kind, _, what = name.rpartition(", ")
    if name == "new":
        page.fill("[name=labels]", "a\nb\nc")
        until(page, "document.querySelector('.light.good') !== null")
    elif name in FILLED:
        field, text, button = FILLED[name]
        page.fill(field, f"{text} {secrets.token_hex(4)}" if name == "token" else text)
        page.click(button)
    elif name == "link":
        page.click("text=Make a login link")
    elif what == "wrong":
        page.evaluate("sessionStorage.clear()")
        if kind != "new":
            page.check(f"[name=kind][value={kind}]")
        page.click("text=Create the question")
    elif name in ("discovery", "discovery, results"):
        for _ in range(60):
            if page.locator("text=Texts that are sure").count():
                break
            page.wait_for_timeout(500)
            page.reload()
        assert page.locator("text=Texts that are sure").count() == 1
    elif what == "drawn":
        answer(page)
    if name in ("token", "link"):
        page.wait_for_selector(".panel.done")
    elif what == "wrong":
        page.wait_for_selector("[aria-invalid]")


def answer(page):
    """Answer on the page to try a question of any kind, and see what would be sent."""
    page.wait_for_selector("#try:not([hidden])")
    for box in page.locator("#choices [type=checkbox]").all()[:2]:
        box.check()
    for field in page.locator("#choices select").all():
        field.select_option(index=1)
    for field in page.locator("#choices input:not([type=checkbox])").all():
        field.fill("60" if field.get_attribute("type") == "number" else "Smith")
    page.click("#ask button" if page.is_visible("#ask button") else ".chips button")
    page.wait_for_selector("#first:not([hidden])")


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


UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"


@pytest.mark.node
def test_every_page_is_accessible(narrow, collector):
    """axe-core finds nothing on any page, nor in its dark colours, with all details opened."""
    narrow.log_in()
    script = AXE.read_text(encoding="utf-8")
    found = {}
    for name, path in pages(collector).items():
        page = narrow.open(path)
        bring(page, name)
        page.evaluate(UNFOLD)
        page.evaluate(script)
        results = page.evaluate("axe.run()")["violations"]
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        results += page.evaluate("axe.run({ runOnly: ['color-contrast'] })")["violations"]
        for violation in results:
            found[name, violation["id"]] = [node["html"][:200] for node in violation["nodes"]]
        assert narrow.violations() == [], name
        page.close()
    assert found == {}


@pytest.mark.node
@pytest.mark.parametrize("narrow", ["light", "dark"], indirect=True)
def test_pages_for_strangers_are_accessible(narrow, collector):
    """What is seen without a session, by a login link too, is found clean by axe-core."""
    places = ["/", "/login?next=/new", link(collector).removeprefix(collector.address)]
    german = ("/", "/check", f"/results/{collector.drinks}", f"/try/{collector.kinds['discovery']}")
    places += [f"{path}?lang=de" for path in german]
    for place in (*places, "a viewer"):
        page = narrow.log_in(Role.VIEWER) if place == "a viewer" else narrow.open(place)
        if place == "a viewer":
            assert page.goto(f"{collector.address}/new").status == 403
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


def test_no_page_overflows_targets_are_large_and_marks_stand_out(browser, collector):
    """At four widths nothing is wider than the screen, and what can be pressed has 24 pixels.

    Marks, borders and rings of focus have a contrast of at least 3 as drawn, in both schemes.
    """
    context = browser.new_context(reduced_motion="reduce")
    visit = Visit(context, collector)
    visit.log_in()
    wrong, seen = {}, set()
    for name, path in pages(collector).items():
        page = visit.open(path)
        bring(page, name)
        for width in (360, 768, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            if (found := page.evaluate("document.documentElement.scrollWidth")) > width:
                wrong[name, "width"] = found
            if small := page.evaluate(SMALL):
                wrong[name, "small", width] = small
        page.evaluate(UNFOLD)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found, some = page.evaluate(FAINT)
            seen |= some.keys()
            wrong.update({(name, scheme, mark): ratio for mark, ratio in found.items()})
        if name == "question":  # what is faint is found
            page.emulate_media(color_scheme="light")
            page.evaluate("document.querySelector('svg .interval').style.fill = '#9cc0ee'")
            assert page.evaluate(FAINT)[0].keys() == {".interval"}
        page.close()
    context.close()
    assert wrong == {}
    marks = (".interval", ".line", ".dot", ".whisker", ".bracket", ".traffic rect", "ring")
    assert seen.issuperset(marks)


PRINTED = """() => ["h1", "svg.bars .interval"].map((each) => {
    const { color, fill } = getComputedStyle(document.querySelector(each));
    return [color, fill];
})"""


def test_a_question_prints_on_one_page_and_works_without_scripts(browser, collector):
    """Answers, bins, cross tables, groups, trends and changes fit on one A4 page, as on paper.

    Every kind says its results without scripts.
    """
    context = browser.new_context(java_script_enabled=False)
    visit = Visit(context, collector)
    page = visit.log_in()
    page.goto(f"{collector.address}/questions/{collector.drinks}")
    assert page.locator("#live .chart tbody tr").count() == 12
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.goto(f"{page.url}{WEEKS}")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.emulate_media(media="print", color_scheme="light")
    light = page.evaluate(PRINTED)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(PRINTED) == light
    page.emulate_media(media="screen")
    assert page.evaluate(PRINTED) != light
    page.emulate_media(media="null", color_scheme="light")
    for kind, digest in collector.kinds.items():
        page.goto(f"{collector.address}/questions/{digest}")
        if kind not in ("many", "text"):
            printed = page.pdf(format="A4")
            assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, kind
        if kind in ("text", "discovery"):
            page.goto(f"{page.url}?candidates=hello%0Abusy")
        assert page.is_visible("#live .say"), kind
        assert page.locator("#live svg.bars, #live svg.histogram").count(), kind
        page.goto(f"{collector.address}/questions/{digest}/collect")
        assert "<form" in page.inner_text("#snippet")
        page.goto(f"{collector.address}/try/{digest}")
        assert "allow JavaScript on this page" in page.inner_text("main")
    context.close()


PLACES = """() => [...document.querySelectorAll("h1, .tabs a, .presets li")].map((each) => {
    const { x, y, width, height } = each.getBoundingClientRect();
    return [x, y, width, height];
})"""


@pytest.mark.parametrize("width", [360, 1280])
def test_opening_the_choice_of_days_moves_no_button(narrow, collector, width):
    """The form opens below the row of its button, and nothing in this row moves."""
    page = narrow.log_in()
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{collector.address}/questions/{collector.drinks}")
    before = page.evaluate(PLACES)
    rows = {y for _, y, *_ in before[-4:]}
    assert len(rows) == 1
    assert not page.is_visible("#comparing")
    page.click("summary:has-text('Compare')")
    assert page.is_visible("#comparing")
    assert page.evaluate(PLACES) == before


def test_a_cross_table_fits_on_a_narrow_screen(narrow, collector):
    """Each row is a block with a line for each column, and still a table to a screen reader."""
    page = narrow.log_in()
    page.goto(f"{collector.address}/questions/{collector.kinds['record']}")
    for table in page.locator(".scroll:has(.grid)").all():
        assert table.evaluate("(each) => each.scrollWidth - each.clientWidth") == 0
        cell = table.locator("tbody td").first
        head = table.locator("thead th").first.inner_text()
        said = cell.evaluate("(each) => getComputedStyle(each, '::before').content")
        assert head in ("City", "On foot")
        assert said.startswith(f'"{head}"')
    tree = page.locator(".grid").first.aria_snapshot()
    assert '- rowheader "On foot"' in tree
    assert '- columnheader "City"' in tree


@pytest.mark.node
@pytest.mark.parametrize("narrow", ["light", "dark"], indirect=True)
def test_pages_of_problems_are_accessible(narrow, collector):
    """Too few reports, and a store that is ill: axe-core is content, and there is a way on."""
    page, store = narrow.log_in(), Path(collector.settings.store)
    page.goto(f"{collector.address}/questions/{collector.empty}/settings")
    away = store.with_name("away.db")
    store.rename(away)
    try:
        with page.expect_response("**/questions/*") as ill:
            page.click("text=Close this question")
        assert ill.value.status == 503
        page.wait_for_selector("text=The server cannot use its data")
    finally:
        away.rename(store)
    assert _clean(page)
    page.click("text=Go back")
    page.wait_for_selector("h1:has-text('question')")
    words = Question("Which word?", Text("english"), epsilon=2.0)
    collector.request("POST", "/v1/questions", words.to_json().encode(), role="admin")
    page.goto(f"{collector.address}/questions/{words.digest}")
    address = f"/questions/{words.digest}/follow-up"
    page.evaluate(
        """(address) => {
            const form = Object.assign(document.createElement("form"), { method: "post" });
            form.action = address;
            document.body.append(form);
            form.submit();
        }""",
        address,
    )
    page.wait_for_selector("text=There are not enough reports for this yet.")
    assert _clean(page)


def _clean(page):
    """Tell whether axe-core finds nothing, and nothing is too wide."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate("axe.run()")["violations"] == []
    return page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
