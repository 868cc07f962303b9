"""Counts over HTTP: estimates, comparisons, tallies, and who contributed."""

from __future__ import annotations

from dataclasses import asdict, replace
from hashlib import sha256
from re import compile as pattern

import msgspec
from starlette.responses import Response

from deniable.collector import jobs, maintenance
from deniable.collector.days import read_day, write_day
from deniable.collector.jobs import FORMATS
from deniable.collector.problems import (
    Conflict,
    InvalidRequest,
    NotFound,
    TooFewReports,
    UnknownQuestion,
)
from deniable.collector.questions import Known
from deniable.collector.requests import Call, Pieces, answer
from deniable.collector.results import Range
from deniable.collector.stores.records import EVER, Outcome, Total
from deniable.presentation.html import SHEET

_ID = pattern("[0-9a-f]{32}")
RANGE = ("from", "to")
DAYS = "deniable-days"
"""The header of a tally that says on how many days its reports came."""


class Wanted(msgspec.Struct, forbid_unknown_fields=True, rename={"first": "from", "last": "to"}):
    """What estimates are asked for; the same names as in the query."""

    first: str | None = None
    last: str | None = None
    compare_from: str | None = None
    compare_to: str | None = None
    candidates: list[str] | None = None
    format: str = "json"
    people: int | None = None
    compare_people: int | None = None


async def estimates(call: Call) -> Response:
    """Estimate from a range of days."""
    names = (*RANGE, "people", "compare_from", "compare_to", "compare_people", "format")
    return await _estimates(call, _wanted(call, *names))


def _wanted(call: Call, *names: str) -> Wanted:
    """Read the parameters: each once but for candidates."""
    pairs = call.request.query_params.multi_items()
    named = [value for name, value in pairs if name == "candidate"]
    rest = [(name, value) for name, value in pairs if name != "candidate"]
    if len({name for name, _ in rest}) != len(rest) or not {name for name, _ in rest} <= {*names}:
        raise InvalidRequest(f"expected the parameters candidate, {', '.join(names)}, each once")
    try:
        return msgspec.convert({**dict(rest), "candidates": named or None}, Wanted, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"expected people as a whole number, got: {error}") from error


async def estimates_of(call: Call) -> Response:
    """Estimate from a range of days for candidates that are too many for an address."""
    call.query()
    try:
        wanted = msgspec.json.decode(
            await call.body(call.services.settings.question_limit), type=Wanted
        )
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"expected a JSON object that names candidates, got: {error}"
        ) from error
    return await _estimates(call, wanted)


async def _estimates(call: Call, wanted: Wanted) -> Response:
    known = await call.known()
    if wanted.format not in FORMATS:
        raise InvalidRequest(f"expected a format among {', '.join(FORMATS)}")
    days = replace(_range(wanted.first, wanted.last), people=wanted.people)
    candidates = _candidates(known, wanted)
    if wanted.compare_from is not None or wanted.compare_to is not None:
        other = _range(wanted.compare_from, wanted.compare_to)
        other = replace(other, people=wanted.compare_people)
        if other.first <= days.last and days.first <= other.last:
            raise InvalidRequest("expected two ranges of days that do not overlap")
        result = await call.services.publisher.compare(
            known, (days, other), candidates, wanted.format
        )
    else:
        result = await call.services.publisher.estimate(known, days, candidates, wanted.format)
    return streamed(result, FORMATS[wanted.format])


def _candidates(known: Known, wanted: Wanted) -> tuple[str, ...] | None:
    if known.question.labels is None and not wanted.candidates:
        raise InvalidRequest("expected candidates, since the question is open; name them")
    return None if wanted.candidates is None else tuple(wanted.candidates)


class Export(Pieces):
    """Pieces for few readers, who are known: large ones are faster."""

    piece = 1 << 18


def streamed(result: bytes, kind: str) -> Response:
    """Send a result in pieces, as fast as the reader takes them."""
    return Export(result, headers={"content-type": kind, "cache-control": "no-store"})


async def trend(call: Call) -> Response:
    """Follow the named answers, or the largest, from day to day."""
    wanted = _wanted(call, *RANGE, "format")
    known = await call.known()
    if wanted.format not in ("json", "csv"):
        raise InvalidRequest("expected a format among json, csv")
    days, candidates = _range(wanted.first, wanted.last), _candidates(known, wanted)
    found = await call.services.showing.trend(known, days, candidates)
    if found is None:
        raise TooFewReports("expected a day with enough reports to show estimates, got none yet")
    result = await call.services.worker.run(
        jobs.export_trend, known.asked.document, found, wanted.format
    )
    return streamed(result, FORMATS[wanted.format])


async def sheet(call: Call) -> Response:
    """Return the style sheet of estimates as HTML."""
    call.query()
    headers = {"content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600"}
    return Response(SHEET, headers=headers)


async def tally(call: Call) -> Response:
    """Return the tally of a range of days, as it is published."""
    query = call.query("from", "to")
    known = await call.known()
    found = await call.services.publisher.total(known, _range(query.get("from"), query.get("to")))
    headers = {"content-type": "application/octet-stream", "cache-control": "no-store"}
    headers[DAYS] = str(found.days)
    return Export(found.tally, headers=headers)


async def export(call: Call) -> Response:
    """Return everything that a question has as a ZIP file."""
    call.query()
    asked = (await call.known()).asked
    gathered = await call.services.readers.run(lambda store: maintenance.gather(store, asked))
    packed = await call.services.worker.run(maintenance.pack, gathered)
    return streamed(packed, maintenance.MEDIA_TYPE)


async def upload(call: Call) -> Response:
    """Add a tally that was collected elsewhere, once for each id."""
    query = call.query("day")
    known, id = await call.known(), call.request.path_params["id"]
    if not _ID.fullmatch(id):
        raise InvalidRequest("expected an id of 32 hexadecimal digits, lower case")
    day = read_day(query.get("day", ""))
    body = await call.body(call.services.settings.tally_limit)
    data, n = await call.services.worker.run(jobs.check_upload, known.asked.document, body)
    total = Total(day, f"upload:{id}", n, data)
    digest, mark = known.asked.digest, sha256(data).digest()
    outcome = await call.services.writer.run(lambda store: store.upload(digest, total, mark))
    if outcome is Outcome.CONFLICT:
        raise Conflict("expected the tally that came with this id before, got another")
    if outcome is Outcome.UNKNOWN:
        raise UnknownQuestion("expected a question that is asked here, got one that is deleted")
    return answer({"source": total.source, "reports": n}, 201 if outcome is Outcome.STORED else 200)


async def sources(call: Call) -> Response:
    """List who contributed to a question."""
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
    try:
        wanted = msgspec.json.decode(await call.body(1 << 12), type=Exclusion)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f'expected {{"excluded": true}} or false, got: {error}') from error
    call.noted.append(f"excluded: {wanted.excluded}")
    if not await call.services.writer.run(
        lambda store: store.exclude(digest, source, wanted.excluded, day=day)
    ):
        raise NotFound("expected a source that contributed to the question, got none such")
    return await _sources(call)


def _range(first: str | None, last: str | None) -> Range:
    days = Range(
        0 if first is None else read_day(first, "from"),
        EVER if last is None else read_day(last, "to"),
    )
    if days.first > days.last:
        raise InvalidRequest("expected a range of days that begins before it ends")
    return days
