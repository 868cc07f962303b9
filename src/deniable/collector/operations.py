"""Operations: what the interface consists of, and how a request finds its handler.

An operation states its role; one that does not cannot be made. The routes, the checks of access and
the OpenAPI document all derive from the same list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from deniable.collector.access import SAFE, Holder, Role
from deniable.collector.logs import audit
from deniable.collector.parts import Parts
from deniable.collector.problems import InvalidRequest, MethodRefused, TooLarge, find_problem, own
from deniable.collector.questions import Known

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

Schema = Mapping[str, object]


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query or the path, as OpenAPI describes it."""

    name: str
    description: str
    schema: Schema
    where: str = "query"
    required: bool = False


@dataclass(frozen=True)
class Call:
    """One request on its way through a handler: the parts, the request, and who makes it."""

    parts: Parts
    request: Request
    holder: Holder | None
    noted: list[str] = field(default_factory=list)
    """What the audit line says beside the address."""

    @property
    def notes(self) -> str:
        """What was noted, in one."""
        return ", ".join(self.noted)

    async def known(self) -> Known:
        """Return the question that the address names."""
        return await self.parts.questions.find(self.request.path_params["digest"])

    def query(self, *names: str) -> dict[str, str]:
        """Return the parameters after the address, refusing unknown and repeated ones."""
        found: dict[str, str] = {}
        for name, value in self.request.query_params.multi_items():
            if name not in names or name in found:
                raise InvalidRequest(
                    f"expected the parameters {', '.join(names) or '(none)'}, each once, got "
                    f"{name[:40]!r}",
                    value=name[:40],
                )
            found[name] = value
        return found

    async def body(self, limit: int) -> bytes:
        """Read the body, refusing one that is longer than the limit."""
        body = bytearray()
        length = self.request.headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            raise TooLarge(f"expected at most {limit} bytes, got {length}", limit=limit)
        async for part in self.request.stream():
            body += part
            if len(body) > limit:
                raise TooLarge(f"expected at most {limit} bytes, got more", limit=limit)
        return bytes(body)


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True)
class Operation:
    """One method on one path: who may use it, what it does, what it takes and gives."""

    method: str
    path: str
    role: Role
    handler: Handler | None
    summary: str
    parameters: Sequence[Parameter] = ()
    body: Mapping[str, Schema] = field(default_factory=dict)
    answers: Mapping[int, str | None] = field(default_factory=lambda: {200: "application/json"})
    application: Callable[[Parts], ASGIApp] | None = None
    """Makes a raw ASGI application instead of a handler, which checks access by itself."""

    def __post_init__(self) -> None:
        if not isinstance(self.role, Role):
            raise TypeError(f"expected a role for {self.method} {self.path}, got {self.role!r}")


class Resource:
    """One path with its operations: finds the method, demands the role, calls the handler."""

    def __init__(self, operations: Sequence[Operation], parts: Parts) -> None:
        self._parts = parts
        self._operations = {operation.method: operation for operation in operations}
        self._applications = {
            operation.method: operation.application(parts)
            for operation in operations
            if operation.application is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = scope["method"]
        if application := self._applications.get(method):
            await application(scope, receive, send)
            return
        operation = self._operations.get("GET" if method == "HEAD" else method)
        if operation is None or operation.handler is None:
            methods = {*self._operations, *(["HEAD"] if "GET" in self._operations else [])}
            raise MethodRefused(
                f"expected one of {', '.join(sorted(methods))}, got {method}",
                value=", ".join(sorted(methods)),
            )
        request = Request(scope, receive, send)
        holder = await self._parts.access.demand(request, operation.role)
        call = Call(self._parts, request, holder)
        if holder is None or operation.role is not Role.ADMIN or method in SAFE:
            response = await operation.handler(call)
        else:
            response = await _audited(operation.handler, call)
        await response(scope, receive, send)


async def _audited(handler: Handler, call: Call) -> Response:
    """Call a handler, and note who did what, and what came of it."""
    status, who = 500, str(call.holder)
    what = f"{call.request.method} {call.request.url.path}"
    if call.request.url.query:
        what += f"?{call.request.url.query}"
    try:
        response = await handler(call)
        status = response.status_code
    except Exception as error:
        status = find_problem(own(error)).status
        raise
    finally:
        audit(who, f"{what} {call.notes}".rstrip(), status)
    return response


class Pieces(Response):
    """An answer that is sent in pieces, as fast as the client reads them.

    All clients share the bytes, and one that does not read costs a single piece.
    """

    piece: ClassVar[int] = 1 << 14

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the bytes."""
        body = memoryview(self.body)
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        for at in range(0, len(body), self.piece):
            piece = body[at : at + self.piece]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def answer(document: object, status: int = 200) -> Response:
    """Return a JSON answer that no cache keeps."""
    return Response(
        msgspec.json.encode(document),
        status,
        {"content-type": "application/json", "cache-control": "no-store"},
    )
