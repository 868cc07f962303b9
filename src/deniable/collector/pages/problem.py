"""Problems as people see them: the same table as for programs, as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.collector.pages.templating import page
from deniable.collector.problems import find_problem, shows_detail

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Scope


@dataclass(frozen=True)
class Trouble:
    """What went wrong."""

    title: str
    detail: str | None
    status: int


def wants_page(scope: Scope) -> bool:
    """Tell whether a browser asked for a page, and not a program for the interface."""
    if scope["path"].startswith("/v1/"):
        return False
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accept


def show(error: Exception) -> Response:
    """Return the page of an error, with its status."""
    found = find_problem(error)
    detail = str(error) if shows_detail(found) else None
    return page("problem.html", Trouble(found.title, detail, found.status), found.status)
