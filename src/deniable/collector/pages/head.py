"""What stands above the tabs of a question: its name, how it stands, and what was just done."""

from dataclasses import dataclass

from deniable.collector.access import Role
from deniable.collector.questions import Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Standing, State, today, write_day
from deniable.presentation.text import one_line
from deniable.presentation.trend import short_date
from deniable.presentation.view import counted

NAME_WIDTH = 120
"""How much of the name of a question a page shows."""
_NOTICES = {
    "saved": "The settings are saved.",
    "open": "The question is open: it takes reports.",
    "closed": "The question is closed: it takes no more reports.",
    "exclude": "The source is excluded from every count.",
    "include": "The source is included again.",
    "unexpected": "The source is compared with the others again.",
    "expected": "The source is marked as expected: it raises no alarm any more.",
}


@dataclass(frozen=True)
class Head:
    """What stands above the tabs of a question."""

    digest: str
    name: str
    state: str
    count: str
    since: str
    tab: str
    notice: str = ""


def head_of(known: Known, standing: Standing, tab: str, notice: str = "") -> Head:
    return Head(
        known.asked.digest,
        one_line(known.question.name, NAME_WIDTH),
        known.asked.state.value,
        counted_reports(standing.n),
        _since(standing),
        tab,
        _NOTICES.get(notice, ""),
    )


def standing_sentence(known: Known, standing: Standing) -> str:
    state = "Collecting" if known.asked.state is State.OPEN else "Closed"
    return f"{state} · {counted_reports(standing.n)}{_since(standing)}"


def counted_reports(n: int) -> str:
    return counted(n, "report") if n else "no reports yet"


def _since(standing: Standing) -> str:
    if not standing.daily:
        return ""
    first, last = standing.daily[0][0], standing.daily[-1][0]
    newest = "today" if last >= today() else f"on {_date(last)}"
    return f" since {_date(first)}, the last {newest}"


def _date(day: int) -> str:
    return short_date(write_day(day)).replace(" ", "\u00a0")


def is_admin(call: Call) -> bool:
    return call.holder is not None and call.holder.role is Role.ADMIN
