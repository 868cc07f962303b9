"""The application: services and routes, and around them what turns errors into answers."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.collector import log, problems
from deniable.collector.api import build_router
from deniable.collector.pages import problem
from deniable.collector.pages.templating import POLICY
from deniable.collector.requests import Services
from deniable.collector.settings import Settings
from deniable.collector.stores import Store, open_store

_POLICY = b"content-security-policy"
_HEADERS = [
    *problems.CORS,
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (_POLICY, POLICY.encode()),
]


@dataclass(frozen=True)
class Application:
    """The collector as an ASGI application: adds headers, and turns errors into problems."""

    services: Services
    routes: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.routes(scope, receive, send)
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                # What has no body needs no rules for showing it.
                headers = problems.CORS[:1] if message["status"] == 204 else _HEADERS
                own = list(message.get("headers", ()))
                if any(name == _POLICY for name, _ in own):  # of the page that may be framed
                    headers = [pair for pair in headers if pair[0] != _POLICY]
                message["headers"] = [*own, *headers]
            await send(message)

        scope["app"] = self
        try:
            await self.routes(scope, receive, guarded)
        except Exception as error:
            if started:
                raise
            self._report(error)
            if _wants_page(scope):
                await problem.show(problems.own(error), scope)(scope, receive, guarded)
                return
            # The connection stays open even where a body is too large: its rest is read and dropped
            # until the time for bodies is over, so that the sender gets to see the answer.
            status, headers, body = problems.render(problems.own(error))
            await guarded({"type": "http.response.start", "status": status, "headers": headers})
            await guarded({"type": "http.response.body", "body": body})

    def _report(self, error: Exception) -> None:
        """Log a failure inside by its kind and place; messages may hold what clients sent."""
        if problems.find_problem(problems.own(error)).status == 500:
            self.services.counters.failures += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s at %s:%s", type(error).__name__, place.name, place.lineno)


def create_app(settings: Settings, opener: Callable[[], Store] | None = None) -> Application:
    """Return the collector; ``opener`` opens another store than the settings name."""
    services = Services(
        settings, opener or (lambda: open_store(settings.store, window=settings.window))
    )
    return Application(services, build_router(services))


def _wants_page(scope: Scope) -> bool:
    """Tell whether a browser asked for a page, and not a program for the interface."""
    if scope["path"].startswith("/v1/"):
        return False
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accept
