"""The verdict: what estimates say in sentences, and nothing that they cannot bear out.

Leader          one answer's lower limit is above the upper limits of all others
TooClose        no answer's is: the true leader is among those whose upper limit reaches the
                highest lower limit
Changed         the largest change that is significant
TooRare         answers that cannot be told from none, each below a limit
Steady          no change is significant
Nothing         no answer can be told from none; about how many more people it takes

A claim is made only where it is false with a probability of at most ``ALPHA``, whatever people
answered. Of a false leader, or a true leader that is not named, either the true leader's upper
limit is too low, which has a tail of alpha / 2, or one of the d - 1 other lower limits is too high,
each with alpha / (2 (d - 1)). That holds however the counts depend on each other.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from deniable.presentation.text import one_line
from deniable.presentation.view import Change

ALPHA = 0.005
"""The largest chance with which a claim is false."""
_NAMED = 4
"""So many answers are named; of more only their number is said."""
_CHANGES = 3
"""So many changes are told."""
_ASSUMED = 0.1
"""Share of the answer by which the need for further people is judged."""
_SPARE = 2.0
"""By how many standard errors it should then be above the threshold."""
_LABEL_WIDTH = 60
Floats = npt.NDArray[np.float64]


class Span(NamedTuple):
    """A piece of a sentence: words, the name of an answer, or a figure that is stressed."""

    text: str
    kind: str = "words"


Phrase = tuple[Span, ...]


class Judged(Protocol):
    """What a verdict needs of estimates."""

    @property
    def n(self) -> int: ...
    @property
    def null_std_error(self) -> float | None: ...
    @property
    def unbiased_counts(self) -> Floats: ...
    @property
    def keys(self) -> Sequence[object] | npt.NDArray[np.generic]: ...
    @property
    def unknown(self) -> str | None: ...
    def interval(self, level: float = ...) -> tuple[Floats, Floats] | None: ...
    def significant(self, alpha: float = ...) -> npt.NDArray[np.bool_] | None: ...


@dataclass(frozen=True)
class Claim(ABC):
    """One thing that is said, and about which answers."""

    kind: ClassVar[str]
    answers: tuple[str, ...]

    @property
    @abstractmethod
    def phrase(self) -> Phrase:
        """The sentence, in pieces."""

    def __str__(self) -> str:
        return "".join(span.text for span in self.phrase)


@dataclass(frozen=True)
class Leader(Claim):
    """More people gave this answer than any other; ``place`` 2 is the first of the rest."""

    kind = "leader"
    share: float
    margin: float
    place: int = 1

    @property
    def phrase(self) -> Phrase:
        leads = " leads with " if self.place == 1 else " is second with "
        how = f", give or take {points(self.margin)}." if self.place == 1 else "."
        return _name(self.answers[0]), Span(leads), _figure(self.share, self.margin), Span(how)


@dataclass(frozen=True)
class Single(Claim):
    """The share of the only answer that was estimated."""

    kind = "single"
    share: float
    margin: float

    @property
    def phrase(self) -> Phrase:
        how = Span(f", give or take {points(self.margin)}.")
        return _name(self.answers[0]), Span(" has "), _figure(self.share, self.margin), how


@dataclass(frozen=True)
class TooClose(Claim):
    """The true leader is one of these, and nobody can tell which."""

    kind = "too close"
    total: int

    @property
    def phrase(self) -> Phrase:
        some = len(self.answers)
        if some <= _NAMED:
            return *_listed(self.answers), Span(" are too close to call.")
        if some == self.total:
            return (Span(f"All {some:,} answers are too close to call."),)
        first = _name(self.answers[0])
        return Span(f"{some:,} answers are too close to call, among them "), first, Span(".")


@dataclass(frozen=True)
class Changed(Claim):
    """The share of an answer rose, or fell, between two samples."""

    kind = "changed"
    first: float
    second: float
    since: str = ""

    @property
    def phrase(self) -> Phrase:
        by = self.second - self.first
        how = "rose" if by > 0 else "fell"
        since = f" {self.since}" if self.since else ""
        ends = f", from {share(self.first)} to {share(self.second)}{since}."
        return (
            _name(self.answers[0]),
            Span(f" {how} by "),
            Span(points(abs(by)), "figure"),
            Span(ends),
        )


@dataclass(frozen=True)
class Steady(Claim):
    """No answer has changed by more than chance explains."""

    kind = "steady"
    total: int

    @property
    def phrase(self) -> Phrase:
        of = "The answer has" if self.total == 1 else f"None of {self.total:,} answers has"
        not_so = " not" if self.total == 1 else ""
        return (Span(f"{of}{not_so} changed by more than chance explains."),)


@dataclass(frozen=True)
class TooRare(Claim):
    """These answers cannot be told from none; each has at most so large a share."""

    kind = "too rare"
    limit: float
    total: int

    @property
    def phrase(self) -> Phrase:
        some, under = len(self.answers), f"under {share(self.limit, up=True)}"
        if some == 1:
            return _name(self.answers[0]), Span(f" is too rare to tell from none: {under}.")
        each = Span(f" are too rare to tell from none: each {under}.")
        if some < _NAMED:
            return *_listed(self.answers), each
        return Span(f"{some:,} of {self.total:,} answers"), each


@dataclass(frozen=True)
class Nothing(Claim):
    """No answer can be told from none yet."""

    kind = "nothing"
    total: int
    more: int | None

    @property
    def phrase(self) -> Phrase:
        said = f"Too few reports to tell any of these {self.total:,} answers from none."
        if self.total == 1:
            said = "Too few reports to tell this answer from none."
        if self.more is None:
            return (Span(said),)
        need = f" About {rounded(self.more)} more people are needed"
        return Span(said), Span(f"{need} until an answer that one in ten gives stands out.")


@dataclass(frozen=True)
class Unsure(Claim):
    """The errors are not known, so that nothing is sure."""

    kind = "unsure"

    @property
    def phrase(self) -> Phrase:
        if not self.answers:
            return (Span("There are no answers to tell about."),)
        largest = " has the largest count. How sure that is, is not known."
        return _name(self.answers[0]), Span(largest)


@dataclass(frozen=True)
class Verdict:
    """What can be said, the most important first."""

    claims: tuple[Claim, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.claims))

    @property
    def headline(self) -> Claim:
        return self.claims[0]

    @property
    def sure(self) -> bool:
        """Whether anything can be said about an answer at all."""
        return not isinstance(self.headline, Nothing | Unsure)


def judge(
    found: Judged, changes: Sequence[Change] = (), *, since: str = "", alpha: float = ALPHA
) -> Verdict:
    """Return what estimates of all answers say, and what changed.

    Changes are claimed where they are significant, so let that be at ``alpha``; ``since`` says
    between what they are.
    """
    counts, names = found.unbiased_counts, [str(key) for key in found.keys]
    order = np.argsort(-counts, kind="stable")
    verdicts, ends = found.significant(), found.interval()
    if not len(counts) or verdicts is None or ends is None:
        return Verdict((Unsure(tuple(names[i] for i in order[:1])),))
    if not verdicts.any():
        return Verdict((Nothing((), len(names), _more(found)),))
    claims = _leaders(found, names, order, alpha)
    moved = [change for change in changes if change.significant]
    if moved:
        most = max(moved, key=lambda change: abs(change.difference))
        claims.append(Changed((most.label,), most.first, most.second, since))
    rare = [i for i in order if not verdicts[i]]
    if rare:
        _, upper = _limits(found, alpha / len(names))
        limit = float(upper[rare].max()) / found.n
        claims.append(TooRare(tuple(names[i] for i in rare), limit, len(names)))
    return Verdict(tuple(claims))


def judge_changes(changes: Sequence[Change], total: int) -> Verdict:
    """Return the largest changes that are significant, or that there is none."""
    if any(change.significant is None for change in changes):
        largest = max(changes, key=lambda change: abs(change.difference))
        return Verdict((Unsure((largest.label,)),))
    moved = [change for change in changes if change.significant]
    moved.sort(key=lambda change: -abs(change.difference))
    claims = [Changed((each.label,), each.first, each.second) for each in moved[:_CHANGES]]
    return Verdict(tuple(claims) or (Steady((), total),))


def _leaders(
    found: Judged, names: list[str], order: npt.NDArray[np.intp], alpha: float
) -> list[Claim]:
    """Say who leads and who is second, or between whom it is too close to call."""
    shares = found.unbiased_counts / found.n
    lower, upper = _limits(found, 0.025)
    margins = np.maximum(shares - lower / found.n, upper / found.n - shares)
    if len(names) == 1:
        return [Single((names[0],), float(shares[0]), float(margins[0]))]
    lower, _ = _limits(found, alpha / 2 / (len(names) - 1))
    _, upper = _limits(found, alpha / 2)
    claims: list[Claim] = []
    for place in (1, 2):
        rest = order[place - 1 :]
        close = [i for i in rest if upper[i] >= lower[rest].max()]
        if len(close) > 1:
            tied = TooClose(tuple(names[i] for i in close), len(names))
            return [tied] if place == 1 else claims
        if close and len(rest) > 1:
            best = close[0]
            claims.append(Leader((names[best],), shares[best], margins[best], place))
    return claims if len(names) > 2 else claims[:1]


def _limits(found: Judged, tail: float) -> tuple[Floats, Floats]:
    """Return the limits of the counts that leave ``tail`` on either side."""
    ends = found.interval(1 - 2 * tail)
    assert ends is not None, "asked for only where the errors are known"
    return ends


def _more(found: Judged) -> int | None:
    """Return about how many more people it takes until a frequent answer stands out."""
    if found.null_std_error is None or not len(found.unbiased_counts):
        return None
    one = found.null_std_error / math.sqrt(found.n)
    normal = -NormalDist().inv_cdf(0.05 / len(found.unbiased_counts))
    needed = ((normal + _SPARE) * one / _ASSUMED) ** 2
    return max(1, math.ceil(needed - found.n)) if needed > found.n else None


def share(value: float, margin: float | None = None, *, up: bool = False) -> str:
    r"""Return a share in percent, with as many digits as its margin of error allows.

    >>> share(0.4361, 0.014), share(0.0123), share(0.00001)
    ('44\xa0%', '1.2\xa0%', 'less than 0.01\xa0%')
    """
    near = abs(value) if margin is None else 10 * margin
    digits = 0 if near >= 0.0995 else 1 if near >= 0.00995 else 2
    if 0 < value < 0.00005:
        return "less than 0.01\u00a0%"
    scaled = 100 * value
    if up:
        scaled = math.ceil(round(scaled * 10**digits, 6)) / 10**digits
    return f"{scaled:z.{digits}f}\u00a0%"


def points(difference: float) -> str:
    r"""Return a difference of shares in percentage points.

    >>> points(0.0142), points(0.046), points(0.00001)
    ('1.4\xa0points', '4.6\xa0points', 'less than 0.01\xa0points')
    """
    size = 100 * abs(difference)
    if size < 0.01:
        return "less than 0.01\u00a0points"
    text = f"{size:.2g}" if size < 10 else f"{size:.0f}"
    return f"{text}\u00a0point{'' if text == '1' else 's'}"


def rounded(number: float) -> str:
    """Return a large number with two digits, in words from a million on.

    >>> rounded(1234), rounded(9.2e9), rounded(37)
    ('1,200', '9.2 billion', '37')
    """
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:,.2g} {word}" if number < 1000 * size else f"over 999 {word}"
    digits = max(0, len(str(int(number))) - 2)
    return f"{round(number, -digits):,.0f}"


def _name(label: str) -> Span:
    return Span(one_line(label, _LABEL_WIDTH), "name")


def _figure(value: float, margin: float) -> Span:
    return Span(share(value, margin), "figure")


def _listed(answers: Sequence[str]) -> list[Span]:
    """Return names with commas, and the last after "and"."""
    found = []
    for place, label in enumerate(answers):
        if place:
            found.append(Span(" and " if place == len(answers) - 1 else ", "))
        found.append(_name(label))
    return found
