"""The questions of a collector: asked, changed and deleted, and remembered for speed and courtesy.

Whether a question is open is decided in the transaction that stores a submission. What is kept here
is what never changes (the document) and what may lag by a moment (the terms).
"""

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from gzip import compress
from time import monotonic
from typing import Annotated, Generic, Literal, NamedTuple, TypeVar

import msgspec

from deniable.collector import jobs, log, problems
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores import Store, records
from deniable.collector.worker import Readers, Worker, Writer
from deniable.errors import DeniableError
from deniable.protocols.discovery import Discovery
from deniable.question import Question

_FRESH = 2.0
"""For how many seconds terms are taken from memory."""
_MOST = 256
_MOST_ENTRIES = 50
Named = TypeVar("Named")
Value = TypeVar("Value")
Minimum = Annotated[int, msgspec.Meta(ge=1, lt=1 << 53)]
Origin = Annotated[str, msgspec.Meta(pattern=r"^(\*|.*://.*[^/])$", max_length=255)]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody changed about a question, and on which day."""

    day: str
    who: str
    what: str


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may change about a question: who may ask it, when and to whom its estimates are shown.

    ``public_results`` shows estimates to everybody, and ``collect`` lets the page on which anybody
    can try the question send the report, if the person wants it to. ``expected`` names sources
    whose difference from the others is no alarm, ``history`` what was changed, and ``truth`` has
    the shares that only a demonstration knows.
    """

    origins: tuple[Origin, ...] = ("*",)
    minimum: Minimum | None = None
    public_results: bool = False
    collect: bool = False
    expected: tuple[str, ...] = ()
    history: tuple[Entry, ...] = ()
    truth: tuple[tuple[int, tuple[tuple[str, float], ...]], ...] = ()

    def allows(self, origin: str, own: str) -> bool:
        """Tell whether pages of an origin may submit: a courtesy, not protection.

        The collector's own page may where the question is set to collect there.
        """
        listed = "*" in self.origins or origin in self.origins
        return listed or (self.collect and origin == own)


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """What may be changed about a question; what is left out stays."""

    state: Literal["open", "closed"] | None = None
    origins: tuple[Origin, ...] | None = None
    minimum: Minimum | msgspec.UnsetType | None = msgspec.UNSET
    """None goes back to the collector's own setting."""
    public_results: bool | None = None
    collect: bool | None = None
    expected: tuple[str, ...] | None = None

    def apply(self, terms: Terms) -> Terms:
        """Return terms with the stated fields replaced."""
        stated = {
            name: value
            for name, value in msgspec.to_builtins(self).items()
            if name in Terms.__struct_fields__ and (value is not None or name == "minimum")
        }
        try:
            return msgspec.convert({**msgspec.to_builtins(terms), **stated}, Terms)
        except msgspec.ValidationError as error:
            raise problems.InvalidRequest(
                f"origins are such as https://example.org, and the minimum at least 1: {error}",
                page="Enter sites such as https://example.org, and at least 1 report.",
            ) from error


@dataclass(frozen=True)
class Known:
    """A question, its terms, and when it was looked up."""

    asked: records.Asked
    question: Question
    terms: Terms
    at: float
    is_open: bool = False
    """Whether the answers to count are named only when they are estimated."""

    full: bool = False
    """Whether its tallies take as much room as they may."""

    @property
    def discovers(self) -> bool:
        """Whether a search finds the answers, so that nobody has to name them."""
        return isinstance(self.question.protocol, Discovery)

    @cached_property
    def report_size(self) -> int:
        """How many bytes a report has, that of its segment included."""
        question = self.question
        return question.segments.width + question.protocol.report_dtype.itemsize


class Encoded(NamedTuple):
    """The document of a question as it is sent, and the same for clients that read gzip."""

    plain: bytes
    zipped: bytes


class _Named(msgspec.Struct):
    name: str


def read_name(document: str) -> str:
    return msgspec.json.decode(document, type=_Named).name


def read_terms(text: str) -> Terms:
    return msgspec.json.decode(text, type=Terms)


def write_terms(terms: Terms) -> str:
    return msgspec.json.encode(terms).decode()


def opened(question: Question, terms: Terms) -> records.Asked:
    """Return a question as a store takes it, to be asked from now on."""
    return records.Asked(
        question.digest, question.to_json(), records.State.OPEN, write_terms(terms)
    )


class Recent(Generic[Named, Value]):
    """The values used last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._kept: dict[Named, tuple[Value, int]] = {}

    def get(self, key: Named) -> Value | None:
        if key not in self._kept:
            return None
        self._kept[key] = self._kept.pop(key)
        return self._kept[key][0]

    def put(self, key: Named, value: Value, size: int) -> None:
        _, before = self._kept.pop(key, (None, 0))
        self._kept[key] = value, size
        self._size += size - before
        while self._size > self._most and len(self._kept) > 1:
            _, gone = self._kept.pop(next(iter(self._kept)))
            self._size -= gone


class Questions:
    """Questions by digest."""

    def __init__(
        self, settings: Settings, readers: Readers, writer: Writer, worker: Worker
    ) -> None:
        self._settings, self._readers = settings, readers
        self._writer, self._worker = writer, worker
        self._known: dict[str, Known] = {}
        self._searches: dict[str, asyncio.Task[Known | None]] = {}
        self._listed: tuple[float, list[dict[str, str]]] = -_FRESH, []
        self._encoded: Recent[str, Encoded] = Recent(32 * MIB)
        self._turn = asyncio.Lock()  # so that many who ask for the same document do not all zip it

    async def listed(self) -> list[dict[str, str]]:
        """Return digest, name and state of all questions, as they were a moment ago."""
        at, found = self._listed
        if monotonic() - at >= _FRESH:
            every = await self._readers.run(lambda store: store.all_asked())
            found = [
                {"digest": each.digest, "name": read_name(each.document), "state": each.state.value}
                for each in every
            ]
            self._listed = monotonic(), found
        return found

    def fresh(self, digest: str, now: float) -> Known | None:
        known = self._known.get(digest)
        return known if known is not None and now - known.at < _FRESH else None

    async def find(self, digest: str) -> Known:
        """Return a question, looking it up unless that was done a moment ago."""
        now = monotonic()
        if known := self.fresh(digest, now):
            return known
        if len(digest) != 64 or not digest.isascii():
            raise problems.UnknownQuestion("a digest has 64 hexadecimal digits; check the address")
        search = self._searches.get(digest)
        if search is None:
            search = self._searches[digest] = asyncio.create_task(self._search(digest, now))
            search.add_done_callback(lambda found: found.cancelled() or found.exception())
        known = await asyncio.shield(search)
        if known is None:
            raise problems.UnknownQuestion(f"no question here has the digest {digest}")
        return known

    async def _search(self, digest: str, now: float) -> Known | None:
        """Look a question up, once for all who ask for it meanwhile."""
        before = self._known.get(digest)
        current = False
        try:
            known = await self._readers.run(lambda store: _look_up(store, digest, before, now))
            if known is not None and known.discovers:
                taken = await self._readers.run(lambda store: store.tally_bytes(digest))
                known = replace(known, full=taken > self._settings.discovery_limit)
        finally:
            if self._searches.get(digest) is asyncio.current_task():
                del self._searches[digest]
                current = True
        if current:  # else it was changed meanwhile, and is looked up again
            self._known.pop(digest, None)
            if known is not None:
                while len(self._known) >= _MOST:
                    self._known.pop(next(iter(self._known)))
                self._known[digest] = known
        return known

    async def encoded(self, known: Known) -> "Encoded":
        """Return the document of a question as bytes, the same ones for all who ask."""
        digest = known.asked.digest
        if found := self._encoded.get(digest):
            return found
        async with self._turn:
            found = self._encoded.get(digest)
            if found is None:
                plain = known.asked.document.encode()
                found = Encoded(plain, await asyncio.to_thread(compress, plain, 6, mtime=0))
                self._encoded.put(digest, found, len(found.plain) + len(found.zipped))
        return found

    async def ask(self, document: bytes) -> tuple[jobs.Reading, bool]:
        """Store a question and tell whether it is new; one that is there already stays as it is."""
        found = await self._worker.run(jobs.read_question, document)
        _check_size("reports", found.report_size, self._settings.report_limit)
        _check_size("tallies", found.tally_size, self._settings.tally_limit)
        asked = records.Asked(
            found.digest, found.document, records.State.OPEN, write_terms(Terms())
        )
        new = await self._writer.run(lambda store: store.ask(asked))
        if not new and await self._readers.run(lambda store: store.asked(asked.digest)) is None:
            said = "The same question is being deleted: wait a minute, and create it again."
            raise problems.Conflict("this question is being deleted; try again later", page=said)
        self.forget(found.digest)
        return found, new

    async def change(self, digest: str, wanted: Change, *, entry: Entry | None = None) -> None:
        """Change a question, and note what was changed and by whom if that is said."""
        asked = await self._readers.run(lambda store: store.asked(digest))
        terms = wanted.apply(read_terms(asked.terms) if asked else Terms())
        if entry is not None:
            history = (*terms.history, entry)[-_MOST_ENTRIES:]
            terms = msgspec.structs.replace(terms, history=history)
        state = records.State(wanted.state) if wanted.state else None
        found = await self._writer.run(
            lambda store: store.change(digest, state=state, terms=write_terms(terms))
        )
        self.forget(digest)
        if not found:
            raise problems.UnknownQuestion("this question was deleted")

    async def delete(self, digest: str) -> None:
        await self._writer.run(lambda store: store.change(digest, state=records.State.DELETED))
        self.forget(digest)

    def forget(self, digest: str) -> None:
        self._known.pop(digest, None)
        self._searches.pop(digest, None)
        self._listed = -_FRESH, []


def _look_up(store: Store, digest: str, before: Known | None, now: float) -> Known | None:
    asked = store.asked(digest)
    if asked is None:
        return None
    if before is not None:
        return replace(before, asked=asked, terms=read_terms(asked.terms), at=now)
    try:
        found = Question.from_json(asked.document)
    except DeniableError as error:
        _log_unreadable(digest, str(error))
        # Nothing that a client sent is at fault, so its report waits for a mended collector.
        raise problems.NotReady("this collector cannot read the question") from error
    return Known(asked, found, read_terms(asked.terms), now, found.labels is None)


@lru_cache(maxsize=256)
def _log_unreadable(digest: str, said: str) -> None:
    """Log once that a stored question cannot be read, however often it is asked for."""
    log.error("the question %s cannot be read: %s", digest, said)


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise problems.TooLarge(
            f"expected {what} of at most {limit} bytes, got {size}; take another protocol, or "
            "raise the collector's limit",
            limit=limit,
        )
