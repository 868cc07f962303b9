"""How results are shown: a ``View`` as text, HTML or a figure, and columns as files.

What draws is loaded when a result is first shown, as ``presentation.charts``.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from deniable.presentation.tables import unguarded

if TYPE_CHECKING:
    from deniable.presentation import charts, html, parts, text, verdict  # noqa: F401

__all__ = ["unguarded"]


def __getattr__(name: str) -> ModuleType:
    if name not in ("charts", "html", "parts", "text", "verdict"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
