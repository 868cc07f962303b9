"""Mutated bytes through every door: ``python -m tests.fuzz --count 1000000``.

For each protocol that many mutated reports go through ``parse`` and that many mutated tallies,
half of them with the checksum mended, through ``Tally.from_bytes``. Anything but a DeniableError,
a support count that one report moves by more than one, or a count outside what n reports can leave
stops the run.
"""

import argparse
import random
import time
from hashlib import sha256

import numpy as np

from deniable import DeniableError, Protocol, Tally
from deniable.protocols import discover
from deniable.statistic import Counts


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return the data with one to three bytes, runs or ends changed."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(result) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(result):
            result[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(result):
            result[at] = rng.choice((0, 255, 127, 128, rng.randrange(256)))
        elif kind == 2:
            del result[at : at + rng.randint(1, 9)]
        elif kind == 3:
            result[at:at] = rng.randbytes(rng.randint(1, 9))
        else:
            result[at : at + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, rng.randbytes(8)))
    return bytes(result)


def fuzz_parse(protocol: Protocol, count: int, rng: random.Random) -> int:
    """Return how many mutated reports were taken for reports, which they then have to be."""
    good = [protocol.privatize([i % 2]).tobytes() for i in range(64)]
    accepted = 0
    for _ in range(count):
        data = mutate(rng.choice(good), rng)
        try:
            reports = protocol.parse(data)
        except DeniableError:
            continue
        accepted += 1
        assert len(reports) * protocol.report_dtype.itemsize == len(data)
        if protocol.pure and accepted % 50 == 0 and protocol.domain_size <= 1 << 16:
            support = protocol.support_counts(reports[:1])
            assert support.min() >= 0
            assert support.max() <= 1
    return accepted


def fuzz_tally(protocol: Protocol, count: int, rng: random.Random) -> int:
    """Return how many mutated tallies were taken for tallies."""
    good = [protocol.tally(protocol.privatize([0, 1, 0])).to_bytes() for _ in range(16)]
    accepted = 0
    for i in range(count):
        body = mutate(rng.choice(good)[:-32], rng)
        data = body + (sha256(body).digest() if i % 2 else rng.randbytes(32))
        try:
            tally = Tally.from_bytes(data)
        except DeniableError:
            continue
        accepted += 1
        assert tally.n >= 0
        assert tally.to_bytes() == data
        if isinstance(tally.statistic, Counts) and protocol.pure:
            assert 0 <= tally.statistic.values.min() <= tally.statistic.values.max() <= tally.n
    return accepted


def main() -> None:
    """Fuzz every protocol and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protocol", help="only this one")
    options = parser.parse_args()
    for name, kind in discover().items():
        if options.protocol in (None, name):
            rng = random.Random(options.seed)
            protocol = kind.examples()[0]
            start = time.perf_counter()
            reports = fuzz_parse(protocol, options.count, rng)
            tallies = fuzz_tally(protocol, options.count, rng)
            took = time.perf_counter() - start
            print(
                f"{protocol!r}: {options.count} reports, {reports} well-formed; {options.count} "
                f"tallies, {tallies} well-formed; {took:.0f} s; nothing but DeniableError"
            )


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
