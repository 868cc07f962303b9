"""The server: uvicorn with limited connections, which drains on SIGTERM; and its log lines."""

import asyncio
import ctypes
import gc
import json
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from time import gmtime, monotonic

import uvicorn

from deniable.collector import jobs, log
from deniable.collector.app import Application
from deniable.collector.connections import FULL, LATE, Connection, Peer, limited
from deniable.collector.settings import Settings
from deniable.collector.stores.records import StoreUnavailable
from deniable.collector.worker import WorkerEnded
from deniable.presentation.text import printable

_SWITCH = 0.0005
"""Seconds after which a busy event loop lets the writer go on; Python's own default is ten times
that, for each statement of a transaction."""
_UNSEARCHED = 100_000
"""Objects made before Python looks for cycles among them. Its own number, hundreds, takes a quarter
of the time in an overload of thousands of requests."""
_ACCEPTED = 256
"""Accept at most this many connections in one turn of the event loop. libuv accepts one, so that
under load new clients would wait for seconds."""
_FULL_SECONDS = 0.02
"""How long nothing is accepted when the limit of connections is reached."""
_UNSENT = 64 * 1024
"""Bytes of an answer that the system holds unsent. Its own number, millions, leave the processor's
caches before they are read: estimates of many answers took half as long again."""
_WARMED = 4
"""Warm up this many of the newest questions at the start."""
_SLOW = 256
"""Cut at most this many slow connections in a tenth of a second where there is no room."""
_TICKS = 10
"""uvicorn ticks ten times a second; connections are checked once."""
_LAST_WORDS = 5.0
"""How long a collector with a broken store goes on to say so before it ends."""
_CLEARING = 0.5
"""Connections are cut this long before the time for requests ends."""
_CROWD = 64
"""After how many connections at once memory is given back when most of them are gone."""


def _tells(record: logging.LogRecord) -> bool:
    """Tell whether uvicorn has something to say: requests that are cut at the end are no news."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def give_back() -> None:
    """Give memory that is free back to the system, where the C library can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


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
        kind = limited(settings, app.services.crowd, app.services.held)
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                http=kind,
                ws="none",
                lifespan="on",
                access_log=False,
                log_config=None,
                log_level=logging.ERROR,
                server_header=False,
                proxy_headers=False,  # they tell addresses, which nobody here wants to know
                timeout_graceful_shutdown=settings.drain_seconds,
            )
        )
        logging.getLogger("uvicorn.error").addFilter(_tells)
        self._settings, self._on_started, self._warm = settings, on_started, warm
        self._services, self._kind = app.services, kind
        self._accepting: set[asyncio.Task[object]] = set()
        self._listeners: list[socket.socket] = []
        self._most = 0
        self._ending: float | None = None

    def stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        sys.setswitchinterval(_SWITCH)
        gc.set_threshold(_UNSEARCHED, *gc.get_threshold()[1:])
        await super().startup(sockets)
        if self.started:
            host, port = self._take_over()
            shown = f"[{host}]" if ":" in host else host
            if self._warm:
                self._warming = asyncio.create_task(self._warm_up())
            self._on_started(self._settings.url.rstrip("/") or f"http://{shown}:{port}")

    def _take_over(self) -> tuple[str, int]:
        """Accept connections from here on, and return the address: libuv knows no limit."""
        bound = [own for server in self.servers for own in server.sockets]
        host, port = bound[0].getsockname()[:2]
        for own in bound:
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # connections inherit it
                own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
            self._listeners.append(socket.socket(fileno=os.dup(own.fileno())))
        for server in self.servers:
            server.close()  # the copies go on listening
        self._listen()
        return str(host), int(port)

    def _listen(self) -> None:
        for listener in self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._accept_all, listener)

    def _rest(self) -> None:
        """Accept nothing for a moment: there are as many connections, or files, as may be."""
        self._stop_listening()
        asyncio.get_running_loop().call_later(_FULL_SECONDS, self._listen)

    def _stop_listening(self) -> None:
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)

    def _accept_all(self, listener: socket.socket) -> None:
        """Accept what waits, in place of idle connections; if all are busy, a little later."""
        crowd = self._services.crowd
        for _ in range(_ACCEPTED):
            if not crowd.has_room():
                self._rest()
                return
            try:
                accepted, address = listener.accept()
            except BlockingIOError:  # nothing waits any more
                return
            except OSError:  # no file can be opened
                self._rest()
                return
            peer = crowd.admit(str(address[0]))
            if peer is None:
                accepted.close()
                continue
            accepted.setblocking(False)
            task = asyncio.create_task(self._connect(accepted, peer))
            self._accepting.add(task)
            task.add_done_callback(self._accepting.discard)

    async def _connect(self, accepted: socket.socket, peer: Peer) -> None:
        state, lifespan = self.server_state, self.lifespan.state
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._kind(self.config, state, lifespan, peer), accepted
            )
        except OSError:
            self._services.crowd.leave(peer)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stop_listening()
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()  # so that a rest that ends has nothing to resume
        last = max(self._settings.drain_seconds - _CLEARING, 0)
        clearing = asyncio.get_running_loop().call_later(last, self._cut)
        await super().shutdown(sockets)
        clearing.cancel()

    def _cut(self) -> None:
        """Cut the requests that have not finished; what was accepted is stored all the same."""
        for connection in self._connections():
            connection.drop()

    async def _warm_up(self) -> None:
        """Start the worker before it is needed; a collector that ends at once needs none."""
        with suppress(WorkerEnded, StoreUnavailable):
            asked = await self._services.readers.run(lambda store: store.all_asked())
            documents = [found.document for found in asked[-_WARMED:]]
            await self._services.worker.run(jobs.warm_up, documents)

    async def on_tick(self, counter: int) -> bool:
        """Cut the connections that are too late, and where there is no room, the slow ones."""
        now, crowd = monotonic(), self._services.crowd
        if counter % _TICKS == 0:
            for connection in self._connections():
                if connection.deadline < now:
                    crowd.drop(connection, LATE)
        self._most = max(self._most, crowd.count)
        if self._most > _CROWD and crowd.count < self._most // 4:
            self._most = 0
            give_back()
        if crowd.full:
            slow = [connection for connection in self._connections() if connection.is_slow(now)]
            for connection in sorted(slow, key=lambda found: found.since)[:_SLOW]:
                crowd.drop(connection, FULL)
        asked = await super().on_tick(counter)
        return (asked or self._services.health.broken is not None) and self._may_end(now)

    def _may_end(self, now: float) -> bool:
        """Tell whether the collector, which has to end, has gone on for long enough.

        A store that is found broken at the start is reported all the same.
        """
        if self._ending is None and self._services.health.broken:
            self._ending = now + _LAST_WORDS
        elif self._ending is None:
            log.info("the collector was asked to end")
            wait = self._settings.lame_duck_seconds if self._captured_signals else 0
            self._ending = now + wait
            self._services.health.leaving = True
        return now >= self._ending or self.force_exit

    def _connections(self) -> list[Connection]:
        return [found for found in self.server_state.connections if isinstance(found, Connection)]


class Text(logging.Formatter):
    """``2026-11-17T14:50:00Z ERROR what happened``, always one line."""

    converter = staticmethod(gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class Json(Text):
    """One JSON object a line: time, level, message, and the fields of an audit line."""

    def format(self, record: logging.LogRecord) -> str:
        found = {
            "time": self.formatTime(record, self.datefmt),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            found["error"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)


def configure_log(form: str, level: str) -> None:
    """Send all log lines of a level, and of worse ones, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if form == "json" else Text())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)
