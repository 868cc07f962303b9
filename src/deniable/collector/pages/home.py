"""The first page: all questions, each with its state and how much came from day to day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from deniable.collector.access import Role
from deniable.collector.days import today, write_day
from deniable.collector.pages.templating import page
from deniable.collector.questions import read_name
from deniable.collector.requests import Call
from deniable.collector.stores.base import Store
from deniable.collector.stores.records import Asked, Days, Slice
from deniable.presentation.text import one_line
from deniable.presentation.trend import spark_svg

if TYPE_CHECKING:
    from starlette.responses import Response

NAME_WIDTH = 120
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
    """List the questions."""
    call.query()
    asked = await call.services.readers.run(lambda store: store.all_asked())
    last = today()

    def read(store: Store) -> list[tuple[int, list[tuple[int, int]]]]:
        return [
            (
                store.standing(Slice(each.digest))[0],
                store.daily(Slice(each.digest, Days(last - _DAYS + 1, last))),
            )
            for each in asked
        ]

    counts = await call.services.readers.run(read)
    listed = tuple(
        _listed(each, n, dict(daily), last) for each, (n, daily) in zip(asked, counts, strict=True)
    )
    return page("home.html", Home(listed, is_admin(call)))


def is_admin(call: Call) -> bool:
    """Tell whether who looks may also change something."""
    return call.holder is not None and call.holder.role is Role.ADMIN


def _listed(asked: Asked, n: int, daily: dict[int, int], last: int) -> Listed:
    numbers = [daily.get(day, 0) for day in range(last - _DAYS + 1, last + 1)]
    busiest = max(daily, key=lambda day: daily[day], default=None)
    lately = (
        f"none in {_DAYS} days"
        if busiest is None
        else f"{sum(numbers):,} in {_DAYS} days, most on {write_day(busiest)}"
    )
    return Listed(
        asked.digest,
        one_line(read_name(asked.document), _LISTED_WIDTH),
        asked.state.value,
        f"{n:,}",
        Markup(spark_svg(numbers)),
        lately,
    )
