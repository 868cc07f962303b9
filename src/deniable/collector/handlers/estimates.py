"""Counts over HTTP: estimates, comparisons, tallies, and who contributed."""

from __future__ import annotations

from dataclasses import asdict, replace
from hashlib import sha256
from re import compile as pattern
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from deniable.collector import jobs, maintenance
from deniable.collector.jobs import FORMATS, Wanted
from deniable.collector.problems import (
    Conflict,
    InvalidRequest,
    NotFound,
    UnknownQuestion,
)
from deniable.collector.questions import Known
from deniable.collector.requests import (
    NAMES,
    Call,
    Pieces,
    answer,
    read_day,
    read_slice,
    read_slices,
)
from deniable.collector.stores.records import Outcome, Total, write_day
from deniable.presentation.html import SHEET

_ID = pattern("[0-9a-f]{32}")
RANGE = ("from", "to")
DAYS = "deniable-days"
"""The header of a tally that says on how many days its reports came."""


Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]
Count = Annotated[int, Meta(ge=1)]


class Query(msgspec.Struct, forbid_unknown_fields=True, rename={"first": "from", "last": "to"}):
    """What estimates are asked for; the same names in a query and in a body."""

    day: Annotated[Day | None, Meta(description="One day; all days by default.")] = None
    first: Annotated[Day | None, Meta(description="The first of several days.")] = None
    last: Annotated[Day | None, Meta(description="The last of several days.")] = None
    people: Annotated[
        Count | None,
        Meta(description="How many people answered, where they may answer again and it is known."),
    ] = None
    compare_day: Annotated[Day | None, Meta(description="A day to compare with.")] = None
    compare_from: Annotated[Day | None, Meta(description="The first day to compare with.")] = None
    compare_to: Annotated[Day | None, Meta(description="The last day to compare with.")] = None
    compare_people: Annotated[
        Count | None, Meta(description="How many people answered on the days to compare with.")
    ] = None
    candidates: Annotated[tuple[str, ...] | None, Meta(description="Answers to estimate.")] = None
    format: Annotated[
        Literal["json", "csv", "html"], Meta(description="The form of the answer.")
    ] = "json"

    def wanted(self, known: Known) -> Wanted:
        if known.is_open and not self.candidates:
            raise InvalidRequest("this question takes any text: name candidates")
        parts = read_slices(known.asked.digest, msgspec.to_builtins(self))
        return Wanted(parts, (self.people, self.compare_people), self.candidates)


PARAMETERS = tuple(name for name in Query.__struct_encode_fields__ if name != "candidates")


async def estimates(call: Call) -> Response:
    return await _estimates(call, _query(call, *PARAMETERS))


def _query(call: Call, *names: str) -> Query:
    """Read the parameters: each once but for candidates."""
    pairs = call.request.query_params.multi_items()
    candidates = [value for name, value in pairs if name == "candidate"]
    rest = dict(call.query(*names, "candidate", repeated="candidate"))
    rest.pop("candidate", None)
    try:
        return msgspec.convert({**rest, "candidates": candidates or None}, Query, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"a parameter is wrong: {error}") from error


async def estimates_of(call: Call) -> Response:
    call.query()
    return await _estimates(call, await call.json(Query, call.services.settings.question_limit))


async def _estimates(call: Call, query: Query) -> Response:
    known = await call.known()
    wanted = query.wanted(known)
    result = await call.services.results.estimates(known, wanted, query.format)
    return streamed(result, FORMATS[query.format])


class Export(Pieces):
    """Pieces for few readers, who are known: large ones are faster."""

    piece = 1 << 18


def streamed(result: bytes, kind: str) -> Response:
    """Send a result in pieces, as fast as the reader takes them."""
    return Export(result, headers={"content-type": kind, "cache-control": "no-store"})


async def trend(call: Call) -> Response:
    query = _query(call, *NAMES, "format")
    if query.format == "html":
        raise InvalidRequest("a trend has the formats json and csv")
    known = await call.known()
    wanted = replace(query.wanted(known), daily=True)
    result = await call.services.results.trend(known, wanted, query.format)
    return streamed(result, FORMATS[query.format])


async def sheet(call: Call) -> Response:
    call.query()
    headers = {"content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600"}
    return Response(SHEET, headers=headers)


async def tally(call: Call) -> Response:
    query, known = call.query(*NAMES), await call.known()
    found = await call.services.results.total(known, read_slice(known.asked.digest, query))
    headers = {"content-type": "application/octet-stream", "cache-control": "no-store"}
    headers[DAYS] = str(found.days)
    return Export(found.tally, headers=headers)


async def export(call: Call) -> Response:
    call.query()
    asked = (await call.known()).asked
    gathered = await call.services.readers.run(lambda store: maintenance.gather(store, asked))
    packed = await call.services.worker.run(maintenance.pack, gathered)
    return streamed(packed, maintenance.MEDIA_TYPE)


async def upload(call: Call) -> Response:
    query = call.query("day")
    known, id = await call.known(), call.request.path_params["id"]
    if not _ID.fullmatch(id):
        raise InvalidRequest("an id has 32 hexadecimal digits in lower case")
    day = read_day(query.get("day", ""))
    body = await call.body(call.services.settings.tally_limit)
    data, n = await call.services.worker.run(jobs.check_upload, known.asked.document, body)
    total = Total(day, f"upload:{id}", n, data)
    digest, mark = known.asked.digest, sha256(data).digest()
    outcome = await call.services.writer.run(lambda store: store.upload(digest, total, mark))
    if outcome is Outcome.CONFLICT:
        raise Conflict("another tally came with this id before")
    if outcome is Outcome.UNKNOWN:
        raise UnknownQuestion("this question was deleted")
    return answer({"source": total.source, "reports": n}, 201 if outcome is Outcome.STORED else 200)


async def sources(call: Call) -> Response:
    call.query()
    return await _sources(call)


async def _sources(call: Call) -> Response:
    digest = (await call.known()).asked.digest
    found = await call.services.readers.run(lambda store: store.sources(digest))
    shown = [
        {**asdict(source), "excluded_days": [write_day(day) for day in source.excluded_days]}
        for source in found
    ]
    return answer({"sources": shown})


class Exclusion(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a source is left out."""

    excluded: bool


async def exclude(call: Call) -> Response:
    """Leave a source out of every count, or of those of one day, or take it in again."""
    query = call.query("day")
    digest, source = (await call.known()).asked.digest, call.request.path_params["source"]
    day = read_day(query["day"]) if "day" in query else None
    wanted = await call.json(Exclusion, 1 << 12)
    call.noted.append(f"excluded: {wanted.excluded}")
    if not await call.services.writer.run(
        lambda store: store.exclude(digest, source, wanted.excluded, day=day)
    ):
        raise NotFound("this question has no such source")
    return await _sources(call)
