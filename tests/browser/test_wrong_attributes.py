"""A tag with a wrong attribute: told at once, with what is allowed; nothing leaves or is spent."""

import pytest

from deniable.answers import Number
from deniable.collector.pages.templating import client_address
from deniable.collector.settings import Settings
from deniable.protocols.direct import DE
from deniable.question import Question
from tests.browser.dashboard import Visit, site_with, until
from tests.collector.conftest import start

pytestmark = pytest.mark.browser

GROUPS = {"platform": ("linux", "mac"), "arm": ("A", "B")}
FRUIT = Question("Fruit?", ("kiwi", "fig"), DE(1.0, 2), segments=GROUPS)
HOURS = Question("Hours?", Number(0, 80, 5, "h"), epsilon=1.0)
FORM = '<form id="survey"><select><option>kiwi</select><button disabled>Send</button></form>'
NOT_SAID = "DeniableError: no such segment of "


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return a collector that asks both questions."""
    path = tmp_path_factory.mktemp("attributes") / "store.db"
    for found in start(Settings(store=str(path), port=0, minimum=1)):
        for question in (FRUIT, HOURS):
            document = question.to_json().encode()
            assert found.request("POST", "/v1/questions", document, role="admin").status == 201
        yield found


def told(context, collector, question, attributes):
    """Return what a page with a tag is told, and what its console says; nothing leaves it."""
    visit, warned = Visit(context, collector), []
    context.on("console", lambda said: warned.append(said.text) if said.type == "warning" else 0)
    build = "views" if question is HOURS else ""
    kind = f' data-kind="{build}"' if build else ""
    address = collector.address
    tag = (
        f'<script type="module" crossorigin src="{address}{client_address(build)}"{kind}'
        f' data-collector="{address}" data-question="{question.digest}" {attributes}></script>'
    )
    with site_with(FORM + tag, collector).running() as site:
        page = context.new_page()
        page.goto(site.url)
        until(page, "outcomes.length > 0")
        assert page.is_disabled("#survey button") or "data-form" not in attributes
        (outcome,) = page.evaluate("outcomes.map(String)")
        assert page.evaluate("localStorage.getItem('deniable')") in (None, "{}")
    assert visit.sent == []
    return outcome, warned


@pytest.mark.parametrize(
    "segment", ["platform=beos&amp;arm=A", "plattform=linux&amp;arm=A", "platform=&amp;arm=A"]
)
def test_a_wrong_segment_is_told_before_anybody_answers(context, collector, segment):
    """The error names the groups that there are, and the button of the form stays disabled."""
    attributes = f'data-form="#survey" data-segment="{segment}"'
    outcome, warned = told(context, collector, FRUIT, attributes)
    assert outcome.startswith(NOT_SAID)
    for name, values in GROUPS.items():
        assert f'"name":"{name}"' in outcome
        assert ",".join(f'"{value}"' for value in values) in outcome
    assert [text for text in warned if NOT_SAID in text]


@pytest.mark.parametrize("answer", ["NaN", "1e999", "&quot;7&quot;", "7 h"])
def test_an_answer_that_is_no_number_says_what_is_one(context, collector, answer):
    """The range, the step and the unit are named, and the answer is not."""
    outcome, warned = told(context, collector, HOURS, f'data-answer="{answer}"')
    assert outcome.startswith("DeniableError: no such answer of {")
    for allowed in ('"kind":"number"', '"low":0', '"high":80', '"step":5', '"unit":"h"'):
        assert allowed in outcome
    assert [text for text in warned if "no such answer of" in text]
