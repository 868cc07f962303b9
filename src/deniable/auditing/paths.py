"""Reports drawn as clients and simulations draw them, and held against the law.

Single calls and small batches take the operating system's randomness, the call without ``rng``
that clients make; large ones take that and a generator in turn, since ``privatize`` may work
differently there. Where the law is enumerated each is compared with it, else with a large sample:
of replayed words if there are any, and otherwise of large batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from deniable.auditing.comparison import departure, difference
from deniable.auditing.law import Law
from deniable.auditing.probe import Bytes, Probe, Values
from deniable.auditing.progress import Progress
from deniable.auditing.replay import batch_sizes

_CALLS = 1 << 16
_LEAST_CALLS = 64
_WORDS = 1 << 23
_SMALL_BATCHES = (2, 3, 7, 100)
_ALIKE = 3
"""Which of the large batches is made of like values as well, at most."""
_REFERENCE = 4
_COPIES = 512
_REFERENCE_BYTES = 1 << 25


@dataclass(frozen=True)
class Drawn:
    """Reports of one way of calling, and the index of each one's value."""

    call: str
    whose: npt.NDArray[np.intp]
    rows: Bytes


def check_paths(
    probe: Probe, values: Values, laws: list[Law] | None, progress: Progress
) -> list[str]:
    """Return the first way of drawing reports whose law is not the one it should be."""
    expected = None if laws else _reference(probe, values)
    for each in chain(_copies(probe, values), _draws(probe, values)):
        found = _judge(probe, values, each, laws, expected)
        if found:
            return [f"{each.call}: {found}"]
        progress.advance(0.02)
    return []


def single_calls(probe: Probe, values: int) -> int:
    """Return how many single calls of each value are drawn."""
    wanted = min(probe.calls, _CALLS // values, _WORDS // (values * max(1, probe.count)))
    return max(_LEAST_CALLS, wanted)


def draw_single(probe: Probe, value: int, count: int) -> Bytes:
    """Return the reports of so many single calls, as clients make them."""
    return np.concatenate([probe.draw([value], None) for _ in range(count)])


def _draws(probe: Probe, values: Values) -> Iterator[Drawn]:
    calls, generator = single_calls(probe, len(values)), probe.generator
    order = generator.permutation(np.repeat(np.arange(len(values)), calls))
    listed = values.tolist()
    singles = np.concatenate([probe.draw([listed[k]], None) for k in order])
    yield Drawn("privatize([value])", order, singles)
    for size in _SMALL_BATCHES:
        times = max(1, len(order) // (4 * size))
        whose = generator.integers(0, len(values), (times, size))
        rows = np.concatenate([probe.draw(values[each], None) for each in whose])
        yield Drawn(f"batches of {size}", whose.ravel(), rows)
    # Bulk paths draw far fewer bytes than a word for each bit: reports alone limit their size.
    for index, size in enumerate(batch_sizes(singles.shape[1], 0)):
        whose = generator.integers(0, len(values), size)
        rng = generator if index % 2 else None
        yield Drawn(f"a batch of {size:,}", whose, probe.draw(values[whose], rng))
    size = batch_sizes(singles.shape[1], 0)[:_ALIKE][-1]
    whose = np.full(size, generator.integers(0, len(values)))
    yield Drawn(f"a batch of {size:,} like values", whose, probe.draw(values[whose], generator))


def _copies(probe: Probe, values: Values) -> Iterator[Drawn]:
    """Make the first calls of fresh copies, where they cannot be replayed."""
    if probe.fresh is None or probe.replayable:
        return
    whose = np.arange(min(_COPIES, probe.calls) * min(4, len(values))) % min(4, len(values))
    rows = [probe.draw([int(values[k])], None, probe.fresh()) for k in whose]
    yield Drawn("the first calls of fresh copies", whose, np.concatenate(rows))


def _reference(probe: Probe, values: Values) -> list[Bytes]:
    """Return a sample of each value's law from large batches."""
    size = probe.draw(values[:1], None).shape[1]
    count = _REFERENCE * single_calls(probe, len(values))
    count = max(256, min(count, _REFERENCE_BYTES // (size * len(values))))
    if not probe.replayable:
        whose = np.repeat(values, count)
        return list(probe.draw(whose, None).reshape(len(values), count, -1))
    return [probe.run_one(int(v), probe.random_words(count)) for v in values]


def _judge(
    probe: Probe, values: Values, drawn: Drawn, laws: list[Law] | None, expected: list[Bytes] | None
) -> str | None:
    for k, value in enumerate(values.tolist()):
        rows = drawn.rows[drawn.whose == k]
        found = None
        if laws:
            found = departure(laws[k], rows)
        elif expected is not None and len(rows):
            flags = [_flags(probe, value, sample) for sample in (rows, expected[k])]
            pairs = list(zip(flags[0], flags[1], strict=True))
            found = difference(rows, expected[k], pairs)
        if found:
            return f"reports of the value {value} do not follow its law: {found}"
    return None


def _flags(probe: Probe, value: int, rows: Bytes) -> list[npt.NDArray[np.float64]]:
    """Return what tells more of a report than its bytes: support, and the likeliest report."""
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
