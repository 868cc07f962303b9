"""Templates: one frozen context for each, everything escaped, nothing undefined.

Templates place what they are given; what is shown and how it is rounded is decided before, in
``presentation`` and in the contexts.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from deniable.collector.pages import assets

if TYPE_CHECKING:
    from dataclasses import Field


class Context(Protocol):
    """What a template is given: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["asset"] = assets.address
    return found


def render(template: str, context: Context) -> str:
    """Return a template filled with the fields of its context."""
    values = {field.name: getattr(context, field.name) for field in fields(context)}
    return _environment().get_template(template).render(values)


def page(template: str, context: Context, status: int = 200) -> HTMLResponse:
    """Return a page that no cache keeps."""
    return HTMLResponse(render(template, context), status, {"cache-control": "no-store"})
