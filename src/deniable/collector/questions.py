"""The questions as the collector remembers them: for speed and courtesy, never for decisions.

Whether a question is open is decided in the transaction that stores a submission. What is kept here
is what never changes (the document) and what may lag by a moment (the terms).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import monotonic

import msgspec

from deniable.collector.problems import InvalidRequest, UnknownQuestion
from deniable.collector.readers import Readers
from deniable.collector.stores.store import Asked
from deniable.question import Question

_FRESH = 2.0
"""For how many seconds terms are taken from memory."""
_MOST = 256


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may change about a question: who may ask it, and when its estimates are shown."""

    origins: tuple[str, ...] = ("*",)
    minimum: int | None = None

    def allows(self, origin: str) -> bool:
        """Tell whether pages of an origin may submit: a courtesy, not protection."""
        return "*" in self.origins or origin in self.origins

    def checked(self) -> Terms:
        """Return the terms if they make sense."""
        if self.minimum is not None and not 1 <= self.minimum < 1 << 53:
            raise InvalidRequest(
                f"expected a minimum of at least 1, got {self.minimum}", value=self.minimum
            )
        for origin in self.origins:
            if origin != "*" and ("://" not in origin or origin.endswith("/") or len(origin) > 255):
                raise InvalidRequest(
                    f"expected origins such as https://example.org, got {origin[:80]!r}",
                    value=origin[:80],
                )
        return self


@dataclass(frozen=True)
class Known:
    """A question, its terms, and when it was looked up."""

    asked: Asked
    question: Question
    terms: Terms
    at: float

    @cached_property
    def report_size(self) -> int:
        """The length of one report in bytes."""
        return self.question.protocol.report_dtype.itemsize


def read_terms(text: str) -> Terms:
    """Read the terms of a question as they are stored."""
    return msgspec.json.decode(text, type=Terms)


def write_terms(terms: Terms) -> str:
    """Return terms as they are stored."""
    return msgspec.json.encode(terms).decode()


class Questions:
    """Questions by digest."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._known: dict[str, Known] = {}

    def fresh(self, digest: str, now: float) -> Known | None:
        """Return a question that was looked up a moment ago."""
        known = self._known.get(digest)
        return known if known is not None and now - known.at < _FRESH else None

    async def find(self, digest: str) -> Known:
        """Return a question, looking it up unless that was done a moment ago."""
        now = monotonic()
        if known := self.fresh(digest, now):
            return known
        if len(digest) != 64 or not digest.isascii():
            raise UnknownQuestion("expected a digest of 64 hexadecimal digits; check the address")
        asked = await self._readers.run(lambda store: store.asked(digest))
        if asked is None:
            self._known.pop(digest, None)
            raise UnknownQuestion(f"expected a question that is asked here, got {digest}")
        before = self._known.pop(digest, None)
        question = before.question if before else Question.from_json(asked.document)
        known = Known(asked, question, read_terms(asked.terms), now)
        while len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)))
        self._known[digest] = known
        return known

    def forget(self, digest: str) -> None:
        """Look a question up again next time."""
        self._known.pop(digest, None)
