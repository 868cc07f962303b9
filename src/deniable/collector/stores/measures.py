"""What an operator wants to know about a store, and how one finds out whether it can be written."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Protocol


@dataclass(frozen=True)
class Measures:
    """Sizes in bytes, reports and days; what a database does not tell is not a number."""

    waiting: int
    """Reports that are not in a tally yet."""
    oldest: int | None
    """The first day that has such reports."""
    sealed_through: int
    set_aside: int
    """Rows that could not be read."""
    size: float
    log_size: float = nan
    """The file that SQLite writes ahead."""
    free: float = nan
    """What the file system has left."""


class Measuring(Protocol):
    """Whether the store can be written, and how full it is."""

    def probe(self) -> None:
        """Write something without meaning that is on the disk when this returns."""

    def measure(self) -> Measures:
        """Return how full the store is."""
