"""The application: parts, routes and guard put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.collector.headers import Guard
from deniable.collector.parts import Parts, assemble
from deniable.collector.routes import build_router
from deniable.collector.settings import Settings
from deniable.collector.stores import open_store
from deniable.collector.stores.base import Store

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


@dataclass(frozen=True)
class Application:
    """The collector as an ASGI application, and the parts it consists of."""

    parts: Parts
    guard: Guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.guard(scope, receive, send)


def create_app(settings: Settings, opener: Callable[[], Store] | None = None) -> Application:
    """Return the collector; ``opener`` opens another store than the settings name."""
    parts = assemble(
        settings, opener or (lambda: open_store(settings.store, window=settings.window))
    )

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        async with parts.running():
            yield

    return Application(parts, Guard(build_router(parts, lifespan), parts.counters))
