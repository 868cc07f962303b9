"""Discoveries: the texts that people gave and nobody listed, with what is known of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from deniable.errors import IncompatibleTally, InvalidParameter, OutOfDomain
from deniable.presentation import view as views
from deniable.presentation.exports import Presentable
from deniable.presentation.tables import Columns
from deniable.protocol import Protocol
from deniable.protocols.discovery.code import Code
from deniable.protocols.discovery.mechanism import Discovery
from deniable.protocols.discovery.verification import Found, Limits, Unfinished, crafted, find
from deniable.tally import Tally
from deniable.validation import check_number

Floats = npt.NDArray[np.float64]
Asked = TypeVar("Asked")

_OTHER = "(other)"


@dataclass(frozen=True)
class Discovered(views.Answer):
    """One text: sure ones have an interval that holds although they were selected."""

    tail: float = field(default=1.0, kw_only=True)
    """The chance that a text nobody gave is supported as often."""

    @property
    def sure(self) -> bool:
        return bool(self.significant)

    @property
    def verdict(self) -> str:
        return "sure" if self.significant else "likely"


@dataclass(frozen=True, eq=False, repr=False)
class Discoveries(Presentable, Generic[Asked]):
    """The texts that a tally holds, the most frequent first.

    Those that are ``sure`` have intervals; of all of them at most ``alpha`` are expected to be
    texts that nobody gave. The others are likely: about a ``rate`` of the list may be false.
    """

    rows_name: ClassVar[str] = "discoveries"

    found: Found
    """The rows that are shown."""
    whole: Found
    """All rows: what is said of the list is said of these."""
    alpha: float
    rate: float
    crafted: int
    """How many crafted reports would about plant a text among these."""
    provenance: views.Provenance | None
    ask: Callable[[tuple[str, ...], float], Asked]
    """What makes a question of labels and an epsilon."""

    def __len__(self) -> int:
        return len(self.found.texts)

    def __iter__(self) -> Iterator[Discovered]:
        return iter(self.rows())

    def __contains__(self, text: object) -> bool:
        return text in self.found.texts

    def __getitem__(self, text: str) -> Discovered:
        if text not in self.found.texts:
            raise OutOfDomain(
                "this text was not found; estimate it as a candidate to see its count", value=text
            )
        return self.rows()[self.found.texts.index(text)]

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the list."""
        return self.found.texts

    @property
    def sure(self) -> tuple[str, ...]:
        """The texts that are sure."""
        return tuple(t for t, sure in zip(self.texts, self.found.sure, strict=True) if sure)

    @property
    def n(self) -> int:
        """How many reports were read, without copies that honest people do not make."""
        return self.found.n

    @property
    def unfinished(self) -> tuple[Unfinished, ...]:
        """Beginnings of frequent texts that are longer than the pieces hold, without any promise.

        A list of candidates names them.
        """
        return self.found.unfinished

    @property
    def complete(self) -> bool:
        """Whether no limit of the search cut anything off."""
        return self.found.complete

    @property
    def uncovered(self) -> float:
        """About the share of people who gave none of the sure texts."""
        covered = float(self.whole.counts[self.whole.sure].sum()) / max(1, self.n)
        return min(max(1 - covered, 0.0), 1.0)

    def question(self, epsilon: float) -> Asked:
        """Return a closed question of the sure texts, with a label for all others.

        It counts them with all people, and not by a sample: for the next collection.
        """
        if not self.sure:
            raise InvalidParameter("no text is sure, so there is nothing to ask about", value=0)
        other = next(name for name in _names() if name not in self.sure)
        return self.ask((*self.sure, other), epsilon)

    def rows(self) -> tuple[Discovered, ...]:
        """Return one row for each text."""
        f, shares = self.found, self.found.counts / max(1, self.n)
        columns = (_known(f.lower), _known(f.upper), f.sure, f.counts, shares, None)
        rows = Discovered.over(f.texts, columns)
        return tuple(
            replace(row, tail=tail) for row, tail in zip(rows, f.tails.tolist(), strict=True)
        )

    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> "Discoveries[Asked]":
        f, index = self.found, np.asarray(rows, dtype=np.int64)
        some = f._replace(
            texts=tuple(f.texts[i] for i in index), counts=f.counts[index], lower=f.lower[index],
            upper=f.upper[index], sure=f.sure[index], tails=f.tails[index],
        )  # fmt: skip
        return replace(self, found=some)

    def largest(self, k: int | None = None) -> npt.NDArray[np.integer]:
        return np.arange(len(self))[:k]

    @property
    def unknown(self) -> None:
        """Nothing: what is sure has an interval, and what has none says so itself."""

    def significant(self, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
        """Tell which texts are sure, at the alpha that the search was given."""
        del alpha
        return self.found.sure

    def columns(self, *, level: float = 0.95, alpha: float = 0.05) -> Columns:
        del level, alpha
        f = self.found
        return {
            "label": f.texts, "count": f.counts, "share": f.counts / max(1, f.n),
            "lower": _known(f.lower), "upper": _known(f.upper),
            "sure": f.sure, "tail": f.tails,
        }  # fmt: skip

    def summary(self, *, level: float = 0.95, alpha: float = 0.05) -> dict[str, object]:
        del alpha
        f = self.found
        return {
            "provenance": self.constants(), "n": f.n, "tested": f.tested, "level": level,
            "alpha": self.alpha, "rate": self.rate, "complete": f.complete, "clipped": f.clipped,
            "pieces_even": f.even, "uncovered": self.uncovered, "crafted": self.crafted,
            "unfinished": [each._asdict() for each in f.unfinished], "notes": list(self.notes()),
        }  # fmt: skip

    def constants(self) -> dict[str, object] | None:
        return None if self.provenance is None else self.provenance.facts(self.n)

    def notes(self) -> tuple[str, ...]:
        """Return the sentences that belong to the list."""
        f = self.whole
        said = [
            f"sure: at most {self.alpha:g} false texts expected in this look; one that a few "
            "people gave may be listed",
            f"likely: about {views.percent(self.rate)} of the list may be texts that nobody gave",
            f"about {self.crafted:,} crafted reports would plant a text",
        ]
        if not f.searched:
            said.append("too few reports for a search; only named candidates were looked at")
        else:
            said.append(f"about {self.uncovered:.0%} of the people gave none of the sure texts")
        if f.unfinished:
            said.append(
                f"{views.counted(len(f.unfinished), 'frequent text')} may be longer than the code "
                "allows: name candidates, or learn a code that fits"
            )
        if not f.complete:
            said.append("the search reached a limit: it may have missed texts, never added any")
        if f.clipped:
            said.append(f"{f.clipped:,} reports are copies that honest people do not make")
        if not f.even:
            said.append("pieces have uneven numbers of reports: some clients do not draw them")
        return tuple(said)

    def view(
        self, *, level: float = 0.95, alpha: float = 0.05, truth: npt.ArrayLike | None = None
    ) -> views.View:
        del level, alpha, truth  # those of the search hold
        rows, origin, interval = self.rows(), self.provenance, "95 % interval"
        axis = f"people who gave the text (of {self.n:,})"
        return views.View(
            rows=rows,
            headings=("count", "share", interval),
            scale=views.Scale.over(rows),
            words=views.Words("count from check reports", interval, axis, "true count"),
            name=None if origin is None else origin.question,
            headline=f"{views.counted(int(self.whole.sure.sum()), 'sure text')} and "
            f"{int((~self.whole.sure).sum()):,} likely ones in {self.n:,} reports",
            source=None if origin is None else origin.line,
            notes=self.notes(),
            n=self.n,
            reports=self.n,
            provenance=self.constants(),
        )

    def title(self) -> str:
        return (self.provenance and self.provenance.question) or "Discoveries"


class Subject(NamedTuple, Generic[Asked]):
    """What is searched for: the protocol, the code of the texts, and whose question it is."""

    protocol: Protocol
    code: Code | None
    provenance: views.Provenance
    ask: Callable[[tuple[str, ...], float], Asked]


def discover(
    subject: Subject[Asked],
    tally: Tally,
    candidates: Sequence[str] | None,
    *,
    alpha: float,
    rate: float,
) -> Discoveries[Asked]:
    """Search a tally for texts that nobody listed, and verify them and the candidates."""
    protocol, code = subject.protocol, subject.code
    if code is None or not isinstance(protocol, Discovery):
        raise InvalidParameter(
            "only a question whose texts are to be discovered can be searched; make it with "
            "Text(discover=...), or estimate named candidates",
            value=protocol,
        )
    if not isinstance(tally, Tally) or tally.protocol != protocol:
        raise IncompatibleTally.expected(f"a tally of {protocol}", tally, "tally its reports")
    for name, value in (("alpha", alpha), ("rate", rate)):
        if not 0 < check_number(name, value) <= 1:
            raise InvalidParameter.expected(f"{name} above 0 and at most 1", value)
    listed = list(() if candidates is None else candidates)
    if isinstance(candidates, str) or not all(isinstance(text, str) for text in listed):
        raise InvalidParameter("expected candidates as a list of texts", value=None)
    found = find(protocol, code, tally, listed, Limits(alpha, rate))
    planted = crafted(protocol, max(1, found.n), alpha)
    return Discoveries(found, found, alpha, rate, planted, subject.provenance, subject.ask)


def _known(ends: Floats) -> npt.NDArray[np.generic]:
    """Return the ends of intervals, None where there is none."""
    known = ends.astype(object)
    known[np.isnan(ends)] = None
    return known


def _names() -> Iterator[str]:
    """Yield labels for all other texts, of which at least one is no text itself."""
    number = 1
    yield _OTHER
    while True:
        number += 1
        yield f"(other {number})"
