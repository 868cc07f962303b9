"""Forms: the fields that a browser sends, each once, and the ranges of days in addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from re import compile
from urllib.parse import parse_qsl

from deniable.collector.days import read_day
from deniable.collector.problems import InvalidRequest
from deniable.collector.requests import Call
from deniable.collector.results import Range
from deniable.collector.stores.records import EVER

_MOST_FIELDS = 100
_THOUSANDS = compile(r"[0-9]{1,3}(,[0-9]{3})+")


async def read_form(call: Call, limit: int = 1 << 16) -> dict[str, str]:
    """Return the fields of a form; of fields that repeat, the last."""
    body = await call.body(limit)
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict",
            max_num_fields=_MOST_FIELDS,
        )  # fmt: skip
    except (UnicodeDecodeError, ValueError):
        raise InvalidRequest("expected the fields of a form, got something else") from None
    return dict(pairs)


def lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a text area that are not empty, without white space around them.

    >>> lines("kiwi\r\n  fig \n\n")
    ('kiwi', 'fig')
    """
    return tuple(filter(None, (line.strip() for line in text.split("\n"))))


def exact_lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a text area as they are, each once; those of white space are no lines.

    >>> exact_lines("tea \r\ntea\n\ntea")
    ('tea ', 'tea')
    """
    found = (line.removesuffix("\r") for line in text.split("\n"))
    return tuple(dict.fromkeys(line for line in found if line.strip()))


@dataclass(frozen=True)
class Span:
    """A range of days as a form has it, and how many people answered in it: texts, or empty."""

    first: str = ""
    last: str = ""
    people: str = ""

    def __str__(self) -> str:
        if not self.given:
            return "all days"
        return f"{self.first or 'the first day'} to {self.last or 'the last day'}"

    @property
    def given(self) -> bool:
        """Whether any day was entered."""
        return bool(self.first or self.last)

    def read(self) -> Range:
        """Return the range of days."""
        days = Range(
            read_day(self.first, "from") if self.first else 0,
            read_day(self.last, "to") if self.last else EVER,
            self._read_people(),
        )
        if days.first > days.last:
            raise InvalidRequest("expected a range of days that begins before it ends")
        return days

    def _read_people(self) -> int | None:
        text = self.people.strip().replace(",", "")
        if text and not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
            raise InvalidRequest(f"expected a whole number of people, got {text[:40]!r}")
        return int(text) if text else None


def number(fields: Mapping[str, str], name: str) -> float | None:
    """Return a number of a form, or None where the field is empty."""
    text = fields.get(name, "").strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidRequest(
            f"expected a number for {name}, got {text[:40]!r}", value=text[:40]
        ) from None
