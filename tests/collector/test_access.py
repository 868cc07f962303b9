"""Who may what."""

from __future__ import annotations

import pytest

from deniable.collector.access import Role
from deniable.collector.api import OPERATIONS, Operation
from tests.collector.conftest import Collector

PUBLIC = {
    ("GET", "/v1/questions"),
    ("GET", "/v1/questions/{digest}"),
    ("POST", "/v1/questions/{digest}/reports"),
    ("GET", "/static/estimates.css"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/static/{hash}/{name}"),
    ("GET", "/client/{hash}/deniable.js"),
    ("GET", "/deniable.js"),
    ("GET", "/"),
    ("GET", "/check"),
    ("GET", "/results/{digest}"),
    ("GET", "/results/{digest}/embed"),
    ("GET", "/try/{digest}"),
    ("GET", "/login"),
    ("POST", "/login"),
}
GUARDED = [found for found in OPERATIONS if (found.method, found.path) not in PUBLIC]


def address(operation: Operation) -> str:
    """Return a path of an operation, with something in place of its parameters."""
    return (
        operation.path.replace("{digest}", "f" * 64)
        .replace("{id}", "0" * 32)
        .replace("{source}", "anonymous")
    )


@pytest.mark.parametrize("operation", GUARDED, ids=lambda found: f"{found.method} {found.path}")
def test_what_is_not_public_needs_a_token_of_the_right_role(
    collector: Collector, operation: Operation
) -> None:
    """401 without a token or with a wrong one, 403 with another role, and otherwise neither."""
    path = address(operation)
    assert operation.role is not Role.PUBLIC
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "deniable_session=wrong"}):
        answer = collector.request(operation.method, path, headers=headers)
        assert (answer.status, answer.problem) == (401, "unauthorized")
    for role in ("viewer", "relay", "admin"):
        answer = collector.request(operation.method, path, role=role)
        allowed = role in (operation.role.value, "admin")
        assert (answer.status == 403) is not allowed
        assert answer.status != 401


def test_the_public_routes_are_the_ones_we_know() -> None:
    """A route that becomes public by mistake is noticed."""
    found = {(o.method, o.path) for o in OPERATIONS if o.role is Role.PUBLIC}
    assert found == PUBLIC


def test_a_route_without_a_role_does_not_start() -> None:
    """A role is not optional."""
    with pytest.raises(TypeError, match="role"):
        Operation("GET", "/secret", None, None, "A route of nobody.")


def login(collector: Collector, key: str, **headers: str) -> object:
    """Send the form that a login link opens."""
    sent = {"Origin": collector.address, **{k.replace("_", "-"): v for k, v in headers.items()}}
    return collector.request("POST", "/login", f"key={key}".encode(), headers=sent)


def test_a_login_link_works_once(collector: Collector, login_link: str) -> None:
    """Looking at the form uses nothing up; the POST does, and makes a strict session."""
    for _ in range(3):
        assert collector.request("GET", f"/login?key={login_link}").status == 200
    answer = login(collector, login_link)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert login(collector, login_link).status == 401
    session = {"Cookie": cookie.partition(";")[0]}
    assert collector.request("GET", "/status", headers=session).status == 200
    assert collector.request("POST", "/logout", headers=session).status == 403
    here = {**session, "Origin": collector.address}
    assert collector.request("POST", "/logout", headers=here).status == 303
    assert collector.request("GET", "/status", headers=session).status == 401


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"},
     {"Sec_Fetch_Site": "same-site"}],
)  # fmt: skip
def test_forms_of_other_sites_are_refused(
    collector: Collector, login_link: str, headers: dict[str, str]
) -> None:
    """A form must come from the collector itself."""
    assert login(collector, login_link, **headers).problem == "forbidden"
    assert login(collector, login_link).status == 303


def test_a_session_changes_nothing_from_another_site(collector: Collector, login_link: str) -> None:
    """The cookie alone does not authorise a change that another site's page sends."""
    question = collector.ask()
    session = login(collector, login_link).headers["set-cookie"].partition(";")[0]
    path, body = f"/v1/questions/{question.digest}", b'{"state": "closed"}'
    foreign = {"Cookie": session, "Origin": "https://evil.example"}
    assert collector.request("PATCH", path, body, headers=foreign).problem == "forbidden"
    same = {"Cookie": session, "Origin": collector.address}
    assert collector.request("PATCH", path, body, headers=same).status == 200


def test_a_session_is_no_relay(collector: Collector, login_link: str) -> None:
    """Submissions never look at cookies: with one they are as anonymous as without."""
    question = collector.ask()
    session = login(collector, login_link).headers["set-cookie"].partition(";")[0]
    answer = collector.submit(question, b"\1\1", headers={"Cookie": session})
    assert answer.problem == "too-large"
