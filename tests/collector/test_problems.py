"""Problems: one form for every refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable.collector.api import OPERATIONS
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
