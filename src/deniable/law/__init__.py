"""The law of each estimated count: one object that answers every question about it.

What is significant, what an interval holds and what a plan promises all follow from the same law,
exact or on the safe side, for 1 to 10^18 reports.

- ``SupportLaw``: pure protocols; the supports of an answer are a sum of two binomials
- ``LaplaceLaw``: sums of noisy histograms
- ``RepeatedLaw``: people who sent several reports with the same permanent noise
- ``WidenedLaw``: one of these with an independent error on top
- ``LotLaw``: rows that only people drawn by lot have told of
- ``Pairs``: two values at once, and so the variance of any sum of counts
"""

from deniable.law.counts import LaplaceLaw, SupportLaw
from deniable.law.normal import KnownLaw, Law, Supports, Variance, WidenedLaw, upper_normal
from deniable.law.pairs import Apart, Joint, LinesOf, Pairs, PairsOf
from deniable.law.repeated import RepeatedLaw

__all__ = [
    "Apart", "Joint", "KnownLaw", "LaplaceLaw", "Law", "LinesOf", "Pairs", "PairsOf",
    "RepeatedLaw", "SupportLaw", "Supports", "Variance", "WidenedLaw", "upper_normal",
]  # fmt: skip
