"""Discoveries: the texts that people gave and nobody listed, with what is known of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from deniable.advice.discovery import ALPHA, smallest_share
from deniable.answers.text import check_encodes
from deniable.errors import IncompatibleTally, InvalidParameter, OutOfDomain
from deniable.presentation import view as views
from deniable.presentation.charts import Bars, bar_of
from deniable.presentation.exports import Presentable
from deniable.presentation.parts import (
    Beside,
    Fact,
    Facts,
    Listing,
    Part,
    Sentences,
    Table,
    privacy_fact,
)
from deniable.presentation.tables import Columns
from deniable.presentation.text import one_line
from deniable.presentation.verdict import Phrase, Span, rough, rounded
from deniable.protocol import Protocol
from deniable.protocols.discovery import verification
from deniable.protocols.discovery.code import Code
from deniable.protocols.discovery.mechanism import Discovery
from deniable.protocols.discovery.verification import Found, Limits, Unfinished
from deniable.tally import Tally
from deniable.validation import check_number

Floats = npt.NDArray[np.float64]
Asked = TypeVar("Asked")

LEVEL = 0.95
"""The level of all intervals of sure texts."""
_NAMED = 3
"""How many texts that are too long are named in a note."""


@dataclass(frozen=True, repr=False)
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
    least: int
    """How many reports a search takes."""
    floor: float | None
    """The smallest share of a text that is found with 90 %, however long its code is."""
    provenance: views.Provenance | None
    ask: Callable[..., Asked]
    """What makes a question of labels, an epsilon and the name of all other texts."""

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
        return self.found.texts

    @property
    def sure(self) -> tuple[str, ...]:
        return tuple(t for t, sure in zip(self.texts, self.found.sure, strict=True) if sure)

    @property
    def askable(self) -> tuple[str, ...]:
        """The sure texts that a closed question can have as labels."""
        return tuple(text for text in self.sure if text.strip())

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

        It counts them with all people, and not by a sample: for the next collection. A text of
        white space alone is among the others, since nobody could see it in a form.
        """
        if not self.askable:
            raise InvalidParameter("no text is sure, so there is nothing to ask about", value=0)
        other = next(name for name in _names() if name not in self.askable)
        return self.ask((*self.askable, other), epsilon=epsilon, other=other)

    def rows(self) -> tuple[Discovered, ...]:
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
        del level, alpha  # those of the search hold
        f = self.found
        return {
            "provenance": self.constants(), "n": f.n, "tested": f.tested, "level": LEVEL,
            "alpha": self.alpha, "rate": self.rate, "complete": f.complete, "clipped": f.clipped,
            "pieces_even": f.even, "uncovered": self.uncovered, "crafted": self.crafted,
            "floor": self.floor,
            "unfinished": [each._asdict() for each in f.unfinished], "notes": list(self.notes()),
        }  # fmt: skip

    def constants(self) -> dict[str, object] | None:
        return None if self.provenance is None else self.provenance.facts(self.n)

    def notes(self) -> tuple[str, ...]:
        f = self.whole
        said = [
            f"sure: the chance that nobody gave one of them is at most {rough(self.alpha, up=True)}"
            "; one that a few people gave may be listed",
            f"likely: about {views.percent(self.rate)} of the list may be texts that nobody gave",
            f"about {views.counted(self.crafted, 'crafted report')} would plant a text",
            "in the order of all reports; counts and intervals are those of check reports alone",
        ]
        if not f.searched:
            said.append("too few reports for a search; only named candidates were looked at")
        else:
            said.append(f"about {100 * self.uncovered:.0f} % of the people gave none of the sure "
                        "texts: too few gave theirs, or it is too long for the code")  # fmt: skip
        if f.unfinished:
            first = [f"{one_line(each.beginning, 40)}… (about {each.about:,.0f})"
                     for each in f.unfinished[:_NAMED]]  # fmt: skip
            said.append(
                f"{views.counted(len(f.unfinished), 'frequent text')} may be longer than the code "
                f"allows: {', '.join(first)}; name candidates, or learn a code that fits"
            )
        if not f.complete:
            said.append("the search reached a limit: it may have missed texts, never added any")
        if (f.lower[f.sure] < 0.5).any():  # they are shown as 0
            said.append("an interval from 0 is that of a text which is only just sure")
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
            words=views.Words("count from check reports", interval, axis, "true count",
                              bare="count of a likely text, which may be nobody's"),
            name=None if origin is None else origin.question,
            headline=f"{views.counted(int(self.whole.sure.sum()), 'sure text')} and "
            f"{views.counted(int((~self.whole.sure).sum()), 'likely one')} in "
            f"{views.counted(self.n, 'report')}",
            source=None if origin is None else origin.line,
            notes=self.notes(),
            n=self.n, reports=self.n,
            provenance=self.constants(),
        )  # fmt: skip

    def parts(self, beside: Beside | None = None) -> tuple[Part, ...]:
        """Return the sure texts as bars; likely and cut ones are folded away, as is the rest."""
        beside = beside or Beside()
        sure, likely = self.only_significant(), self.take(np.flatnonzero(~self.found.sure))
        how = "in the order of all reports · bar: by check reports · band: 95 % sure"
        known = [privacy_fact(self.provenance.epsilon)] if self.provenance is not None else []
        parts: list[Part] = [
            Sentences("verdict", phrases=self._said(), sure=len(sure) > 0),
            Facts("facts", facts=(*self._facts(), *known)),
        ]
        if len(sure):
            many, most = len(sure), sure.top(beside.rows)
            some = "" if len(most) == many else f"the largest {len(most):,} of {many:,} · "
            parts.append(
                Bars(
                    "shares", "Texts that are sure", note=f"{some}{how}", heading="Text",
                    bars=tuple(bar_of(row, self.n, beside) for row in most), against=beside.against,
                )
            )  # fmt: skip
        if len(likely):
            rows = tuple((row.label, f"{max(0.0, row.count):,.0f}")
                         for row in likely.top(beside.rows))  # fmt: skip
            title = views.counted(len(likely), "likely text")
            headings = ("Text", "People, about")
            parts.append(Table("likely", title, headings=headings, rows=rows, folded=True))
        if self.unfinished:
            cut = tuple((f"{each.beginning}… #{each.bucket}", f"{each.about:,.0f}")
                         for each in self.unfinished[: beside.rows])  # fmt: skip
            title = f"{views.counted(len(self.unfinished), 'text')} too long for the code"
            headings = ("Beginning, and a number to tell it by", "People, about")
            parts.append(Table("unfinished", title, headings=headings, rows=cut, folded=True))
        every = self.top(beside.rows).view()
        parts.append(Listing("numbers", "All numbers", view=every, pictures=False, folded=True))
        return tuple(parts)

    def findings(self) -> tuple[str, ...]:
        return tuple("".join(span.text for span in phrase) for phrase in self._said())

    def _said(self) -> tuple[Phrase, ...]:
        """Return what the list says, and what was in its way."""
        whole = self.whole
        said: list[Phrase] = []
        if not whole.searched:
            least = f"{rounded(self.least)} reports"
            said.append((Span("There are too few reports for a search: it takes about "),
                         Span(least, "figure"), Span(".")))  # fmt: skip
        first = next(iter(self.only_significant()), None)
        cut = max(whole.unfinished, key=lambda each: each.about, default=None)
        longer = cut is not None and cut.about > (0.0 if first is None else first.count or 0.0)
        if cut is not None and longer:
            start = one_line(cut.beginning, 60).strip()
            opening = (Span(" that begins with "), Span(f"“{start}…”", "name"))
            about = f"about {rough(min(1.0, cut.about / max(1, self.n)))}"
            said.append((Span("A text"), *(opening if start else ()),
                         Span(" is too long for the code, and "), Span(about, "figure"),
                         Span(" of the people gave it. A list can name it.")))  # fmt: skip
        if first is not None:
            name = one_line(first.label, 60)
            name = name if name.startswith('"') else f"“{name}”"
            many = int(whole.sure.sum())
            share = rough(min(1.0, first.share))
            said.append((Span(views.counted(many, "text"), "figure"),
                         Span(f" {'is' if many == 1 else 'are'} sure: "),
                         Span(name, "name"),
                         Span(" has " if longer else " leads with "),
                         Span(share, "figure"), Span(" of the people.")))  # fmt: skip
            chance = rough(self.alpha, up=True)
            said.append((Span(f"The chance that nobody gave one of them is at most {chance}."),))
        elif whole.searched:
            which = "No shorter text" if longer else "No text"
            said.append((Span(f"{which} is frequent enough to be sure of."),))
        if not whole.complete:
            said.append((Span("The search reached a limit: it may have missed texts, and has "
                              "added none."),))  # fmt: skip
        if whole.clipped:
            said.append((Span(f"{whole.clipped:,} reports were left out: they are copies that "
                              "honest people do not make."),))  # fmt: skip
        if not whole.even:
            said.append((Span("Some clients do not draw their pieces by lot: the pieces have "
                              "uneven numbers of reports."),))  # fmt: skip
        return tuple(said)

    def _facts(self) -> list[Fact]:
        share = f"{100 * self.uncovered:.0f}\u00a0%"
        why = "theirs is too long for the code, or too few people have it"
        facts = [Fact("Gave none of these", share, why)]
        if self.floor is not None:
            note = "of the people: a text this frequent is found 9 times in 10"
            facts.insert(0, Fact("Common enough to find", rough(self.floor), note))
        reports = f"{rounded(self.crafted)} reports"
        return [*facts, Fact("Can it be gamed?", reports, "made up on purpose would plant a text")]

    def title(self) -> str:
        return (self.provenance and self.provenance.question) or "Discoveries"


class Subject(NamedTuple, Generic[Asked]):
    """What is searched for: the protocol, the code of the texts, and whose question it is."""

    protocol: Protocol
    code: Code | None
    provenance: views.Provenance
    ask: Callable[..., Asked]


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
    listed = list(candidates) if isinstance(candidates, Iterable) else []
    sound = candidates is None or isinstance(candidates, Iterable)
    if not sound or isinstance(candidates, str) or not all(isinstance(t, str) for t in listed):
        raise InvalidParameter("expected candidates as a list of texts")
    check_encodes(listed)
    found = verification.find(protocol, code, tally, listed, Limits(alpha, rate))
    planted, size = verification.crafted(protocol, max(1, found.n), alpha), protocol.layout.length
    floor = smallest_share(protocol, found.n, size, tested=ALPHA / found.level)
    least, origin, ask = verification.fewest_reports(protocol), subject.provenance, subject.ask
    return Discoveries(found, found, alpha, rate, planted, least, floor, origin, ask)


def _known(ends: Floats) -> npt.NDArray[np.generic]:
    """Return the ends of intervals, None where there is none."""
    return np.where(np.isnan(ends), np.array(None), ends.astype(object))


def _names() -> Iterator[str]:
    """Yield labels for all other texts; at least one of them is no text itself."""
    yield "(other)"
    yield from (f"(other {number})" for number in count(2))
