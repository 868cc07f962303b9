"""Mutated bytes through every door: ``python -m tests.fuzz --count 1000000``.

For each protocol that many mutated reports go through ``parse`` and that many mutated tallies,
half of them with the checksum mended, through ``Tally.from_bytes``. A tenth as many tally headers
and questions have a part of their JSON replaced by something of another type or size, and a
checksum that holds. Anything but a DeniableError, a support count that one report moves by more
than one, a count outside what n reports can leave, or a document that is not the one form of what
it says stops the run.
"""

import argparse
import json
import math
import random
import time
from hashlib import sha256

import numpy as np

from deniable import (
    Answers,
    Choices,
    Closed,
    DeniableError,
    Discovery,
    Levels,
    Protocol,
    Pure,
    Question,
    Record,
    Tally,
    Text,
    Views,
)
from deniable.documents import canonical_json
from deniable.protocol import CountedPure
from deniable.protocols import discover
from deniable.protocols.sets import Sets
from deniable.statistics import Counts

DEEP = json.loads("[" * 650 + "]" * 650)
HOSTILE = (
    *(10**400, -(10**400), 2**64, 2**63, -1, 0, 1, 2, 3, 1.0, 0.5, -0.5, 1e-17, 1e-320, 1e308),
    *(math.inf, math.nan, None, True, False, "", "1", "a", "A" * 64, "9" * 18, "9" * 5000),
    *("\ud800", "\ud800" * 64, ["\ud800", "a"], {"\ud800": 1}, [], {}, [[]], [1], {"a": 1}, DEEP),
)
"""What takes the place of a part of a document."""


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
    noise = np.random.default_rng(rng.getrandbits(64))
    some = protocol.numbered(np.array([0, 1], dtype=np.uint64))
    good = [protocol.privatize(some[[i % 2]], noise).tobytes() for i in range(64)]
    accepted = 0
    for _ in range(count):
        data = mutate(rng.choice(good), rng)
        try:
            reports = protocol.parse(data, None)
        except DeniableError:
            continue
        accepted += 1
        assert len(reports) * protocol.report_dtype.itemsize == len(data)
        if isinstance(protocol, CountedPure) and accepted % 50 == 0:
            support = protocol.support_counts(reports[:1])
            assert support.min() >= 0
            assert support.max() <= 1
    return accepted


def fuzz_tally(protocol: Protocol, count: int, rng: random.Random) -> int:
    """Return how many mutated tallies were taken for tallies."""
    noise = np.random.default_rng(rng.getrandbits(64))
    some = protocol.numbered(np.array([0, 1, 0], dtype=np.uint64))
    good = [protocol.tally(protocol.privatize(some, noise)).to_bytes() for _ in range(16)]
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
        if isinstance(tally.statistic, Counts) and isinstance(protocol, Pure):
            assert 0 <= tally.statistic.values.min() <= tally.statistic.values.max() <= tally.n
    return accepted


def alter(document: dict[str, object], rng: random.Random) -> dict[str, object]:
    """Return the document with one to two of its parts replaced, removed or added."""
    result = json.loads(json.dumps(document))
    places, waiting = [], [result]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        places += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
    for holder, key in rng.choices(places, k=rng.randint(1, 2)):
        kind, part = rng.randrange(10), rng.choice(HOSTILE)
        if kind == 0 and isinstance(holder, dict):
            holder.pop(key, None)
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice(("more", "\ud800", "n", "labels"))] = part
        else:
            holder[key] = part
    return result


def write(document: object, rng: random.Random) -> bytes:
    """Return the document as JSON, in canonical form as often as it has one."""
    try:
        if rng.random() < 0.7:
            return canonical_json(document)
    except (DeniableError, RecursionError, UnicodeEncodeError):
        pass  # it has none, which is for the reader to find out
    return json.dumps(document, indent=rng.choice((None, 1))).encode()


def fuzz_header(protocol: Protocol, count: int, rng: random.Random) -> int:
    """Return how many tallies with an altered header were taken for tallies."""
    noise = np.random.default_rng(rng.getrandbits(64))
    some = protocol.numbered(np.array([0, 1, 0], dtype=np.uint64))
    start = protocol.tally(protocol.privatize(some, noise)).to_bytes()
    end = 16 + int.from_bytes(start[12:16], "little")
    good, accepted = json.loads(start[16:end]), 0
    for _ in range(count):
        header = write(alter(good, rng), rng)
        body = start[:12] + len(header).to_bytes(4, "little") + header + start[end:-32]
        data = body + sha256(body).digest()
        try:
            tally = Tally.from_bytes(data)
        except DeniableError:
            continue
        accepted += 1
        assert tally.to_bytes() == data
    return accepted


def answers_of(protocol: Protocol) -> Answers | tuple[str, ...] | None:
    """Return answers that fit a protocol: labels, some of them, a record for views, any text."""
    if isinstance(protocol, Views):
        parts = enumerate(protocol.radices)
        return Record({f"a{i}": [str(j) for j in range(radix)] for i, radix in parts})
    if isinstance(protocol, Discovery):
        return Text(discover="english")
    if not isinstance(protocol, Closed | Sets):
        return None
    labels = tuple(map(str, range(protocol.domain_size)))
    return Choices(labels, protocol.at_most) if isinstance(protocol, Sets) else labels


def fuzz_question(protocol: Protocol, count: int, rng: random.Random) -> int:
    """Return how many altered questions, their digest mended, were taken for questions.

    Levels are a part of views, and no question has them by themselves.
    """
    if isinstance(protocol, Levels):
        return 0
    good = json.loads(Question("fuzz", answers_of(protocol), protocol).to_json())
    del good["digest"]
    accepted = 0
    for _ in range(count):
        document = alter(good, rng)
        try:
            digest = sha256(canonical_json(document)).hexdigest()
        except (DeniableError, RecursionError, UnicodeEncodeError):
            digest = "0" * 64
        data = write({**document, "digest": digest}, rng)
        try:
            question = Question.from_json(data)
        except DeniableError:
            continue
        accepted += 1
        assert question.digest == digest
        assert Question.from_json(question.to_json()) == question
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
            documents = options.count // 10
            headers = fuzz_header(protocol, documents, rng)
            questions = fuzz_question(protocol, documents, rng)
            took = time.perf_counter() - start
            print(
                f"{protocol!r}: {options.count} reports, {reports} well-formed; {options.count} "
                f"tallies, {tallies} well-formed; {documents} altered headers, {headers} "
                f"well-formed; {documents} altered questions, {questions} well-formed; "
                f"{took:.0f} s; nothing but DeniableError"
            )


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
