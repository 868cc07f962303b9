"""Logging in: a link opens a form, and only the form's POST uses the link up."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse, Response

from deniable.collector import access
from deniable.collector.access import COOKIE, audit
from deniable.collector.pages.templating import page
from deniable.collector.problems import Unauthorized
from deniable.collector.requests import Call


@dataclass(frozen=True)
class LoginForm:
    """The secret of the link, to be sent back by the form, and where to go then."""

    key: str
    next: str
    hint: str


async def form(call: Call) -> Response:
    """Show the form; looking at it uses nothing up."""
    query = call.query("key", "next")
    key = query.get("key", "").strip().rpartition("key=")[2].partition("&")[0]
    url = call.services.settings.url
    return page(
        "login.html", LoginForm(key, _place(query.get("next", "")), url and f" --url {url}")
    )


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
