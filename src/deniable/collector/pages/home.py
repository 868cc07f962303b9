"""The first page: all questions, each with its state and how much came from day to day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from deniable.collector.access import Role
from deniable.collector.pages.templating import page
from deniable.collector.questions import read_name
from deniable.collector.requests import Call
from deniable.collector.stores.records import Asked, Slice, today, write_day
from deniable.presentation.text import one_line
from deniable.presentation.trend import spark_svg

if TYPE_CHECKING:
    from starlette.responses import Response

_LISTED_WIDTH = 60
_DAYS = 14


@dataclass(frozen=True)
class Listed:
    """One question in the list."""

    digest: str
    name: str
    state: str
    reports: str
    spark: Markup
    lately: str


@dataclass(frozen=True)
class Home:
    """All questions."""

    questions: tuple[Listed, ...]
    admin: bool
    place: str = "questions"


async def show(call: Call) -> Response:
    call.query()
    found = await call.services.readers.run(
        lambda store: [(asked, store.standing(Slice(asked.digest))) for asked in store.all_asked()]
    )
    listed = tuple(_listed(asked, dict(standing.daily), today()) for asked, standing in found)
    return page("home.html", Home(listed, is_admin(call)))


def is_admin(call: Call) -> bool:
    return call.holder is not None and call.holder.role is Role.ADMIN


def _listed(asked: Asked, daily: dict[int, int], last: int) -> Listed:
    days = range(last - _DAYS + 1, last + 1)
    numbers = [daily.get(day, 0) for day in days]
    lately = f"none in {_DAYS} days"
    if any(numbers):
        busiest = write_day(days[numbers.index(max(numbers))])
        lately = f"{sum(numbers):,} in {_DAYS} days, most on {busiest}"
    return Listed(
        asked.digest,
        one_line(read_name(asked.document), _LISTED_WIDTH),
        asked.state.value,
        f"{sum(daily.values()):,}",
        Markup(spark_svg(numbers)),
        lately,
    )
