"""Pages for those who run a collector: tokens and sessions, and how the collector is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response

from deniable.collector import access
from deniable.collector.access import LOGIN, LOGIN_SECONDS, SESSION, TOKEN, Role
from deniable.collector.pages.head import is_admin
from deniable.collector.pages.templating import page
from deniable.collector.problems import Mistake
from deniable.collector.requests import Call
from deniable.collector.stores.records import Key, StoreError, today, write_day
from deniable.errors import DeniableError
from deniable.version import __version__

_DAY = 86400
_ROLES = ("viewer", "relay", "admin")


class Pass(NamedTuple):
    """A token or a session in a list."""

    kind: str
    name: str
    role: str
    until: str
    last_used: str
    yours: bool


@dataclass(frozen=True)
class AccessPage:
    """Who may do what, and a secret that was just made."""

    tokens: tuple[Pass, ...]
    sessions: tuple[Pass, ...]
    told: Mapping[str, str]
    """A secret or a link that was just made, or what is wrong with a name."""
    roles: tuple[str, ...] = _ROLES
    admin: bool = True
    place: str = "access"


@dataclass(frozen=True)
class StatusPage:
    """How the collector is, as rows of names and values."""

    trouble: str
    facts: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]
    admin: bool
    place: str = "status"


async def show_access(call: Call) -> Response:
    call.query()
    return await _access(call, {})


async def _access(call: Call, more: Mapping[str, str], status: int = 200) -> Response:
    tokens, sessions = await call.services.readers.run(
        lambda store: (store.keys(TOKEN), store.keys(SESSION))
    )
    context = AccessPage(_passes(call, tokens), _passes(call, sessions), more)
    return page("access.html", context, status)


def _passes(call: Call, keys: list[Key]) -> tuple[Pass, ...]:
    return tuple(
        Pass(
            key.kind,
            key.name,
            key.role,
            "" if key.expires is None else write_day(key.expires // _DAY),
            "" if key.last_used is None else write_day(key.last_used),
            call.holder is not None
            and (call.holder.kind, call.holder.name) == (key.kind, key.name),
        )
        for key in keys
        if not access.expired(key)
    )


async def change_access(call: Call) -> Response:
    """Make a token or a login link, or end a token or a session."""
    fields = await call.form()
    action, name = fields.get("action", ""), fields.get("name", "").strip()
    call.noted.append(f"{action} {name}"[:200].rstrip())
    writer = call.services.writer
    if action == "revoke":
        kind = SESSION if fields.get("kind") == SESSION else TOKEN
        await writer.run(lambda store: access.revoke(store, kind, name))
        call.services.access.forget()
        return RedirectResponse("/access", 303)
    if action == "link":
        role = Role.ADMIN if fields.get("role") == "admin" else Role.VIEWER
        key = await writer.run(
            lambda store: access.create(store, LOGIN, role, seconds=LOGIN_SECONDS)
        )
        base = call.services.settings.url.rstrip("/") or str(call.request.base_url).rstrip("/")
        return await _access(call, {"link": f"{base}/login?key={key}"})
    if action != "token" or fields.get("role") not in _ROLES:
        raise Mistake("This form has no such button: go back and load the page again.")
    try:
        secret = await writer.run(
            lambda store: access.create(store, TOKEN, Role(fields["role"]), name=name)
        )
    except DeniableError:
        said = "Enter a name of 1 to 100 characters, in one line."
        return await _access(call, {"wrong": said, "name": name}, 400)
    if secret is None:
        said = "Another token has this name already: choose another."
        return await _access(call, {"wrong": said, "name": name}, 400)
    return await _access(call, {"secret": secret, "name": name})


async def show_status(call: Call) -> Response:
    call.query()
    services = call.services
    trouble = await services.health.check(services.writer.probe)
    said = "" if trouble is None else trouble.reason
    counters = services.counters
    facts = [
        ("Version", __version__),
        ("Reports taken since the start", f"{counters.reports:,}"),
        ("Sent again, counted once", f"{counters.repeated:,}"),
        ("Submissions that wait to be written", f"{services.writer.waiting:,}"),
        ("Open connections", f"{services.crowd.count:,}"),
        ("Failures inside", f"{counters.failures:,}"),
    ]
    try:
        found = await services.readers.run(lambda store: store.measure())
        facts += [
            ("Reports that are not folded into tallies yet", f"{found.waiting:,}"),
            ("Size of the store", _size(found.size)),
            ("Free space", _size(found.free)),
            ("Rows set aside because they could not be read", f"{found.set_aside:,}"),
            ("Days are sealed up to", write_day(max(found.sealed_through, 0))),
        ]
    except StoreError as error:
        said = said or error.reason
    said = said or services.housekeeping.alarm or ""
    facts.append(("Today, in UTC", write_day(today())))
    refused = tuple((name, f"{n:,}") for name, n in counters.refused.most_common())
    return page("status.html", StatusPage(said, tuple(facts), refused, is_admin(call)))


def _size(number: float) -> str:
    if math.isnan(number):  # what a database does not tell is no number
        return "not known"
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.3g} {unit}"
        number /= 1000
    return f"{number:,.3g} TB"
