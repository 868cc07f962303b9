"""``python -m benchmarks.alternatives [--write]``: how accurate the alternatives are.

Margins of error (95 %) of the share of one answer that few people give, among 1,000 answers, from
the variance that each method states. ``--write`` puts the tables into docs/alternatives.md.
"""

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

from deniable import OLH, OUE, SUE
from deniable.advice import recommend

PAGE = Path(__file__).resolve().parents[1] / "docs" / "alternatives.md"
ANSWERS = 1000
PEOPLE = (10_000, 1_000_000, 100_000_000)
EPSILONS = (1.0, 4.0)
SKETCH = 1024
"""Columns of the sketch of Apple's count mean sketch."""
BITS = 16
"""How many of the bits of Microsoft's protocol a device reports."""
DELTA = 1e-8
"""The chance that the bound of shuffling may fail."""
_TWO_SIDED = 1.959964


def sketch_variance(epsilon: float) -> float:
    """Return n Var of Apple's count mean sketch: one row of bits, and collisions of a rare answer.

    The bits are those of symmetric unary encoding; another answer falls into the same column with
    probability 1 / SKETCH.
    """
    scale = (SKETCH / (SKETCH - 1)) ** 2
    return scale * (SUE(epsilon, SKETCH).variance(1) + 1 / SKETCH)


def bit_flip_variance(epsilon: float) -> float:
    """Return n Var of dBitFlip, which reports ``BITS`` of the bits of symmetric unary encoding."""
    return ANSWERS / BITS * SUE(epsilon, ANSWERS).variance(1)


def ours(epsilon: float) -> float:
    """Return n Var of the protocol that is recommended here."""
    return recommend(epsilon, ANSWERS).best.protocol.variance(1)


LOCAL: dict[str, Callable[[float], float]] = {
    "deniable": ours,
    "pure-ldp, OLH": lambda epsilon: OLH(epsilon, ANSWERS).variance(1),
    "multi-freq-ldpy, OUE": lambda epsilon: OUE(epsilon, ANSWERS).variance(1),
    "RAPPOR, basic, once": lambda epsilon: SUE(epsilon, ANSWERS).variance(1),
    f"Apple's count mean sketch, {SKETCH:,} columns": sketch_variance,
    f"Microsoft's dBitFlip, {BITS} bits": bit_flip_variance,
}


def margin(variance: float, n: int) -> float:
    """Return the margin of error of a share, in percentage points, from n times its variance."""
    return 100 * _TWO_SIDED * math.sqrt(variance / n)


def central_margin(epsilon: float, n: int) -> float:
    """Return the same where a trusted server adds Laplace noise to a count of people.

    A person who changes the answer changes two counts by one, hence the scale 2 / epsilon. The
    noise of a Laplace variable is beyond scale x ln 20 with probability 5 %.
    """
    return 100 * 2 / epsilon * math.log(20) / n


def shuffled_epsilon(local: float, n: int) -> float:
    """Bound what n shuffled reports reveal of one person, except with probability ``DELTA``.

    The closed form of Feldman, McMillan and Talwar, "Hiding among the clones" (FOCS 2021), which
    holds while the local epsilon is at most ln(n / (16 ln(2 / delta))).
    """
    if local > math.log(n / (16 * math.log(2 / DELTA))):
        return local
    grown = math.exp(local)
    noise = 8 * math.sqrt(grown * math.log(4 / DELTA) / n) + 8 * grown / n
    return min(local, math.log1p((grown - 1) / (grown + 1) * noise))


def largest_local(target: float, n: int) -> float:
    """Return the largest local epsilon whose shuffled reports reveal at most ``target``."""
    low, high = 0.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if shuffled_epsilon(middle, n) <= target else (low, middle)
    return low


def _points(value: float) -> str:
    if value >= 100:
        return "nothing"
    if value < 0.0001:
        return "< 0.0001"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"


def _table(first: str, rows: list[tuple[str, list[str]]]) -> str:
    heads = [first, *(f"{n:,} people, ε = {e:g}" for e in EPSILONS for n in PEOPLE)]
    lines = [heads, ["---"] * len(heads), *([name, *cells] for name, cells in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def accuracy() -> str:
    """Return the table of margins of error: local methods, then those that trust somebody."""
    rows = [
        (name, [_points(margin(of(e), n)) for e in EPSILONS for n in PEOPLE])
        for name, of in LOCAL.items()
    ]
    shuffled = [
        _points(margin(ours(max(largest_local(e, n), 1e-3)), n)) for e in EPSILONS for n in PEOPLE
    ]
    rows.append(("shuffled reports of deniable", shuffled))
    rows.append(
        (
            "trusted server, Laplace noise (OpenDP)",
            [_points(central_margin(e, n)) for e in EPSILONS for n in PEOPLE],
        )
    )
    rows.append(("Prio, plain analytics: exact counts", ["0"] * len(EPSILONS) * len(PEOPLE)))
    return _table("± percentage points", rows)


def amplification() -> str:
    """Return the local epsilon that shuffling allows, for what all reports reveal together."""
    cells = [f"{largest_local(e, n):.2f}" for e in EPSILONS for n in PEOPLE]
    return _table("a device may spend", [("local ε before shuffling", cells)])


def proof_bytes(counters: int, chunk: int = 32) -> int:
    """Return the bytes that a device uploads with Prio3Histogram (RFC draft VDAF), both shares.

    The leader's share has an element of 16 bytes for each counter and for the proof, whose length
    is 2 chunk + 2 (P - 1) + 1 with P the least power of two above the calls of the gadget. The
    helper's share is a seed of 32 bytes, and each has a blind of 32.
    """
    calls = -(-counters // chunk)
    proof = 2 * chunk + 2 * ((1 << calls.bit_length()) - 1) + 1
    return 16 * (counters + proof) + 3 * 32


def cost() -> str:
    """Return the table of what a device uploads for one answer, in bytes."""
    best = [recommend(epsilon, ANSWERS).best.protocol.report_bits // 8 for epsilon in EPSILONS]
    rows = [
        ("deniable", *map(str, best)),
        ("pure-ldp, OLH", *["9"] * 2),
        ("multi-freq-ldpy, OUE; RAPPOR, basic", *[f"{-(-ANSWERS // 8)}"] * 2),
        (f"Apple's count mean sketch, {SKETCH:,} columns", *[f"{SKETCH // 8 + 2}"] * 2),
        (f"Microsoft's dBitFlip, {BITS} bits", *[f"{BITS // 8} once the bits are known"] * 2),
        ("Prio3Histogram, both servers", *[f"{proof_bytes(ANSWERS):,}"] * 2),
        ("trusted server, plain analytics", *["2, and the sender"] * 2),
    ]
    heads = ("bytes of one answer", *(f"ε = {epsilon:g}" for epsilon in EPSILONS))
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {"accuracy": accuracy, "amplification": amplification, "cost": cost}


def written(page: str) -> str:
    """Return the page with its tables made anew."""
    for name, table in TABLES.items():
        marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
        inside = re.compile(f"{marks[0]}.*?{marks[1]}", re.DOTALL)
        page = inside.sub(lambda _, m=marks, t=table: f"{m[0]}\n\n{t()}\n\n{m[1]}", page)
    return page


def main() -> None:
    """Print the tables, or write them into the page."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name, table in TABLES.items():
        print(f"{name}\n\n{table()}\n")


if __name__ == "__main__":
    main()
