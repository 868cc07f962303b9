"""Submissions: the one hot path, as raw ASGI in the ordinary route table.

The body is the id, 16 random bytes that the client drew, the byte of the segment where the question
has segments, and the report. The answer is 204 when it is on the disk, whether it is new or was
there already. No cookie is read here, and nothing about the sender is kept.
"""

from functools import lru_cache
from time import monotonic

from starlette.types import Receive, Scope, Send

from deniable.collector import problems
from deniable.collector.access import Holder, Role
from deniable.collector.questions import Known
from deniable.collector.requests import Services, read_day
from deniable.collector.stores.records import ANONYMOUS, Outcome, Submission, write_day
from deniable.errors import DeniableError, InvalidReport

ID_SIZE = 16
_DONE = {"type": "http.response.start", "status": 204, "headers": []}
_NO_BODY = {"type": "http.response.body", "body": b""}


class Gone(Exception):
    """The client went away before its body was here."""


class Submissions:
    """Takes submissions; an instance is an ASGI application."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = monotonic()
        try:
            await self._take(scope, receive, began)
        except Gone:
            return
        except Exception as error:
            self._services.counters.refuse(error, scope["path_params"]["digest"])
            raise
        self._services.counters.submissions.add(monotonic() - began)
        await send({**_DONE})
        await send(_NO_BODY)

    async def _take(self, scope: Scope, receive: Receive, now: float) -> None:
        digest = scope["path_params"]["digest"]
        questions, settings = self._services.questions, self._services.settings
        known = questions.fresh(digest, now) or await questions.find(digest)
        if known.full:
            raise problems.QuestionFull("this question has no room for more reports; try later")
        day = _day(scope["query_string"])
        origin, authorization, length = _headers(scope)
        if origin is not None and not known.terms.allows(origin, _own(scope, settings.url)):
            sites = ", ".join(known.terms.origins)
            raise problems.OriginRefused(f"only pages of {sites} may submit")
        holder = None if authorization is None else await self._relay(authorization)
        most = ID_SIZE + known.report_size if holder is None else settings.body_limit
        if length is not None and length > most:
            raise _too_large(known, most, length)
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                raise _too_large(known, most, len(body))
            if self._services.held.refuses(len(body)):
                raise problems.QueueFull("too many submissions at once; send this one again later")
        await self._store(_submission(known, day, body, holder))

    async def _relay(self, authorization: str) -> Holder | None:
        holder = await self._services.access.bearer(authorization)
        if holder is not None and not holder.role.grants(Role.RELAY):
            raise problems.Forbidden(
                f"this needs the role relay; the token has {holder.role.value}"
            )
        return holder

    async def _store(self, submission: Submission) -> None:
        outcome = await self._services.writer.submit(submission)
        counters = self._services.counters
        if outcome is Outcome.STORED:
            counters.accept(submission.question, submission.count)
        elif outcome is Outcome.REPEATED:
            counters.repeat(submission.question)
        else:
            self._services.questions.forget(submission.question)
            raise await self._refusal(outcome, submission)

    async def _refusal(self, outcome: Outcome, submission: Submission) -> problems.Refusal:
        if outcome is Outcome.CONFLICT:
            return problems.Conflict("this id came with other bytes before")
        if outcome is Outcome.UNKNOWN:
            return problems.UnknownQuestion("this question was deleted")
        if outcome is Outcome.CLOSED:
            return problems.Closed("this question is closed and takes no more reports")
        window = await self._services.readers.run(lambda store: store.window())
        first, last = write_day(window.first), write_day(window.last)
        return problems.OutsideWindow(
            f"expected a day from {first} to {last}, got {write_day(submission.day)}; check the "
            "clock",
            first=first,
            last=last,
        )


def _submission(known: Known, day: int, body: bytes, holder: Holder | None) -> Submission:
    """Check the bytes of a submission: the one door for reports."""
    if len(body) <= ID_SIZE:
        raise InvalidReport(
            f"expected an id of {ID_SIZE} bytes and a report, got {len(body)} bytes",
            value=len(body),
        )
    question, id = known.question, body[:ID_SIZE]
    size = question.protocol.report_dtype.itemsize
    cells, reports = question.segments.split(body[ID_SIZE:], size)
    count = len(question.parse(reports, 1 if holder is None else None))
    source = ANONYMOUS if holder is None else f"relay:{holder.name}"
    return Submission(known.asked.digest, day, id, reports, count, source, cells)


def _too_large(known: Known, most: int, length: int) -> DeniableError:
    return problems.TooLarge(
        f"expected at most {most} bytes, {ID_SIZE} of the id and {known.report_size} of each "
        f"report, got {length} or more",
        value=length,
        limit=most,
    )


def _own(scope: Scope, url: str) -> str:
    """Return the collector's own origin, as browsers name it."""
    if url:
        return url.rstrip("/")
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    return f"{scope['scheme']}://{host.decode('latin-1')}"


@lru_cache(maxsize=256)
def _day(query: bytes) -> int:
    name, _, value = query.decode("ascii", "replace").partition("=")
    if name != "day":
        raise problems.InvalidRequest("end the address with ?day=YYYY-MM-DD and nothing else")
    return read_day(value)


def _headers(scope: Scope) -> tuple[str | None, str | None, int | None]:
    """Return origin, authorization and content length, without looking at any other header."""
    origin = authorization = length = None
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = int(value) if value.isdigit() and len(value) < 19 else None
        elif name == b"origin":
            origin = value.decode("latin-1")
        elif name == b"authorization":
            authorization = value.decode("latin-1")
    return origin, authorization, length
