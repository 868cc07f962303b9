"""HTTP as a client needs it: one request, and what is known about it afterwards."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import SplitResult, urlsplit

from deniable.errors import InvalidParameter

_LARGEST_ANSWER = 1 << 26


@dataclass(frozen=True)
class Reply:
    """A server's answer; ``problem`` is the problem document, if it sent one.

    ``days`` is on how many days the reports of a tally came, if the server says so.
    """

    status: int
    body: bytes = b""
    retry_after: float | None = None
    problem: dict[str, object] = field(default_factory=dict)
    days: int | None = None

    @staticmethod
    def read(status: int, body: bytes, headers: Message | Mapping[str, str]) -> Reply:
        after, days = headers.get("Retry-After", ""), headers.get("Deniable-Days", "")
        problem: object = {}
        if headers.get("Content-Type", "").lower().startswith("application/problem+json"):
            with suppress(ValueError):
                problem = json.loads(body)
        return Reply(
            status,
            body,
            float(after) if _is_whole(after) else None,  # a date would need a clock that is right
            problem if isinstance(problem, dict) else {},
            int(days) if _is_whole(days) else None,
        )

    @property
    def kind(self) -> str:
        return str(self.problem.get("type", "")).removeprefix("urn:deniable:")


class Unsent(OSError):
    """Nothing left this machine."""


class Lost(OSError):
    """The request left, and no answer came: the server may have acted on it."""


class Transport:
    """Requests to one server over one connection, which is reopened when needed."""

    _connection: http.client.HTTPConnection | None = None

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 20.0) -> None:
        parts = _split(address)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidParameter(
                "the token has characters that `deniable token create` never prints; copy it again"
            )
        self.address, self._parts, self._timeout = address.rstrip("/"), parts, timeout
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def request(
        self, method: str, path: str, body: bytes | None = None, *, most: int = _LARGEST_ANSWER
    ) -> Reply:
        """Send a request; raise ``Unsent`` or ``Lost`` where no answer came.

        Of an answer no more than ``most`` bytes are read.
        """
        connection = self._open()
        try:
            # The path of the address stays in front, for a collector behind a proxy.
            target = self._parts.path.rstrip("/") + path
            connection.request(method, target, body=body, headers=self._headers)
            answer = connection.getresponse()
            data = answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Lost(f"{self.address} did not answer: {error!r}; try again later") from error
        if answer.will_close or not answer.isclosed():
            self.close()  # the server asks for it, or there is more than may be read
        return Reply.read(answer.status, data, answer.headers)

    def _open(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout, context=ssl.create_default_context()
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
            try:
                self._connection.connect()
            except OSError as error:
                self.close()
                raise Unsent(
                    f"{self.address} cannot be reached: {error.strerror or error}; check the "
                    "address, and that the collector runs"
                ) from error
        return self._connection

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        self.close()


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # an open bracket, or a port that is not a number
        pass
    raise InvalidParameter(
        f"expected an address such as https://example.org or http://127.0.0.1:8000, got "
        f"{address[:80]!r}",
        value=address,
    )


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()
