"""Each protocol's rates, side by side with other packages, and the ratios that are required."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import Result, best, describe_machine, measure_yardstick, report_progress
from deniable import LH, OLH, UE, OpenLH, Protocol, fingerprints
from deniable.advice.ranking import find_protocols


@dataclass(frozen=True)
class Sizes:
    """How much of everything is measured."""

    small_domain: int = 1024
    large_domain: int = 41_270
    epsilons: tuple[float, ...] = (4.0, 1.0)
    kosarak_reports: int = 8_019_470
    open_reports: int = 200_000
    candidates: int = 20_000
    report_bytes: int = 1 << 25
    most_reports: int = 4_000_000
    hashed_reports: int = 200
    peer_reports: int = 2_000
    yardstick_megabytes: int = 256
    repeats: int = 5

    def count(self, protocol: Protocol) -> int:
        """Return how many reports of a protocol to make: fewer where they are long."""
        fitting = self.report_bytes // protocol.report_dtype.itemsize
        return max(min(self.most_reports, fitting), self.most_reports // 200)


QUICK = Sizes(
    small_domain=64,
    large_domain=500,
    kosarak_reports=20_000,
    open_reports=2_000,
    candidates=600,
    report_bytes=1 << 16,
    most_reports=20_000,
    hashed_reports=4,
    peer_reports=20,
    yardstick_megabytes=4,
    repeats=2,
)


@dataclass(frozen=True)
class Requirement:
    """How many times faster per unit of work than a peer something has to be."""

    title: str
    ours: tuple[str, str]
    peer: tuple[str, str, str]
    large: bool
    epsilon: float
    at_least: float


_PURE, _MULTI = "pure-ldp", "multi-freq-ldpy"
_DECODE = "tally + decode"

REQUIREMENTS = (
    Requirement("OLH tally + decode", ("OLH", _DECODE), (_PURE, "OLH", _DECODE), True, 4.0, 500e3),
    Requirement("OLH tally + decode", ("OLH", _DECODE), (_PURE, "OLH", _DECODE), True, 1.0, 5e6),
    Requirement(
        "OpenLH decode, per pair", ("OpenLH", "decode"), (_PURE, "OLH", _DECODE), True, 1.0, 2_500
    ),
    Requirement("OLH privatize", ("OLH", "privatize"), (_PURE, "OLH", "privatize"), True, 4.0, 40),
    Requirement("OLH privatize", ("OLH", "privatize"), (_PURE, "OLH", "privatize"), True, 1.0, 40),
    Requirement("OUE tally", ("OUE", _DECODE), (_PURE, "OUE", _DECODE), False, 1.0, 80),
    Requirement("OUE tally", ("OUE", _DECODE), (_MULTI, "OUE", _DECODE), False, 1.0, 40),
    Requirement(
        "OUE privatize, seeded",
        ("OUE", "privatize, seeded"),
        (_PURE, "OUE", "privatize"),
        False,
        1.0,
        60,
    ),
    Requirement(
        "OUE privatize, OS randomness",
        ("OUE", "privatize"),
        (_PURE, "OUE", "privatize"),
        False,
        1.0,
        20,
    ),
    Requirement(
        "DE privatize, OS randomness",
        ("DE", "privatize"),
        (_PURE, "DE", "privatize"),
        False,
        1.0,
        20,
    ),
    Requirement("DE tally", ("DE", _DECODE), (_PURE, "DE", _DECODE), False, 1.0, 50),
)


def measure(sizes: Sizes, peers: Path) -> Result:
    """Measure ours, the peers if their environment is there, and the machine."""
    machine = describe_machine()
    report_progress("the machine")
    yardstick = measure_yardstick(sizes.yardstick_megabytes, sizes.repeats)
    rows = list(measure_ours(sizes))
    found = measure_peers(sizes, peers)
    rows += found["rows"]
    return {
        "machine": machine | {"versions": machine["versions"] | found["versions"]},
        "sizes": asdict(sizes),
        "judged": sizes == Sizes(),
        "yardstick": yardstick,
        "rows": rows,
        "ratios": [compare(requirement, rows, sizes) for requirement in REQUIREMENTS],
    }


def small_protocols(d: int) -> list[Protocol]:
    """Return every protocol that is made from epsilon and a domain size, and UE and LH."""
    found: list[Protocol] = [*find_protocols(1.0, d)]
    return [*found, UE(p=0.75, q=0.25, domain_size=d), LH(1.0, d, 6)]


def measure_ours(sizes: Sizes) -> Iterator[Result]:
    """Time every protocol over the small domain, and local hashing over the large ones."""
    for protocol in small_protocols(sizes.small_domain):
        # Without a linear family, decoding takes time n d, as everywhere else.
        count = sizes.count(protocol) // (20 if protocol.name == "LH" else 1)
        yield from measure_protocol(protocol, count, sizes.repeats)
    for epsilon in sizes.epsilons:
        olh = OLH(epsilon, sizes.large_domain)
        yield from measure_protocol(olh, sizes.kosarak_reports, sizes.repeats)
    yield from measure_open(sizes)


def measure_protocol(protocol: Protocol, count: int, repeats: int) -> Iterator[Result]:
    """Time privatizing with both kinds of randomness, and everything that a server does."""
    report_progress(f"{protocol.name}, d = {protocol.domain_size:,}")
    d = protocol.domain_size
    values = simulate_values(count, d)
    row = {
        "package": "deniable",
        "protocol": protocol.name,
        "epsilon": round(protocol.epsilon, 3),
        "domain_size": d,
        "reports": count,
    }
    reports = protocol.privatize(values, np.random.default_rng(2))
    jobs = {
        "privatize": lambda: protocol.privatize(values),
        "privatize, seeded": lambda: protocol.privatize(values, np.random.default_rng(3)),
        _DECODE: lambda: protocol.estimate(protocol.tally(reports)),
    }
    for work, job in jobs.items():
        yield row | {"work": work, "seconds": best(job, repeats) / count}


def measure_open(sizes: Sizes) -> Iterator[Result]:
    """Time local hashing over an open domain; decoding is for one pair of report and candidate."""
    report_progress("OpenLH")
    protocol = OpenLH(1.0)
    candidates = fingerprints([f"label {i}" for i in range(sizes.candidates)])
    values = candidates[simulate_values(sizes.open_reports, sizes.candidates)]
    row = {"package": "deniable", "protocol": "OpenLH", "epsilon": 1.0, "domain_size": 0}
    n = sizes.open_reports
    for work, rng in (("privatize", None), ("privatize, seeded", np.random.default_rng(3))):
        seconds = best(lambda rng=rng: protocol.privatize(values, rng), sizes.repeats)  # type: ignore[misc]
        yield row | {"work": work, "reports": n, "seconds": seconds / n}
    tally = protocol.tally(protocol.privatize(values))
    seconds = best(lambda: protocol.estimate(tally, candidates), min(sizes.repeats, 3))
    pairs = n * sizes.candidates
    yield row | {"work": "decode", "reports": n, "pairs": pairs, "seconds": seconds / pairs}


def simulate_values(count: int, d: int) -> np.ndarray:
    """Return answers that are spread as words and pages are: Zipf with exponent 1.1."""
    weights = np.arange(1, d + 1) ** -1.1
    counts = np.random.default_rng(1).multinomial(count, weights / weights.sum())
    values = np.repeat(np.arange(d), counts)
    np.random.default_rng(4).shuffle(values)
    return values


def measure_peers(sizes: Sizes, python: Path) -> Result:
    """Run the peers' script in their environment, with as many threads as they care to use."""
    if not python.exists():
        return {"versions": {}, "rows": []}
    report_progress("pure-ldp and multi-freq-ldpy")
    asked = {
        "small_domain": sizes.small_domain,
        "large_domain": sizes.large_domain,
        "epsilons": sizes.epsilons,
        "reports": max(sizes.peer_reports, sizes.hashed_reports),
        "hashed_reports": sizes.hashed_reports,
        "repeats": sizes.repeats,
    }
    script = Path(__file__).parent / "peers" / "measure.py"
    done = subprocess.run(
        [python, "-W", "ignore", script, json.dumps(asked)],
        stdout=subprocess.PIPE,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    found: Result = json.loads(done.stdout)
    return found


def compare(requirement: Requirement, rows: list[Result], sizes: Sizes) -> Result:
    """Return one row of the table of ratios; without a peer the ratio is None."""
    d = sizes.large_domain if requirement.large else sizes.small_domain
    protocol, work = requirement.ours
    package, peer_protocol, peer_work = requirement.peer
    pairs = protocol == "OpenLH"
    ours = _find(rows, "deniable", protocol, work, 0 if pairs else d, requirement.epsilon)
    peer = _find(rows, package, peer_protocol, peer_work, d, requirement.epsilon)
    result = {
        "work": requirement.title,
        "domain_size": d,
        "epsilon": requirement.epsilon,
        "against": package,
        "at_least": requirement.at_least,
        "unit": "pair" if pairs else "report",
        "seconds": ours and ours["seconds"],
        "peer_seconds": None,
        "ratio": None,
    }
    if ours and peer:
        seconds = peer["seconds"] / (d if pairs else 1)
        result |= {"peer_seconds": seconds, "ratio": seconds / ours["seconds"]}
    return result


def _find(  # noqa: PLR0913, PLR0917 - the columns that identify a row
    rows: list[Result], package: str, protocol: str, work: str, d: int, epsilon: float
) -> Result | None:
    wanted = (package, protocol, work, d, epsilon)
    columns = ("package", "protocol", "work", "domain_size", "epsilon")
    return next((row for row in rows if tuple(row[c] for c in columns) == wanted), None)
