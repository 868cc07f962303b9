"""Logging in: a link opens a form, and only the form's POST uses the link up."""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, RedirectResponse, Response

from deniable.collector.access import COOKIE, SESSION_SECONDS, check_origin, hashed, use_login
from deniable.collector.operations import Call
from deniable.collector.problems import Unauthorized

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""


async def form(call: Call) -> Response:
    """Show the form; looking at it uses nothing up."""
    key = call.query("key").get("key", "")
    return _page(
        "Log in",
        '<form method="post" action="/login">'
        f'<input type="hidden" name="key" value="{escape(key)}"><button>Log in</button></form>'
        "<p>The link works once, for ten minutes. <code>deniable token login</code> makes a new "
        "one.</p>",
    )


async def login(call: Call) -> Response:
    """Turn the link into a session."""
    check_origin(call.request)
    body = (await call.body(4096)).decode("utf-8", "replace")
    secret = parse_qs(body).get("key", [""])[0]
    session = await call.parts.writer.run(lambda store: use_login(store, secret))
    if session is None:
        raise Unauthorized(
            "expected a login link that was not used and is not older than ten minutes; make a new "
            "one with `deniable token login`"
        )
    response = RedirectResponse("/", 303)
    response.set_cookie(
        COOKIE,
        session,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=call.parts.settings.url.startswith("https://"),
    )
    return response


async def logout(call: Call) -> Response:
    """End the session."""
    secret = call.request.cookies.get(COOKIE, "")
    await call.parts.writer.run(lambda store: store.drop(hashed(secret)))
    call.parts.access.forget()
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


async def home(call: Call) -> Response:
    """List the questions, each with a link to its estimates."""
    call.query()
    asked = await call.parts.readers.run(lambda store: store.all_asked())
    rows = []
    for found in asked:
        known = await call.parts.questions.find(found.digest)
        address = f"/v1/questions/{found.digest}/estimates?format=html"
        rows.append(
            f'<li><a href="{address}">{escape(known.question.name)}</a> ({found.state.value})</li>'
        )
    return _page("Questions", f"<ul>{''.join(rows)}</ul>" if rows else "<p>None yet.</p>")


def _page(title: str, body: str) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=title, body=body), headers={"cache-control": "no-store"})
