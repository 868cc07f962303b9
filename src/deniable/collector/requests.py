"""The services of a running collector, and the requests that handlers answer with them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from typing import ClassVar, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deniable.collector.access import Access, Holder
from deniable.collector.alarms import Alarms
from deniable.collector.connections import Crowd, Held
from deniable.collector.housekeeping import Housekeeping
from deniable.collector.metrics import Counters, Health
from deniable.collector.problems import InvalidRequest, TooLarge
from deniable.collector.questions import Known, Questions
from deniable.collector.results import Results
from deniable.collector.settings import Settings
from deniable.collector.stores import Store, records
from deniable.collector.worker import Readers, Worker, Writer
from deniable.question import Question
from deniable.rota import Repeat

Decoded = TypeVar("Decoded", bound=msgspec.Struct)
_MOST_FIELDS = 100
NAMES = ("day", "from", "to")
"""The parameters by which an address names a slice; those of a second one begin with compare_."""
SECOND = "compare_"


class Services:
    """Everything that handlers use, made once; nothing runs yet."""

    def __init__(self, settings: Settings, opener: Callable[[], Store]) -> None:
        self.settings, self.health, self.counters = settings, Health(), Counters()
        self.writer = Writer(opener, most=settings.queue_limit, health=self.health)
        self.readers = Readers(opener, self.health)
        self.worker = Worker(settings.worker_seconds)
        self.access = Access(self.readers, self.writer)
        self.questions = Questions(settings, self.readers, self.writer, self.worker)
        self.results = Results(settings, self.readers, self.writer, self.worker)
        self.alarms = Alarms(settings, self.readers, self.worker)
        self.housekeeping = Housekeeping(
            settings, self.writer, self.readers, self.worker, self.counters
        )
        each = 0 if settings.url else settings.connections_per_address
        self.crowd = Crowd(settings.connection_limit, each)
        self.held = Held(settings.queue_bytes)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start what runs beside the requests; at the end write what waits and stop."""
        await self.writer.start()
        keepers = [
            asyncio.create_task(self.housekeeping.run()),
            asyncio.create_task(self.health.watch(self.writer.probe)),
        ]
        try:
            yield
        finally:
            for keeper in keepers:
                keeper.cancel()
                with suppress(asyncio.CancelledError):
                    await keeper
            await self.writer.close()
            self.readers.close()
            self.results.searcher.close()
            self.worker.close()


@dataclass(frozen=True)
class Call:
    """One request on its way through a handler: the services, the request, and who makes it."""

    services: Services
    request: Request
    holder: Holder | None
    noted: list[str] = field(default_factory=list)
    """What the audit line says besides the address."""

    async def known(self) -> Known:
        return await self.services.questions.find(self.request.path_params["digest"])

    def query(self, *names: str, repeated: Collection[str] = ()) -> dict[str, str]:
        """Return the parameters after the address, refusing unknown and repeated ones."""
        found: dict[str, str] = {}
        for name, value in self.request.query_params.multi_items():
            if name not in names or (name in found and name not in repeated):
                raise InvalidRequest(
                    f"{name[:40]!r} is unknown or repeated; the parameters are "
                    f"{', '.join(names) or 'none'}",
                    value=name[:40],
                )
            found[name] = value
        return found

    def part(self, known: Known) -> tuple[records.Slice, tuple[int, ...] | None]:
        """Return the slice that the address names by days or a round, and the cells that count."""
        query = self.request.query_params
        given = name_days(query, known.question.repeat)
        cells = read_cells(known.question, query.getlist("segment"))
        return read_slice(known.asked.digest, given), cells

    async def body(self, limit: int) -> bytes:
        body = bytearray()
        length = self.request.headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            raise TooLarge(f"expected at most {limit} bytes, got {length}", limit=limit)
        async for part in self.request.stream():
            body += part
            if len(body) > limit:
                raise TooLarge(f"expected at most {limit} bytes", limit=limit)
        return bytes(body)

    async def json(self, kind: type[Decoded], limit: int) -> Decoded:
        try:
            return msgspec.json.decode(await self.body(limit), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            names = ", ".join(msgspec.json.schema(kind)["$defs"][kind.__name__]["properties"])
            raise InvalidRequest(f"the body must be a JSON object with {names}: {error}") from error

    async def form(self, limit: int = 1 << 16) -> dict[str, str]:
        """Return the fields of a form; of fields that repeat, the last."""
        body = await self.body(limit)
        try:
            pairs = parse_qsl(
                body.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=_MOST_FIELDS,
            )
        except (UnicodeDecodeError, ValueError):
            raise InvalidRequest(
                "the body is not a form; send application/x-www-form-urlencoded"
            ) from None
        return dict(pairs)


def lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a text area that are not empty, without white space around them."""
    return tuple(filter(None, (line.strip() for line in text.split("\n"))))


def read_day(text: str, name: str = "day") -> int:
    """Return the number of a day that is written as YYYY-MM-DD."""
    with suppress(ValueError):
        found = date.fromisoformat(text)
        if found.isoformat() == text:  # and not one of the other forms that ISO 8601 has
            return found.toordinal() - records.EPOCH
    raise InvalidRequest(
        f"expected {name} as YYYY-MM-DD, got {text[:40]!r}",
        value=text[:40],
        page=f"{text[:40]!r} is not a day: write 2026-01-31.",
    )


def read_slice(question: str, query: Mapping[str, str | None], start: str = "") -> records.Slice:
    """Return the slice that parameters name: one day, a range of days, or everything.

    >>> read_slice("…", {"day": "1970-01-02"}).days
    Days(first=1, last=1)
    """
    day, first, last = [query.get(f"{start}{name}") for name in NAMES]
    if day is not None and (first is not None or last is not None):
        raise InvalidRequest(f"give either {start}day, or {start}from and {start}to")
    if day is not None:
        first = last = day
    days = records.Days(
        0 if first is None else read_day(first, f"{start}from"),
        records.EVER if last is None else read_day(last, f"{start}to"),
    )
    if days.first > days.last:
        raise InvalidRequest(
            f"{start}from must not be later than {start}to",
            page="The first day is after the last one.",
        )
    return records.Slice(question, days)


def read_slices(question: str, query: Mapping[str, str | None]) -> tuple[records.Slice, ...]:
    """Return the slice that parameters name, and the one to compare it with, if any."""
    first = read_slice(question, query)
    if not any(query.get(f"{SECOND}{name}") for name in NAMES):
        return (first,)
    second = read_slice(question, query, SECOND)
    if first.days.overlaps(second.days):
        raise InvalidRequest(
            "the two ranges of days overlap; compare others",
            page="The two ranges of days overlap: choose others.",
        )
    return first, second


def name_days(query: Mapping[str, str | None], repeat: Repeat | None) -> dict[str, str | None]:
    """Return the parameters with the days of a round in place of its number."""
    found = dict(query)
    for start in ("", SECOND):
        number = found.pop(f"{start}round", None)
        if number is None:
            continue
        if repeat is None or not str(number).isdecimal():
            raise InvalidRequest(
                f"expected {start}round as the number of a round, from 0 on, of a question that is "
                "asked again"
            )
        if any(found.get(f"{start}{name}") for name in NAMES):
            raise InvalidRequest(f"{start}round names its days itself; leave out days")
        first, last = repeat.days_of(int(number))
        found |= {f"{start}from": first.isoformat(), f"{start}to": last.isoformat()}
    return found


def read_cells(question: Question, given: Sequence[str] | None) -> tuple[int, ...] | None:
    """Return the cells of the segments that parameters name, None for all of them."""
    if not given:
        return None
    pairs = [text.partition(":") for text in given]
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise InvalidRequest("name each dimension once, as in segment=platform:linux")
    return question.segments.select({name: value for name, _, value in pairs})


class Pieces(Response):
    """An answer that is sent in pieces, as fast as the client reads them.

    All clients share the bytes, and one that does not read costs a single piece.
    """

    piece: ClassVar[int] = 1 << 14

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = memoryview(self.body)
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        for at in range(0, len(body), self.piece):
            piece = body[at : at + self.piece]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def answer(document: object, status: int = 200) -> Response:
    """Return a JSON answer that no cache keeps."""
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return Response(msgspec.json.encode(document), status, headers)
