"""Pages for those who run a collector: logging in, tokens and sessions, and how the collector is.

A link opens a form to log in, and only the form's POST uses the link up.
"""

import math
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse, Response

from deniable.collector import access
from deniable.collector.access import COOKIE, LOGIN, LOGIN_SECONDS, SESSION, TOKEN, Role, audit
from deniable.collector.pages.head import is_admin
from deniable.collector.pages.templating import page
from deniable.collector.problems import Mistake, Unauthorized
from deniable.collector.requests import Call
from deniable.collector.stores.records import StoreError, today, write_day
from deniable.errors import DeniableError
from deniable.version import __version__

_ROLES = ("viewer", "relay", "admin")


async def show_access(call: Call) -> Response:
    call.query()
    return await _access(call, {})


async def _access(call: Call, told: Mapping[str, str], status: int = 200) -> Response:
    """Show who may do what, and a secret that was just made or what is wrong with a name."""
    tokens, sessions = await call.services.readers.run(
        lambda store: [access.listed(store.keys(kind), call.holder) for kind in (TOKEN, SESSION)]
    )
    return page("access.html", status, tokens=tokens, sessions=sessions, told=told, roles=_ROLES,
                admin=True, place="access")  # fmt: skip


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
    except StoreError:
        raise
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
    refused = [(name, f"{n:,}") for name, n in counters.refused.most_common()]
    return page("status.html", trouble=said, facts=facts, refused=refused, admin=is_admin(call),
                place="status")  # fmt: skip


def _size(number: float) -> str:
    if math.isnan(number):  # what a database does not tell is no number
        return "not known"
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.3g} {unit}"
        number /= 1000
    return f"{number:,.3g} TB"


async def form(call: Call) -> Response:
    """Show the form; looking at it uses nothing up."""
    query = call.query("key", "next")
    key = query.get("key", "").strip().rpartition("key=")[2].partition("&")[0]
    url = call.services.settings.url
    place, hint = _place(query.get("next", "")), url and f" --url {url}"
    return page("login.html", key=key, next=place, hint=hint)


def _place(text: str) -> str:
    """Return an address on this server, or that of the first page."""
    return text if text.startswith("/") and not text.startswith(("//", "/\\")) else "/"


async def login(call: Call) -> Response:
    access.check_origin(call.request)
    body = (await call.body(4096)).decode("utf-8", "replace")
    fields = parse_qs(body)
    secret = fields.get("key", [""])[0]
    session = await call.services.writer.run(lambda store: access.use_login(store, secret))
    if session is None:
        said = "This login link was used before, or is older than ten minutes."
        raise Unauthorized("the login link was used or has expired", page=said)
    opened = await call.services.readers.run(lambda store: store.key(access.hashed(session)))
    audit(f"session {opened.name}" if opened else "session", "log in", 303)
    response = RedirectResponse(_place(fields.get("next", [""])[0]), 303)
    response.set_cookie(
        COOKIE,
        session,
        max_age=access.SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=call.services.settings.url.startswith("https://"),
    )
    return response


async def logout(call: Call) -> Response:
    secret = call.request.cookies.get(COOKIE, "")
    await call.services.writer.run(lambda store: store.drop(access.hashed(secret)))
    call.services.access.forget()
    audit(str(call.holder), "log out", 303)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response
