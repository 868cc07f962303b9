"""Kinds of answers, one file each; every module here is found by itself.

``Answers`` is what all kinds promise. A question that takes a list of labels is a ``Choice``. The
others are loaded when they are named.
"""

from typing import TYPE_CHECKING

from deniable.answers.base import Answers, find_kind
from deniable.answers.choice import Choice

if TYPE_CHECKING:
    from deniable.answers.choices import Choices
    from deniable.answers.number import Number
    from deniable.answers.record import Record
    from deniable.answers.text import Text

__all__ = ["Answers", "Choice", "Choices", "Number", "Record", "Text"]


def __getattr__(name: str) -> type[Answers]:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return find_kind(name.lower())


def __dir__() -> list[str]:
    return __all__


_HOMES = {each: each for each in ("choice", "choices", "number", "record", "text")}
_OTHERS = ("base", "comparable", "cross", "distribution", "forecast", "moved", "scale", "survey")
Answers.registry.expect(__name__, __path__, {**_HOMES, **dict.fromkeys(_OTHERS, "")})
