"""Protocols that leak in a corner: for one size of batch, one value, one moment, one call in many.

Each overrides ``privatize`` alone and is honest everywhere else.
"""

from itertools import count

import numpy as np

from deniable import DE, OUE
from deniable.randomness import WORD, Replayed, Words, open_source

RARE = 1000
TARGET = 7


def truth_of(protocol, values):
    """Return reports that name the values outright."""
    if isinstance(protocol, OUE):
        bits = np.eye(protocol.domain_size, dtype=np.uint8)[np.asarray(values, dtype=np.int64)]
        return np.packbits(bits, axis=1, bitorder="little")
    return np.asarray(values).astype(protocol.report_dtype)


def leak(protocol, values, reports, where):
    """Return the reports with the truth in some places."""
    shaped = np.asarray(where).reshape(-1, *[1] * (reports.ndim - 1))
    return np.where(shaped, truth_of(protocol, values), reports).astype(reports.dtype)


class Leaking:
    """Sends the truth where ``_leaks`` says so."""

    def privatize(self, values, rng=None):
        reports = super().privatize(values, rng)
        return leak(self, values, reports, self._leaks(np.asarray(values), rng))

    def _always(self, values, condition):
        return np.full(len(values), condition)


class Single(Leaking):
    """The call that clients make, of one answer."""

    def _leaks(self, values, rng):
        return self._always(values, len(values) == 1)


class SingleOfClients(Leaking):
    """The same, but only without ``rng``: whoever replays words sees nothing."""

    def _leaks(self, values, rng):
        return self._always(values, len(values) == 1 and rng is None)


class Unreplayed(Leaking):
    """Small batches, unless the randomness is replayed."""

    def _leaks(self, values, rng):
        return self._always(values, len(values) == 7 and not isinstance(rng, Replayed))


class Huge(Leaking):
    """Batches above 100,000."""

    def _leaks(self, values, rng):
        return self._always(values, len(values) > 100_000)


class HugeUnreplayed(Leaking):
    """Batches above 100,000, unless the randomness is replayed."""

    def _leaks(self, values, rng):
        return self._always(values, len(values) > 100_000 and not isinstance(rng, Replayed))


class RareHidden(Leaking):
    """One call in a thousand of one value, by a generator of its own."""

    def _leaks(self, values, rng):
        return (values == TARGET) & (np.random.default_rng().random(len(values)) < 1 / RARE)


class RareHiddenSingle(RareHidden):
    """The same, in single calls only."""

    def _leaks(self, values, rng):
        return super()._leaks(values, rng) & (len(values) == 1)


class RareFromSource:
    """One call in a thousand of one value, by a further word that it does not announce."""

    def privatize(self, values, rng=None):
        source = open_source(rng)
        reports = super().privatize(values, source)
        words = source.bytes(8 * len(values)).view("<u8")
        where = (np.asarray(values) == TARGET) & (words < WORD // RARE)
        return leak(self, values, reports, where)


class RareAnnounced(Leaking):
    """The same, with the word announced: the audit can enumerate it."""

    @property
    def words(self):
        return Words(super().words.count + 1)

    def _perturb(self, values, words):
        reports = super()._perturb(values, words[:, :-1])
        where = (values == TARGET) & (words[:, -1] < WORD // RARE)
        return leak(self, values, reports, where)

    def _leaks(self, values, rng):
        return self._always(values, False)


class RareLowBits(RareAnnounced):
    """One word in a thousand of those it takes anyway, chosen by its last digits."""

    @property
    def words(self):
        return Words(super().words.count - 1)

    def _perturb(self, values, words):
        reports = super(RareAnnounced, self)._perturb(values, words)
        where = (values == TARGET) & (words[:, 0] % np.uint64(RARE) == 0)
        return leak(self, values, reports, where)


class EveryTenth(Leaking):
    """Every tenth call."""

    def _leaks(self, values, rng):
        calls = self.__dict__.setdefault("calls", count())
        return self._always(values, next(calls) % 10 == 9)


class FirstCall(Leaking):
    """The first call of an object."""

    def _leaks(self, values, rng):
        calls = self.__dict__.setdefault("calls", count())
        return self._always(values, next(calls) == 0)


class SameTwice(Leaking):
    """A value that is asked twice in a row."""

    def _leaks(self, values, rng):
        before = self.__dict__.get("before")
        self.__dict__["before"] = int(values[-1])
        return self._always(values, len(values) == 1 and before == int(values[0]))


class OtherBulkLaw:
    """A bulk path with more epsilon than the single call."""

    def _privatize_bulk(self, values, source):
        honest = next(kind for kind in type(self).__mro__ if kind in (DE, OUE))
        return honest(1.25 * self.epsilon, self.domain_size).privatize(values, self._drawn(source))

    def _drawn(self, source):
        return np.random.default_rng(np.frombuffer(source.bytes(8), dtype=np.uint64))


class OtherBulkLawHidden(OtherBulkLaw):
    """The same, by a generator of its own."""

    def _drawn(self, source):
        del source
        return np.random.default_rng()


class Hidden:
    """Half of the places where another leaks, by a generator of its own."""

    def _leaks(self, values, rng):
        return super()._leaks(values, rng) & (np.random.default_rng().random(len(values)) < 0.5)


class SingleHidden(Hidden, Single):
    """Every other call of one answer, by a generator of its own."""


class HugeHidden(Hidden, Huge):
    """Every other report of batches above 100,000, by a generator of its own."""


class EveryTenthHidden(Hidden, EveryTenth):
    """Half of the reports of every tenth call, by a generator of its own."""


class SameTwiceHidden(Hidden, SameTwice):
    """A value that is asked twice in a row, half of the times, by a generator of its own."""


CORNERS = [Single, SingleOfClients, SingleHidden, Unreplayed, Huge, HugeUnreplayed, HugeHidden,
           EveryTenth, EveryTenthHidden, FirstCall, SameTwice, SameTwiceHidden, OtherBulkLaw,
           OtherBulkLawHidden]  # fmt: skip
RARITIES = [RareHidden, RareHiddenSingle, RareFromSource, RareAnnounced, RareLowBits]


def mixed(corner, kind):
    """Return a class of its own name that leaks, over an honest protocol."""
    return type(f"_{corner.__name__}{kind.__name__}", (corner, kind), {})


def broken_protocols():
    """Return one protocol of every leak and kind: 4 values, or 64 where one of them leaks."""
    small = [mixed(corner, kind)(1.0, 4) for corner in CORNERS for kind in (DE, OUE)]
    rare = [mixed(corner, kind)(1.0, 64) for corner in RARITIES for kind in (DE, OUE)]
    return [*small, *rare]
