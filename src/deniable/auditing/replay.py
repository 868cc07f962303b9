"""Whether every way of calling a protocol is the same map from random words to reports.

The same words must give the same report in the call that clients make, ``privatize([one answer])``,
in batches of 2, of a few and of many, in any order, at any time, and in a copy of the protocol. The
comparison is of bytes and needs no statistics: one report that differs is a failure, and a call
that leaves the map with chance c is seen with probability 1 - (1 - c)^n after n of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from deniable.auditing.probe import Bytes, Probe, Values, Words
from deniable.auditing.progress import Progress

_ALL_CALLS = 3 << 17
"""Of 64 values there are 6144 each, which a leak in one of a thousand escapes with chance 2e-3."""
_LEAST_CALLS = 32
_ALL_WORDS = 1 << 25
_ROUND_WORDS = 1 << 21
_ROUNDS = 8
_SMALL_BATCHES = {2: 8, 3: 8, 7: 16, 100: 128}
"""Sizes, and among how many single calls there is one such batch."""
LARGE_BATCHES = (1_009, 20_011, 100_003, 300_007, 1_000_003)
_LARGE_REPLAYS = 4
_COPIES = 64
_IN_A_ROW = 32
_BATCH_WORDS = 1 << 23
_BATCH_BYTES = 1 << 25


def calls_of_each(probe: Probe, values: int) -> int:
    """Return how many single calls are made of each value."""
    return max(
        _LEAST_CALLS, min(probe.calls, _ALL_CALLS // values, _ALL_WORDS // (values * probe.count))
    )


def check_replays(probe: Probe, values: Values, progress: Progress) -> list[str]:
    """Return in which way calls with the same words gave different reports, if in any."""
    calls = calls_of_each(probe, len(values))
    rounds = max(_ROUNDS, -(-calls * len(values) * probe.count // _ROUND_WORDS))
    for index in range(rounds):
        # Sometimes one more, so that the calls of all rounds add up.
        rows = calls * (index + 1) // rounds - calls * index // rounds
        whose = np.repeat(values, max(1, rows))
        words = probe.random_words(len(whose))
        known = _Known(probe, whose, words, probe.run_many(whose, words))
        failures = known.check(batches=index == 0)
        if failures:
            return failures
        progress.advance(0.4 / rounds)
    return _check_copies(probe, values)


def _check_copies(probe: Probe, values: Values) -> list[str]:
    """Make the first and the second call of fresh copies."""
    if probe.fresh is None:
        return []
    whose = probe.generator.choice(values, _COPIES)
    words = probe.random_words(2 * _COPIES)
    wrong = 0
    for i, value in enumerate(whose.tolist()):
        expected = probe.run(np.full(2, value, dtype=np.uint64), words[2 * i : 2 * i + 2])
        copied = probe.fresh()
        for k in range(2):
            found = probe.single(value, words[2 * i + k].astype("<u8").tobytes(), copied)
            wrong += found != expected[k].tobytes()
    if not wrong:
        return []
    return [
        f"the first two calls of fresh copies: {wrong} of {2 * _COPIES} reports are not those that "
        "the same random words give later; its law depends on the calls before"
    ]


class _Known:
    """Reports of known words from large batches, with which every other call is compared."""

    def __init__(self, probe: Probe, whose: Values, words: Words, reports: Bytes) -> None:
        self.probe, self.whose, self.words, self.reports = probe, whose, words, reports
        self._data, self._values = words.astype("<u8", copy=False), whose.tolist()

    def check(self, *, batches: bool) -> list[str]:
        """Return what the first check finds that finds anything."""
        looks: list[Callable[[], list[str]]] = [self.check_again, self.check_singles]
        if batches:
            looks[1:1] = [self.check_batches, self.check_runs]
        for look in looks:
            failures = look()
            if failures:
                return failures
        return []

    def check_again(self) -> list[str]:
        """Replay everything once more, in another order."""
        order = self.probe.generator.permutation(len(self.whose))
        again = self.probe.run_many(self.whose[order], self.words[order])
        return self._said(
            np.any(again != self.reports[order], axis=1), order, "replayed in another order"
        )

    def check_singles(self) -> list[str]:
        """Make the calls that clients make, values mixed."""
        order = self.probe.generator.permutation(len(self.whose))
        return self._said(self._differ(order), order, "privatize([value])")

    def check_runs(self) -> list[str]:
        """Make the same call many times in a row, and calls of one value one after the other."""
        starts = self.probe.generator.integers(0, len(self.whose), 2 * _IN_A_ROW)
        same = np.repeat(starts[:_IN_A_ROW], _IN_A_ROW)
        near = (starts[_IN_A_ROW:, None] + np.arange(_IN_A_ROW)).ravel() % len(self.whose)
        order = np.concatenate([same, near])
        return self._said(self._differ(order), order, "privatize([value]) many times in a row")

    def check_batches(self) -> list[str]:
        """Make batches of 2, of a few and of many, single calls among them."""
        failures = []
        for size, order in self._batches():
            made = self.probe.run(self.whose[order], self.words[order])
            wrong = np.any(made != self.reports[order], axis=1)
            failures += self._said(wrong, order, f"a batch of {size:,}")
            one = order[:1]
            failures += self._said(self._differ(one), one, f"privatize([value]) after {size:,}")
            if failures:
                break
        return failures

    def _batches(self) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        rows, generator = len(self.whose), self.probe.generator
        for size, among in _SMALL_BATCHES.items():
            times = min(self.probe.calls // among, _BATCH_WORDS // (size * self.probe.count))
            for _ in range(max(1, times)):
                yield size, generator.integers(0, rows, size)
        for size in batch_sizes(self.reports.shape[1], self.probe.count)[:_LARGE_REPLAYS]:
            yield size, generator.integers(0, rows, size)

    def _differ(self, order: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        data, values = self._data, self._values
        single, reports = self.probe.single, self.reports
        return np.fromiter(
            (single(values[i], data[i].tobytes()) != reports[i].tobytes() for i in order.tolist()),
            dtype=np.bool_,
            count=len(order),
        )

    def _said(
        self, wrong: npt.NDArray[np.bool_], order: npt.NDArray[np.intp], call: str
    ) -> list[str]:
        if not wrong.any():
            return []
        whose = int(self.whose[order[int(wrong.argmax())]])
        return [
            f"{call}: {int(wrong.sum()):,} of {len(wrong):,} reports are not those that the same "
            f"random words gave before, the first of the value {whose}"
        ]


def batch_sizes(report_bytes: int, words: int) -> list[int]:
    """Return the sizes of large batches that fit into memory; one of them always."""
    most = min(_BATCH_BYTES // report_bytes, _BATCH_WORDS // max(1, words))
    return [size for size in LARGE_BATCHES if size <= most] or [max(128, most)]
