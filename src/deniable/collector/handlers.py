"""Handlers of questions and their counts: parse a request, call one noun, answer.

There is no SQL and no mathematics here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from re import compile as pattern
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from deniable.collector import alarms, breakdown, folding, housekeeping, jobs, problems, requests
from deniable.collector.questions import Change, Known, read_name, read_terms
from deniable.collector.requests import Call, Pieces, answer
from deniable.collector.stores.records import Outcome, Slice, Total, date_of, write_day
from deniable.presentation.html import SHEET
from deniable.question import Question

_SHOWN = ("origins", "minimum", "public_results", "collect", "expected")
DAYS = "deniable-days"
"""The header of a tally that says on how many days its reports came."""
_FOREVER = "public, max-age=31536000, immutable"
_ID = pattern("[0-9a-f]{32}")
Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]
Count = Annotated[int, Meta(ge=1)]
Round = Annotated[int, Meta(ge=0)]


async def ask_question(call: Call) -> Response:
    """Store a question; one that is there already stays as it is."""
    document = await call.body(call.services.settings.question_limit)
    found, new = await call.services.questions.ask(document)
    response = answer({"digest": found.digest, "name": found.name}, 201 if new else 200)
    response.headers["location"] = f"/v1/questions/{found.digest}"
    return response


async def list_questions(call: Call) -> Response:
    return answer({"questions": await call.services.questions.listed()})


async def read_question(call: Call) -> Response:
    known = await call.known()
    encoded, zipped = (
        await call.services.questions.encoded(known),
        _takes_gzip(call.request.headers.get("accept-encoding", "")),
    )
    tag = f'"{known.asked.digest}{"-gzip" if zipped else ""}"'
    headers = {"etag": tag, "cache-control": _FOREVER, "vary": "accept-encoding"}
    if _has(call.request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    headers["content-type"] = "application/json"
    if zipped:
        headers["content-encoding"] = "gzip"
    return Pieces(encoded.zipped if zipped else encoded.plain, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    for choice in accepted.lower().split(","):
        name, _, weight = choice.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _has(condition: str, tag: str) -> bool:
    return any(found.strip().removeprefix("W/") in (tag, "*") for found in condition.split(","))


async def read_status(call: Call) -> Response:
    known = await call.known()
    digest = known.asked.digest
    asked, found = await call.services.readers.run(
        lambda store: (store.asked(digest), store.standing(Slice(digest)))
    )
    if asked is None:
        raise problems.UnknownQuestion("this question was deleted")
    return answer({
        "digest": digest,
        "name": read_name(asked.document),
        "state": asked.state.value,
        "reports": found.n,
        **_by_segment(known.question, found.segments),
        **_by_round(known.question, found.daily),
        **{name: getattr(read_terms(asked.terms), name) for name in _SHOWN},
    })  # fmt: skip


def _by_segment(question: Question, counts: Mapping[int, int]) -> dict[str, object]:
    """Say how many reports each segment has; nothing where there are none."""
    if not question.segments:
        return {}
    return {"segments": {question.segments.named(cell): n for cell, n in sorted(counts.items())}}


def _by_round(question: Question, daily: Sequence[tuple[int, int]]) -> dict[str, object]:
    """Say how many reports each round has; nothing where there are none."""
    if question.repeat is None:
        return {}
    counts: Counter[int] = Counter()
    for day, n in daily:
        counts[question.repeat.round_of(date_of(day))] += n
    return {"rounds": {str(number): n for number, n in sorted(counts.items())}}


async def change_question(call: Call) -> Response:
    digest = (await call.known()).asked.digest
    wanted = await call.json(Change, 1 << 16)
    await call.services.questions.change(digest, wanted)
    return await read_status(call)


async def delete_question(call: Call) -> Response:
    known = await call.known()
    if call.request.query_params.get("name") != known.question.name:
        raise problems.InvalidRequest(
            "nothing was deleted: deleting cannot be undone, so add ?name= and the question's name"
        )
    await call.services.questions.delete(known.asked.digest)
    return Response(status_code=204)


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
    round: Annotated[
        Round | None, Meta(description="One round of a question that is asked again.")
    ] = None
    compare_round: Annotated[Round | None, Meta(description="A round to compare with.")] = None
    by: Annotated[
        str | None,
        Meta(description="A dimension whose values are estimated; of a trend day or round."),
    ] = None
    pooled: Annotated[Count | None, Meta(description="How many rounds a point sums up.")] = None
    control: Annotated[
        str | None, Meta(description="The value with which all others are compared.")
    ] = None
    primary: Annotated[str | None, Meta(description="The one answer that is compared.")] = None
    looks: Annotated[Count | None, Meta(description="How often results are looked at.")] = None
    segment: Annotated[
        tuple[str, ...] | None, Meta(description="Only people with dimension:value.")
    ] = None
    candidates: Annotated[tuple[str, ...] | None, Meta(description="Answers to estimate.")] = None
    cross: Annotated[
        tuple[str, ...] | None, Meta(description="An attribute of a record; several make a table.")
    ] = None
    above: Annotated[
        float | None, Meta(description="A number; the share of people above it is added.")
    ] = None
    format: Annotated[
        Literal["json", "csv", "html"], Meta(description="The form of the answer.")
    ] = "json"

    def wanted(self, known: Known) -> jobs.Wanted:
        if known.is_open and not self.candidates:
            found = ", or read its discoveries" if known.discovers else ""
            raise problems.InvalidRequest(f"this question takes any text: name candidates{found}")
        given = requests.name_days(msgspec.to_builtins(self), known.question.repeat)
        parts = requests.read_slices(known.asked.digest, given)
        cells = requests.read_cells(known.question, self.segment)
        people = (self.people, self.compare_people)
        asked = jobs.Wanted(parts, people, self.candidates, cells=cells)
        return replace(asked, cross=self.cross or (), above=self.above)

    @property
    def division(self) -> breakdown.Division | None:
        """How results are divided by segments, if they are."""
        if self.by is None:
            if self.control or self.primary or self.looks:
                raise problems.InvalidRequest("name the dimension of the experiment with by=")
            return None
        form = "json" if self.format == "html" else self.format
        return breakdown.Division(self.by, self.control, self.primary, self.looks or 1, form)


REPEATED = {"candidate": "candidates", "segment": "segment", "cross": "cross"}
"""The parameters that may come several times, and the fields that hold all of them."""
PARAMETERS = tuple(name for name in Query.__struct_encode_fields__ if name not in REPEATED.values())


async def estimate(call: Call) -> Response:
    return await _estimates(call, _query(call))


def _query(call: Call) -> Query:
    """Read the parameters: each once but for candidates and segments."""
    given = call.request.query_params
    found = {name: value for name, value in given.items() if name not in REPEATED}
    return _read(found, **{field: given.getlist(name) for name, field in REPEATED.items()})


def _read(found: Mapping[str, str], **lists: Sequence[str]) -> Query:
    try:
        several = {field: found or None for field, found in lists.items()}
        return msgspec.convert({**found, **several}, Query, strict=False)
    except msgspec.ValidationError as error:
        raise problems.InvalidRequest(f"a parameter is wrong: {error}") from error


async def discover(call: Call) -> Response:
    """Search for the frequent texts, or answer what the last search of the same sum found."""
    known, query = await call.known(), _query(call)
    part, cells = call.part(known)
    wanted = jobs.Wanted((part,), candidates=query.candidates, cells=cells)
    found = await call.services.results.discover_soon(known, wanted)
    if found is None:
        raise problems.Searching("the search goes on; ask again in half a minute")
    result = await call.services.worker.run(jobs.render, found, query.format, known.question.name)
    return streamed(result, jobs.FORMATS[query.format])


async def estimate_candidates(call: Call) -> Response:
    return await _estimates(call, await call.json(Query, call.services.settings.question_limit))


async def _estimates(call: Call, query: Query, *, daily: bool = False) -> Response:
    known = await call.known()
    wanted = replace(query.wanted(known), daily=daily)
    if daily:
        wanted = _rounds(wanted, query, known)
    elif (division := query.division) is not None:
        if query.format == "html" or (query.format == "csv" and division.control):
            raise problems.InvalidRequest(
                "results by segment come as json or csv, verdicts only as json"
            )
        known.question.segments.dimension(division.dimension)
        found = await call.services.results.divide(known, wanted, division)
        return streamed(found, jobs.FORMATS[query.format])
    result = await call.services.results.export(known, wanted, query.format)
    return streamed(result, jobs.FORMATS[query.format])


def _rounds(wanted: jobs.Wanted, query: Query, known: Known) -> jobs.Wanted:
    """Return what a trend follows: days, or rounds of a question that has them."""
    repeat = known.question.repeat
    if query.by in (None, "round") and repeat is not None:
        pooled = min(query.pooled or 1, repeat.total_rounds)
        return replace(wanted, rounds=repeat, pooled=pooled)
    if query.by not in (None, "day") or query.pooled:
        raise problems.InvalidRequest("a trend takes by=day or, where there are rounds, by=round")
    return wanted


async def compare(call: Call) -> Response:
    known, given = await call.known(), dict(call.request.query_params)
    if "dimension" in given:
        dimension = known.question.segments.dimension(given["dimension"])
        asked = {"by": dimension.name, "control": given.get("control", dimension.values[0])}
    elif "round" in given and "with" in given:
        asked = {"compare_round": given["with"]}
    else:
        raise problems.InvalidRequest(
            "name the dimension of the arms, or two rounds by round= and with="
        )
    names = ("primary", "looks", "round", "format", *requests.NAMES)
    asked |= {name: given[name] for name in names if name in given}
    return await _estimates(
        call, _read(asked, segment=call.request.query_params.getlist("segment"))
    )


class Export(Pieces):
    """Pieces for few readers, who are known: large ones are faster."""

    piece = 1 << 18


def streamed(result: bytes, kind: str, **more: str) -> Response:
    """Send a result in pieces, as fast as the reader takes them."""
    return Export(result, headers={"content-type": kind, "cache-control": "no-store", **more})


async def follow_trend(call: Call) -> Response:
    query = _query(call)
    if query.format == "html":
        raise problems.InvalidRequest("a trend comes as json or csv")
    return await _estimates(call, query, daily=True)


async def style_sheet(call: Call) -> Response:
    headers = {"content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600"}
    return Response(SHEET, headers=headers)


async def download_tally(call: Call) -> Response:
    known = await call.known()
    found = await call.services.results.total(known, *call.part(known))
    return streamed(found.tally, "application/octet-stream", **{DAYS: str(found.days)})


async def export_question(call: Call) -> Response:
    asked = (await call.known()).asked
    gathered = await call.services.readers.run(lambda store: housekeeping.gather(store, asked))
    packed = await call.services.worker.run(housekeeping.pack, gathered)
    return streamed(packed, housekeeping.MEDIA_TYPE)


def _stated(question: Question, given: Sequence[str]) -> int:
    """Return the cell of an uploaded tally: a value of each dimension, or not stated."""
    segments, cells = question.segments, requests.read_cells(question, given)
    if cells is None:
        return segments.cells if segments else 0
    if len(cells) != 1:
        names = ", ".join(each.name for each in segments)
        raise problems.InvalidRequest(
            f"a tally is of one segment: name a value of each of {names}, or none"
        )
    return cells[0]


async def upload_tally(call: Call) -> Response:
    known, id = await call.known(), call.request.path_params["id"]
    if not _ID.fullmatch(id):
        raise problems.InvalidRequest("an id has 32 hexadecimal digits in lower case")
    query = call.request.query_params
    day = requests.read_day(query.get("day", ""))
    segment = _stated(known.question, query.getlist("segment"))
    body = await call.body(call.services.settings.tally_limit)
    data, n = await call.services.worker.run(folding.check_upload, known.asked.document, body)
    total = Total(day, f"upload:{id}", n, data, segment)
    digest, mark = known.asked.digest, sha256(data).digest()
    outcome = await call.services.writer.run(lambda store: store.upload(digest, total, mark))
    if outcome is Outcome.CONFLICT:
        raise problems.Conflict("another tally came with this id before")
    if outcome is Outcome.UNKNOWN:
        raise problems.UnknownQuestion("this question was deleted")
    return answer({"source": total.source, "reports": n}, 201 if outcome is Outcome.STORED else 200)


async def list_sources(call: Call) -> Response:
    digest = (await call.known()).asked.digest
    found = await call.services.readers.run(lambda store: store.sources(digest))
    shown = [
        {**asdict(source), "excluded_days": [write_day(day) for day in source.excluded_days]}
        for source in found
    ]
    return answer({"sources": shown})


async def list_alarms(call: Call) -> Response:
    """List what stands out, with what is expected, and say if nothing can be told."""
    known = await call.known()
    found = await call.services.alarms.find(known, call.part(known)[0].days)
    why, expected = alarms.unwatched(known), known.terms.expected
    return answer({"unwatched": why, "alarms": [each.document(expected) for each in found]})


class Exclusion(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a source is left out."""

    excluded: bool


async def exclude_source(call: Call) -> Response:
    query = call.request.query_params
    digest, source = (await call.known()).asked.digest, call.request.path_params["source"]
    day = requests.read_day(query["day"]) if "day" in query else None
    wanted = await call.json(Exclusion, 1 << 12)
    call.noted.append(f"excluded: {wanted.excluded}")
    if not await call.services.writer.run(
        lambda store: store.exclude(digest, source, wanted.excluded, day=day)
    ):
        raise problems.NotFound("this question has no such source")
    return await list_sources(call)
