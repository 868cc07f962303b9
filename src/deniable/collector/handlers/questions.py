"""Questions over HTTP: create, list, read, change, delete; by programs and by forms of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from starlette.responses import RedirectResponse, Response

from deniable.collector.problems import InvalidRequest, Mistake, UnknownQuestion
from deniable.collector.questions import Change, read_name, read_terms
from deniable.collector.requests import Call, Pieces, answer, lines, read_day
from deniable.collector.stores.records import Asked, Slice, State
from deniable.presentation.text import one_line

if TYPE_CHECKING:
    from starlette.requests import Request

NAME_WIDTH = 120
"""How much of the name of a question a page shows."""
_FOREVER = "public, max-age=31536000, immutable"


async def create(call: Call) -> Response:
    """Store a question; one that is there already stays as it is."""
    call.query()
    document = await call.body(call.services.settings.question_limit)
    found, new = await call.services.questions.ask(document)
    response = answer({"digest": found.digest, "name": found.name}, 201 if new else 200)
    response.headers["location"] = f"/v1/questions/{found.digest}"
    return response


async def index(call: Call) -> Response:
    call.query()
    return answer({"questions": await call.services.questions.listed()})


async def read(call: Call) -> Response:
    call.query()
    known = await call.known()
    encoded, zipped = await call.services.questions.encoded(known), _takes_gzip(call.request)
    tag = f'"{known.asked.digest}{"-gzip" if zipped else ""}"'
    headers = {"etag": tag, "cache-control": _FOREVER, "vary": "accept-encoding"}
    if _has(call.request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    headers["content-type"] = "application/json"
    if zipped:
        headers["content-encoding"] = "gzip"
    return Pieces(encoded.zipped if zipped else encoded.plain, headers=headers)


def _takes_gzip(request: Request) -> bool:
    for choice in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = choice.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _has(condition: str, tag: str) -> bool:
    return any(found.strip().removeprefix("W/") in (tag, "*") for found in condition.split(","))


async def status(call: Call) -> Response:
    call.query()
    digest = (await call.known()).asked.digest

    asked, found = await call.services.readers.run(
        lambda store: (store.asked(digest), store.standing(Slice(digest)))
    )
    if asked is None:
        raise UnknownQuestion("this question was deleted")
    return answer(_status(asked, found.n))


async def change(call: Call) -> Response:
    call.query()
    digest = (await call.known()).asked.digest
    wanted = await call.json(Change, 1 << 16)
    await call.services.questions.change(digest, wanted)
    return await status(call)


async def delete(call: Call) -> Response:
    query, known = call.query("name"), await call.known()
    if query.get("name") != known.question.name:
        raise InvalidRequest(
            "nothing was deleted: deleting cannot be undone, so add ?name= and the question's name"
        )
    await call.services.questions.delete(known.asked.digest)
    return Response(status_code=204)


def _status(asked: Asked, n: int) -> dict[str, object]:
    terms = read_terms(asked.terms)
    return {
        "digest": asked.digest,
        "name": read_name(asked.document),
        "state": asked.state.value,
        "reports": n,
        **msgspec.structs.asdict(terms),
    }


async def change_by_form(call: Call) -> Response:
    known, fields = await call.known(), await call.form()
    services, digest, action = call.services, known.asked.digest, fields.get("action")
    call.noted.append(f"{action} {fields.get('source', '')}"[:200].rstrip())
    if action in (State.OPEN.value, State.CLOSED.value):
        state: Literal["open", "closed"] = "open" if action == "open" else "closed"
        await services.questions.change(digest, Change(state=state))
    elif action == "settings":
        await services.questions.change(digest, _settings(fields))
    elif action == "delete":
        # People copy the name as the page shows it.
        if fields.get("name", "").strip() != one_line(known.question.name, NAME_WIDTH):
            raise Mistake("Nothing was deleted: type the name of the question exactly as it is.")
        await services.questions.delete(digest)
        return RedirectResponse("/", 303)
    elif action in ("exclude", "include"):
        source, excluded = fields.get("source", ""), action == "exclude"
        day = read_day(fields["day"]) if fields.get("day") else None
        await services.writer.run(lambda store: store.exclude(digest, source, excluded, day=day))
    else:
        raise Mistake("This form has no such button: go back and load the page again.")
    return RedirectResponse(f"/questions/{digest}", 303)


def _settings(fields: dict[str, str]) -> Change:
    minimum = fields.get("minimum", "").strip()
    if minimum and not (minimum.isascii() and minimum.isdigit() and len(minimum) < 16):
        raise Mistake(f"Enter the number of reports as a whole number, not as {minimum[:40]!r}.")
    return Change(
        origins=lines(fields.get("origins", "")),
        minimum=int(minimum) if minimum else None,
        public_results="public_results" in fields,
        collect="collect" in fields,
    )
