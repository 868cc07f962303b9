"""What an audit needs of a protocol, in one place: calls in, bytes of reports out.

A protocol that announces its random words and takes its randomness from ``rng`` can be *replayed*:
then a report is a function of the value and the words. From any other one reports are only drawn.
Everything else in this package speaks to a ``Probe`` and never to the protocol.
"""

import copy
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, runtime_checkable

import numpy as np

from deniable.candidates import FINGERPRINTS
from deniable.errors import InvalidParameter
from deniable.progress import tell
from deniable.randomness import WORD, Replayed

Bytes = np.typing.NDArray[np.uint8]
Words = np.typing.NDArray[np.uint64]
Values = np.typing.NDArray[np.uint64]

_SPARE = bytes(8 * 64)
_MOST_WORDS = 1 << 22


@runtime_checkable
class Privatizer(Protocol):
    """Anything that turns values into reports and claims an epsilon for them.

    If it also says which random words a report takes, it can be replayed. Without a ``domain_size``
    any 64-bit fingerprint is a value.
    """

    @property
    def epsilon(self) -> float:
        """The claimed privacy loss of one report."""

    @property
    def privatize(self) -> Callable[..., np.typing.NDArray[np.generic]]:
        """Turns each value into a report, from ``rng`` if it takes one."""


class Broken(Exception):
    """The protocol does not do what it should; the message says what it does."""


class NotEnumerable(Exception):
    """The protocol's output law cannot be enumerated; the message says why."""


class Probe:
    """A protocol as a function to the bytes of reports: replayed, drawn, or of a fresh copy.

    ``calls`` is the number of single calls of each value that an audit makes if it can.
    """

    def __init__(
        self, protocol: Privatizer, generator: "np.random.Generator", calls: int = 1
    ) -> None:
        self.protocol = protocol
        self.generator = generator
        self.calls = calls
        self._done = 0.0
        size = getattr(protocol, "value_count", getattr(protocol, "domain_size", None))
        # Numbers of values have 64 bits; of more rows than that only the first are looked at.
        self.domain_size: int = FINGERPRINTS if size is None else min(int(size), FINGERPRINTS)
        rows = getattr(getattr(protocol, "value_dtype", None), "shape", ())
        self._numbered = getattr(protocol, "numbered", None) if rows else None
        self._takes_source = _takes_source(protocol)
        words = getattr(protocol, "words", None)
        count = getattr(words, "count", 0)
        self.count: int = count if isinstance(count, int) and count > 0 else 0
        self.replayable = self.count > 0 and self._takes_source
        limits, public = dict(getattr(words, "limits", {})), tuple(getattr(words, "public", ()))
        self.limits = [limits.get(j, WORD) for j in range(self.count)]
        self.fresh = _copier(protocol)
        self.broken: str | None = None
        self.shown = self._find_shown(public) if self.replayable else {}
        self.public = tuple(self.shown)
        self.hidden = [j for j in range(self.count) if j not in self.public]

    def advance(self, share: float) -> None:
        """Tell a listener that another share of the audit is done; the whole audit is 1."""
        self._done = min(1.0, self._done + share)
        tell(round(100 * self._done), 100)

    def random_words(self, rows: int, like: Words | None = None) -> Words:
        """Return rows of words, each uniform below its limit; the public ones may be given."""
        words = self.generator.integers(0, WORD, (rows, self.count), dtype=np.uint64)
        for j, limit in enumerate(self.limits):
            if limit < WORD:
                words[:, j] = self.generator.integers(0, limit, rows, dtype=np.uint64)
        if like is not None:
            shown = list(self.public)
            words[:, shown] = like[shown]
        return words

    def run(self, values: Values, words: Words) -> Bytes:
        """Return the bytes of the reports that one batch call makes of the words."""
        data = np.ascontiguousarray(words, dtype="<u8").tobytes()
        return _report_rows(self._replay(self.protocol, values, data), len(values))

    def run_many(self, values: Values, words: Words) -> Bytes:
        """Return the reports of many values, in batches that fit into memory."""
        part = max(1, _MOST_WORDS // self.count)
        if len(words) <= part:
            return self.run(values, words)
        starts = range(0, len(words), part)
        return np.concatenate([self.run(values[i : i + part], words[i : i + part]) for i in starts])

    def run_one(self, value: int, words: Words) -> Bytes:
        """Return the reports of one value, one of each row of words."""
        return self.run_many(np.full(len(words), value, dtype=np.uint64), words)

    def single(self, value: int, data: bytes, protocol: Privatizer | None = None) -> bytes:
        """Return the report of the call that clients make, from the bytes of its words."""
        return np.asarray(self._replay(protocol or self.protocol, [value], data)).tobytes()

    def _replay(self, protocol: Privatizer, values: Values | list[int], data: bytes) -> object:
        """Return what one call makes of the bytes; it has to take all of them."""
        source = Replayed(data + _SPARE)
        reports = protocol.privatize(self._values(values), rng=source)
        if source.position != len(data):
            raise Broken(
                f"it announces {self.count} random words for each report, and took "
                f"{source.position / 8:g} for {len(values)}"
            )
        return reports

    def draw(
        self,
        values: Values | list[int],
        rng: "np.random.Generator | None",
        protocol: Privatizer | None = None,
    ) -> Bytes:
        """Return the bytes of reports with the protocol's own randomness, or from ``rng``."""
        privatize = (protocol or self.protocol).privatize
        # Clients leave rng out.
        given = {} if rng is None or not self._takes_source else {"rng": rng}
        return _report_rows(privatize(self._values(values), **given), len(values))

    def _values(self, numbers: Values | list[int]) -> Values | list[int]:
        """Return the values with these numbers: the numbers themselves, or rows of integers."""
        if self._numbered is None:
            return numbers
        found: Values = self._numbered(np.asarray(numbers, dtype=np.uint64))
        return found.tolist() if isinstance(numbers, list) else found

    def supports(self, rows: Bytes, value: int) -> np.typing.NDArray[np.bool_] | None:
        """Tell which reports support ``value``, where the protocol knows it."""
        supports, dtype = (getattr(self.protocol, n, None) for n in ("supports", "report_dtype"))
        if supports is None or dtype is None:
            return None
        reports = np.frombuffer(np.ascontiguousarray(rows).tobytes(), dtype=dtype)
        if self._numbered is not None:  # of a row, its first integer
            value = int(self._numbered(np.array([value], dtype=np.uint64))[0, 0])
        return np.asarray(supports(reports, value), dtype=np.bool_)

    @property
    def floating(self) -> np.dtype[np.floating] | None:
        """The type of the numbers in a report, if they are floating-point numbers."""
        dtype = getattr(self.protocol, "report_dtype", None)
        if dtype is None:
            dtype = np.asarray(self.protocol.privatize([0])).dtype
        base = np.dtype(dtype).base
        return base if base.kind == "f" else None

    def _find_shown(self, public: tuple[int, ...]) -> dict[int, int]:
        """Return where reports show the words that are announced as public."""
        try:
            self.run_one(0, self.random_words(2))
            places = {j: self._shown_at(j) for j in public}
        except Broken as reason:
            self.broken, self.replayable = str(reason), False
            return {}
        return {j: place for j, place in places.items() if place is not None}

    def _shown_at(self, position: int) -> int | None:
        """Return the byte at which every report holds the word at ``position`` verbatim."""
        words = self.random_words(64)
        reports = self.run_one(0, words)
        shown = words[:, position].astype("<u8").view(np.uint8).reshape(len(words), 8)
        for start in range(reports.shape[1] - 7):
            if np.array_equal(reports[:, start : start + 8], shown):
                return start
        return None


def _takes_source(protocol: Privatizer) -> bool:
    try:
        parameters = inspect.signature(protocol.privatize).parameters
    except (TypeError, ValueError):
        return False
    return "rng" in parameters


def _report_rows(reports: object, count: int) -> Bytes:
    """Return reports as rows of bytes, or say what is wrong with them."""
    array = np.asarray(reports)
    if array.dtype.hasobject or array.ndim < 1 or len(array) != count:
        raise InvalidParameter(
            f"expected privatize to return an array of {count} reports of fixed size, got "
            f"{array.dtype} of shape {array.shape}; return a NumPy array, one item for each value",
            value=array.shape,
        )
    rows = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.uint8)
    return rows.reshape(count, -1) if count else rows.reshape(0, array.dtype.itemsize)


def _copier(protocol: Privatizer) -> Callable[[], Privatizer] | None:
    """Return how to make copies in the state that the protocol is in now, or None."""

    def copied() -> Privatizer:
        return copy.deepcopy(kept)

    def by_fields() -> Privatizer:
        made: Privatizer = object.__new__(type(protocol))
        vars(made).update(copy.deepcopy(state))
        return made

    with suppress(Exception):  # a foreign class may refuse in any way
        kept = copy.deepcopy(protocol)
        if type(copied()) is type(protocol):
            return copied
    with suppress(Exception):
        state = copy.deepcopy(vars(protocol))
        by_fields()
        return by_fields
    return None
