"""Connections with limits: time for headers and body, and bytes of headers.

uvicorn has none of these. A connection carries the moment at which it is too late for what it is
doing; the server looks at all of them once a second and aborts those that are past it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from deniable.collector.headers import CORS
from deniable.collector.problems import InvalidRequest, render
from deniable.collector.settings import Settings

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

_LARGEST_HEAD = 64 * 1024
_ANSWER_SECONDS = 120
_IDLE_SECONDS = 8


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    limits: ClassVar[Settings] = Settings()
    _in_body = False

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._await_head(self.limits.header_seconds)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of headers, and pass on what is within the limits."""
        if self._in_head:
            self._head += len(data)
            if self._head > _LARGEST_HEAD + len(data):
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin the time of the headers."""
        super().on_message_begin()
        self._await_head(self.limits.header_seconds)

    def on_headers_complete(self) -> None:
        """Begin the time of the body."""
        self._in_head, self._in_body = False, True
        self.deadline = monotonic() + self.limits.body_seconds
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Let the answer take its time."""
        self._in_body = False
        self.deadline = monotonic() + _ANSWER_SECONDS
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, unless the rest of a refused body still comes."""
        if not self._in_body:
            self._await_head(_IDLE_SECONDS)
        super().on_response_complete()

    def _await_head(self, seconds: float) -> None:
        self._in_head, self._head = True, 0
        self.deadline = monotonic() + seconds

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP with a problem like any other."""
        status, headers, body = render(InvalidRequest("expected an HTTP request"))
        lines = [b"HTTP/1.1 %d Bad Request" % status]
        lines += [name + b": " + value for name, value in [*headers, *CORS]]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", body]))
        self.transport.close()


def limited(settings: Settings) -> type[Connection]:
    """Return connections with the limits of the settings."""
    return type("LimitedConnection", (Connection,), {"limits": settings})
