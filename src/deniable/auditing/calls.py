"""Whether every way of calling a protocol has one law: calls replayed, and calls drawn.

*Replayed*: the same random words must give the same report in the call that clients make,
``privatize([one answer])``, in batches of 2, of a few and of many, in any order, at any time, and
in a copy of the protocol. Bytes are compared, without statistics: one report that differs is a
failure. A call that leaves the map with chance c is seen with probability 1 - (1 - c)^n after n
calls.

*Drawn*: single calls and small batches take the operating system's randomness, as the calls of
clients do, which pass no ``rng``. Large batches take that and a generator in turn, since
``privatize`` may work differently there. All are compared with the enumerated law. Where there is
none they are compared with a large sample: of replayed words, or else of large batches.
"""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from deniable.auditing.probe import Broken, Bytes, Probe, Values, Words
from deniable.auditing.report_law import Law, departure, difference

_ALL_CALLS = 3 << 17
"""For 64 values that is 6144 each: a leak in one call of a thousand escapes with chance 2e-3."""
_LEAST_CALLS = 32
_ALL_WORDS, _ROUND_WORDS = 1 << 25, 1 << 21
_ROUNDS = 8
_SMALL_BATCHES = {2: 8, 3: 8, 7: 16, 100: 128}
"""Sizes, and how many single calls there are to one such batch."""
LARGE_BATCHES = (1_009, 20_011, 100_003, 300_007, 1_000_003)
_LARGE_REPLAYS = 4
_COPIES = 64
_IN_A_ROW = 32
_BATCH_WORDS, _BATCH_BYTES = 1 << 23, 1 << 25
_ALL_DRAWN, _LEAST_DRAWN = 1 << 16, 64
_ALIKE = 3
"""A batch of equal values has at most the size of this large batch, counted from 1."""
_REFERENCE = 4
_DRAWN_COPIES = 512

Drawn = tuple[str, np.typing.NDArray[np.intp], Bytes]
"""A way of calling, the index of the value of each report, and the reports."""


def calls_of_each(probe: Probe, values: int) -> int:
    return max(
        _LEAST_CALLS, min(probe.calls, _ALL_CALLS // values, _ALL_WORDS // (values * probe.count))
    )


def check_replays(probe: Probe, values: Values) -> None:
    """Raise Broken unless calls with the same words give the same reports."""
    calls = calls_of_each(probe, len(values))
    rounds = max(_ROUNDS, -(-calls * len(values) * probe.count // _ROUND_WORDS))
    for index in range(rounds):
        # Rounded so that the calls of all rounds add up.
        rows = calls * (index + 1) // rounds - calls * index // rounds
        whose = np.repeat(values, max(1, rows))
        words = probe.random_words(len(whose))
        known = _Known(probe, whose, words, probe.run_many(whose, words))
        order = probe.generator.permutation(len(whose))
        known.compare(
            probe.run_many(whose[order], words[order]), order, "replayed in another order"
        )
        if index == 0:
            known.check_batches()
            known.check_runs()
        # The calls that clients make, with values mixed.
        known.call(probe.generator.permutation(len(whose)), "privatize([value])")
        probe.advance(0.4 / rounds)
    _check_copies(probe, values)


def _check_copies(probe: Probe, values: Values) -> None:
    """Replay the first two calls of fresh copies."""
    if probe.fresh is None:
        return
    words = probe.random_words(2 * _COPIES)
    wrong = 0
    whose = probe.generator.choice(values, _COPIES)
    for value, pair in zip(whose.tolist(), words.reshape(_COPIES, 2, -1), strict=True):
        expected = probe.run(np.full(2, value, dtype=np.uint64), pair)
        copied = probe.fresh()
        for row, report in zip(pair.astype("<u8"), expected, strict=True):
            wrong += probe.single(value, row.tobytes(), copied) != report.tobytes()
    if wrong:
        raise Broken(
            f"the first two calls of fresh copies: {wrong} of {2 * _COPIES} reports differ from "
            "those that the same random words give later; the law depends on earlier calls"
        )


class _Known:
    """Reports of known words from large batches, to compare every other call with."""

    def __init__(self, probe: Probe, whose: Values, words: Words, reports: Bytes) -> None:
        self.probe, self.whose, self.words, self.reports = probe, whose, words, reports
        self._data, self._values = words.astype("<u8", copy=False), whose.tolist()

    def check_runs(self) -> None:
        """Make the same call many times in a row, and many calls of one value in a row."""
        starts = self.probe.generator.integers(0, len(self.whose), 2 * _IN_A_ROW)
        same = np.repeat(starts[:_IN_A_ROW], _IN_A_ROW)
        near = (starts[_IN_A_ROW:, None] + np.arange(_IN_A_ROW)).ravel() % len(self.whose)
        self.call(np.concatenate([same, near]), "privatize([value]) many times in a row")

    def check_batches(self) -> None:
        """Make batches of 2, of a few and of many, with single calls between them."""
        rows, generator = len(self.whose), self.probe.generator
        sizes = batch_sizes(self.reports.shape[1], self.probe.count)[:_LARGE_REPLAYS]
        for size, among in _SMALL_BATCHES.items():
            times = min(self.probe.calls // among, _BATCH_WORDS // (size * self.probe.count))
            sizes += [size] * max(1, times)
        for size in sorted(sizes):
            order = generator.integers(0, rows, size)
            self.compare(self.probe.run(self.whose[order], self.words[order]), order,
                         f"a batch of {size:,}")  # fmt: skip
            self.call(order[:1], f"privatize([value]) after {size:,}")

    def call(self, order: np.typing.NDArray[np.intp], call: str) -> None:
        single, data, values = self.probe.single, self._data, self._values
        made = [single(values[i], data[i].tobytes()) for i in order.tolist()]
        size = self.reports.shape[1]
        if any(len(report) != size for report in made):
            raise Broken(f"{call}: reports do not have the {size} bytes that they have in batches")
        self.compare(np.frombuffer(b"".join(made), np.uint8).reshape(-1, size), order, call)

    def compare(self, made: Bytes, order: np.typing.NDArray[np.intp], call: str) -> None:
        wrong = np.any(made != self.reports[order], axis=1)
        if wrong.any():
            raise Broken(
                f"{call}: {int(wrong.sum()):,} of {len(wrong):,} reports differ from those that "
                "the same random words gave before, the first of them for the value "
                f"{self.whose[order[int(wrong.argmax())]]}"
            )


def batch_sizes(report_bytes: int, words: int) -> list[int]:
    """Return the sizes of large batches that fit into memory, at least one."""
    most = min(_BATCH_BYTES // report_bytes, _BATCH_WORDS // max(1, words))
    return [size for size in LARGE_BATCHES if size <= most] or [max(128, most)]


def check_draws(probe: Probe, values: Values, laws: list[Law] | None) -> None:
    """Raise Broken for the first way of drawing reports that has another law than it should."""
    expected = None if laws else _reference(probe, values)
    for call, whose, drawn in chain(_copies(probe, values), _draws(probe, values)):
        for k, value in enumerate(values.tolist()):
            rows, found = drawn[whose == k], None
            if laws:
                found = departure(laws[k], rows)
            elif expected is not None and len(rows):
                flags = (_flags(probe, value, sample) for sample in (rows, expected[k]))
                found = difference(rows, expected[k], list(zip(*flags, strict=True)))
            if found:
                raise Broken(f"{call}: reports of the value {value} do not follow its law: {found}")
        probe.advance(0.02)


def single_calls(probe: Probe, values: int) -> int:
    wanted = min(probe.calls, _ALL_DRAWN // values, _BATCH_WORDS // (values * max(1, probe.count)))
    return max(_LEAST_DRAWN, wanted)


def _draws(probe: Probe, values: Values) -> Iterator[Drawn]:
    calls, generator = single_calls(probe, len(values)), probe.generator
    order = generator.permutation(np.repeat(np.arange(len(values)), calls))
    listed = values.tolist()
    singles = np.concatenate([probe.draw([listed[k]], None) for k in order])
    yield ("privatize([value])", order, singles)
    for size in _SMALL_BATCHES:
        times = max(1, len(order) // (4 * size))
        whose = generator.integers(0, len(values), (times, size))
        rows = np.concatenate([probe.draw(values[each], None) for each in whose])
        yield (f"batches of {size}", whose.ravel(), rows)
    # Bulk paths draw far fewer bytes than a word per bit, so only reports limit their size.
    for index, size in enumerate(batch_sizes(singles.shape[1], 0)):
        whose = generator.integers(0, len(values), size)
        rng = generator if index % 2 else None
        yield (f"a batch of {size:,}", whose, probe.draw(values[whose], rng))
    size = batch_sizes(singles.shape[1], 0)[:_ALIKE][-1]
    whose = np.full(size, generator.integers(0, len(values)))
    yield (f"a batch of {size:,} like values", whose, probe.draw(values[whose], generator))


def _copies(probe: Probe, values: Values) -> Iterator[Drawn]:
    """Draw the first calls of fresh copies, where they cannot be replayed."""
    if probe.fresh is None or probe.replayable:
        return
    whose = np.arange(min(_DRAWN_COPIES, probe.calls) * min(4, len(values))) % min(4, len(values))
    rows = [probe.draw([int(values[k])], None, probe.fresh()) for k in whose]
    yield ("the first calls of fresh copies", whose, np.concatenate(rows))


def _reference(probe: Probe, values: Values) -> list[Bytes]:
    """Return a sample of each value's law from large batches."""
    size = probe.draw(values[:1], None).shape[1]
    count = _REFERENCE * single_calls(probe, len(values))
    count = max(256, min(count, _BATCH_BYTES // (size * len(values))))
    if not probe.replayable:
        whose = np.repeat(values, count)
        return list(probe.draw(whose, None).reshape(len(values), count, -1))
    return [probe.run_one(int(v), probe.random_words(count)) for v in values]


def _flags(probe: Probe, value: int, rows: Bytes) -> list[np.typing.NDArray[np.float64]]:
    """Return features beyond the bytes: support, and whether it is the likeliest report."""
    found = []
    supported = probe.supports(rows, value)
    if supported is not None:
        found.append(supported.astype(np.float64))
    if probe.public:
        words = np.zeros((len(rows), probe.count), dtype=np.uint64)
        for j, place in probe.shown.items():
            shown = np.ascontiguousarray(rows[:, place : place + 8])
            words[:, j] = shown.view("<u8").ravel()
        found.append(np.all(probe.run_one(value, words) == rows, axis=1).astype(np.float64))
    return found
