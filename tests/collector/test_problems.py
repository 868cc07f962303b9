"""Problems: one form for every refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable.collector.api import INTERFACE, OPERATIONS, Operation
from deniable.collector.handlers import REPEATED
from deniable.collector.problems import PROBLEMS, Refusal, find_problem, render
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
