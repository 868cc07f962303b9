"""Questions over HTTP: create, list, read, change, delete."""

from __future__ import annotations

from typing import Literal

import msgspec
from starlette.responses import Response

from deniable.collector import mathematics
from deniable.collector.operations import Call, answer
from deniable.collector.problems import Conflict, InvalidRequest, TooLarge, UnknownQuestion
from deniable.collector.questions import Terms, read_name, read_terms, write_terms
from deniable.collector.stores.store import Asked, State

_FOREVER = "public, max-age=31536000, immutable"
_EVER = 1 << 40
"""A day after all days."""


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """What may be changed about a question; what is left out stays."""

    state: Literal["open", "closed"] | None = None
    origins: tuple[str, ...] | None = None
    minimum: int | None = None
    public_results: bool | None = None
    collect: bool | None = None

    def apply(self, terms: Terms) -> Terms:
        """Return terms in which what is stated replaces what was."""
        stated = {
            name: value
            for name in Terms.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        return msgspec.structs.replace(terms, **stated).checked()


async def create(call: Call) -> Response:
    """Store a question; one that is there already stays as it is."""
    settings = call.parts.settings
    call.query()
    document = await call.body(settings.question_limit)
    found = await call.parts.child.run(mathematics.read_question, document)
    _check_size("reports", found.report_size, settings.report_limit)
    _check_size("tallies", found.tally_size, settings.tally_limit)
    asked = Asked(found.digest, found.document, State.OPEN, write_terms(Terms()))
    new = await call.parts.writer.run(lambda store: store.ask(asked))
    if not new and await call.parts.readers.run(lambda store: store.asked(asked.digest)) is None:
        raise Conflict("expected a new question, got one that is being deleted; try again later")
    call.parts.questions.forget(found.digest)
    response = answer({"digest": found.digest, "name": found.name}, 201 if new else 200)
    response.headers["location"] = f"/v1/questions/{found.digest}"
    return response


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(
            f"expected {what} of at most {limit} bytes, got {size}; take another protocol, or "
            "raise the collector's limit",
            limit=limit,
        )


async def index(call: Call) -> Response:
    """List the questions that are asked: what anybody may read anyway, and no counts."""
    call.query()
    return answer({"questions": await call.parts.questions.listed()})


async def read(call: Call) -> Response:
    """Return the document of a question, which never changes."""
    call.query()
    known = await call.known()
    tag = f'"{known.asked.digest}"'
    headers = {"etag": tag, "cache-control": _FOREVER, "content-type": "application/json"}
    if call.request.headers.get("if-none-match") in (tag, "*"):
        return Response(status_code=304, headers=headers)
    return Response(known.asked.document, headers=headers)


async def status(call: Call) -> Response:
    """Return the state and the settings of a question."""
    call.query()
    digest = (await call.known()).asked.digest

    asked, (n, _) = await call.parts.readers.run(
        lambda store: (store.asked(digest), store.standing(digest, 0, _EVER))
    )
    if asked is None:
        raise UnknownQuestion("expected a question that is asked here, got one that is deleted")
    return answer(_status(asked, n))


async def change(call: Call) -> Response:
    """Open or close a question, or change its settings."""
    call.query()
    digest = (await call.known()).asked.digest
    try:
        wanted = msgspec.json.decode(await call.body(1 << 16), type=Change)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"expected a JSON object with state, {', '.join(Terms.__struct_fields__)}, got: {error}"
        ) from error
    asked = await call.parts.readers.run(lambda store: store.asked(digest))
    terms = wanted.apply(read_terms(asked.terms) if asked else Terms())
    state = State(wanted.state) if wanted.state else None
    found = await call.parts.writer.run(
        lambda store: store.change(digest, state=state, terms=write_terms(terms))
    )
    call.parts.questions.forget(digest)
    if not found:
        raise UnknownQuestion("expected a question that is asked here, got one that is deleted")
    return await status(call)


async def delete(call: Call) -> Response:
    """Delete a question with all its data; rows vanish within the next minutes."""
    call.query()
    digest = (await call.known()).asked.digest
    await call.parts.writer.run(lambda store: store.change(digest, state=State.DELETED))
    call.parts.questions.forget(digest)
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
