"""What the modules of this package have in common: how an experiment is run, and its result."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from deniable import protocol as protocols
from tools.paper.clicks import Clicks, synthetic_clicks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, object]
"""One line of a result: column name to a number or a text."""

RUNS, QUICK_RUNS = 10, 2
_FEWEST_PEOPLE = 100


class Part(NamedTuple):
    """A piece of an experiment that is computed, and can be kept, by itself.

    The key says all that the outcome depends on but the seed; the outcome is plain JSON data.
    """

    key: str
    compute: Callable[[np.random.Generator], Row]


def _silent(done: float, what: str) -> None:
    """Report progress to nobody."""


def _compute(key: str, compute: Callable[[], Row]) -> Row:
    """Compute a part, keeping it nowhere."""
    del key
    return compute()


@dataclass(frozen=True)
class Context:
    """How an experiment is to be run: its randomness, its size, its data, and who is told.

    ``progress`` is called with the share of the work that is done and what is being done;
    ``keep`` with the key of a part and the function that computes it, which it need not call when
    it still has the outcome. Populations are ``shrink`` times smaller than the paper's.
    """

    seed: int = 0
    quick: bool = False
    progress: Callable[[float, str], None] = _silent
    runs: int | None = None
    shrink: int = 1
    clicks: Clicks | None = None
    keep: Callable[[str, Callable[[], Row]], Row] = _compute

    @property
    def repetitions(self) -> int:
        """How often each simulation is run: by default ten times, as in the paper."""
        return self.runs or (QUICK_RUNS if self.quick else RUNS)

    @cached_property
    def kosarak(self) -> Clicks:
        """The clicks to use as Kosarak; synthetic ones where none were given."""
        return synthetic_clicks(self.shrink) if self.clicks is None else self.clicks

    def people(self, count: int) -> int:
        """Return how many people to simulate where the paper has ``count``."""
        return max(count // self.shrink, min(_FEWEST_PEOPLE, count))

    def rng(self, *key: int | str) -> np.random.Generator:
        """Return the generator of one part of the work, in whatever order the parts are done."""
        return np.random.default_rng([self.seed, *(_entropy(k) for k in key)])

    def outcomes(self, parts: Iterable[Part]) -> list[Row]:
        """Compute parts one after the other, or return those that were kept."""
        listed = list(parts)
        found = []
        for position, part in enumerate(listed):
            self.progress(position / len(listed), part.key)
            found.append(self.keep(part.key, partial(part.compute, self.rng(part.key))))
        self.progress(1.0, "")
        return found


def _entropy(key: int | str) -> int:
    return key if isinstance(key, int) else int.from_bytes(sha256(key.encode()).digest()[:16])


@dataclass(frozen=True)
class Claim:
    """Something that the paper states, in words or numbers, beside what was found here."""

    label: str
    paper: str
    here: str
    agrees: bool
    remark: str = ""


class Experiment(Protocol):
    """The module of one table or figure."""

    NAME: str
    TITLE: str
    NOTES: tuple[str, ...]

    @staticmethod
    def rows(context: Context) -> list[Row]:
        """Compute the data."""

    @staticmethod
    def figure(rows: Sequence[Row]) -> Figure:
        """Draw the data."""

    @staticmethod
    def claims(rows: Sequence[Row]) -> list[Claim]:
        """Set the data beside what the paper says about them."""


@dataclass(frozen=True)
class Result:
    """The data of an experiment, with what a reader has to know about them."""

    name: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def to_csv(self) -> str:
        """Return the rows as CSV, with the columns of the first."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()


def variance(protocol: protocols.Protocol, n: int = 1, share: protocols.Share = 0.0) -> float:
    """Return the exact variance of a count, averaged over the shares; the paper's are all known."""
    found = protocol.variance(n, share)
    assert found is not None
    return float(np.mean(found))
