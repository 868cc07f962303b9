"""Counts over HTTP: estimates, comparisons, tallies, and who contributed."""

from __future__ import annotations

from hashlib import sha256
from re import compile as pattern

import msgspec
from starlette.responses import Response

from deniable.collector import mathematics
from deniable.collector.days import read_day
from deniable.collector.mathematics import FORMATS
from deniable.collector.operations import Call, answer
from deniable.collector.problems import Conflict, InvalidRequest, NotFound, UnknownQuestion
from deniable.collector.publishing import Range
from deniable.collector.stores.store import Outcome, Total
from deniable.presentation import SHEET

_EVER = 1 << 40
_ID = pattern("[0-9a-f]{32}")
_MOST_CANDIDATES = 1 << 20


class Wanted(msgspec.Struct, forbid_unknown_fields=True, rename={"first": "from", "last": "to"}):
    """What estimates are asked for; the same names as in the query."""

    first: str | None = None
    last: str | None = None
    compare_from: str | None = None
    compare_to: str | None = None
    candidates: list[str] | None = None
    format: str = "json"


async def estimates(call: Call) -> Response:
    """Estimate from a range of days."""
    named = call.request.query_params.getlist("candidate")
    names = ("from", "to", "compare_from", "compare_to", "format")
    rest = [(k, v) for k, v in call.request.query_params.multi_items() if k != "candidate"]
    if len({name for name, _ in rest}) != len(rest) or not {name for name, _ in rest} <= {*names}:
        raise InvalidRequest(f"expected the parameters candidate, {', '.join(names)}, each once")
    wanted = msgspec.convert({**dict(rest), "candidates": named or None}, Wanted)
    return await _estimates(call, wanted)


async def estimates_of(call: Call) -> Response:
    """Estimate from a range of days for candidates that are too many for an address."""
    call.query()
    try:
        wanted = msgspec.json.decode(
            await call.body(call.parts.settings.question_limit), type=Wanted
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
    days = _range(wanted.first, wanted.last)
    candidates = None if wanted.candidates is None else tuple(wanted.candidates)
    if known.question.labels is None and not candidates:
        raise InvalidRequest("expected candidates, since the question is open; name them")
    if wanted.compare_from is not None or wanted.compare_to is not None:
        other = _range(wanted.compare_from, wanted.compare_to)
        if other.first <= days.last and days.first <= other.last:
            raise InvalidRequest("expected two ranges of days that do not overlap")
        result = await call.parts.publisher.compare(known, (days, other), candidates, wanted.format)
    else:
        result = await call.parts.publisher.estimate(known, days, candidates, wanted.format)
    headers = {"content-type": FORMATS[wanted.format], "cache-control": "no-store"}
    return Response(result, headers=headers)


async def sheet(call: Call) -> Response:
    """Return the style sheet of estimates as HTML."""
    call.query()
    headers = {"content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600"}
    return Response(SHEET, headers=headers)


async def tally(call: Call) -> Response:
    """Return the tally of a range of days, as it is published."""
    query = call.query("from", "to")
    known = await call.known()
    found = await call.parts.publisher.total(known, _range(query.get("from"), query.get("to")))
    headers = {"content-type": "application/octet-stream", "cache-control": "no-store"}
    return Response(found.tally, headers=headers)


async def upload(call: Call) -> Response:
    """Add a tally that was collected elsewhere, once for each id."""
    query = call.query("day")
    known, id = await call.known(), call.request.path_params["id"]
    if not _ID.fullmatch(id):
        raise InvalidRequest("expected an id of 32 hexadecimal digits, lower case")
    day = read_day(query.get("day", ""))
    body = await call.body(call.parts.settings.tally_limit)
    data, n = await call.parts.child.run(mathematics.check_upload, known.asked.document, body)
    total = Total(day, f"upload:{id}", n, data)
    digest, mark = known.asked.digest, sha256(data).digest()
    outcome = await call.parts.writer.run(lambda store: store.upload(digest, total, mark))
    if outcome is Outcome.CONFLICT:
        raise Conflict("expected the tally that came with this id before, got another")
    if outcome is Outcome.UNKNOWN:
        raise UnknownQuestion("expected a question that is asked here, got one that is deleted")
    return answer({"source": total.source, "reports": n}, 201 if outcome is Outcome.STORED else 200)


async def sources(call: Call) -> Response:
    """List who contributed to a question."""
    call.query()
    digest = (await call.known()).asked.digest
    found = await call.parts.readers.run(lambda store: store.sources(digest))
    return answer({"sources": found})


class Exclusion(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a source is left out."""

    excluded: bool


async def exclude(call: Call) -> Response:
    """Leave a source out of every count, or take it in again."""
    call.query()
    digest, source = (await call.known()).asked.digest, call.request.path_params["source"]
    try:
        wanted = msgspec.json.decode(await call.body(1 << 12), type=Exclusion)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f'expected {{"excluded": true}} or false, got: {error}') from error
    if not await call.parts.writer.run(
        lambda store: store.exclude(digest, source, wanted.excluded)
    ):
        raise NotFound("expected a source that contributed to the question, got none such")
    return await sources(call)


def _range(first: str | None, last: str | None) -> Range:
    days = Range(
        0 if first is None else read_day(first, "from"),
        _EVER if last is None else read_day(last, "to"),
    )
    if days.first > days.last:
        raise InvalidRequest("expected a range of days that begins before it ends")
    return days
