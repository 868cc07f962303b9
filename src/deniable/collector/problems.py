"""Problems: the one table from errors to statuses, and their form (RFC 9457).

Every answer that is no success has the media type ``application/problem+json`` and a type from this
table; the framework's own refusals and a failure inside are no exception.
"""

import json
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
from starlette.exceptions import HTTPException

from deniable import errors
from deniable.collector.stores.records import StoreBroken, StoreUnavailable

MEDIA_TYPE = "application/problem+json"
CORS = [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"Retry-After")]
"""On every status, or a page takes a refusal for being offline. No cookie is ever read there."""


@dataclass(frozen=True)
class Problem:
    """The type, status and title of a problem."""

    type: str
    status: int
    title: str
    retry_after: int | None = None


_INVALID = Problem("invalid-request", 400, "Invalid request")
_DOCUMENT = Problem("invalid-document", 400, "Invalid document")
_STORE = Problem("store-unavailable", 503, "Store unavailable", retry_after=2)
PROBLEMS: dict[type[Exception], Problem] = {
    errors.InvalidParameter: _INVALID,
    errors.OutOfDomain: _INVALID,
    errors.InvalidReport: Problem("invalid-report", 400, "Invalid report"),
    errors.InvalidDocument: _DOCUMENT,
    errors.IncompatibleTally: _DOCUMENT,
    StoreUnavailable: _STORE,
    StoreBroken: replace(_STORE, retry_after=60),
    Exception: Problem("internal", 500, "Internal error"),
}
"""What each error is to a client; refusals enter themselves."""


class Refusal(errors.DeniableError):
    """A request that cannot be granted; ``extra`` goes into the problem document.

    The message is for programs; ``page`` is the sentence that a person reads and ``heading`` what
    stands over it, if there are better ones than for all errors of the kind.
    """

    def __init_subclass__(cls, problem: Problem | None = None) -> None:
        if problem is not None:
            PROBLEMS[cls] = problem

    def __init__(
        self, message: str, *, value: object = None, page: str = "", heading: str = "",
        **extra: str | int,
    ) -> None:  # fmt: skip
        super().__init__(message, value=value)
        self.page, self.heading, self.extra = page, heading, extra


class InvalidRequest(Refusal, problem=_INVALID):
    """A request that is not understood."""


class Mistake(InvalidRequest):
    """A form that a person filled in wrongly; the message is for that person."""

    def __init__(self, message: str) -> None:
        super().__init__(message, page=message)


def _refusal(
    name: str, type_: str, status: int, title: str, retry_after: int | None = None
) -> type[Refusal]:
    """Make a kind of refusal and its row; it says where it is found, since errors are pickled."""
    row = Problem(type_, status, title, retry_after)
    return type(name, (Refusal,), {"__module__": __name__}, problem=row)


Unauthorized = _refusal("Unauthorized", "unauthorized", 401, "Login or token required")
Forbidden = _refusal("Forbidden", "forbidden", 403, "Not allowed")
"""A token of another role, or a form of another site."""
OriginRefused = _refusal("OriginRefused", "origin-refused", 403, "Site not allowed")
"""A page of a site that the question does not list."""
UnknownQuestion = _refusal("UnknownQuestion", "unknown-question", 404, "Question not found")
NotFound = _refusal("NotFound", "not-found", 404, "Not found")
MethodRefused = _refusal("MethodRefused", "method-refused", 405, "Method not allowed")
Conflict = _refusal("Conflict", "conflict", 409, "Conflict")
"""The same id with other bytes, or another state than the request supposes."""
TooFewReports = _refusal("TooFewReports", "too-few-reports", 409, "Too few reports")
"""Fewer reports than the question shows estimates for."""
Closed = _refusal("Closed", "question-closed", 410, "Question closed")
TooLarge = _refusal("TooLarge", "too-large", 413, "Too large")
OutsideWindow = _refusal("OutsideWindow", "outside-window", 422, "Day not open")
"""The day is sealed, or has not come yet."""
TooCostly = _refusal("TooCostly", "too-costly", 422, "Estimate too costly")
SearchEnded = _refusal("SearchEnded", "too-costly", 422, "Search ended")
"""A search took more time or memory than the collector allows; that is remembered."""
QueueFull = _refusal("QueueFull", "queue-full", 503, "Too many submissions", 1)
QuestionFull = _refusal("QuestionFull", "queue-full", 503, "Too many submissions", 3600)
"""The tallies of a question take as much room as they may; to clients it is the same."""
Searching = _refusal("Searching", "searching", 503, "Search goes on", 30)
"""A search takes longer than a reader can wait; its result will be there."""
Stopping = _refusal("Stopping", "stopping", 503, "Shutting down", 5)


class NotReady(Refusal, problem=_STORE):
    """Submissions are not stored at the moment."""


_FRAMEWORK: dict[int, type[Refusal]] = {404: NotFound, 405: MethodRefused, 413: TooLarge}


def find_problem(error: BaseException) -> Problem:
    """Return the row of the table that an error belongs to, by its nearest class."""
    return next(PROBLEMS[kind] for kind in type(error).__mro__ if kind in PROBLEMS)


def own(error: Exception) -> Exception:
    if isinstance(error, HTTPException):
        kind = _FRAMEWORK.get(error.status_code, InvalidRequest)
        return kind(error.detail)
    return error


class ProblemDocument(msgspec.Struct, omit_defaults=True):
    """The body of a problem; further members depend on its type."""

    type: Annotated[str, msgspec.Meta(pattern="^urn:deniable:")]
    title: str
    status: int
    detail: str | None = None


def render(error: Exception) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return status, headers and body of a problem; one inside gives no detail away."""
    found = find_problem(error)
    detail = str(error) if found.status not in (500, 503) else None
    document = ProblemDocument(f"urn:deniable:{found.type}", found.title, found.status, detail)
    extra = error.extra if isinstance(error, Refusal) else {}
    text = json.dumps({**msgspec.to_builtins(document), **extra}, ensure_ascii=False)
    body = text.encode("utf-8", "backslashreplace")
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    if found.retry_after is not None:
        headers.append((b"retry-after", b"%d" % found.retry_after))
    if found.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, MethodRefused):
        headers.append((b"allow", str(error.value).encode()))
    return found.status, headers, body
