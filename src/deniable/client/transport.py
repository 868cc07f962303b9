"""HTTP as a client needs it: one request, and what is known about it afterwards."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, urlsplit

from deniable.errors import InvalidParameter

_LARGEST_ANSWER = 1 << 26


@dataclass(frozen=True)
class Reply:
    """What a server answered; ``problem`` is the problem document, if it sent one."""

    status: int
    body: bytes = b""
    retry_after: float | None = None
    problem: dict[str, object] = field(default_factory=dict)
    days: int | None = None
    """On how many days the reports of a tally came, if the server said so."""

    @staticmethod
    def read(status: int, body: bytes, media_type: str, retry_after: str | None) -> Reply:
        """Return a reply as its headers and its body say."""
        return Reply(status, body, _seconds(retry_after), _problem(media_type, body))

    @property
    def kind(self) -> str:
        """The type of the problem, without its prefix."""
        return str(self.problem.get("type", "")).removeprefix("urn:deniable:")


class Unsent(OSError):
    """Nothing left this machine."""


class Lost(OSError):
    """The request left, and no answer came: the server may have acted on it."""


class Transport:
    """Requests to one server over one connection, which is opened again when it was closed."""

    _connection: http.client.HTTPConnection | None = None

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 20.0) -> None:
        parts = _split(address)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidParameter(
                "expected a token as `deniable token create` prints it, got one with other "
                "characters; copy it again",
                value=None,
            )
        self.address = address.rstrip("/")
        self._parts, self._timeout = parts, timeout
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
            connection.request(
                method, self._parts.path.rstrip("/") + path, body=body, headers=self._headers
            )
            answer = connection.getresponse()
            data = answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Lost(f"{self.address} did not answer: {error!r}; try again later") from error
        if answer.will_close or not answer.isclosed():
            self.close()  # as the server asks, or because there is more than anybody wants
        headers = answer.headers
        reply = Reply.read(
            answer.status, data, headers.get_content_type(), headers.get("Retry-After")
        )
        days = headers.get("Deniable-Days", "")
        return replace(reply, days=int(days)) if days.isdecimal() else reply

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
        """Close the connection; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        self.close()


def _split(address: str) -> SplitResult:
    """Return the parts of the address of a collector, or say what one looks like."""
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # half of a bracket, or a port that is none
        pass
    raise InvalidParameter(
        f"expected an address such as https://example.org or http://127.0.0.1:8000, got "
        f"{address[:80]!r}",
        value=address,
    )


def _seconds(text: str | None) -> float | None:
    """Read the seconds of Retry-After; a date would take a clock that is right."""
    return float(text) if text is not None and text.isascii() and text.isdecimal() else None


def _problem(kind: str, data: bytes) -> dict[str, object]:
    if kind != "application/problem+json":
        return {}
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
