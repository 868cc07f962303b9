"""Requests that nobody would write: no failure inside, whatever comes."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.collector.api import OPERATIONS, describe
from tests.collector.conftest import Collector, today
from tests.faults.mutation import bombard

pytestmark = pytest.mark.long("Schemathesis makes requests for every operation")

schemathesis = pytest.importorskip("schemathesis")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = 8


SCHEMA = schemathesis.openapi.from_dict(json.loads(describe(OPERATIONS)))
DESCRIBED = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}


def explore(collector: Collector, label: str, examples: int) -> int:
    """Send generated requests, right and wrong, for one operation; return how many."""
    question = collector.ask()
    headers = {"Authorization": f"Bearer {collector.tokens['admin']}"}
    sent = 0

    @settings(
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )
    @given(case=DESCRIBED[label].as_strategy(), known=st.booleans())
    def run(case: schemathesis.Case, known: bool) -> None:
        nonlocal sent
        if "digest" in case.path_parameters and known and case.method != "DELETE":
            case.path_parameters["digest"] = question.digest
        sent += 1
        case.call_and_validate(base_url=collector.address, headers=headers, checks=CHECKS)

    run()
    return sent


@pytest.mark.parametrize("label", DESCRIBED)
def test_the_interface_is_as_described(collector: Collector, label: str) -> None:
    """Generated requests get only answers that the document names, and none of 5xx."""
    assert explore(collector, label, EXAMPLES) > 0


def test_mutated_submissions_break_nothing(collector: Collector) -> None:
    """Two thousand requests that are almost right: none fails inside, and the right one counts."""
    question = collector.ask()
    path = f"/v1/questions/{question.digest}/reports?day={today()}"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n".encode()
    before = collector.request("GET", "/v1/counters", role="viewer").json["failures"]
    found = asyncio.run(bombard(collector.address, head + b"i" * 16 + b"\1", 2000, seed=7))
    assert [status for status in found if status.startswith("5")] == []
    assert sum(found.values()) == 2000
    assert found["204"] > 0
    after = collector.request("GET", "/v1/counters", role="viewer").json["failures"]
    assert after == before
