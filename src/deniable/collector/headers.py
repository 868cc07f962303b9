"""Headers that every answer of a kind carries, and the guard that adds them."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

from deniable.collector import problems
from deniable.collector.counters import Counters
from deniable.collector.pages import problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CORS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After"),
]
"""On every status, or a page takes a refusal for being offline. No cookie is ever read there."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
COMMON = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
]

_RULES = [*CORS, *COMMON]

_log = logging.getLogger("deniable.collector")


class Guard:
    """The outermost layer: turns errors into problems, and adds the headers."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self._app, self._counters = app, counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and answer whatever comes of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                # What has no body needs no rules for showing it.
                rules = CORS[:1] if message["status"] == 204 else _RULES
                message["headers"] = [*message.get("headers", ()), *rules]
            await send(message)

        scope["app"] = self
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            if started:
                raise
            self.report(error)
            if problem.wants_page(scope):
                await problem.show(problems.own(error))(scope, receive, guarded)
                return
            status, headers, body = problems.render(problems.own(error))
            headers = [*headers, *_beside(error)]
            await guarded({"type": "http.response.start", "status": status, "headers": headers})
            await guarded({"type": "http.response.body", "body": body})

    def report(self, error: Exception) -> None:
        """Log a failure inside by its kind and place; messages may hold what clients sent."""
        if problems.find_problem(problems.own(error)).status == 500:
            self._counters.failures += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("%s at %s:%s", type(error).__name__, place.name, place.lineno)


def _beside(error: Exception) -> list[tuple[bytes, bytes]]:
    """Name the methods that there are.

    The connection stays open even where a body is too large: its rest is read and dropped until
    the time for bodies is over, so that the sender gets to see the answer.
    """
    if isinstance(error, problems.MethodRefused):
        return [(b"allow", str(error.value).encode())]
    return []
