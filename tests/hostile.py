"""Hostile input through every door, with its time and memory: ``python -m tests.hostile CASE``.

Each case is something that was once too expensive or wrongly accepted: thousands of reports for
one, a file of short blocks, floats without end, tallies that name two billion answers, cells with
nothing in them, a question that reveals too much. Of each so many mutants are read, with checksums
mended where there are any. Anything but a DeniableError stops the run, and so does what is let in
and must not be. The line of a case has the longest time of one mutant and by how much the memory of
the process grew, against the limits: 0.2 s for each megabyte that was begun, and 16 MiB for each
beyond 64 MiB. ``--large`` takes the full sizes, of which fewer are read in the same time.
"""

import argparse
import gzip
import json
import random
import resource
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from hashlib import sha256
from io import BytesIO

import numpy as np

from deniable import (
    BLH,
    DE,
    OLH,
    OUE,
    RAPPOR,
    DeniableError,
    InvalidReport,
    Levels,
    OpenLH,
    Question,
    RandomMatrixProjection,
    Tally,
    plan,
    recommend,
    set_memory_budget,
)
from deniable.consistency import norm_sub
from deniable.documents import canonical_json, decompressed
from deniable.files import read_reports, write_reports
from deniable.protocols import discover
from deniable.statistics import Table
from tests.fuzz import HOSTILE, alter, answers_of, mutate, write

Rng = random.Random
Door = Callable[[bytes], object]
Use = Callable[[object], None]
Case = tuple[Callable[[Rng], bytes], Door] | tuple[Callable[[Rng], bytes], Door, Use]
"""What makes a mutant, what reads it and is timed, and what is done with what was read."""

SECONDS = 0.2
"""For each megabyte that was begun."""
MEBIBYTE = 1 << 20
BUDGET = 64 * MEBIBYTE


def _signed(body: bytes) -> bytes:
    return body + sha256(body).digest()


def _mended(good: bytes, rng: Rng) -> bytes:
    """Return a mutated tally, three times in four with a checksum that holds."""
    body = mutate(good[:-32], rng)
    return _signed(body) if rng.random() < 0.75 else body + good[-32:]


def single_reports(large: bool) -> Case:
    """Many votes in one request, or bytes that are no report."""
    protocols = [kind.examples()[0] for kind in discover().values()]
    noise, most = np.random.default_rng(1), 10**6 if large else 1000
    one = np.ones(1, dtype=np.uint64)
    good = [(p, p.privatize(p.numbered(one), noise).tobytes()) for p in protocols]
    chosen: list[object] = []

    def make(rng: Rng) -> bytes:
        protocol, data = rng.choice(good)
        chosen[:] = [protocol]
        return mutate(data, rng) if rng.random() < 0.5 else data * rng.randint(0, most)

    def door(data: bytes) -> object:
        reports = chosen[0].parse(data)
        assert len(reports) == 1
        return reports

    return make, door


def _blocks(question: Question, blocks: list[bytes], digest: str) -> bytes:
    """Return a report file with such blocks, and checksums that hold."""
    size = question.protocol.report_dtype.itemsize
    header = canonical_json({"question": digest, "report_bytes": size})
    start = b"dnbrprts" + (1).to_bytes(4, "little") + len(header).to_bytes(4, "little") + header
    parts = [start, zlib.crc32(start).to_bytes(4, "little")]
    for block in blocks:
        framed = len(block).to_bytes(4, "little") + block
        parts += [framed, zlib.crc32(framed).to_bytes(4, "little")]
    parts.append(bytes(4) + (sum(map(len, blocks)) // size).to_bytes(8, "little"))
    return _signed(b"".join(parts))


def _files(question: Question, report: bytes, most: int) -> Case:
    def make(rng: Rng) -> bytes:
        lengths = [
            rng.choice((1, 1, 1, 2, rng.randint(0, 50))) for _ in range(rng.randint(1, most))
        ]
        digest = question.digest if rng.random() < 0.9 else "0" * 64
        data = _blocks(question, [report * each for each in lengths], digest)
        return data if rng.random() < 0.5 else mutate(data, rng)

    def door(data: bytes) -> object:
        return question.tally(read_reports(BytesIO(data), question))

    return make, door


def short_blocks(large: bool) -> Case:
    """A report file of one report a block, where each block is a sum over a million answers."""
    size = 1 << 20 if large else 1 << 12
    question = Question("many", tuple(map(str, range(size))), DE(1.0, size))
    return _files(question, question.privatize(["7"]).tobytes(), 10_000 if large else 40)


def short_filters(large: bool) -> Case:
    """The same for filters of 256 bits in 65,536 cohorts."""
    cohorts = 1 << 16 if large else 1 << 8
    question = Question("open", None, RAPPOR(1.0, bits=256, hashes=2, cohorts=cohorts))
    return _files(question, question.privatize(["kiwi"]).tobytes(), 1000 if large else 40)


def float_documents(large: bool) -> Case:
    """A question with floats without end, in any place."""
    document = json.loads(Question("fruit", ("kiwi", "fig"), DE(1.0, 2)).to_json())
    numbers = b"[1.5e-300" + b",1.5e-300" * (10**6 if large else 1000) + b"]"

    def make(rng: Rng) -> bytes:
        altered = alter(document, rng) if rng.random() < 0.5 else {**document}
        part = rng.choice(("stray", "labels", "protocol", "name", "digest", "version"))
        if part == "protocol" and isinstance(altered.get("protocol"), dict):
            place = rng.choice(("weights", "epsilon", "more"))
            altered["protocol"] = {**altered["protocol"], place: "floats"}
        else:
            altered[part] = "floats"
        data = json.dumps(altered).encode().replace(b'"floats"', numbers)
        return data if rng.random() < 0.7 else mutate(data, rng)

    return make, Question.from_json


def _estimate(tally: object) -> None:
    """Estimate from a tally within the budget, as an analyst does."""
    assert isinstance(tally, Tally)
    keys = None if hasattr(tally.protocol, "domain_size") else np.arange(4, dtype=np.uint64)
    norm_sub(tally.protocol.estimate(tally, keys))


def dense_tallies(large: bool) -> Case:
    """A dense table of binary hashing, 33 MB at full size, altered anywhere."""
    protocol = BLH(1.0, 1 << 21 if large else 1 << 10)
    counts = np.arange(protocol._family.cells, dtype=np.int64) % 200
    counts[0] += 1 << 33  # so that all counts take eight bytes
    good = Tally(protocol, int(counts.sum()), Table.from_dense(counts)).to_bytes()
    return lambda rng: _mended(good, rng), Tally.from_bytes


def vast_tallies(large: bool) -> Case:
    """Tallies of 320 bytes that name 2^25 to 2^31 - 1 answers, and what they are altered to."""
    del large  # they are as large as they say, not as they are
    sizes = (1 << 25, (1 << 31) - 1, 10**6, 1000)
    noise = np.random.default_rng(2)
    protocols = [OLH(epsilon, d) for epsilon in (1.0, 4.0) for d in sizes]
    protocols += [RandomMatrixProjection(1.0, d, rows=1 << 40) for d in sizes]
    good = [p.tally(p.privatize([1, 2, 3], noise)).to_bytes() for p in protocols]
    return lambda rng: _mended(rng.choice(good), rng), Tally.from_bytes, _estimate


def _with_header(data: bytes, change: Callable[[dict[str, object]], dict[str, object]]) -> bytes:
    end = 16 + int.from_bytes(data[12:16], "little")
    header = canonical_json(change(json.loads(data[16:end])))
    return _signed(data[:12] + len(header).to_bytes(4, "little") + header + data[end:-32])


def altered_sizes(large: bool) -> Case:
    """Headers whose protocol names other sizes than the statistic has, with all else in order."""
    del large
    noise = np.random.default_rng(3)
    protocols = [OLH(1.0, 50), BLH(1.0, 50), OUE(1.0, 50), DE(1.0, 50), OpenLH(1.0, 4)]
    good = [p.tally(p.privatize([1, 2, 3], noise)).to_bytes() for p in protocols]

    def make(rng: Rng) -> bytes:
        def change(header: dict[str, object]) -> dict[str, object]:
            kind = rng.choice(protocols)
            size = rng.choice((2, 3, 49, 51, 10**5, 1 << 25, (1 << 31) - 1))
            try:
                other = type(kind)(rng.choice((0.5, 1.0, 6.0)), size)
            except DeniableError:
                return header
            return {**header, "protocol": other.specification(), "n": str(rng.choice((3, 4, 9)))}

        return _with_header(rng.choice(good), change)

    return make, Tally.from_bytes, _estimate


def empty_cells(large: bool) -> Case:
    """Sparse tables that list cells with nothing in them, or in other ways have two forms."""
    del large
    noise = np.random.default_rng(4)
    protocols = [OLH(1.0, 50), RandomMatrixProjection(1.0, 5, rows=1000)]
    tallies = [p.tally(p.privatize([1, 2, 3], noise)) for p in protocols]

    def make(rng: Rng) -> bytes:
        tally = rng.choice(tallies)
        cells, counts = (part.tolist() for part in tally.statistic.hits())
        pairs = dict(zip(cells, counts, strict=True))
        for _ in range(rng.randint(1, 3)):
            pairs[rng.randrange(tally.statistic.size)] = rng.choice((0, 0, 0, 1, 255))
        order = sorted(pairs) if rng.random() < 0.8 else list(pairs)
        padded = Table(tally.statistic.size, np.array(order, dtype=np.uint64),
                       np.array([pairs[c] for c in order], dtype=np.int64))  # fmt: skip
        return Tally(tally.protocol, rng.choice((3, 4, 5)), padded).to_bytes()

    def door(data: bytes) -> object:
        tally = Tally.from_bytes(data)
        assert tally.statistic.hits()[1].min() > 0
        assert tally.to_bytes() == data
        return tally

    return make, door


def kept_reports(large: bool) -> Case:
    """Tallies that keep reports, with hash values that nobody can have sent."""
    protocol = OpenLH(1.0, 4)
    people = np.arange(10**6 if large else 20)
    good = protocol.tally(protocol.privatize(people, np.random.default_rng(5))).to_bytes()

    def door(data: bytes) -> object:
        try:
            return Tally.from_bytes(data)
        except InvalidReport as error:
            raise AssertionError("a document is refused as a document") from error

    return lambda rng: _mended(good, rng), door


def loud_questions(large: bool) -> Case:
    """Questions with any epsilon and the digest that goes with it, on a device with a ceiling."""
    labels = tuple(f"answer {i}" for i in range(10**5 if large else 9))
    kinds = [kind for kind in discover().values() if kind is not RandomMatrixProjection]
    goods = [json.loads(Question("fuzz", labels, DE(1.0, len(labels))).to_json())]
    if not large:
        examples = [example for kind in kinds for example in kind.examples()]
        closed = [p for p in examples if hasattr(p, "domain_size") and not isinstance(p, Levels)]
        goods += [json.loads(Question("fuzz", answers_of(p), p).to_json()) for p in closed]

    def make(rng: Rng) -> bytes:
        document = {**rng.choice(goods)}
        del document["digest"]
        document["protocol"] = protocol = {**document["protocol"]}
        if rng.random() < 0.3 and len(document.get("labels", ())) == len(labels):
            epsilon = rng.choice((0.1, 4.9, 5.0, 5.000001, 9.0, 50.0))
            kind = rng.choice((DE, OUE, OLH))
            document["protocol"] = kind(epsilon, len(labels)).specification()
        else:
            epsilons = (5.0, 5.000001, 50, 100.0, 1e300, 10**400, -1, "1", None)
            protocol["epsilon"] = rng.choice(epsilons)
        if "weights" in protocol and rng.random() < 0.5:
            weight = str(rng.choice((0, 1, 2**63, 2**64 - 1, 2**64, 10**30)))
            weights = copy(protocol["weights"])
            listed = isinstance(weights, list)
            weights[rng.choice(range(len(weights)) if listed else list(weights))] = weight
            protocol["weights"] = weights
        try:
            digest = sha256(canonical_json(document)).hexdigest()
        except DeniableError:
            digest = "0" * 64
        return write({**document, "digest": digest}, rng)

    def door(data: bytes) -> object:
        question = Question.load(data)
        assert question.protocol.total_epsilon <= 5
        assert question.protocol.realised_epsilon <= 5
        return question

    return make, door


def foreign_reports(large: bool) -> Case:
    """Report files of a question with reports of the same size."""
    mine, theirs = (
        Question(name, tuple(map(str, range(8))), DE(1.0, 8)) for name in ("mine", "theirs")
    )
    stream = BytesIO()
    write_reports(stream, theirs, [theirs.privatize(["1"] * (10**6 if large else 50))])

    def door(data: bytes) -> object:
        tally = mine.tally(read_reports(BytesIO(data), mine))
        raise AssertionError(f"{tally.n} reports of another question were taken")

    return lambda rng: mutate(stream.getvalue(), rng) if rng.random() < 0.9 else (
        stream.getvalue()
    ), door  # fmt: skip


def compressed_files(large: bool) -> Case:
    """Gzip that is altered, cut short, or grows to a hundred times its size."""
    question = Question("fruit", tuple(map(str, range(8))), DE(1.0, 8))
    stream = BytesIO()
    write_reports(stream, question, [np.zeros(10**7 if large else 2000, dtype=np.uint8)])
    good = [gzip.compress(stream.getvalue()), gzip.compress(stream.getvalue()[:-9])]

    def door(data: bytes) -> object:
        return question.tally(read_reports(decompressed(BytesIO(data)), question))

    door(good[0])  # so many reports compile a kernel, once
    return lambda rng: mutate(rng.choice(good), rng) if rng.random() < 0.9 else good[0], door


def hostile_parameters(large: bool) -> Case:
    """Numbers without end, of the wrong kind or nearly right, in place of every parameter."""
    del large
    kinds = [*discover().values()]
    numbers = [part for part in HOSTILE if not isinstance(part, list | dict)]
    numbers += [10**5000, -(10**5000), np.float64(1.0), np.int64(3), b"1", 2**31, 10**9]

    def make(rng: Rng) -> bytes:
        return rng.getrandbits(64).to_bytes(8, "little")

    def door(data: bytes) -> object:
        rng = Rng(data)
        if rng.random() < 0.1:
            return recommend(rng.choice(numbers), rng.choice((8, *numbers)), rng.choice(numbers))
        if rng.random() < 0.1:
            goal = {rng.choice(("error", "significant", "users")): rng.choice(numbers)}
            return plan(rng.choice((8, *numbers)), epsilon=rng.choice((1.0, *numbers)), **goal)
        kind = rng.choice(kinds)
        arguments = kind.examples()[0].arguments()
        for name in rng.choices(list(arguments), k=rng.randint(1, 2)):
            arguments[name] = rng.choice(numbers)
        return kind(**arguments)

    return make, door


CASES = (
    single_reports, short_blocks, short_filters, float_documents, dense_tallies, vast_tallies,
    altered_sizes, empty_cells, kept_reports, loud_questions, foreign_reports, compressed_files,
    hostile_parameters,
)  # fmt: skip


def mutants(make: Callable[[Rng], bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield so many mutants."""
    rng = random.Random(seed)
    for _ in range(count):
        yield make(rng)


def attack(case: Callable[[bool], Case], count: int, *, large: bool, seed: int = 1) -> str:
    """Read mutants of a case, and say how many were accepted and what the worst one took.

    Times are the processor's, so that a busy machine changes little.
    """
    make, door, *uses = case(large)
    accepted, longest, rate, largest = 0, 0.0, 0.0, 0
    for data in mutants(make, 20, seed + 1):  # what is imported and cached at first use
        _read(door, data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in mutants(make, count, seed):
        start = time.process_time()
        found = _read(door, data)
        seconds, size = time.process_time() - start, max(1.0, _unpacked(data) / 1e6)
        longest, rate = max(longest, seconds), max(rate, seconds / size)
        largest, accepted = max(largest, _unpacked(data)), accepted + (found is not None)
        if found is not None:
            _use(uses, found)
    grew = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    within = rate <= SECONDS and grew <= 64 + 16 * largest / MEBIBYTE
    return (
        f"{case.__name__}{' (large)' * large}: {count} mutants of up to {largest:,} bytes, "
        f"{accepted} accepted, longest {1000 * longest:.1f} ms, {rate:.4f} s a megabyte, "
        f"{grew:.0f} MiB more; nothing but DeniableError{'' if within else '; BEYOND THE LIMITS'}"
    )


def _unpacked(data: bytes) -> int:
    """Return how many bytes there are, of gzip as far as it can be decompressed."""
    if not data.startswith(b"\x1f\x8b"):
        return len(data)
    member, size = zlib.decompressobj(31), 0
    with suppress(zlib.error):
        for byte in data:
            size += len(member.decompress(bytes([byte])))
    return max(size, len(data))


def _read(door: Door, data: bytes) -> object | None:
    try:
        return door(data)
    except DeniableError:
        return None


def _use(uses: list[Use], found: object) -> None:
    for use in uses:
        with suppress(DeniableError):
            use(found)


def main() -> None:
    """Attack with the cases that are named, or with all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[case.__name__ for case in CASES])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    set_memory_budget(BUDGET)
    protocol = BLH(1.0, 1 << 16)  # what decodes it may be compiled, which takes memory once
    for _ in range(200):
        protocol.estimate(protocol.tally(protocol.privatize(np.arange(1 << 14))))
    for case in CASES:
        if case.__name__ in options.cases:
            print(attack(case, options.count, large=options.large), flush=True)


if __name__ == "__main__":
    main()
