"""The verdict: what estimates say in sentences, and nothing that they cannot bear out.

leader      one answer's lower limit is above the upper limits of all others
too close   no answer's is: the true leader is among those whose upper limit reaches the highest
            lower limit
changed     the largest change that is significant
too rare    answers that cannot be told from none, each below a limit
steady      no change is significant
nothing     no answer can be told from none; about how many more people it takes

A claim is made only where it is false with a probability of at most ``ALPHA``, whatever people
answered. Of a false leader, or a true leader that is not named, either the true leader's upper
limit is too low, which has a tail of alpha / 2, or one of the d - 1 other lower limits is too high,
each with alpha / (2 (d - 1)). That holds however the counts depend on each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from statistics import NormalDist
from typing import NamedTuple, Protocol

import numpy as np

from deniable.presentation.text import one_line
from deniable.presentation.view import Change, Row, Shown, counted, percent

ALPHA = 0.005
"""The largest chance with which a claim is false."""
_NAMED = 4
"""The most answers that are named; of more only the number is said."""
_CHANGES = 3
"""The most changes that are told."""
_ASSUMED = 0.1
"""Share of the answer by which the need for further people is judged."""
_SPARE = 2.0
"""By how many standard errors it should then be above the threshold."""
_LABEL_WIDTH = 60
Floats = np.typing.NDArray[np.float64]


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
    def keys(self) -> Sequence[object] | np.typing.NDArray[np.generic]: ...
    @property
    def unknown(self) -> str | None: ...
    @property
    def noun(self) -> str: ...
    def interval(self, level: float = ...) -> tuple[Floats, Floats] | None: ...
    def significant(self, alpha: float = ...) -> np.typing.NDArray[np.bool_] | None: ...


@dataclass(frozen=True, repr=False)
class Claim(Shown):
    """One thing that is said: its kind, about which answers, the sentence, and its figures."""

    kind: str
    answers: tuple[str, ...]
    phrase: Phrase
    figures: tuple[float, ...] = ()

    def __str__(self) -> str:
        return "".join(span.text for span in self.phrase)


def _share_of(kind: str, answer: str, value: float, margin: float) -> Claim:
    verb = {"leader": "leads with", "second": "is second with", "single": "has"}[kind]
    how = "." if kind == "second" else f", give or take {points(margin)}."
    figure = Span(share(min(value, 1.0), margin), "figure")
    return Claim(kind, (answer,), (_name(answer), Span(f" {verb} "), figure, Span(how)))


def _too_close(answers: tuple[str, ...], total: int, noun: str) -> Claim:
    some = len(answers)
    phrase: Phrase = (Span(f"{some:,} {noun}s are too close to call, among them "),
                      _name(answers[0]), Span("."))  # fmt: skip
    if some <= _NAMED:
        phrase = *_listed(answers), Span(" are too close to call.")
    elif some == total:
        phrase = (Span(f"All {some:,} {noun}s are too close to call."),)
    return Claim("too close", answers, phrase)


def changed(change: Change, since: str = "") -> Claim:
    how = " rose by " if change.difference > 0 else " fell by "
    size = 100 * abs(change.difference)
    by = points(change.difference) if size < 9.95 else f"{size:.1f}\u00a0points"
    digit = 0.005 if "." in by else None  # the ends are as exact as their difference
    first, second = share(change.first, digit), share(change.second, digit)
    ends = f", from {first} to {second}{since and ' '}{since}."
    phrase = (_name(change.label), Span(how), Span(by, "figure"), Span(ends))
    return Claim("changed", (change.label,), phrase, (change.first, change.second))


def _steady(total: int, noun: str) -> Claim:
    of = f"The {noun} has not" if total == 1 else f"None of {total:,} {noun}s has"
    return Claim("steady", (), (Span(f"{of} changed by more than chance explains."),))


def _too_rare(
    answers: tuple[str, ...], limit: float, total: int, noun: str, more: int | None
) -> Claim:
    some, under = len(answers), f"under {share(limit, up=True)}"
    who = _listed(answers) if some < _NAMED else [Span(f"{some:,} of {total:,} {noun}s")]
    verb, each = ("is", "") if some == 1 else ("are", "each ")
    bound = f": {each}{under}." if more is None else f".{_needed(more)}"
    said = Span(f" {verb} too rare to tell from none{bound}")
    return Claim("too rare", answers, (*who, said), (limit,))


def _nothing(total: int, noun: str, more: int | None) -> Claim:
    which = f"this {noun}" if total == 1 else f"any of these {total:,} {noun}s"
    need = "" if more is None else _needed(more)
    return Claim("nothing", (), (Span(f"Too few reports to tell {which} from none.{need}"),))


def _needed(more: int) -> str:
    need = f" About {rounded(more)} more people are needed until an answer that one in ten"
    return f"{need} gives stands out."


def _unsure(answers: tuple[str, ...]) -> Claim:
    if not answers:
        return Claim("unsure", (), (Span("There are no answers to tell about."),))
    largest = Span(" has the largest count. How sure that is, is not known.")
    return Claim("unsure", answers, (_name(answers[0]), largest))


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
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
        return self.headline.kind not in ("nothing", "unsure")


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
        return Verdict((_unsure(tuple(names[i] for i in order[:1])),))
    if not verdicts.any():
        return Verdict((_nothing(len(names), found.noun, _more(found)),))
    claims = _leaders(found, names, order, alpha)
    moved = [change for change in changes if change.significant]
    if moved:
        most = max(moved, key=lambda change: abs(change.difference))
        claims.append(changed(most, since))
    rare = [i for i in order if not verdicts[i]]
    if rare:
        _, upper = _limits(found, alpha / len(names))
        limit = float(upper[rare].max()) / found.n
        claims.append(
            _too_rare(tuple(names[i] for i in rare), limit, len(names), found.noun, _more(found))
        )
    return Verdict(tuple(claims))


def judge_changes(changes: Sequence[Change], total: int, noun: str = "answer") -> Verdict:
    """Return the largest changes that are significant, or that there is none."""
    if any(change.significant is None for change in changes):
        largest = max(changes, key=lambda change: abs(change.difference))
        return Verdict((_unsure((largest.label,)),))
    moved = [change for change in changes if change.significant]
    moved.sort(key=lambda change: -abs(change.difference))
    return Verdict(tuple(map(changed, moved[:_CHANGES])) or (_steady(total, noun),))


def disagreements(
    rows: Sequence[Row], level: float, alpha: float, total: int, noun: str = "answer"
) -> tuple[str, ...]:
    """Explain why an interval and a verdict seem to disagree, if any of them do."""
    known = [row for row in rows if row.lower is not None]
    pairs = {(row.significant, row.ends[0] > 0 or row.ends[1] < 0) for row in known}
    said = []
    if (False, True) in pairs:
        said.append(
            f"an interval that leaves out 0 need not be significant: it is about one {noun} by "
            f"itself, significance about all {total:,} at once"
        )
    if (True, False) in pairs:
        said.append(
            f"a significant {noun} can have 0 in its interval: the interval leaves "
            f"{percent((1 - level) / 2)} on either side, significance {percent(alpha)} over all "
            f"{noun}s"
        )
    return tuple(said)


def _leaders(
    found: Judged, names: list[str], order: np.typing.NDArray[np.intp], alpha: float
) -> list[Claim]:
    """Say who leads and who is second, or between whom it is too close to call."""
    shares = found.unbiased_counts / found.n
    lower, upper = _limits(found, 0.025)
    margins = np.maximum(shares - lower / found.n, upper / found.n - shares)
    if len(names) == 1:
        return [_share_of("single", names[0], shares[0], margins[0])]
    lower, _ = _limits(found, alpha / 2 / (len(names) - 1))
    _, upper = _limits(found, alpha / 2)
    claims: list[Claim] = []
    for place, kind in enumerate(("leader", "second")):
        rest = order[place:]
        close = rest[upper[rest] >= lower[rest].max(initial=-np.inf)].tolist()
        if len(close) > 1:
            tied = _too_close(tuple(names[i] for i in close), len(names), found.noun)
            return claims if place else [tied]
        if close and len(rest) > 1:
            best = close[0]
            claims.append(_share_of(kind, names[best], shares[best], margins[best]))
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


def rough(part: float, *, up: bool = False) -> str:
    r"""Return a part in percent with two digits, however small or large it is.

    >>> rough(0.00065), rough(0.9961), rough(0.05 / 6, up=True)
    ('0.065\xa0%', '100\xa0%', '0.84\xa0%')
    """
    rounding = Context(prec=2, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)
    return f"{(100 * Decimal(repr(float(part)))).normalize(rounding):f}\u00a0%"


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


def some_of(shown: int, total: int, noun: str = "answer") -> str:
    """Return the number of answers, or of other rows, after the number shown where that is smaller.

    >>> some_of(5, 30), some_of(30, 30)
    ('5 of 30 answers', '30 answers')
    """
    return f"{f'{shown:,} of ' if shown != total else ''}{counted(total, noun)}"


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


def _listed(answers: Sequence[str]) -> list[Span]:
    """Return names with commas, and the last after "and"."""
    found = []
    for place, label in enumerate(answers):
        if place:
            found.append(Span(" and " if place == len(answers) - 1 else ", "))
        found.append(_name(label))
    return found
