"""The search: candidates from the payload pieces alone, in bounded time and memory.

Every cell of a payload piece has a score: its supports less what chance gives and less the median
over all buckets, since rare texts that begin alike are spread over all of them. The unit is such
that the scores of a text's m cells add up to one standard deviation if nobody gave it. A text whose
code has k bits must reach tau(k), which noise reaches for 2^-k 50 of all codes, so that about fifty
candidates are noise. Check pieces judge them; nothing here has to be exact.

All codes of up to s + r + 4 bits, 24 as a rule, are scored once. Longer ones are built piece by
piece in each bucket: the strongest beginnings are kept, and of each all ways to end within the next
piece are tried, whose hash has to name the bucket again. Strong candidates go first: five rounds
ask for 16, 8, 4, 2 and 1 times tau, and what a round has found is taken off the cells before the
next, so that the pieces of two frequent texts do not make a third.

Each cap that cuts something off says so by ``complete``, except the room of the last round, where
noise fills it.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from deniable.kernels.hashes import Beginnings, Endings, match_endings
from deniable.kernels.parallel import run_chunks
from deniable.law import upper_normal
from deniable.protocols.discovery.automaton import automaton, endings
from deniable.protocols.discovery.cells import Layout
from deniable.protocols.discovery.code import Code

FACTORS = (16.0, 8.0, 4.0, 2.0, 1.0)
SHORT = 4
"""All codes with up to this many bits more than a cell are tried: 24 bits as a rule."""
NOISE = 50.0
"""How many candidates noise alone makes, about."""
CUT = 127
"""The size of a code that goes on after the payload."""
ROOM, WIDE, GROWN, ENDED = 1 << 11, 1 << 12, 1 << 14, 1 << 19
"""Of each bucket and depth: beginnings kept in the last round and before it, where few are noise,
beginnings looked at, and endings tried."""
MOST_FOUND, MOST_KEPT, MOST_TESTED = 1 << 10, 64, 1 << 12
"""Candidates of a bucket in a round, of a bucket in all, and of all buckets."""
_PARTS, _SOME, _PAIRS, _BISECTIONS = 6, 32, 1 << 17, 16

Floats = np.typing.NDArray[np.float32]
Words = np.typing.NDArray[np.uint64]
Integers = np.typing.NDArray[np.int64]


class Strings(NamedTuple):
    """Codes by bucket: the first word, how many bits, or CUT, and a score."""

    buckets: Integers
    words: Words
    sizes: Integers
    scores: Floats

    def take(self, which: np.typing.NDArray[np.integer]) -> "Strings":
        buckets, words, sizes, scores = self
        return Strings(buckets[which], words[which], sizes[which], scores[which])


class _Beginnings(NamedTuple):
    """Beginnings of codes, a few pieces long: where they lead, and the sum of their scores."""

    buckets: Integers
    words: Words
    states: np.typing.NDArray[np.int32]
    sums: Floats

    @classmethod
    def of(cls, start: int, stop: int) -> "_Beginnings":
        """Return the empty beginning of each of some buckets."""
        n = stop - start
        empty = np.zeros(n, np.uint64), np.zeros(n, np.int32), np.zeros(n, np.float32)
        return cls(np.arange(start, stop), *empty)

    def take(self, which: Integers) -> "_Beginnings":
        buckets, words, states, sums = self
        return _Beginnings(buckets[which], words[which], states[which], sums[which])


class Searched(NamedTuple):
    """What the search found: codes with their scores, and whether nothing was cut off."""

    found: Strings
    complete: bool


def levels(layout: Layout) -> np.typing.NDArray[np.float64]:
    """Return tau by the size of a code: what noise reaches 50 times among all codes of that size.

    A code that goes on after the payload is one of 2^(m r + s).
    """
    sizes = [max(10, size if size <= layout.length else layout.length + layout.bucket_bits)
             for size in range(CUT + 1)]  # fmt: skip
    return np.array([upper_normal(min(0.25, NOISE * 0.5**size)) for size in sizes])


def search(scores: Floats, code: Code, layout: Layout) -> Searched:
    """Return the candidates from the scores of payload cells, by bucket, piece and cell."""
    return _Search(scores, code, layout).run()


class _Search:
    def __init__(self, scores: Floats, code: Code, layout: Layout) -> None:
        centred = scores - np.median(scores, axis=0) if len(scores) > 2 else scores.copy()
        self.scores: Floats = np.ascontiguousarray(centred, dtype=np.float32)
        self.layout, self.m, self.r = layout, layout.payload, layout.piece_bits
        self.automaton, self.endings = automaton(code), endings(code, layout.piece_bits)
        self.tau = levels(layout)
        self.slack = 2.5 / math.sqrt(self.m)
        self.short = min(layout.length, layout.bucket_bits + self.r + SHORT)
        self.order = np.empty(self.scores.shape, dtype=np.int16)
        self.sorted: Floats = np.empty_like(self.scores)
        self.kept = np.zeros(len(self.scores), dtype=np.int64)
        self.complete = True

    def run(self) -> Searched:
        self._sort(np.arange(len(self.scores)))
        few, taken = self._scan(), []
        for factor in FACTORS:
            grow = partial(self._grow, factor=factor)
            parts = [self._strong(few, factor), *run_chunks(grow, len(self.scores), _SOME)]
            taken.append(self._settle(_joined(parts), factor))
            self._sort(np.unique(taken[-1].buckets))
        return self._finish(_joined(taken))

    def _sort(self, buckets: Integers) -> None:
        for start in range(0, len(buckets), _SOME):
            some = buckets[start : start + _SOME]
            order = np.argsort(-self.scores[some], axis=2)
            self.order[some] = order
            self.sorted[some] = np.take_along_axis(self.scores[some], order, axis=2)

    def _cells(self, codes: Strings) -> Floats:
        """Return the scores of the m cells of each code."""
        size = codes.sizes.astype(np.uint64)
        filled = self.layout.filled(codes.words, size, self.layout.hashes(codes.words, size))
        return self._gather(codes.buckets, filled)

    def _gather(self, buckets: Integers, filled: Words) -> Floats:
        flat, found = self.scores.ravel(), np.empty((len(filled), self.m), dtype=np.float32)
        for j in range(self.m):
            found[:, j] = flat.take((buckets * self.m + j << self.r) | self.layout.piece(filled, j))
        return found

    def _strong(self, codes: Strings, factor: float) -> Strings:
        """Return the codes that reach ``factor`` times tau, in all and in each piece."""
        cells, wanted = self._cells(codes), factor * self.tau[codes.sizes]
        total = cells.sum(axis=1)
        good = (total >= wanted) & (cells.min(axis=1) >= wanted / self.m - self.slack)
        return codes._replace(scores=total).take(np.flatnonzero(good))

    def _scan(self) -> Strings:
        """Return the short codes that reach tau; later rounds only lower scores."""
        found: list[Strings] = []
        states, codes = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint64)
        for size in range(1, min(_PARTS, self.short) + 1):
            states, codes = self._longer(states, codes, size, found)

        def scan(start: int, stop: int) -> list[Strings]:
            mine: list[Strings] = []
            some, words = states[start:stop], codes[start:stop]
            for size in range(_PARTS + 1, self.short + 1):
                some, words = self._longer(some, words, size, mine)
            return mine

        for parts in run_chunks(scan, len(states), 1):
            found += parts
        return _joined(found)

    def _longer(
        self, states: np.typing.NDArray[np.int32], codes: Words, size: int, found: list[Strings]
    ) -> tuple[np.typing.NDArray[np.int32], Words]:
        """Add a bit to all codes; those that end and are strong are found, the others go on."""
        states = self.automaton.step[states].ravel()
        codes = np.repeat(codes << np.uint64(1), 2)
        codes[1::2] |= np.uint64(1)
        ended = states == self.automaton.end
        words = codes[ended] << np.uint64(64 - size)
        for start in range(0, len(words), _PAIRS):
            some = words[start : start + _PAIRS]
            sizes = np.full(len(some), size)
            bits = sizes.astype(np.uint64)
            hashes = self.layout.hashes(some, bits)
            buckets = self.layout.buckets(hashes)
            total = self._gather(buckets, self.layout.filled(some, bits, hashes))
            good = np.flatnonzero(total.sum(axis=1) >= self.tau[size])
            strings = Strings(buckets[good], some[good], sizes[good], total[good, 0])
            found.append(self._strong(strings, 1.0))
        return states[~ended], codes[~ended]

    def _grow(self, start: int, stop: int, factor: float) -> Strings:
        """Return the strong longer codes of some buckets, piece by piece."""
        m, r, tau = self.m, self.r, self.tau
        nodes, found = _Beginnings.of(start, stop), list[Strings]()
        for j in range(m):
            if (j + 1) * r > self.short:
                found.append(self._end(nodes, j, factor))
            part, last = (j + 1) / m, j == m - 1
            bridge = 2 * math.sqrt(part * (1 - part))
            longer = CUT if last else min(m * r, max(self.short, (j + 1) * r) + 1)
            keep = max(factor * tau[longer] * part - bridge, 0.0 if last else self._fills(j))
            least = factor * tau[CUT if last else max(self.short, j * r) + 1] / m - self.slack
            nodes = self._extend(nodes, j, self._grown(nodes, j, factor, keep, least))
            on = np.flatnonzero(nodes.states != self.automaton.end)
            nodes = nodes.take(on if last else self._strongest(nodes, on, factor))
        sizes = np.full(len(nodes.words), CUT)
        cut = Strings(nodes.buckets, nodes.words, sizes, nodes.sums)
        return _joined([*found, self._strong(cut, factor)])

    def _extend(self, nodes: "_Beginnings", j: int, counts: Integers) -> "_Beginnings":
        """Return beginnings with ``counts`` of the best cells of piece j added to each."""
        owner = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        buckets, words, states, sums = nodes.take(owner)
        cell = self.order[buckets, j, place].astype(np.int64)
        shift = np.uint64(64 - (j + 1) * self.r)
        return _Beginnings(
            buckets,
            words | cell.astype(np.uint64) << shift,
            self.automaton.walk(states, cell, self.r),
            sums + self.sorted[buckets, j, place],
        )

    def _fills(self, j: int) -> float:
        """Return the sum of j + 1 pieces that noise passes about as often as half the room."""
        chance = min(0.5, 0.5 * ROOM / 2.0 ** (self.r * (j + 1)))
        return math.sqrt((j + 1) / self.m) * upper_normal(chance)

    def _count(self, j: int, buckets: Integers, least: np.typing.NDArray[np.floating]) -> Integers:
        """Return how many cells of a piece have at least these scores, by bisection."""
        first = (buckets * self.m + j << self.r) - 1
        count, flat = np.zeros(len(buckets), dtype=np.int64), self.sorted.ravel()
        # Half of the cells at first, then halves of what is left, and at last one once more.
        for step in (*(1 << k for k in range(self.r - 1, -1, -1)), 1):
            count += step * (flat.take(first + count + step) >= least)
        return count

    def _grown(
        self, nodes: "_Beginnings", j: int, factor: float, keep: float, least: float
    ) -> Integers:
        """Return how many cells of a piece each beginning goes on with, the best of them first.

        Where a bucket would have too many, it asks for more: only the strongest find room anyway.
        """
        buckets, sums = nodes.buckets, nodes.sums
        wanted = self._count(j, buckets, np.maximum(keep - sums, least))
        total = np.bincount(buckets, wanted)
        many = np.flatnonzero(total > GROWN)
        if not len(many):
            return wanted
        if factor > 1.0 and j < self.m - 1:
            self.complete = False
        low, high = np.full(len(total), keep), np.full(len(total), keep)
        high[many] += sums.max() + self.sorted[many, j, 0]
        which = np.flatnonzero(total[buckets] > GROWN)
        here = buckets[which]
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            found = self._count(j, here, np.maximum(middle[here] - sums[which], least))
            above = np.bincount(here, found, minlength=len(total)) > GROWN
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        wanted[which] = self._count(j, here, np.maximum(high[here] - sums[which], least))
        return wanted

    def _tried(self, nodes: "_Beginnings", wanted: Integers) -> Integers:
        """Return how many endings of each beginning are tried, those of the strongest first."""
        buckets, sums = nodes.buckets, nodes.sums
        if np.bincount(buckets, wanted).max(initial=0.0) <= ENDED:
            return wanted
        self.complete = False
        order = np.lexsort((-sums, buckets))
        before = np.cumsum(wanted[order]) - wanted[order]
        starts = np.searchsorted(buckets[order], buckets[order])
        left = ENDED - (before - before[starts])
        tried = np.empty_like(wanted)
        tried[order] = np.clip(wanted[order], 0, np.maximum(left, 0))
        return tried

    def _strongest(self, nodes: "_Beginnings", which: Integers, factor: float) -> Integers:
        """Return those of some beginnings that find room in their bucket."""
        buckets, room = nodes.buckets[which], WIDE if factor > 1.0 else ROOM
        if np.bincount(buckets).max(initial=0) <= room:
            return which
        if factor > 1.0:
            self.complete = False
        order = np.lexsort((-nodes.sums[which], buckets))
        rank = np.arange(len(order)) - np.searchsorted(buckets[order], buckets[order])
        return which[order[rank < room]]

    def _end(self, nodes: "_Beginnings", j: int, factor: float) -> Strings:
        """Return the strong codes that end within piece j, of those that begin with these."""
        starts, bits, sizes = self.endings
        firsts, done = starts[nodes.states], j * self.r
        count = self._tried(nodes, starts[nodes.states + 1] - firsts)
        rows = Beginnings(nodes.words, nodes.buckets, firsts, count)
        ends = Endings(bits, sizes, done)
        owner, place = match_endings(rows, ends, self.layout.salt, self.layout.bucket_bits)
        longer = np.flatnonzero(sizes[place] + done > self.short)
        owner, place = owner[longer], place[longer]
        code = nodes.words[owner] | bits[place] >> np.uint64(done)
        none = np.zeros(len(code), dtype=np.float32)
        found = Strings(nodes.buckets[owner], code, sizes[place] + done, none)
        return self._strong(found, factor)

    def _settle(self, codes: Strings, factor: float) -> Strings:
        """Take candidates off the cells, the likeliest first, and return those that are left.

        Whole codes go before those that are cut. What is taken is the second smallest cell, which
        up to m - 2 others may share without raising it. All buckets go on together.
        """
        tau, m = self.tau[codes.sizes], self.m
        cut = codes.sizes == CUT
        odds = np.where(cut, codes.scores, codes.scores**2 - tau**2)
        codes = codes.take(np.lexsort((-odds, cut, codes.buckets)))
        rank = np.arange(len(codes.buckets)) - np.searchsorted(codes.buckets, codes.buckets)
        self.complete &= bool(rank[codes.sizes != CUT].max(initial=0) < MOST_FOUND)
        kept = []
        for turn in range(min(int(rank.max(initial=-1)) + 1, MOST_FOUND)):
            mine = self._strong(codes.take(np.flatnonzero(rank == turn)), factor)
            free = self.kept[mine.buckets] < MOST_KEPT
            self.complete &= bool(free.all())
            mine = mine.take(np.flatnonzero(free))
            cells = np.sort(self._cells(mine), axis=1)
            level = np.maximum(cells[:, min(1, m - 1)] + 0.5 / math.sqrt(m), 0.0)
            self._subtract(mine, level)
            self.kept[mine.buckets] += 1
            kept.append(mine._replace(scores=np.float32(m) * level))
        return _joined(kept)

    def _subtract(self, codes: Strings, level: Floats) -> None:
        size = codes.sizes.astype(np.uint64)
        filled = self.layout.filled(codes.words, size, self.layout.hashes(codes.words, size))
        for j in range(self.m):
            self.scores[codes.buckets, j, self.layout.piece(filled, j)] -= level

    def _finish(self, codes: Strings) -> Searched:
        """Add what is left in the cells to what was taken, and keep the strongest codes."""
        _, first, where = np.unique(
            np.stack([codes.words, codes.sizes.astype(np.uint64), codes.buckets.astype(np.uint64)]),
            axis=1, return_index=True, return_inverse=True,
        )  # fmt: skip
        taken = np.bincount(where.ravel(), codes.scores, minlength=len(first))
        once = codes.take(first)
        total = (taken + self._cells(once).sum(axis=1)).astype(np.float32)
        good = np.flatnonzero(total >= self.tau[once.sizes])
        good = good[np.argsort(-total[good], kind="stable")]
        self.complete &= bool(np.count_nonzero(once.sizes[good] != CUT) <= MOST_TESTED)
        return Searched(once._replace(scores=total).take(good), self.complete)


def _joined(parts: list[Strings]) -> Strings:
    empty = (np.empty(0, kind) for kind in (np.int64, np.uint64, np.int64, np.float32))
    return Strings(*map(np.concatenate, zip(empty, *parts, strict=True)))
