"""Sums of tallies as they were written: many at once come to what they come to one by one."""

from __future__ import annotations

import random
from functools import reduce
from operator import add
from unittest.mock import patch

import pytest

from deniable import OUE, RAPPOR, AffineSelection, Protocol, Question, Tally
from deniable import tally as tally_module
from deniable.collector import folding
from deniable.errors import DeniableError, IncompatibleTally, InvalidDocument
from deniable.protocols import discover
from deniable.tally import Accumulator
from tests.forgery import forge, honest, instances
from tests.marks import examples

STACKED = [OUE(1.0, 50), RAPPOR.examples()[0], AffineSelection(1.0, 1000),
           AffineSelection(2.0, 300, 8, 3, 3), AffineSelection(3.0, 1000, 1009, 1, 48)]  # fmt: skip
"""Some of each kind of tally that is added many at once."""


def singly(protocol: Protocol, written: list[bytes]) -> bytes | str:
    """Return the sum of tallies that are read one by one, or why there is none."""
    try:
        return reduce(
            add, map(Tally.from_bytes, written), protocol.accumulator().tally()
        ).to_bytes()
    except DeniableError as error:
        return str(error)


def together(protocol: Protocol, written: list[bytes]) -> bytes | str:
    """Return the same of tallies that are added many at once."""
    total = protocol.accumulator()
    try:
        total.merge_bytes(written)
    except DeniableError as error:
        return str(error)
    return total.tally().to_bytes()


@pytest.mark.parametrize("kind", discover().values(), ids=lambda kind: kind.__name__)
def test_many_tallies_at_once_are_refused_and_added_as_each_by_itself(
    kind: type[Protocol],
) -> None:
    """Among honest tallies one is forged: the sum is the same bytes, or the refusal the same."""
    rng = random.Random(kind.__name__)
    for protocol in instances(kind):
        days = [honest(protocol, 40, rng).to_bytes() for _ in range(5)]
        assert together(protocol, days) == singly(protocol, days)
        for _ in range(examples(40)):
            forged = forge(protocol, rng)
            some = [*days, forged, *days]
            assert together(protocol, some) == singly(protocol, some)


@pytest.mark.parametrize("protocol", STACKED, ids=repr)
def test_days_of_many_reports_are_not_read_one_by_one(protocol: Protocol) -> None:
    """Of days alike only the first is read by itself; in small blocks the sum is the same."""
    rng = random.Random(1)
    days = [honest(protocol, 3000 + i, rng).to_bytes() for i in range(8)]
    expected = singly(protocol, days)
    with patch.object(Accumulator, "merge", side_effect=AssertionError):
        assert together(protocol, days) == expected
        with patch.object(tally_module, "_BLOCK_BYTES", 4 * len(days[0])):
            assert together(protocol, days) == expected


@pytest.mark.parametrize("protocol", STACKED, ids=repr)
def test_a_forged_day_among_many_is_refused_by_its_own_error(protocol: Protocol) -> None:
    """One count more in one place, with a checksum that holds, is refused as if it came alone."""
    rng = random.Random(2)
    days = [honest(protocol, 3000, rng) for _ in range(8)]
    raw = bytearray(days[5].statistic.encode())
    raw[-1] ^= 0x80  # a negative count, or a cell for nobody
    start = days[5].to_bytes()[: -32 - len(raw)]
    forged = start + raw + tally_module.sha256(start + raw).digest()
    with pytest.raises(InvalidDocument) as alone:
        Tally.from_bytes(forged)
    written = [*(day.to_bytes() for day in days), forged]
    assert together(protocol, written) == str(alone.value)


def test_headers_in_another_form_are_refused_among_many() -> None:
    """Zeros before n, or another question, are found though the rest is alike."""
    protocol = OUE(1.0, 50)
    days = [honest(protocol, 3000, random.Random(3)).to_bytes() for _ in range(8)]
    size = int.from_bytes(days[0][12:16], "little")
    body = days[0][:12] + (size + 1).to_bytes(4, "little") + days[0][16:-32].replace(b'"3', b'"03')
    assert "canonical" in together(protocol, [*days, body + tally_module.sha256(body).digest()])
    total = Question("other", [f"{i}" for i in range(50)], protocol).accumulator()
    with pytest.raises(IncompatibleTally, match="same question"):
        total.merge_bytes(days)
    assert total.n == 0


def test_readers_are_shown_all_days_but_the_damaged_one() -> None:
    """Of many packed days one that cannot be unpacked or read is left out, and no other."""
    question = Question("q", [f"{i}" for i in range(1000)], AffineSelection(1.0, 1000))
    days = []
    for seed in range(12):
        found = honest(question.protocol, 2000, random.Random(seed))
        days.append(Tally(found.protocol, found.n, found.statistic, question.digest))
    packed = [folding.pack(day) for day in days]
    flipped = bytearray(days[4].to_bytes())
    flipped[-100] ^= 1
    for damaged in (packed[4][:-9], bytes(flipped), b"x"):
        shown = folding.readable_sum(question, [*packed[:4], damaged, *packed[5:]], [])
        assert shown == folding.merge(question, days[:4] + days[5:])
        assert folding.find_fault(question.to_json(), 2000, [damaged], []) is not None
