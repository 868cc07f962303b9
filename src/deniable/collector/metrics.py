"""Metrics in the text format of Prometheus: histograms, and how families of series are written."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of histograms, in seconds."""


class Histogram:
    """How many times fell below each bound, and their sum."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one time."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def samples(self) -> Iterator[tuple[str, float]]:
        """Yield the end of each sample's name, and its value."""
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield f'_bucket{{le="{bound}"}}', total
        yield "_sum", self._sum
        yield "_count", total


@dataclass(frozen=True)
class Family:
    """All series of one name: what they mean, and what they are at the moment."""

    name: str
    kind: str
    help: str
    samples: Sequence[tuple[str, float]]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text format."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for end, value in self.samples:
            yield f"{self.name}{end} {_number(value)}"


def counter(name: str, help: str, value: float) -> Family:
    """Return a counter of one series."""
    return Family(name, "counter", help, [("", value)])


def gauge(name: str, help: str, value: float) -> Family:
    """Return a gauge of one series."""
    return Family(name, "gauge", help, [("", value)])


def histogram(name: str, help: str, found: Histogram) -> Family:
    """Return a histogram."""
    return Family(name, "histogram", help, list(found.samples()))


def counters(name: str, help: str, label: str, values: Mapping[str, int]) -> Family:
    """Return a counter with a series for each value of a label."""
    samples = [(f'{{{label}="{key}"}}', value) for key, value in sorted(values.items())]
    return Family(name, "counter", help, samples)


def exposition(families: Sequence[Family]) -> str:
    """Return the text that Prometheus reads."""
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _number(value: float) -> str:
    """Return a value as Prometheus reads it: whole numbers without a point."""
    if isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) else repr(value)
