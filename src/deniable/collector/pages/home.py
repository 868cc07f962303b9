"""The first page: all questions, each with its state and how much came lately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.collector.operations import Call
from deniable.collector.pages.templating import page

if TYPE_CHECKING:
    from starlette.responses import Response


@dataclass(frozen=True)
class Home:
    """All questions."""

    place: str = "questions"


async def show(call: Call) -> Response:
    """List the questions."""
    call.query()
    return page("home.html", Home())
