"""What pages show of results, made in the worker process: the parts of a result, and their parts.

What is shown and how it is rounded is decided by the results themselves, in ``presentation``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from deniable.answers.distribution import NumberEstimates
from deniable.answers.moved import mean_moved, since
from deniable.collector.breakdown import follow, group_parts
from deniable.collector.jobs import Sums
from deniable.collector.stores.records import EVER, Days, date_of, write_day
from deniable.comparison import Comparison, compare
from deniable.discoveries import Discoveries
from deniable.errors import DeniableError
from deniable.estimates import Estimates
from deniable.presentation.charts import Curves
from deniable.presentation.parts import Beside, Fact, Listing, Part, Sentences, moves, render
from deniable.presentation.text import one_line
from deniable.presentation.trend import Trend, short_date, spark_svg
from deniable.presentation.verdict import ALPHA, Claim, Span, points, rough, rounded
from deniable.presentation.view import Change, counted
from deniable.protocol import Protocol
from deniable.question import Question

_FOLLOWED = 6
"""Number of answers that are followed from day to day."""
_WEEK = 7
Truth = tuple[tuple[int, tuple[tuple[str, float], ...]], ...]
"""From which day on people answer how, where that is known: in a demonstration."""


@dataclass(frozen=True)
class Sight:
    """How much of a result is shown, and the truth where it is known."""

    rows: int
    truth: Truth = ()
    texts: Discoveries[Question] | None = None
    """What a search has found; everything else is about the sure ones of these."""


@dataclass(frozen=True)
class Look:
    """What a page shows of sums."""

    reports: int
    said: str
    """The verdict in one line."""
    headline: str
    """The first sentence of it."""
    content: Markup
    """All parts."""
    spark: Markup
    """How the largest answer went from day to day."""
    moved: str
    tone: str
    """The largest sure change in a few words, and which way it goes."""


@dataclass(frozen=True)
class Moved:
    """A comparison, what it is against in a heading, and in a sentence."""

    found: Comparison
    against: str
    since: str


def look(sums: Sums, sight: Sight) -> Look:
    """Return what a page shows of the wanted slice, or of two that are compared."""
    texts = sight.texts
    found, moved = sums.estimates() if texts is None else texts, _moved(sums)
    changes = [] if moved is None else list(moved.found.rows(alpha=ALPHA))
    beside = Beside(
        sight.rows,
        changes={row.label: row for row in changes},
        against=moved.against if moved else "",
        since=moved.since if moved else "",
        news=_news(moved) if len(sums.order.wanted.parts) == 1 else (),
        truth=_true_shares(sums, sight.truth),
        facts=_fakes(sums.question.protocol, found) if isinstance(found, Estimates) else (),
        epsilon=sums.question.total_epsilon,
    )
    parts = [*found.parts(beside), *_compared(sums, sight.rows)]
    parts[1:1] = _rounds(sums)
    followed = found if texts is None else texts.only_significant()
    labels, news = _followed(followed, changes)
    trend = follow(sums, [*labels, *news]) if sums.order.days and len(followed) else None
    if trend is not None and len(sums.order.days) > 1:
        parts.append(_curves(sums, trend, len(followed.followed()), len(news)))
    whole = found if isinstance(found, Estimates) else None
    if len(followed) and sums.question.segments:
        parts += group_parts(sums, sums.estimates() if whole is None else whole)
    parts.sort(key=lambda part: part.folded)
    spoken = next((part for part in parts if isinstance(part, Sentences)), Sentences(""))
    said, tone = _largest(moved, changes)
    return Look(
        reports=found.n if isinstance(found, Discoveries) else found.reports,
        said=str(spoken),
        headline=spoken.headline,
        content=Markup(render(parts)),
        spark=Markup("" if trend is None else spark_svg(trend)),
        moved=said,
        tone=tone,
    )


def _followed(
    followed: Estimates | Discoveries[Question], changes: Sequence[Change]
) -> tuple[list[str], list[str]]:
    """Return the most frequent answers and, in the place of some, others that changed most."""
    labels = [row.label for row in followed.followed(_FOLLOWED).rows()]
    moved = [row for row in changes if row.significant and row.label not in labels]
    if not labels or not moved:
        return labels, []
    known = {row.label for row in followed.followed().rows()}
    most = sorted(moved, key=lambda row: -abs(row.difference))
    news = [row.label for row in most if row.label in known][: _FOLLOWED // 2]
    return labels[: _FOLLOWED - len(news)], news


def _curves(sums: Sums, trend: Trend, answers: int, news: int) -> Curves:
    """Return a trend as a part; of many answers it is said that these are some."""
    shown = len(trend.periods[0].answers) if trend.periods else 0
    some = f"the {shown - news} most frequent of {answers:,} answers" if shown < answers else ""
    some += f", and {news} that changed" if news else ""
    some += " · " if some else ""
    title = "Day by day" if sums.order.wanted.rounds is None else "Round by round"
    return Curves("trend", title, note=some + _trend_note(sums, trend), trend=trend)


def _rounds(sums: Sums) -> list[Part]:
    """Say which rounds the results on this page cover, where a question has rounds."""
    rounds, periods = sums.order.wanted.rounds, sums.order.periods
    if rounds is None or not periods:
        return []
    first, last = (rounds.round_of(date_of(part.days.first)) for part in (periods[0], periods[-1]))
    days = span(Days(periods[0].days.first, periods[-1].days.last))
    if first == last:
        said = f"These results are of round {first}, {days}."
    else:
        each = "; each by itself is below" if len(sums.order.days) > 1 else ""
        said = f"These results are of rounds {first} to {last} together, {days}{each}."
    if last - first >= rounds.rounds:
        said += " People who were asked again are counted each time."
    return [Sentences("rounds", phrases=((Span(said),),), small=True)]


def _news(moved: Moved | None) -> tuple[Claim, ...]:
    """Return how the mean of a number moved, if the change is sure."""
    if moved is None or not isinstance(now := moved.found.second, NumberEstimates):
        return ()
    was = moved.found.first
    claims = since(was, now, moved.since).claims if isinstance(was, NumberEstimates) else ()
    return tuple(claim for claim in claims[:1] if claim.kind == "changed")


def _largest(moved: Moved | None, changes: Sequence[Change]) -> tuple[str, str]:
    """Return the largest sure change in a few words, and its direction; of numbers, the mean's."""
    if moved is None:
        return "", "still"
    was, now = moved.found.first, moved.found.second
    if isinstance(was, NumberEstimates) and isinstance(now, NumberEstimates):
        by = mean_moved(was, now).by
        change, what, size = by.value, "Mean", by.cells[0].lstrip("-")
        sure = bool(_news(moved))
    else:
        significant = (row for row in changes if row.significant)
        most = max(significant, key=lambda row: abs(row.difference), default=None)
        sure = most is not None
        change = most.difference if most else 0.0
        what, size = (one_line(most.label, 24), points(change)) if most else ("", "")
    if not sure:
        return "no clear change", "still"
    return (f"{what} ▲ {size}", "up") if change > 0 else (f"{what} ▼ {size}", "down")


def _moved(sums: Sums) -> Moved | None:
    """Compare the wanted slice with the other one, else its last seven days with those before."""
    parts, days = sums.order.wanted.parts, sums.order.days
    try:
        if len(parts) > 1:
            if parts[1] not in sums.tallies:
                return None
            other = span(parts[1].days)
            return Moved(sums.compared(1), f"vs {other}", f"against {other}")
        last, rounds = max((day.days.first for day in days), default=0), sums.order.wanted.rounds
        recent = [day for day in days if day.days.first > last - _WEEK]
        before = [day for day in days if last - 2 * _WEEK < day.days.first <= last - _WEEK]
        if rounds is not None:
            before, recent = [*days[-2:-1]], [*days[-1:]]
        if not before:
            return None
        found = compare(sums.over(before), sums.over(recent))
    except DeniableError:  # errors that are not known cannot be compared
        return None
    if rounds is not None:
        return Moved(found, "this round vs the one before", "since the round before")
    return Moved(found, "last 7 days vs 7 before", "against the week before")


def _compared(sums: Sums, rows: int) -> list[Part]:
    """Return all numbers of a comparison that was asked for, the earlier slice first."""
    parts = sums.order.wanted.parts
    if len(parts) < 2 or parts[1] not in sums.tallies:
        return []
    earlier = int(parts[1].days.first < parts[0].days.first)
    try:
        found = sums.compared(earlier)
        view = found.top(rows).view()
    except DeniableError as error:
        said = Sentences("incomparable", "Changes", phrases=((Span(f"No comparison: {error}."),),))
        return [said]
    names = {"first": span(parts[earlier].days), "second": span(parts[1 - earlier].days)}
    headings = tuple(names.get(heading, heading) for heading in view.headings)
    note = f"{names['second']} against {names['first']}"
    shown = replace(view, headings=headings)
    listed = Listing("all-changes", "All changes", view=shown, pictures=False, folded=True)
    if not isinstance(found.first, NumberEstimates):
        changes = found.top(rows).rows(alpha=ALPHA)
        if found.total > 1:
            note += f" · ▲ ▼: more than chance explains in any of {found.total:,} answers"
        return [moves(changes, (names["first"], names["second"]), note=note), listed]
    said = Sentences.of(found.verdict())
    return [replace(said, name="mean-change", title="What changed", note=note), listed]


def span(days: Days) -> str:
    """Return a range of days as people say it.

    >>> span(Days(20_400, 20_406)), span(Days(20_400)), span(Days(20_400, 20_400))
    ('8–14 Nov', '8 Nov on', '8 Nov')
    """
    open_end = days.last == EVER
    if not days.first:
        return "all days" if open_end else f"up to {short_date(write_day(days.last))}"
    first = short_date(write_day(days.first))
    if open_end:
        return f"{first} on"
    last = short_date(write_day(days.last))
    if first == last:
        return first
    same = first.split()[1] == last.split()[1]
    return f"{first.split()[0]}–{last}" if same else f"{first} – {last}"


def _true_shares(sums: Sums, truth: Truth) -> dict[str, float]:
    """Return the true shares over the days that are counted, as far as they are known."""
    total: dict[str, float] = {}
    people = 0
    for day in sums.order.days if truth else ():
        n = sums.tallies[day][0].n
        known = [shares for first, shares in truth if first <= day.days.first]
        people += n
        for label, share in known[-1] if known else ():
            total[label] = total.get(label, 0.0) + n * share
    return {label: count / people for label, count in total.items()} if people else {}


def _fakes(protocol: Protocol, found: Estimates) -> tuple[Fact, ...]:
    """Say how many made-up reports it takes to move a share by one point."""
    fakes = fake_reports(protocol, found)
    if fakes is None:
        return ()
    note = f"{rough(fakes / found.reports)} of all reports would move a share by 1 point"
    return (Fact("Can it be gamed?", f"{rounded(fakes)} fake{'' if fakes == 1 else 's'}", note),)


def fake_reports(protocol: Protocol, found: Estimates) -> int | None:
    """Return the least number of made-up reports that moves the share of an answer by a point.

    One that supports an answer adds (1 - q*) / (p* - q*) people to its count, one that does not
    takes q* / (p* - q*) away, and each makes one person more. The smallest share is easiest to
    raise, and the largest to lower.
    """
    known = protocol.parameters
    if known is None or not len(found):
        return None
    q, gap = known.q, known.gap
    shares = found.shares.clip(0.0, 1.0)
    most = max((1 - q) / gap - float(shares.min()), q / gap + float(shares.max())) - 0.01
    return math.ceil(0.01 * found.reports / most)


def _trend_note(sums: Sums, trend: Trend) -> str:
    """Say how to read the curves, by which law days are judged, and what is left out."""
    rounds = sums.order.wanted.rounds
    axes = [str(axis) for axis in trend.axes.values()]
    said = [f"same scale, {axes[0]}" if len(axes) == 1 else "scales as they are labelled"]
    said.append("bands: 95\u00a0% sure")
    if rounds is not None:
        others = "other people" if rounds.times == 1 else f"others for {rounds.rounds} rounds"
        said.append(f"each point is a round of {counted(rounds.every, 'day')}, and {others}")
    if sums.question.protocol.memoises:
        said.append("each day by itself, by the law of as many people as answered on it")
    if trend.left_out:
        unit = "day" if rounds is None else "round"
        days = f"1 {unit} is" if trend.left_out == 1 else f"{trend.left_out} {unit}s are"
        said.append(f"{days} left out: too few reports, or more than a month back")
    return " · ".join(said)
