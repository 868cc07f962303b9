"""Reports in Parquet, tallied by Spark: against an empty job over the same data, and equal.

``python -m benchmarks.lake [--reports 20000000] [--cores 2] [--cases olh oue]`` prints JSON. It
runs in the environment of `make test-spark`. The empty job reads the same column through
`mapInArrow` and yields one row for each partition: what Spark takes before we do anything.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import Result, describe_machine
from deniable import (
    OLH,
    OUE,
    AffineSelection,
    Estimates,
    OpenLH,
    Protocol,
    Question,
    fingerprints,
    set_threads,
)
from deniable import spark as lakes
from deniable.kernels.jit import set_compiled
from deniable.spark.partitions import partial_tallies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS, COUNTRIES = 31, 20
FILES = 8
REPEATS = 3
CANDIDATES = 20_000

Found = TypeVar("Found")


def main() -> None:
    """Measure the chosen cases, and print what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake", description=__doc__)
    parser.add_argument("--reports", type=int, default=20_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = _session(options.cores)
    found: Result = {"machine": describe_machine() | {"cores of Spark": options.cores}}
    for case in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            found[case] = CASES[case](session, Path(folder), options.reports)
            print(case, json.dumps(found[case]), file=sys.stderr, flush=True)
    session.stop()
    print(json.dumps(found, indent=1))


def _session(cores: int) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - starts Java

    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", str(2 * cores))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def _closed(session: SparkSession, folder: Path, protocol: Protocol, reports: int) -> Result:
    """Tally a closed question in one piece."""
    question, every = _make(protocol, folder, reports)
    empty, ours, found = _compare(
        _frames(session, folder),
        lambda frame: _empty(frame.select("report")),
        lambda frame: lakes.tally(frame, question, "report"),
    )
    equal = found.to_bytes() == question.tally(every).to_bytes()
    return _result(protocol, reports, empty, ours) | {"equal bytes": equal}


def _grouped(session: SparkSession, folder: Path, reports: int) -> Result:
    """Tally by day and country; half of all reports are of one group."""
    rng = np.random.default_rng(2)
    day = np.where(rng.random(reports) < 0.5, 0, rng.integers(0, DAYS, reports)).astype(np.int32)
    country = np.where(day == 0, 0, rng.integers(0, COUNTRIES, reports)).astype(np.int32)
    country[:COUNTRIES], day[:COUNTRIES] = np.arange(COUNTRIES), 0  # all groups occur
    protocol = OLH(1.0, 41_270)
    question, every = _make(protocol, folder, reports, {"day": day, "country": country})
    empty, ours, rows = _compare(
        _frames(session, folder),
        lambda frame: _empty(frame.select("report", "day", "country")),
        lambda frame: lakes.tally(frame, question, "report", ["day", "country"]).collect(),
    )
    group = day * COUNTRIES + country
    order = np.argsort(group, kind="stable")
    edges = np.searchsorted(group[order], np.arange(DAYS * COUNTRIES + 1))
    equal = all(
        bytes(row.tally) == question.tally(every[order[edges[place] : edges[place + 1]]]).to_bytes()
        for row in rows
        for place in [row.day * COUNTRIES + row.country]
    )
    found = _result(protocol, reports, empty, ours)
    largest = max(row.n for row in rows) / reports
    return found | {"groups": len(rows), "largest": round(largest, 3), "equal bytes": equal}


def _open(session: SparkSession, folder: Path, reports: int) -> Result:
    """Count the support of 20,000 candidates, by Spark and by the kernel here."""
    protocol = OpenLH(2.0)
    question, every = _make(protocol, folder, reports)
    candidates = [f"page {i}" for i in range(CANDIDATES)]
    frame, few = _frames(session, folder)
    set_compiled(True)
    protocol.support_counts(every[:1000], fingerprints(candidates[:100]))
    lakes.estimate(few, question, candidates[:100])  # workers start, and compile
    _empty(frame.select("report"))
    empty = min(_timed(lambda: _empty(frame.select("report")))[0] for _ in range(REPEATS))
    some, _ = _growth(lambda: lakes.estimate(few, question, candidates))

    def asked() -> Estimates:
        return lakes.estimate(frame, question, candidates)

    all_of_them, times = 0, []
    for _ in range(REPEATS - 1):
        grown, (ours, found) = _growth(lambda: _timed(asked))
        kernel, local = _timed(lambda: question.estimate(question.tally(every), candidates))
        all_of_them = max(all_of_them, grown)
        times.append((kernel, ours))
        print(f"local {kernel:.2f} s, ours {ours:.2f} s", file=sys.stderr, flush=True)
    kernel, ours = (min(column) for column in zip(*times, strict=True))
    return {
        "reports": reports,
        "candidates": len(candidates),
        "local seconds": round(kernel, 2),
        "empty seconds": round(empty, 2),
        "seconds": round(ours, 2),
        "ratio": round(ours / (kernel + empty), 2),
        "equal": found.counts.tolist() == local.counts.tolist(),
        "driver grew by kB": all_of_them,
        f"driver grew by kB with 1 / {FILES} of the reports": some,
    }


def _growth(function: Callable[[], Found]) -> tuple[int, Found]:
    """Return by how many kB the peak of this process was above what it had before."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    before = _status("VmRSS")
    found = function()
    return _status("VmHWM") - before, found


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _worker(session: SparkSession, folder: Path, reports: int) -> Result:
    """Measure the processor time of what a worker does, without Spark and on one thread."""
    del session
    rng = np.random.default_rng(2)
    group = {"group": rng.integers(0, DAYS * COUNTRIES, reports // 10).astype(np.int32)}
    set_threads(1)
    found: Result = {}
    for name, protocol, by in (
        ("olh", OLH(1.0, 41_270), []),
        ("optimal", AffineSelection(1.0, 41_270), []),
        ("oue", OUE(1.0, 1024), []),
        ("olh by 620 groups", OLH(1.0, 41_270), ["group"]),
    ):
        question, _ = _make(protocol, folder, reports // 10, group)
        batches = pq.read_table(folder).to_batches(10_000)
        times = []
        for _ in range(REPEATS + 1):  # the first compiles
            start = time.process_time()
            list(partial_tallies(batches, question, "report", by=by, strict=True))
            times.append(time.process_time() - start)
        found[name] = {"reports per second and core": round(reports // 10 / min(times[1:]))}
    set_threads(None)
    return found


def _make(
    protocol: Protocol,
    folder: Path,
    reports: int,
    columns: dict[str, npt.NDArray[np.int32]] | None = None,
) -> tuple[Question, npt.NDArray[np.generic]]:
    """Write reports of people who hold the lower values more often, and return them too."""
    rng = np.random.default_rng(1)
    size = getattr(protocol, "domain_size", None)
    values = rng.zipf(1.5, reports).astype(np.uint64) % np.uint64(size or 1 << 40)
    every = protocol.privatize(values, rng)
    for i, part in enumerate(np.array_split(np.arange(reports), FILES)):
        chosen = slice(int(part[0]), int(part[-1]) + 1)
        table = {"report": _column(every[chosen])}
        table |= {name: pa.array(column[chosen]) for name, column in (columns or {}).items()}
        pq.write_table(pa.table(table), folder / f"{i}.parquet")
    labels = None if size is None else tuple(map(str, range(size)))
    return Question("page", labels, protocol), every


def _column(reports: npt.NDArray[np.generic]) -> pa.Array:
    size = reports.nbytes // len(reports)
    ends = np.arange(len(reports) + 1, dtype=np.int32) * np.int32(size)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(reports.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(reports), buffers)


def _empty(frame: DataFrame) -> object:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as arrow  # noqa: PLC0415 - runs on the executors

        rows = sum(len(batch) for batch in batches)
        yield arrow.RecordBatch.from_pydict({"rows": [rows]})

    return frame.mapInArrow(count, "rows long").collect()


def _frames(session: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    """Return all reports, and those of the first file to warm up with."""
    return session.read.parquet(str(folder)), session.read.parquet(str(folder / "0.parquet"))


def _compare(
    frames: tuple[DataFrame, DataFrame],
    empty: Callable[[DataFrame], object],
    ours: Callable[[DataFrame], Found],
) -> tuple[Cost, Cost, Found]:
    """Return the best of both, taken in turns, and what came out at last."""
    frame, few = frames
    empty(few)
    found = ours(few)
    costs = []
    for _ in range(REPEATS):
        without, _ = _cost(lambda: empty(frame))
        with_, found = _cost(lambda: ours(frame))
        costs.append((without, with_))
        print(f"empty {without}, ours {with_}", file=sys.stderr, flush=True)
    least = [Cost(*map(min, zip(*column, strict=True))) for column in zip(*costs, strict=True)]
    return least[0], least[1], found


class Cost(NamedTuple):
    """Seconds by the clock, and of all processors: the driver's, Java's and the workers'."""

    seconds: float
    processor: float


def _cost(function: Callable[[], Found]) -> tuple[Cost, Found]:
    before = _processor_seconds()
    seconds, found = _timed(function)
    return Cost(round(seconds, 2), round(_processor_seconds() - before, 2)), found


def _processor_seconds() -> float:
    """Return what this process and its children have used; workers live on between jobs."""
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (me, *me.children(recursive=True)))


def _timed(function: Callable[[], Found]) -> tuple[float, Found]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def _result(protocol: Protocol, reports: int, empty: Cost, ours: Cost) -> Result:
    return {
        "protocol": str(protocol),
        "reports": reports,
        "empty seconds": empty.seconds,
        "seconds": ours.seconds,
        "ratio": round(ours.seconds / empty.seconds, 2),
        "empty processor seconds": empty.processor,
        "processor seconds": ours.processor,
        "ratio of processor seconds": round(ours.processor / empty.processor, 2),
        "reports per second": round(reports / ours.seconds),
    }


CASES: dict[str, Callable[[SparkSession, Path, int], Result]] = {
    "olh": lambda session, folder, n: _closed(session, folder, OLH(1.0, 41_270), n),
    "optimal": lambda session, folder, n: _closed(session, folder, AffineSelection(1.0, 41_270), n),
    "oue": lambda session, folder, n: _closed(session, folder, OUE(1.0, 1024), n // 10),
    "grouped": _grouped,
    "worker": _worker,
    "open": lambda session, folder, n: _open(session, folder, n // 10),
}


if __name__ == "__main__":
    main()
