"""``docs/benchmarks.md``, written from the saved results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.timing import Result

_INTRODUCTION = """# Benchmarks

How fast deniable is, beside other packages, and how time and memory grow with people and answers.
Written by `make bench` (`make bench ARGS=all` adds the longest parts) from the results saved in
`benchmarks/results`.

Comparisons and decoding times are the best of several repeats; ours follow one call that is not
timed, which compiles and fills caches. "OS" is the operating system's randomness, the default;
"seeded" is a NumPy generator, for simulation. The other packages take one report at a time, on one
core; ours take arrays and use every core.
"""


def render(results: dict[str, Result]) -> str:
    """Return the page with a section for each result that there is."""
    sections = {
        "table": _table,
        "plain": _plain,
        "kernels": _kernels,
        "scaling": _scaling,
        "summing": _summing,
        "ingest": _ingest,
        "billion": _billion,
        "client": _client,
    }
    parts = [_INTRODUCTION]
    for name, section in sections.items():
        if name in results:
            parts.append("\n".join([*section(results[name]), "", _machine(results[name]), ""]))
    return "\n".join(parts)


def _table(result: Result) -> Iterable[str]:
    sizes = result["sizes"]
    yield "## Ratios\n"
    yield (
        f"n = {sizes['kosarak_reports']:,} for OLH over d = {sizes['large_domain']:,}; "
        f"{sizes['open_reports']:,} reports x {sizes['candidates']:,} candidates for OpenLH; the "
        f"server of pure-ldp OLH is timed on {sizes['hashed_reports']} reports. A tally includes "
        "the estimates.\n"
    )
    if any(row["ratio"] is None for row in result["ratios"]):
        yield "Some of the other packages were not installed: run `make bench`.\n"
    yield from _ratios(result, judged=result["judged"])
    yield "\n## Rates\n"
    yield "Reports per second; for OpenLH, decoding counts pairs of a report and a candidate.\n"
    yield from _rates(result["rows"])
    yield "\n## The machine itself\n"
    yield from _grid(
        ("yardstick", "per second"),
        ((name, f"{value:.2e}") for name, value in result["yardstick"].items()),
    )


def _ratios(result: Result, *, judged: bool) -> Iterable[str]:
    yield from _grid(
        ("work", "d", "ε", "against", "ours", "theirs", "at least", "measured", ""),
        (
            (
                row["work"],
                f"{row['domain_size']:,}",
                f"{row['epsilon']:g}",
                row["against"],
                _time(row["seconds"]),
                _time(row["peer_seconds"]),
                f"{row['at_least']:,.0f} x" if judged else "",
                "-" if row["ratio"] is None else f"{row['ratio']:,.0f} x",
                _verdict(row["ratio"] >= row["at_least"])
                if row["ratio"] is not None and judged
                else "-",
            )
            for row in result["ratios"]
        ),
    )


def _plain(result: Result) -> Iterable[str]:
    yield "## Ratios without Numba\n"
    yield "The same work in NumPy alone. What is required above is required with Numba.\n"
    yield from _ratios(result, judged=False)


def _rates(rows: list[Result]) -> Iterable[str]:
    works = ("privatize", "privatize, seeded", "tally + decode", "decode")
    packages = ("deniable", "pure-ldp", "multi-freq-ldpy")
    found: dict[tuple[Any, ...], dict[tuple[str, str], str]] = {}
    for row in rows:
        key = (row["domain_size"], row["protocol"], row["epsilon"])
        work = "tally + decode" if row["work"] == "decode" else row["work"]
        found.setdefault(key, {})[row["package"], work] = f"{1 / row['seconds']:.2e}"
    columns = [(p, w) for p in packages for w in works[:3] if (p, w) != (packages[1], works[1])]
    columns.remove((packages[2], works[1]))
    heads = {"privatize": "privatize", "privatize, seeded": "seeded", "tally + decode": "decode"}
    yield from _grid(
        ("protocol", "d", "ε", *(f"{p} {heads[w]}" for p, w in columns)),
        (
            (
                protocol,
                f"{d:,}" if d else "open",
                f"{epsilon:g}",
                *(cells.get(column, "") for column in columns),
            )
            for (d, protocol, epsilon), cells in sorted(found.items())
        ),
    )


def _kernels(result: Result) -> Iterable[str]:
    yield "## Compiled kernels\n"
    yield (
        "Each step in NumPy, compiled, and in NumPy again as a control, in turns; the best of "
        f"{result['sizes']['repeats']} turns each, in processor time of all threads and by the "
        "clock. A kernel earns its place where it saves at least half of a step that takes NumPy "
        "more than 50 ms, or where a ratio above rests on it.\n"
    )
    ways, clocks = ("numpy", "compiled", "control"), ("processor", "clock")
    yield from _grid(
        ("kernel", "step", *(f"{way}, {clock}" for clock in clocks for way in ways), "saves half"),
        (
            (
                row["kernel"],
                row["step"],
                *(_time(row[way][clock]) for clock in clocks for way in ways),
                "yes" if row["earns"] else "no",
            )
            for row in result["rows"]
        ),
    )


def _scaling(result: Result) -> Iterable[str]:
    sizes = result["sizes"]
    for name, variable, fixed in (
        ("domain", "domain_size", f"n = {sizes['fixed_reports']:,}"),
        ("reports", "reports", f"d = {sizes['fixed_domain']:,}"),
    ):
        short = "d" if name == "domain" else "n"
        yield f"\n## OLH decoding time against {short}, {fixed}\n"
        yield f"![decoding time against {short}](images/bench-{name}.png)\n"
        rows = result[name]
        epsilons = sorted({row["epsilon"] for row in rows})
        cells = {(row[variable], row["epsilon"]): row for row in rows}
        yield from _grid(
            (short, *(f"ε = {epsilon:g}" for epsilon in epsilons)),
            (
                (
                    f"{value:,}",
                    *(
                        f"{_time(cells[value, e]['seconds'])} (g = {cells[value, e]['g']})"
                        for e in epsilons
                    ),
                )
                for value in sorted({row[variable] for row in rows})
            ),
        )
        exponents = result["exponents"][name]
        fitted = ", ".join(f"{value:.2f} at ε = {e}" for e, value in exponents.items())
        yield (
            f"\nGrowth exponent in {short}, fitted over the larger half: {fitted}. "
            "The textbook decoder has exponent 1 in both n and d."
        )


def _summing(result: Result) -> Iterable[str]:
    sizes = result["sizes"]
    yield "## Single reports\n"
    yield (
        f"{sizes['reports']:,} reports of OLH (d = {sizes['domain_size']:,}, "
        f"ε = {sizes['epsilon']:g}) added one by one to an accumulator: {result['rate']:,.0f} a "
        f"second (at least {result['at_least']:,}: "
        f"{_verdict(result['rate'] >= result['at_least'])}). Adding tallies of one report each: "
        f"{result['tallies']:,.0f} a second, a ratio of {result['ratio']:,.0f}. The bytes are "
        f"{'those' if result['equal'] else 'NOT those'} of one batch.\n"
    )


def _ingest(result: Result) -> Iterable[str]:
    sizes = result["sizes"]
    yield "## A collector\n"
    yield (
        f"Submissions over HTTP on {sizes['connections']} connections, on disk before they are "
        "answered (SQLite), beside the same server that stores nothing; one core each for server "
        "and generator. At least 0.4 of its rate and at most 5 times its 99th percentile are "
        "asked for.\n"
    )
    yield from _grid(
        ("reports a submission", "submissions/s", "of storing nothing", "99 % time", ""),
        (
            (
                f"{int(count):,}",
                f"{row['submissions']:,.0f}",
                f"{row['rate']:.2f}",
                f"{row['p99']:.2f} x",
                _verdict(row["rate"] >= 0.4 and row["p99"] <= 5),
            )
            for count, row in result["ratios"].items()
        ),
    )


def _billion(result: Result) -> Iterable[str]:
    yield "## A billion reports\n"
    yield "![seconds by stage](images/bench-billion.png)\n"
    yield (
        "Each row is a process of its own, which makes the reports in batches, tallies them from "
        "an iterator and estimates. The mean squared error is relative to the exact variance.\n"
    )
    stages = list(result["streams"][0]["seconds"])
    yield from _grid(
        (
            "reports",
            "d",
            "ε",
            "randomness",
            *stages,
            "total",
            "limit",
            "peak memory",
            "limit",
            "error / theory",
            "",
        ),
        (
            (
                f"{row['reports']:,}",
                f"{row['domain_size']:,}",
                f"{row['epsilon']:g}",
                "seeded" if row["seeded"] else "OS",
                *(_time(row["seconds"][stage]) for stage in stages),
                _time(row["total"]),
                _time(row["most_seconds"]),
                _memory(row["peak_memory"]),
                _memory(row["most_memory"]),
                f"{row['error_over_theory']:.3f}",
                _verdict(
                    row["total"] <= row["most_seconds"] and row["peak_memory"] <= row["most_memory"]
                ),
            )
            for row in result["streams"]
        ),
    )


def _client(result: Result) -> Iterable[str]:
    imported = result["import"]
    yield "## A client\n"
    yield (
        f"`from deniable import *`, the interpreter's own start included, takes "
        f"{_time(imported['seconds'])}, without NumPy "
        f"{_time(imported['without_numpy'])} (at most {_time(imported['at_most'])}: "
        f"{_verdict(imported['seconds'] <= imported['at_most'])}).\n"
    )
    first = result["answers"][0]
    yield (
        'One answer, `privatize([v])`, with the operating system\'s randomness. "First" is a new '
        "process that makes the protocol and one report, best of three. The accuracy is "
        "that of the best threshold on the time of a call for telling the first value of the "
        f"domain from the last, trained on half of {first['calls']:,} calls in random order and "
        f"tested on the other half, the worst of {len(first['accuracies'])} runs; 0.5 is a coin, "
        f"and at most {first['accuracy_at_most']} is required. The control is the same with "
        "two equal values, and shows what the method itself reads out of noise.\n"
    )
    yield from _grid(
        ("protocol", "first", "median", "99 %", "at most", "", "accuracy", "", "control"),
        (
            (
                row["protocol"],
                _time(row["first"]),
                _time(row["median"]),
                _time(row["p99"]),
                _time(row["at_most"]),
                _verdict(row["median"] <= row["at_most"]),
                f"{max(row['accuracies']):.3f}",
                _verdict(max(row["accuracies"]) <= row["accuracy_at_most"]),
                f"{row['control']:.3f}",
            )
            for row in result["answers"]
        ),
    )
    if result["first_uses"]:
        yield "\n## First use\n"
        yield (
            "The first call of each step that works in bulk, in a new process with an empty cache "
            "of kernels, in the next process, and again. Work of this size does not wait for a "
            "compiler: NumPy does it, unless Numba is said to have been loaded.\n"
        )
        yield from _grid(
            ("step", "empty cache", "next process", "later calls", "Numba loaded"),
            (
                (
                    row["step"],
                    _time(row["cold"]),
                    _time(row["warm"]),
                    _time(row["later"]),
                    "yes" if row["numba"] else "no",
                )
                for row in result["first_uses"]
            ),
        )


def _machine(result: Result) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"*{machine['date']}; {machine['processor']}, {machine['threads']} threads, "
        f"{_memory(machine['memory'])}; {machine['system']}; Python {machine['python']}, "
        f"{versions}; load average at the start {machine['load']:g}; "
        f"`{result['command']}`.*"
    )


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "| " + " | ".join("---" for _ in heads) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _verdict(passed: bool) -> str:
    return "pass" if passed else "FAIL"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.2g} ns"


def _memory(count: int) -> str:
    return f"{count / (1 << 30):.2f} GiB"
