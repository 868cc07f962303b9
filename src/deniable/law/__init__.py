"""The law of each estimated count: one object that every decision about it asks.

What is significant, what an interval holds, what a plan promises: all by the same law, exact or
on the safe side, for 1 to 10^18 reports.

- ``SupportLaw``: pure protocols; the supports of an answer are a sum of two binomials
- ``LaplaceLaw``: summation of noisy histograms
- ``RepeatedLaw``: people who sent several reports with the same permanent noise
- ``NormalLaw``: counts that sum up so much that only their variance is known
"""

from __future__ import annotations

from typing import Protocol

from deniable.law.normal import Ends, Floats, NormalLaw, Variance, upper_normal
from deniable.law.noise import LaplaceLaw
from deniable.law.support import SupportLaw

__all__ = ["LaplaceLaw", "Law", "NormalLaw", "SupportLaw", "Variance", "upper_normal"]


class Law(Protocol):
    """What ``Estimates`` asks of a law."""

    def interval(self, counts: Floats, tail: float) -> Ends:
        """Return the ends of the counts that each count is not in a tail of."""

    def threshold(self, tail: float) -> float:
        """Return the count that an answer nobody gave exceeds with probability at most ``tail``."""
