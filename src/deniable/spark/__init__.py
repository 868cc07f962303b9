"""Spark, where one machine is not enough: reports tallied where they lie, equal to the byte.

``privatize``, ``tally``, ``estimate``, ``divide`` and ``merge`` work on frames of the caller's
session; ``TallyTable`` and ``count_batches`` keep tallies of a stream, each batch counted once.
They need ``pip install 'deniable[spark]'`` on the driver and on every executor.
"""

from deniable.optional import load

load("pyarrow", "spark")

from deniable.spark.frames import divide, estimate, merge, privatize, tally  # noqa: E402 - pyarrow
from deniable.spark.streaming import TallyTable, count_batches  # noqa: E402 - the same

__all__ = ["TallyTable", "count_batches", "divide", "estimate", "merge", "privatize", "tally"]
