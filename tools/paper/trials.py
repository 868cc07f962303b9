"""One simulated collection from a whole population, by the protocols that the evaluation compares.

The paper runs RAPPOR with filters of 128 bits, two hash functions and a number of cohorts that
stands in its name here, as in the figures: RAP(8), RAP(16).                          [sec:eval]
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from deniable.estimates import Estimates
from deniable.protocol import Protocol
from deniable.protocols.hashing import BLH, OLH
from deniable.protocols.rappor import RAPPOR
from deniable.statistics import Counts as CountsStatistic
from deniable.tally import Tally

Counts = npt.NDArray[np.int64]

_HASHING: dict[str, type[BLH] | type[OLH]] = {"OLH": OLH, "BLH": BLH}
_FINGERPRINTS = 1 << 64


def rappor_name(cohorts: int) -> str:
    """Return what the figures call RAPPOR with this many cohorts."""
    return f"RAP({cohorts})"


METHODS = (*_HASHING, rappor_name(8), rappor_name(16))
"""What the figures compare, in the order of their legends."""


def make_protocol(name: str, epsilon: float, domain_size: int) -> Protocol:
    """Return a protocol by the name that the figures give it.

    >>> make_protocol("RAP(16)", 4.0, 1000).name
    'RAPPOR'
    """
    if name in _HASHING:
        return _HASHING[name](epsilon, domain_size)
    return RAPPOR(epsilon=epsilon, cohorts=int(name.removeprefix("RAP(").removesuffix(")")))


def simulate_tally(
    protocol: RAPPOR,
    counts: npt.ArrayLike,
    rng: np.random.Generator,
    values: npt.NDArray[np.uint64] | None = None,
) -> Tally:
    """Draw RAPPOR's tally of so many people with each value, without making their reports.

    The law is that of ``tally(privatize(...))``, given probabilities rounded to floats: a cohort's
    people are multinomial, and the ones of its bits independent binomials. ``values`` are
    fingerprints, by default 0, 1, 2, ...
    """
    held = np.asarray(counts, dtype=np.int64)
    keys = np.arange(len(held), dtype=np.uint64) if values is None else values
    members = rng.multinomial(held, np.full(protocol.cohorts, 1 / protocol.cohorts))
    p, q = protocol.bit_parameters.p, protocol.bit_parameters.q
    table = np.empty((protocol.cohorts, 1 + protocol.bits), dtype=np.int64)
    for cohort, row in enumerate(table):
        filters = np.sort(protocol.positions(keys, np.full(len(keys), cohort, dtype=np.uint64)))
        fresh = np.diff(filters, axis=1, prepend=-1) != 0
        people = np.broadcast_to(members[:, cohort, None], filters.shape)
        holders = np.zeros(protocol.bits, dtype=np.int64)
        np.add.at(holders, filters[fresh], people[fresh])
        row[0] = members[:, cohort].sum()
        row[1:] = rng.binomial(holders, p) + rng.binomial(row[0] - holders, q)
    return Tally(protocol, int(table[:, 0].sum()), CountsStatistic(table.ravel()))


def collect(protocol: Protocol, truth: Counts, rng: np.random.Generator) -> Estimates:
    """Collect one report from everybody, and estimate how many people hold each value.

    RAPPOR's tally is drawn from its law, which takes no reports; its hash functions are fixed by
    the fingerprints of the values, which are therefore drawn anew in each run.
    """
    if isinstance(protocol, RAPPOR):
        keys = rng.integers(0, _FINGERPRINTS, len(truth), dtype=np.uint64)
        return protocol.estimate(simulate_tally(protocol, truth, rng, keys), keys)
    people = np.repeat(np.arange(len(truth), dtype=np.uint32), truth)
    return protocol.estimate(protocol.tally(protocol.privatize(people, rng)))


def most_frequent(truth: Counts, count: int) -> Counts:
    """Return the values that most people hold, most frequent first."""
    return np.argsort(-truth, kind="stable")[:count]


def squared_error(found: npt.NDArray[np.float64], truth: Counts, values: Counts) -> float:
    """Return the average squared error of some values' counts."""
    return float(np.mean((found[values] - truth[values]) ** 2))


def spread(numbers: Iterable[object]) -> tuple[float, float]:
    """Return the mean and the standard deviation of the runs, 0 where there is only one.

    >>> spread([1, 3])
    (2.0, 1.414...)
    """
    array = np.array(list(numbers), dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0
