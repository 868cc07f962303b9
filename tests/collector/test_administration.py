"""What operators do: leaving sources out, sessions, and the lines that tell who did what."""

from __future__ import annotations

import json
import logging
from urllib.parse import quote

import pytest

from deniable.collector.access import TOKEN, Role, create, hashed
from deniable.collector.server import Json, Text
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Key
from deniable.question import Question
from tests.collector.conftest import Collector, today


def relay(collector: Collector, name: str) -> str:
    """Return the token of a relay, whose name need not be one that is given today."""
    store = open_store(collector.settings.store)
    try:
        secret = f"dn_{name.encode().hex()}"
        store.keep(Key(hashed(secret), TOKEN, Role.RELAY.value, name))
        return secret
    finally:
        store.close()


def send(
    collector: Collector, question: Question, secret: str, count: int, day: str | None = None
) -> None:
    """Send reports as a relay."""
    headers = {"Authorization": f"Bearer {secret}"}
    assert collector.submit(question, b"\1" * count, day=day, headers=headers).status == 204


@pytest.mark.parametrize("name", ["eu/west", "two\nlines", "../up", "100 %", "x" * 300, "ü?#"])
def test_any_source_can_be_left_out(collector: Collector, name: str) -> None:
    """Whatever a relay is called, its reports are left out and taken in again."""
    question = collector.ask()
    send(collector, question, relay(collector, name), 5)
    collector.submit(question, b"\1")
    path = f"/v1/questions/{question.digest}/sources/{quote('relay:' + name, safe='')}"
    for excluded, n in ((True, 1), (False, 6)):
        body = json.dumps({"excluded": excluded}).encode()
        answer = collector.request("PUT", path, body, role="admin")
        assert answer.status == 200, answer.body
        assert collector.n(question) == n


def test_a_source_is_left_out_on_one_day(collector: Collector) -> None:
    """Only that day's reports are left out, folded or not, until they are taken in again."""
    question, secret = collector.ask(), relay(collector, "daily")
    send(collector, question, secret, 5, today(-1))
    send(collector, question, secret, 7)
    path = f"/v1/questions/{question.digest}/sources/relay:daily"
    day = f"{path}?day={today(-1)}"
    answer = collector.request("PUT", day, b'{"excluded": true}', role="admin")
    assert answer.json["sources"] == [
        {"name": "relay:daily", "n": 12, "excluded": False, "excluded_days": [today(-1)]}
    ]
    assert collector.n(question) == 7
    collector.request("PUT", path, b'{"excluded": true}', role="admin")
    assert collector.n(question) == 0
    collector.request("PUT", path, b'{"excluded": false}', role="admin")
    assert collector.n(question) == 7
    collector.request("PUT", day, b'{"excluded": false}', role="admin")
    assert collector.n(question) == 12
    assert collector.request("PUT", f"{path}?day=x", b"{}", role="admin").status == 400


def test_a_session_is_ended_over_http(collector: Collector) -> None:
    """An operator sees who is logged in, and ends a session by its name."""
    store = open_store(collector.settings.store)
    secret = create(store, "session", Role.VIEWER, seconds=600)
    store.close()
    cookie = {"Cookie": f"deniable_session={secret}"}
    assert collector.request("GET", "/v1/counters", headers=cookie).status == 200
    listed = collector.request("GET", "/v1/sessions", role="admin").json["sessions"]
    (found,) = [entry for entry in listed if entry["last_used"] == today()]
    assert collector.request("DELETE", "/v1/sessions/nobody", role="admin").status == 404
    path = f"/v1/sessions/{found['name']}"
    assert collector.request("DELETE", path, role="viewer").status == 403
    assert collector.request("DELETE", path, role="admin").status == 204
    assert collector.request("GET", "/v1/counters", headers=cookie).status == 401


def test_each_act_of_an_operator_is_one_line(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    """The line says who did what, and what came of it; reading leaves none."""
    with caplog.at_level(logging.INFO, "deniable.audit"):
        question = collector.ask()
        path = f"/v1/questions/{question.digest}"
        collector.request("GET", f"{path}/status", role="admin")
        collector.request("PATCH", path, b'{"state": "closed"}', role="admin")
        collector.request("DELETE", path, role="admin")
    said = [found.getMessage() for found in caplog.records if found.name == "deniable.audit"]
    assert said == [
        "token admin: POST /v1/questions: 201",
        f"token admin: PATCH {path}: 200",
        f"token admin: DELETE {path}: 400",
    ]
    assert not any(secret in line for secret in collector.tokens.values() for line in said)


def test_log_lines_have_time_and_level() -> None:
    """A line is one line in both formats, whatever the message holds."""
    record = logging.LogRecord("deniable", logging.ERROR, "", 0, "a\n%s", ("b\x1b",), None)
    record.created = 1_700_000_000.5
    assert Text().format(record) == "2023-11-14T22:13:20Z ERROR a\\nb\\x1b"
    found = json.loads(Json().format(record))
    assert found == {
        "time": "2023-11-14T22:13:20Z", "level": "error", "logger": "deniable",
        "message": "a\nb\x1b",
    }  # fmt: skip


def test_an_acknowledgement_is_short(collector: Collector) -> None:
    """An answer without a body carries no rules for showing one."""
    answer = collector.submit(collector.ask(), b"\1")
    assert set(answer.headers) == {"date", "access-control-allow-origin"}
