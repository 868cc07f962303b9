"""Problems: one form for every refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable.answers import Text
from deniable.collector.api import INTERFACE, OPERATIONS, Operation
from deniable.collector.handlers import REPEATED
from deniable.collector.problems import PROBLEMS, Refusal, find_problem, render
from deniable.question import Question
from tests.collector.conftest import Collector

DOCS = Path(__file__).parents[2] / "docs" / "collector.md"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@pytest.mark.parametrize("path", sorted({found.path for found in OPERATIONS}))
def test_every_refusal_has_one_form(collector: Collector, path: str) -> None:
    """Whatever a route refuses, with any method, is a problem from the table."""
    types = {problem.type for problem in PROBLEMS.values()}
    known = {found.method for found in OPERATIONS if found.path == path}
    for method in METHODS:
        answer = collector.request(method, path.replace("{digest}", "f" * 64), b"\xff")
        if answer.status >= 400:
            assert answer.problem in types
            assert answer.status != 500
            assert set(answer.json) >= {"type", "title", "status"}
        if method not in known:
            assert answer.status == 405
            assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == known


@pytest.mark.parametrize(
    "operation",
    [found for found in INTERFACE if found.handler is not None],
    ids=lambda found: f"{found.method} {found.path}",
)
def test_what_an_operation_does_not_state_is_refused(
    collector: Collector, operation: Operation
) -> None:
    """A parameter that is misspelled, or stands twice, is never passed over in silence."""
    path = operation.path.replace("{digest}", "f" * 64)
    stated = [found["name"] for found in operation.parameters or ()]
    queries = ["colour=red", *(f"{name}=1&{name}=1" for name in stated if name not in REPEATED)]
    for query in queries:
        answer = collector.request(operation.method, f"{path}?{query}", role="admin")
        assert (answer.status, answer.problem) == (400, "invalid-request")
        assert "unknown or repeated" in answer.json["detail"]


def test_every_refusal_is_in_the_table() -> None:
    """A new kind of refusal cannot be forgotten there."""
    assert set(Refusal.__subclasses__()) <= set(PROBLEMS)


def test_the_documentation_lists_exactly_the_problems() -> None:
    """Each type with its status, and no other."""
    rows = {
        tuple(cell.strip(" `") for cell in line.split("|")[1:3])
        for line in DOCS.read_text().partition("## Problems")[2].partition("\n## ")[0].splitlines()
        if line.startswith("| `")
    }
    assert rows == {(problem.type, str(problem.status)) for problem in PROBLEMS.values()}


def test_a_failure_inside_gives_nothing_away() -> None:
    """The detail of an unexpected error stays inside."""
    status, _, body = render(KeyError("a secret"))
    assert status == 500
    assert b"secret" not in body
    assert find_problem(KeyError()).type == json.loads(body)["type"].removeprefix("urn:deniable:")


def test_a_page_says_where_to_go_on_while_the_store_is_ill(collector: Collector) -> None:
    """A browser reads what happened and what to do, keeps what it entered, and finds no path."""
    question, store = collector.ask(), Path(collector.settings.store)
    browser = {"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"}
    page, away = f"/questions/{question.digest}", store.with_name("away.db")
    named = b"name=Which+fruit%3F&kind=closed&labels=kiwi%0Afig&users=1000&epsilon=1&solve=error"
    store.rename(away)
    try:
        saved = collector.request("POST", page, b"tab=settings&action=closed", role="admin",
                                  headers=browser)  # fmt: skip
        token = collector.request("POST", "/access", b"action=token&role=viewer&name=x",
                                  role="admin", headers=browser)  # fmt: skip
        ready = collector.request("GET", "/readyz", headers=browser)
        made = collector.request("POST", "/new", named + b"&action=create", role="admin",
                                 headers=browser)  # fmt: skip
    finally:
        away.rename(store)
    for answer in (saved, token, ready, made):
        assert answer.status == 503
        assert str(store).encode() not in answer.body
    assert "The server cannot use its data" in saved.body.decode()
    assert f'href="{page}">Go back' in saved.body.decode()
    assert 'href="/readyz">Try again' in ready.body.decode()
    assert "Reports cannot be stored now: " in ready.body.decode()
    assert saved.headers["retry-after"] == "2"
    assert "Nothing was stored: " in made.body.decode()
    assert "Which fruit?" in made.body.decode()


def test_a_page_says_that_there_are_too_few_reports(collector: Collector) -> None:
    """Asking for what is not there yet is no dead end."""
    words = Question("Which word?", Text("english"), epsilon=2.0)
    body = words.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    path = f"/questions/{words.digest}"
    answer = collector.request("POST", f"{path}/follow-up", b"", role="admin",
                               headers={"Accept": "text/html"})  # fmt: skip
    said = answer.body.decode()
    assert answer.status == 409
    assert "There are not enough reports for this yet." in said
    assert f'href="{path}">Go back' in said
