"""The page to try a question, in a real browser with a real collector: what it shows is so."""

import json
import math
from fractions import Fraction
from urllib.parse import urlsplit

import numpy as np
import pytest

from deniable import DE, OUE, SHE, AffineSelection, OpenLH, SubsetSelection
from deniable.advice import meaning
from deniable.auditing import output_law
from deniable.collector.settings import Settings
from deniable.protocol import Protocol
from deniable.question import Question
from deniable.randomness import Replayed
from tests.browser import law
from tests.browser.dashboard import Visit, until
from tests.browser.test_accessibility import AXE
from tests.collector.conftest import start

pytestmark = pytest.mark.browser

SPECIFICATIONS = law.specifications()
LABELS = ("tea", "coffee", "water", "milk")
READ = """() => {
    const text = (selector) => document.querySelector(selector)?.textContent;
    const all = (selector) => [...document.querySelectorAll(selector)];
    const cells = (selector) =>
        all(`${selector} tr`).map((row) => [...row.cells].map((cell) => cell.textContent));
    return {
        report: text("#bytes"), words: all("#dice code").map((code) => code.textContent),
        decided: all("#dice td").map((cell) => cell.textContent),
        fits: text("#fits"), fitting: text("#exact-fitting"), other: text("#exact-other"),
        likelihoods: cells("#likelihoods"), beliefs: cells("#beliefs"),
        status: text("#status"), together: text("#together"), conclusion: text("#conclusion"),
    };
}"""
"""Returns what stands in the page after a report was drawn."""


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Run a collector that shows estimates from ten reports on."""
    path = tmp_path_factory.mktemp("try") / "store.db"
    yield from start(Settings(store=str(path), port=0, minimum=10, question_limit=1 << 21))


class Trying(Visit):
    """A person at the page of a question."""

    def ask(self, question, **terms):
        """Ask a question under some terms."""
        document = question.to_json().encode()
        answer = self.collector.request("POST", "/v1/questions", document, role="admin")
        assert answer.status in (200, 201), answer.body
        path, body = f"/v1/questions/{question.digest}", json.dumps(terms).encode()
        assert self.collector.request("PATCH", path, body, role="admin").status == 200
        return question

    def read(self, question):
        """Return the page as the collector sends it."""
        return self.collector.request("GET", f"/try/{question.digest}").body.decode()

    def begin(self, question):
        """Open the page of a question and wait until it can be tried."""
        self.page = self.open(f"/try/{question.digest}")
        self.page.wait_for_selector("#try:not([hidden])")

    def choose(self, place):
        """Press the chip of an answer, and return what the page shows."""
        self.page.locator("#choices button").nth(place).click()
        return self.drawn()

    def draw(self):
        """Press the button of the form, and return what the page shows."""
        self.page.click("#ask button")
        return self.drawn()

    def drawn(self):
        """Wait until a report was drawn, and return what the page shows."""
        self.page.wait_for_selector("#life:not([hidden])")
        until(self.page, "document.querySelector('#status').textContent !== ''")
        self.page.evaluate("document.querySelector('#life').open = true")
        return self.page.evaluate(READ)

    def again(self, number):
        """Draw another report of the same answer, which is the so many'th."""
        self.page.click("#again")
        until(
            self.page,
            f"document.querySelector('#status').textContent.startsWith('Report {number} ')",
        )
        return self.page.evaluate(READ)


@pytest.fixture
def visit(context, collector):
    """Return a visit during which no page had an error, broke the policy or left the collector."""
    found = Trying(context, collector)
    context.on("dialog", lambda dialog: found.wrong.append(dialog.message))
    yield found
    assert found.wrong == []
    assert found.violations() == []
    assert found.hosts() <= {urlsplit(collector.address).netloc}


def exact(text):
    """Return a product such as "(1 / 3) × (2 / 5) ^ 4" as a fraction."""
    product = Fraction(1)
    for factor in text.split(" × "):
        inner, _, power = factor.removeprefix("(").partition(")")
        above, _, below = inner.partition(" / ")
        product *= Fraction(int(above), int(below)) ** int(power.removeprefix(" ^ ") or 1)
    return product


def written(text):
    """Return a number as the page writes it, with its power of ten if it has one."""
    mantissa, _, power = text.partition(" × 10")
    return float(mantissa) * 10.0 ** int(power.replace("−", "-") or 0)


def decisions(sentences):
    """Return whether each word set its bit, or whether the last one kept the answer's place."""
    if "the bit is set" in sentences[0]:
        return ["sets it: 1." in said for said in sentences]
    return [any(words in sentences[-1] for words in ("This one keeps", "This one puts it in"))]


def likelihood(protocol, report, value):
    """Return the probability of a report, by enumeration of all that the random words can do."""
    if not protocol.words.public:
        found = output_law(protocol, value)
        weights = zip(found.positions, found.weights, found.totals, strict=True)
        return math.prod(
            Fraction(each.get(bytes(report[place] for place in places), 0), total)
            for places, each, total in weights
        )
    # The hash function is in the report as it was drawn; a group that is not kept is one of g - 1.
    p, g = protocol.parameters.exact_p, protocol.specification()["g"]
    supports = protocol.supports(protocol.parse(report), value)[0]
    return (p if supports else (1 - p) / (g - 1)) / 2 ** (64 * len(protocol.words.public))


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_dice_bytes_and_likelihoods_are_those_of_the_protocol(visit, name):
    """The words shown make the bytes shown, and the likelihoods are the enumerated ones."""
    protocol = Protocol.from_specification(SPECIFICATIONS[name])
    d = SPECIFICATIONS[name].get("domain_size")
    labels = tuple(f"answer {i}" for i in range(d or 4))
    question = visit.ask(Question(f"try {name}", labels if d else None, protocol))
    visit.begin(question)
    if d:
        shown = visit.choose(2)
    else:
        visit.page.fill("input[name=answer]", labels[2])
        visit.page.click("text=Compare with other answers")
        visit.page.fill("#others", "\n".join(labels[:2] + labels[3:]))
        shown = visit.draw()

    report = bytes.fromhex(shown["report"])
    words = b"".join(int(word, 16).to_bytes(8, "little") for word in shown["words"])
    assert question.privatize([labels[2]], Replayed(words)).tobytes() == report

    rows = {row[0].removesuffix("your answer"): row[1] for row in shown["likelihoods"]}
    assert sorted(rows) == sorted(labels)
    values = dict(zip(labels, question.values(labels).tolist(), strict=True))
    fits = {
        label: bool(protocol.supports(question.parse(report), value)[0])
        for label, value in values.items()
    }
    assert decisions(shown["decided"]) in (list(fits.values()), [fits[labels[2]]])
    for fit, place in ((True, "fitting"), (False, "other")):
        some = [label for label in labels if fits[label] is fit]
        if some:
            assert exact(shown[place]) == likelihood(protocol, report, values[some[0]]) > 0
    for label in labels:
        expected = exact(shown["fitting" if fits[label] else "other"])
        assert written(rows[label]) == pytest.approx(float(expected), rel=1e-4)
        assert (f"“{label}”" in shown["fits"]) == fits[label]


def test_the_page_only_simulates(visit):
    """Where the question does not collect there, drawing sends nothing and keeps nothing."""
    question = visit.ask(Question("simulated", LABELS, DE(1.0, 4)))
    visit.begin(question)
    before = len(visit.asked)
    visit.choose(0)
    visit.again(2)
    visit.page.fill("#prior", "40")
    assert len(visit.asked) == before
    assert {request.method for request in visit.asked} == {"GET"}
    assert visit.page.query_selector("#send") is None
    assert visit.page.evaluate("localStorage.length") == 0
    assert visit.page.evaluate("document.activeElement.id") == "prior"
    assert visit.collector.n(question) == 0


def test_odds_follow_from_what_an_observer_believed(visit):
    """Before and after are Bayes' rule with the weights that are executed, for any prior."""
    protocol = DE(1.0, 4)
    visit.begin(visit.ask(Question("odds", LABELS, protocol)))
    shown = visit.choose(1)
    ratio = float(protocol.worst_ratio)
    fits = "“coffee”" in shown["fits"]
    for prior in (0.25, 0.9):
        if prior != 0.25:
            visit.page.fill("#prior", str(100 * prior))
            shown = visit.page.evaluate(READ)
        own, rest = prior * (ratio if fits else 1), (1 - prior) / 3 * (3 if fits else 2 + ratio)
        _, before, after = shown["beliefs"][0]
        assert float(before.removesuffix(" %")) == pytest.approx(100 * prior)
        assert float(after.removesuffix(" %")) == pytest.approx(100 * own / (own + rest), rel=1e-2)
        assert f"e^ε = {math.e:.7g}" in shown["conclusion"]
    visit.page.fill("#prior", "100")
    assert "below 100" in visit.page.inner_text("#conclusion")


def test_many_draws_give_the_answer_away(visit):
    """The page shows why a real client draws once: over many reports belief nears certainty."""
    visit.begin(visit.ask(Question("again", LABELS, DE(5.0, 4))))
    visit.choose(3)
    for number in range(2, 13):
        shown = visit.again(number)
    assert "12 reports of “milk”" in shown["together"]
    # That the belief is below 99.9 % takes six others of twelve, which has the probability 5e-8.
    belief = shown["together"].partition(" now believe in this one with ")[2]
    assert belief == "practically 100 %." or float(belief.removesuffix(" %.")) >= 99.9


def test_an_answer_is_sent_once_and_only_on_demand(visit):
    """Where the question collects there, a button sends the report shown first, and no other."""
    question = visit.ask(Question("collected", LABELS, SubsetSelection(1.0, 4)), collect=True)
    visit.begin(question)
    visit.choose(2)
    assert visit.collector.n(question) == 0
    first = visit.page.inner_text("#bytes")
    visit.again(2)
    for _ in range(2):
        visit.page.click("#send")
        visit.page.wait_for_selector("#send:not([disabled])")
        assert visit.page.inner_text("#sent").startswith(("Thank you", "You have answered"))
    assert len(visit.sent) == visit.collector.n(question) == 1
    body = visit.sent[0].post_data_buffer
    assert body[16:].hex(" ") == first
    assert first in visit.page.inner_text("#left")
    assert len(question.parse(body[16:])) == 1


def test_results_are_offered_only_afterwards(visit):
    """Nobody is swayed: no share stands on the page, and the way to results comes after sending."""
    question = visit.ask(
        Question("published", LABELS, DE(1.0, 4)), public_results=True, collect=True
    )
    for label in LABELS * 3:
        visit.collector.submit(question, question.privatize([label]).tobytes())
    assert "12 reports" not in visit.read(question)
    visit.begin(question)
    visit.choose(0)
    assert not visit.page.is_visible("#afterwards")
    visit.page.click("#send")
    visit.page.wait_for_selector("#afterwards:not([hidden]) a")
    visit.page.click("#afterwards a")
    assert "13 reports" in visit.page.inner_text("main")


def test_what_browsers_do_not_speak_is_said(visit):
    """A protocol that the client does not make reports of gets a sentence, and no form."""
    question = visit.ask(Question("foreign", LABELS, SHE(1.0, 4)), collect=True)
    page = visit.read(question)
    assert "The browser client does not know SHE" in page
    assert "<script" not in page
    assert "<button" not in page


def test_without_javascript_the_page_still_explains(browser, collector, visit):
    """The numbers of the law and what they mean stand in the page itself."""
    protocol = AffineSelection(1.0, 4)
    question = visit.ask(Question("still", LABELS, protocol))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{collector.address}/try/{question.digest}")
    while (closed := page.locator("main details:not([open]) > summary:visible")).count():
        closed.first.click()
    text = page.inner_text("main").replace("\u00a0", " ")
    context.close()
    p, q = protocol.parameters.p, protocol.parameters.q
    for said in (meaning(1.0), f"{p:.5g}", f"{q:.5g}", "2.7183", "allow JavaScript on this page"):
        assert said in text
    assert "Show what would be sent" not in text


def test_hostile_labels_harm_nothing(visit):
    """Markup, marks that turn text around and 10,000 characters are text, at 360 pixels too."""
    labels = ("<img src=x onerror=alert(1)>", "=cmd()", "\u202egnp.exe", "x" * 10_000, "a\nb", "")
    name = "<script>alert(1)</script>\u202e" + "long " * 2000
    question = visit.ask(Question(name, labels, OUE(1.0, len(labels))), public_results=True)
    for label in labels * 2:
        visit.collector.submit(question, question.privatize([label]).tobytes())
    visit.begin(question)
    visit.page.set_viewport_size({"width": 360, "height": 800})
    visit.choose(3)
    text = visit.page.inner_text("main")
    assert "<img src=x onerror=alert(1)>" in text
    assert "\\u202egnp.exe" in text
    assert "\u202e" not in visit.page.content()
    assert visit.page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 360
    visit.page.click("#likelihoods summary")
    assert "x" * 10_000 in visit.page.inner_text("#likelihoods details")


def test_many_answers_are_counted_and_not_listed(visit):
    """Of 41,270 answers the page lists some and the one given, and counts all others."""
    labels = tuple(f"page {i}" for i in range(41_270))
    question = visit.ask(Question("pages", labels, AffineSelection(2.0, len(labels))))
    visit.begin(question)
    visit.page.fill("input[name=answer]", "page x")
    visit.page.click("#ask button")
    assert "not one of the answers" in visit.page.inner_text("#wrong")
    visit.page.fill("input[name=answer]", "page 40000")
    shown = visit.draw()
    listed = [row for row in shown["likelihoods"] if row[0].startswith("page ")]
    assert "page 40000your answer" in [row[0] for row in listed]
    others = [
        int(row[0].split()[2].replace(",", "")) for row in shown["likelihoods"][len(listed) :]
    ]
    assert len(listed) + sum(others) == len(labels)
    report = question.parse(bytes.fromhex(shown["report"]))
    supported = int(question.protocol.support_counts(report).sum())
    assert f"It fits {supported:,} of 41,270 answers" in shown["fits"]
    assert np.isclose(supported, len(labels) / question.protocol.g, rtol=0.2)


def test_an_open_question_compares_what_is_written(visit):
    """One answer alone has nothing to be compared with, and the page says so."""
    visit.begin(visit.ask(Question("open", None, OpenLH(2.0))))
    visit.page.fill("input[name=answer]", "café")
    shown = visit.draw()
    assert [row[0] for row in shown["likelihoods"]] == ["caféyour answer"]
    assert visit.page.is_visible("#alone")
    assert not visit.page.is_visible("#odds")


@pytest.mark.node
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_life_of_a_report_is_accessible(visit, scheme):
    """axe-core finds nothing once a report was drawn, and nothing is wider than a narrow screen."""
    terms = {"public_results": True, "collect": True}
    question = visit.ask(Question("Morning drink", LABELS, SubsetSelection(1.0, 4)), **terms)
    for label in LABELS * 3:
        visit.collector.submit(question, question.privatize([label]).tobytes())
    visit.begin(question)
    visit.page.emulate_media(color_scheme=scheme)
    visit.page.set_viewport_size({"width": 360, "height": 740})
    visit.choose(1)
    visit.again(2)
    visit.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    visit.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = visit.page.evaluate("axe.run()")["violations"]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 360
