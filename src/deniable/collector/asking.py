"""Asking, changing and deleting questions: the same for programs and for people."""

from __future__ import annotations

from typing import Literal

import msgspec

from deniable.collector import mathematics
from deniable.collector.parts import Parts
from deniable.collector.problems import Conflict, InvalidRequest, TooLarge, UnknownQuestion
from deniable.collector.questions import Known, Terms, read_terms, write_terms
from deniable.collector.stores.records import Asked, State


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """What may be changed about a question; what is left out stays."""

    state: Literal["open", "closed"] | None = None
    origins: tuple[str, ...] | None = None
    minimum: int | msgspec.UnsetType | None = msgspec.UNSET
    """None goes back to the collector's own setting."""
    public_results: bool | None = None
    collect: bool | None = None

    def apply(self, terms: Terms) -> Terms:
        """Return terms in which what is stated replaces what was."""
        names = ("origins", "public_results", "collect")
        stated = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.minimum is not msgspec.UNSET:
            stated["minimum"] = self.minimum
        return msgspec.structs.replace(terms, **stated).checked()


async def ask(parts: Parts, document: bytes) -> tuple[mathematics.Reading, bool]:
    """Store a question and tell whether it is new; one that is there already stays as it is."""
    settings = parts.settings
    found = await parts.child.run(mathematics.read_question, document)
    _check_size("reports", found.report_size, settings.report_limit)
    _check_size("tallies", found.tally_size, settings.tally_limit)
    asked = Asked(found.digest, found.document, State.OPEN, write_terms(Terms()))
    new = await parts.writer.run(lambda store: store.ask(asked))
    if not new and await parts.readers.run(lambda store: store.asked(asked.digest)) is None:
        raise Conflict("expected a new question, got one that is being deleted; try again later")
    parts.questions.forget(found.digest)
    return found, new


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(
            f"expected {what} of at most {limit} bytes, got {size}; take another protocol, or "
            "raise the collector's limit",
            limit=limit,
        )


async def change(parts: Parts, digest: str, wanted: Change) -> None:
    """Open or close a question, or change its settings."""
    asked = await parts.readers.run(lambda store: store.asked(digest))
    terms = wanted.apply(read_terms(asked.terms) if asked else Terms())
    state = State(wanted.state) if wanted.state else None
    found = await parts.writer.run(
        lambda store: store.change(digest, state=state, terms=write_terms(terms))
    )
    parts.questions.forget(digest)
    if not found:
        raise UnknownQuestion("expected a question that is asked here, got one that is deleted")


def confirm(known: Known, name: str | None, where: str) -> None:
    """Refuse to delete a question that is not named."""
    if name != known.question.name:
        raise InvalidRequest(
            f"expected the name of the question in {where}, since deleting cannot be undone; "
            "nothing was deleted"
        )


async def delete(parts: Parts, digest: str) -> None:
    """Delete a question with all its data; rows vanish within the next minutes."""
    await parts.writer.run(lambda store: store.change(digest, state=State.DELETED))
    parts.questions.forget(digest)
