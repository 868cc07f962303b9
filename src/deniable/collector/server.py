"""The server: uvicorn with limited connections, which drains on SIGTERM and then ends."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import uvicorn

from deniable.collector import mathematics
from deniable.collector.app import Application
from deniable.collector.child import ChildEnded
from deniable.collector.connections import Connection, limited
from deniable.collector.settings import Settings
from deniable.collector.stores import StoreUnavailable

_WARMED = 4
"""Of so many questions, the newest, the first estimate is as fast as the next ones."""
_TICKS = 10
"""uvicorn ticks ten times a second; connections are looked at once."""


class Server(uvicorn.Server):
    """Serves one application until it is told to end."""

    def __init__(
        self,
        app: Application,
        settings: Settings,
        on_started: Callable[[str], object] = len,
        *,
        warm: bool = True,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                http=limited(settings),
                ws="none",
                lifespan="on",
                access_log=False,
                log_level=logging.ERROR,
                server_header=False,
                proxy_headers=False,  # they tell addresses, which nobody here wants to know
                timeout_graceful_shutdown=settings.drain_seconds,
            )
        )
        self._settings, self._on_started, self._warm = settings, on_started, warm
        self._parts = app.parts
        app.parts.writer.on_broken = self.stop

    def stop(self) -> None:
        """End as on SIGTERM."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell where."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            if self._warm:
                self._warming = asyncio.create_task(self._warm_up())
            self._on_started(self._settings.url.rstrip("/") or f"http://{shown}:{port}")

    async def _warm_up(self) -> None:
        """Start the child before it is needed; a collector that ends at once needs none."""
        with suppress(ChildEnded, StoreUnavailable):
            asked = await self._parts.readers.run(lambda store: store.all_asked())
            documents = [found.document for found in asked[-_WARMED:]]
            await self._parts.child.run(mathematics.warm_up, documents)

    async def on_tick(self, counter: int) -> bool:
        """Abort the connections that are too late."""
        if counter % _TICKS == 0:
            now = monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection) and connection.deadline < now:
                    connection.transport.abort()
        return await super().on_tick(counter)
