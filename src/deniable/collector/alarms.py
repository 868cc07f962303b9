"""Alarms: which sources of a question stand out on which day, and what that means, in words.

The mathematics is ``deniable.poisoning``, and the worker process does it from the tallies that the
store keeps by day and source. Earlier days, without what stood out on them, make the comparison
sharper. Like published numbers, the alarms of a day move only with the question's minimum of new
reports, and a source with fewer reports than that is not judged.
"""

from collections import defaultdict
from typing import NamedTuple

from deniable.collector import folding
from deniable.collector.questions import Known, Recent
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores.records import Days, Slice, Snapshot, today, write_day
from deniable.collector.worker import Readers, Worker
from deniable.impossible import Suspicion, comparable
from deniable.poisoning import FEWEST, suspects
from deniable.presentation.text import one_line
from deniable.presentation.trend import short_date
from deniable.presentation.view import counted
from deniable.tally import Tally

WATCHED = 31
"""On how many days, the latest of those that are asked for, sources are looked at."""
_EARLIER = 7
"""With how many days before it a day is compared, as far as people answer as they did then."""
_LATELY = 3
"""For how many days pages go on showing an alarm."""
_WHY = {
    "supports": "One answer has more reports than if all people had given it, or fewer than if "
    "nobody had.",
    "lots": "Too many of them tell of one part of the answer, or too few; honest devices draw lots "
    "for what they tell of.",
    "number": "In all they fit more answers, or fewer, than the reports of honest people do.",
    "function": "Too many of them have the same random function, which honest devices draw afresh.",
}
"""Why reports are impossible, by the kind of the suspicion."""


class Alarm(NamedTuple):
    """What is suspicious about a source on a day; ``answer`` is the label it is about, if any."""

    day: int
    source: str
    answer: str | None
    found: Suspicion

    @property
    def title(self) -> str:
        """What was found, in one sentence."""
        source = one_line(self.source)
        when = "today" if self.day == today() else f"on {short_date(write_day(self.day))}"
        if self.found.impossible:
            return f"{source} sent reports {when} that no honest people can have sent."
        label = one_line(self.answer or "", 60)
        return f"{source} differs from the other sources {when}: too many reports for “{label}”."

    @property
    def sentence(self) -> str:
        """Why, and what to do about it."""
        about = counted(self.found.extra, "report")
        if self.found.impossible:
            return (
                f"{_WHY[self.found.kind]} No people explain this, whatever they answered; about "
                f"{about} that somebody made up would. Exclude the source."
            )
        return (
            f"About {about} for it are more than chance explains. Somebody may have made them up, "
            "or other people answer through this source. If you know that they do, mark it as "
            "expected."
        )

    def document(self, expected: tuple[str, ...]) -> dict[str, object]:
        return {
            "day": write_day(self.day),
            "source": self.source,
            "kind": "impossible" if self.found.impossible else "different",
            "answer": self.answer,
            "extra": self.found.extra,
            "chance": self.found.chance,
            "expected": not self.found.impossible and self.source in expected,
            "title": self.title,
            "sentence": self.sentence,
        }


class Alarms:
    """The alarms of questions, from memory where nothing has changed."""

    def __init__(self, settings: Settings, readers: Readers, worker: Worker) -> None:
        self._settings, self._readers, self._worker = settings, readers, worker
        self._remembered: Recent[tuple[object, ...], tuple[Alarm, ...]] = Recent(4 * MIB)
        self._latest: Recent[str, tuple[Alarm, ...]] = Recent(MIB)

    async def lately(self, known: Known) -> tuple[Alarm, ...]:
        """Return what an owner should look at: the latest days, without what is expected."""
        found = await self.find(known, Days(today() - _LATELY + 1))
        self._latest.put(known.asked.digest, found, 400 * (1 + len(found)))
        return _unexpected(known, found)

    async def headline(self, known: Known) -> str:
        """Return the most important alarm in one sentence, or nothing."""
        await self.lately(known)
        return self.remembered(known)

    def remembered(self, known: Known) -> str:
        """Return the most important alarm that was found of late, without looking for one."""
        found = _unexpected(known, self._latest.get(known.asked.digest) or ())
        return found[0].title if found else ""

    async def find(self, known: Known, days: Days) -> tuple[Alarm, ...]:
        """Return all alarms of some days, the latest day and the surest first."""
        if unwatched(known) is not None:
            return ()
        digest, minimum = known.asked.digest, known.terms.minimum or self._settings.minimum
        standing = await self._readers.run(lambda store: store.standing(Slice(digest, days)))
        places = {
            day: (digest, standing.edition, day, n // minimum, minimum)
            for day, n in standing.daily[-WATCHED:]
            if n >= minimum
        }
        new = [day for day, place in places.items() if self._remembered.get(place) is None]
        if new:
            read = {day - back for day in new for back in range(_EARLIER + 1)}
            parts = [Slice(digest, Days(day, day)) for day in sorted(read)]
            rows = await self._readers.run(lambda store: store.snapshot(*parts))
            seen = (self._remembered.get(place) or () for place in places.values())
            odd = frozenset((each.day, each.source) for some in seen for each in some)
            found = await self._worker.run(
                watch, known.asked.document, rows, minimum, frozenset(new), odd
            )
            for day in new:
                mine = tuple(each for each in found if each.day == day)
                self._remembered.put(places[day], mine, 400 * (1 + len(mine)))
        kept = (self._remembered.get(place) or () for _, place in sorted(places.items()))
        return tuple(each for mine in reversed(list(kept)) for each in mine)


def _unexpected(known: Known, found: tuple[Alarm, ...]) -> tuple[Alarm, ...]:
    expected = known.terms.expected
    return tuple(each for each in found if each.found.impossible or each.source not in expected)


def unwatched(known: Known) -> str | None:
    """Say why no alarm can be raised for a question, if so."""
    protocol = known.question.protocol
    if comparable(protocol):
        return None
    return f"the sources of reports by {protocol.name} are not compared"


def watch(
    document: str,
    rows: Snapshot,
    minimum: int,
    days: frozenset[int],
    odd: frozenset[tuple[int, str]] = frozenset(),
) -> tuple[Alarm, ...]:
    """Look at the sources of some days; the work of the other process.

    The rows have the days before too; ``odd`` are sources that stood out on these.
    """
    data: dict[int, dict[str, tuple[list[bytes], list[bytes]]]] = defaultdict(dict)
    for kind, some in enumerate((rows.tallies, rows.waiting)):
        for row in some:
            data[row.day].setdefault(row.source, ([], []))[kind].append(row.data)
    question, found = folding.question_of(document), []
    broken = set(odd)
    tallies = {
        day: {name: folding.readable_sum(question, *both) for name, both in sources.items()}
        for day, sources in sorted(data.items())
    }
    for day in sorted(days & tallies.keys()):
        earlier: dict[str, Tally] = {}
        for before in range(day - _EARLIER, day):
            for name, tally in tallies.get(before, {}).items():
                if (before, name) not in broken:
                    earlier[name] = earlier[name] + tally if name in earlier else tally
        for each in suspects(tallies[day], fewest=max(FEWEST, minimum), earlier=earlier):
            place, about = each.answer, question.answers
            label = None if place is None else about.cell(question.protocol, place)
            found.append(Alarm(day, each.source, label, each))
            broken.add((day, each.source))
    return tuple(found)
