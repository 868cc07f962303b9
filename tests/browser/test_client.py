"""The client in a real browser: pages of one origin that send to a collector of another."""

import base64
import hashlib
import json
from contextlib import ExitStack

import pytest

from deniable.policy import BROWSERS, BUILDS
from deniable.protocols.hashing import OLH
from deniable.question import Question
from tests.browser import hostile
from tests.browser.dashboard import RECORD, until
from tests.browser.law import ROOT, follows, specifications
from tests.browser.standin import Collector, Site

pytestmark = pytest.mark.browser

STATIC = ROOT / "src" / "deniable" / "collector" / "pages" / "static"
CLIENT = (STATIC / "deniable.js").read_bytes()
INTEGRITY = "sha384-" + base64.b64encode(hashlib.sha384(CLIENT).digest()).decode()
QUESTION = Question("fruit", ("kiwi", "fig", "plum", "café", "sloe"), OLH(1.0, 5))
SPECIFICATIONS = specifications()

FORM = """
<form id="survey" method="dialog">
  <select><option>kiwi<option selected>fig</select>
  <button disabled>Send</button>
</form>
"""


def tag(collector, attributes):
    """Return the snippet that a site pastes into its pages."""
    return (
        f"<!doctype html><title>Site</title>{FORM}"
        f'<script type="module" src="/deniable.js" integrity="{INTEGRITY}" '
        f'data-collector="{collector.url}" data-question="{QUESTION.digest}" {attributes}></script>'
    ).encode()


class Journey:
    """A collector, a site that asks, and a browser profile; notes whatever goes wrong in a page."""

    def __init__(self, context, collector, site):
        self.context, self.collector, self.site = context, collector, site
        self.wrong = []
        context.add_init_script(RECORD)

    def open(self, path="/form.html", host=None):
        """Open a page of the site in a new tab."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto(f"{host or self.site.url}{path}")
        return page

    @staticmethod
    def submit(page):
        """Press the button of the form as a person does, and return what came of it."""
        seen = page.evaluate("outcomes.length")
        page.click("button")
        until(page, f"outcomes.length > {seen}")
        return page.evaluate("outcomes.at(-1)")

    @staticmethod
    def outcome(page):
        """Return what came of an answer that the page gave by itself."""
        until(page, "outcomes.length > 0")
        return page.evaluate("outcomes.at(-1)")


SETS = ("choices", *BUILDS["choices"])
REPLAYED = sorted(
    {path.stem for path in (ROOT / "vectors").glob("*.json")} - {"choices", "codes", "policy"}
)
"""The vectors for the client for one label; those of its insides are replayed under Node."""


@pytest.fixture
def journey(context):
    """Return a journey whose pages had no errors and broke no policy when it ends."""
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(QUESTION).running())
        files = {
            "/deniable.js": CLIENT,
            "/form.html": tag(collector, 'data-form="#survey"'),
            "/known.html": tag(collector, 'data-answer="plum"'),
            "/foreign.html": tag(collector, 'data-answer="lime"'),
            "/own.html": tag(collector, 'data-answer="fig" data-document="/fruit.json" data-debug'),
            "/fruit.json": QUESTION.to_json().encode(),
            "/strict.html": tag(collector, 'data-answer="plum" data-ceiling="0.5"'),
        }
        site = stack.enter_context(Site(files, collector).running())
        found = Journey(context, collector, site)
        yield found
        assert found.wrong == []
        assert [page.evaluate("violations") for page in context.pages] == [[]] * len(context.pages)
        assert {request.method for request in collector.requests} <= {"GET", "POST"}


def test_an_answer_is_counted_once(journey):
    """Answering again, after a reload and in a second tab sends nothing more."""
    page = journey.open()
    assert journey.submit(page) == "answered"
    assert journey.submit(page) == "already"
    page.reload()
    assert journey.submit(page) == "already"
    assert journey.submit(journey.open()) == "already"
    (request,) = journey.collector.submissions
    assert len(QUESTION.parse(request.body[16:])) == 1


def test_a_report_tells_nothing_about_who_sends_it(journey):
    """No cookie, no referrer, no content type, and so no preflight, across origins."""
    journey.submit(journey.open())
    assert [request.method for request in journey.collector.requests] == ["GET", "POST"]
    headers = journey.collector.submissions[0].headers
    assert headers["origin"] == journey.site.url
    assert not {"cookie", "referer", "content-type"} & set(headers)


def test_a_lost_reply_counts_once(journey):
    """After a lost reply the same bytes come again by themselves, under the same id and day."""
    journey.collector.faults = ["lost", 503, 204]
    page = journey.open()
    assert journey.submit(page) == "waiting"
    until(page, 'localStorage.deniable.includes("answered")')
    assert len(journey.collector.submissions) >= 3
    assert len({request.path for request in journey.collector.submissions}) == 1
    assert len(journey.collector.counted) == 1


def test_the_next_page_sends_what_a_closed_one_could_not(journey):
    """A report that waits is sent by the next page that asks, without another act."""
    journey.collector.faults = [503]
    page = journey.open()
    assert journey.submit(page) == "waiting"
    page.close()
    page = journey.open()
    until(page, 'localStorage.deniable.includes("answered")')
    assert len(journey.collector.counted) == 1


BLOCK = """
    Object.defineProperty(window, "localStorage", { get() { throw new DOMException("blocked"); } });
"""


def test_a_person_may_send_once_without_storage(journey):
    """Where storage is blocked, a person's own act is sent, once for a page; a script's is not."""
    journey.context.add_init_script(BLOCK)
    page = journey.open()
    page.wait_for_selector("button:enabled")
    options = "{ bubbles: true, cancelable: true }"
    page.evaluate(f"document.forms[0].dispatchEvent(new Event('submit', {options}))")
    assert journey.outcome(page) == "no-storage"
    assert journey.collector.submissions == []
    assert journey.submit(page) == "answered"
    assert journey.submit(page) == "already"
    assert len(journey.collector.submissions) == 1


def test_a_sandboxed_page_has_no_storage(journey):
    """In a sandbox without an origin, where locks fail too, nothing is sent and nothing breaks."""
    journey.site.policy = "sandbox allow-scripts"
    assert journey.outcome(journey.open("/known.html")) == "no-storage"
    assert journey.collector.submissions == []


def test_offline_breaks_nothing(journey):
    """An answer that is given offline arrives when the browser is online again."""
    page = journey.open()
    page.wait_for_selector("button:enabled")
    journey.context.set_offline(True)
    page.click("button")
    until(page, "outcomes.length > 0")
    assert journey.collector.submissions == []
    journey.context.set_offline(False)
    until(page, '(localStorage.deniable ?? "").includes("answered")')
    assert len(journey.collector.counted) == 1


@pytest.mark.parametrize("locks", [True, False])
def test_tabs_at_once_send_one_report(journey, locks):
    """Five tabs that answer at the same time send one report, with locks and without.

    Without them a tab waits 0.3 s for what others have stored. A browser that has to wait longer
    for a processor cannot keep that, so it may try again, with an empty store; seen once in about
    forty runs with four workers on two cores, so that three in a row are one in 64,000.
    """
    if not locks:
        journey.context.add_init_script("delete Navigator.prototype.locks")
    for _ in range(1 if locks else 3):
        before = set(journey.collector.counted)
        pages = [journey.context.new_page() for _ in range(5)]
        for page in pages:
            page.goto(f"{journey.site.url}/known.html", wait_until="commit")
        assert {journey.outcome(page) for page in pages} <= {"answered", "already"}
        sent = set(journey.collector.counted) - before
        if len(sent) == 1:
            break
        pages[0].evaluate("localStorage.clear()")
        for page in pages:
            page.close()
    assert len(sent) == 1
    if locks:
        assert len(journey.collector.submissions) == 1


def test_global_privacy_control_is_respected(journey):
    """A browser that sends Global Privacy Control sends no report."""
    signal = 'Object.defineProperty(Navigator.prototype, "globalPrivacyControl", { value: true })'
    journey.context.add_init_script(signal)
    assert journey.submit(journey.open()) == "opted-out"
    assert journey.outcome(journey.open("/known.html")) == "opted-out"
    assert journey.collector.submissions == []


def test_a_site_may_serve_the_question_and_see_what_leaves(journey):
    """With a question of its own the site asks the collector nothing, and the console shows all."""
    said = []
    journey.context.on("console", lambda message: said.append(message.text))
    assert journey.outcome(journey.open("/own.html")) == "answered"
    (request,) = journey.collector.requests
    assert request.method == "POST"
    assert [text for text in said if "/reports?day=" in text and "report: Uint8Array(1)" in text]


def test_no_secure_context_no_report(journey):
    """A page that is no secure context is told so, and nothing is sent."""
    page = journey.open("/known.html", host=f"http://site.test:{journey.site.port}")
    assert "no secure context" in journey.outcome(page)
    assert journey.collector.submissions == []


def test_what_the_client_refuses_does_not_break_the_page(journey):
    """A foreign answer and an epsilon above the page's ceiling are told to the page, not thrown.

    Whoever looks at the console of the site reads the same.
    """
    warned = []
    journey.context.on("console", lambda said: warned.append(said) if said.type == "warning" else 0)
    for page, reason in (("foreign", "no such answer"), ("strict", "above the ceiling of 0.5")):
        assert reason in journey.outcome(journey.open(f"/{page}.html"))
        assert reason in warned[-1].text
    assert journey.collector.submissions == []


@pytest.fixture(scope="module")
def laboratory(browser):
    """Return a page that has the client and the tools to replay vectors and draw reports."""
    vectors = {path.stem: path.read_bytes() for path in (ROOT / "vectors").glob("*.json")}
    files = {
        "/deniable.js": CLIENT,
        **{f"/{file}": (STATIC / file).read_bytes() for file in hostile.FILES.values()},
        **{
            f"/{name}": (ROOT / "clients" / "js" / "test" / name).read_bytes()
            for name in ("browser.js", "deliver.js", "replay.js", "turns.js")
        },
        "/page.html": b"<!doctype html><title>Laboratory</title>",
        **{f"/{name}.json": data for name, data in vectors.items()},
    }
    with Collector(QUESTION).running() as collector, Site(files, collector).running() as site:
        page = browser.new_page()
        page.goto(f"{site.url}/page.html")
        yield page
        page.close()


IMPORTS = """
    const { connect, parse } = await import("/deniable.js");
    const { deliver } = await import("/deliver.js");
    const { replay, replayFingerprints, replaySets, replayViews, sample } =
      await import("/replay.js");
    const read = async (name) => (await fetch(`/${name}.json`)).json();
"""


@pytest.mark.parametrize("name", REPLAYED)
def test_vectors(laboratory, name):
    """The browser makes the reports of all vectors, and accepts and refuses the same questions."""
    if name == "questions":
        script = """async (name) => { %s
            const wrong = [];
            const { vectors } = await read(name);
            for (const { why, accepted, ceiling, named, text } of vectors) {
              const found = await parse(text, named, { ceiling }).then(() => true, () => false);
              if (found !== accepted) wrong.push(why);
            }
            return { cases: vectors.length, wrong };
        }"""
    elif name == "delivery":
        script = """async (name) => { %s
            const wrong = [];
            const { vectors } = await read(name);
            for (const row of vectors) {
              for (const found of await deliver(connect, row)) wrong.push(`${row.why}: ${found}`);
            }
            return { cases: vectors.length, wrong };
        }"""
    elif name == "fingerprint":
        script = """async (name) => { %s
            return replayFingerprints(parse, await read(name), await read("OpenLH"));
        }"""
    elif name == "turns":
        script = """async (name) => { %s
            const { replayTurns } = await import("/turns.js");
            return replayTurns({ connect, parse }, await read(name));
        }"""
    else:
        script = "async (name) => { %s return replay(parse, name, await read(name)); }"
    found = laboratory.evaluate(script % IMPORTS, name)
    assert found["wrong"] == []
    rest = ("delivery", "fingerprint", "questions", "turns")
    assert found["cases"] > 10 or name not in (*BROWSERS, *rest)


@pytest.mark.parametrize("name", SETS)
def test_vectors_of_sets(laboratory, name):
    """The client for sets makes the reports of the vectors in a browser, of cut sets too."""
    script = """async (name) => { %s
        return replaySets((await import("/deniable-choices.js")).parse, await read(name));
    }"""
    found = laboratory.evaluate(script % IMPORTS, name)
    assert found["wrong"] == []
    assert found["cases"] > 5


def test_vectors_of_views(laboratory):
    """The client for numbers and records makes the reports of the vectors in a browser."""
    script = """async () => { %s
        return replayViews((await import("/deniable-views.js")).parse, await read("Views"));
    }"""
    found = laboratory.evaluate(script % IMPORTS)
    assert found["wrong"] == []
    assert found["cases"] > 50


def test_hostile_questions_are_answered_or_refused_as_python_does(browser):
    """Of a thousand questions that were made to hurt none hangs, and the verdicts are Python's.

    ``python -m tests.browser.hostile`` prints how long the slowest took.
    """
    cases = hostile.make()
    assert hostile.wrong(cases, hostile.in_browser(browser, cases)) == []


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_reports_follow_the_law(laboratory, name):
    """100,000 reports from the browser's own randomness have the probabilities p* and q*."""
    specification = SPECIFICATIONS[name]
    script = """async ([specification, value, count]) => { %s
        const data = await sample(parse, JSON.parse(specification), value, count);
        let text = "";
        for (let i = 0; i < data.length; i += 8192) {
          text += String.fromCharCode(...data.subarray(i, i + 8192));
        }
        return btoa(text);
    }"""

    def draw(value, count):
        arguments = [json.dumps(specification), str(value), count]
        return base64.b64decode(laboratory.evaluate(script % IMPORTS, arguments))

    assert follows(specification, draw)
