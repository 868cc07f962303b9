"""Rounds and groups in the form for a new question, with and without scripts."""

from __future__ import annotations

import pytest

from deniable.question import Question
from deniable.rota import Repeat
from tests.browser.dashboard import until
from tests.browser.test_dashboard import collector, digest_of  # noqa: F401 - a fixture
from tests.browser.test_kinds import violations, visit  # noqa: F401 - a fixture

pytestmark = pytest.mark.browser

FIELDS = {"name": "Which editor?", "labels": "vim\nemacs", "users": "20000"}
AGAIN = {"rounds": "4", "times": "2", "start": "2027-01-04"}
GROUPS = {"groups": "platform: linux, mac, [other]\narm: old, new"}


def fill(page, fields):
    """Fill in fields by their names."""
    for name, text in fields.items():
        page.fill(f"[name={name}]", text)


def created(page, served):
    """Create the question, and return it."""
    page.click("text=Create the question")
    page.wait_for_url("**/questions/*/collect")
    answer = served.request("GET", f"/v1/questions/{digest_of(page)}")
    return Question.from_json(answer.body)


def check(question):
    """Compare the question with what was filled in."""
    assert question.repeat == Repeat("2027-01-04", every=7, rounds=4, times=2)
    assert [each.name for each in question.segments] == ["platform", "arm"]


def test_rounds_and_groups_from_the_form(visit):  # noqa: F811 - a fixture
    """The plan follows while somebody types, a draft opens what was filled in, and it is asked."""
    page = visit.log_in()
    page.goto(f"{visit.collector.address}/new")
    fill(page, FIELDS)
    page.click("summary:text('Ask the same people again')")
    fill(page, AGAIN)
    page.click("summary:text('Compare groups')")
    fill(page, GROUPS)
    until(page, "/A round, one of 4.*group by platform, one of 3/s.test("
                "document.querySelector('[data-plan-text]').innerText)")  # fmt: skip
    assert "ε = 2, for ever" in page.inner_text("[data-plan-text]")
    assert violations(page) == []
    page.goto(f"{visit.collector.address}/new")
    until(page, "/group by platform/.test(document.querySelector('[data-plan-text]').innerText)")
    for name, text in (AGAIN | GROUPS).items():
        assert page.is_visible(f"[name={name}]")
        assert page.input_value(f"[name={name}]") == text
    page.fill("[name=rounds]", "1")
    page.click("text=Create the question")
    page.wait_for_selector("[role=alert]")
    assert "from 2 to 520" in page.inner_text("#rounds-wrong")
    page.fill("[name=rounds]", "4")
    check(created(page, visit.collector))


def test_rounds_and_groups_without_scripts(visit):  # noqa: F811 - a fixture
    """Without JavaScript the same fields plan and create."""
    visit.log_in()
    context = visit.context.browser.new_context(
        java_script_enabled=False, storage_state=visit.context.storage_state()
    )
    page = context.new_page()
    page.goto(f"{visit.collector.address}/new")
    page.click("summary:text('Ask the same people again')")
    page.click("summary:text('Compare groups')")
    fill(page, FIELDS | AGAIN | GROUPS)
    page.click("text=Work it out")
    assert "A group by platform, one of 3" in page.inner_text("[data-plan-text]")
    assert page.is_visible("[name=groups]")
    check(created(page, visit.collector))
    context.close()
