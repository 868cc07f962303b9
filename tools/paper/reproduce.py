"""``python -m tools reproduce``: the tables and figures of the paper, computed again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator, MutableMapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import TypedDict, cast

import click

import deniable
from deniable.cli.group import command
from deniable.cli.outputs import (
    open_console,
    print_columns,
    show_progress,
    width_of,
    write_atomically,
)
from tools.data import cached_kosarak, read_clicks
from tools.paper import EXPERIMENTS, Context, Result, Row, load, run
from tools.paper.report import Outcome, duration, make_report
from tools.paper.store import Store

ALL = "all"
PARTS = "parts"


class Kept(TypedDict):
    """What the report needs of a finished experiment."""

    rows: list[Row]
    parts: dict[str, float]


class Directory(MutableMapping[str, bytes]):
    """Files in a directory, which is made when the first is; each appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __getitem__(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise KeyError(name) from error

    def __setitem__(self, name: str, data: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / name, data)

    def __delitem__(self, name: str) -> None:
        (self.path / name).unlink()

    def __iter__(self) -> Iterator[str]:
        return (path.name for path in self.path.glob("*.json"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@command(
    "python -m tools reproduce table2",
    "python -m tools reproduce table1 -o paper",
    "python -m tools reproduce fig1 -o paper --json",
)
@click.argument("name", type=click.Choice([*EXPERIMENTS, ALL]))
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write NAME.csv, NAME.png and report.md there. "
              "[default: print the rows]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Two runs of fewer points, for a first look.")
@click.option("--runs", type=click.IntRange(1), metavar="N",
              help="How often each simulation is run. "
              "[default: 10, or 2 with --quick]")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="The seed of simulations.")  # fmt: skip
@click.option("--kosarak", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH",
              help="The clicks: a FIMI .dat file, plain, .gz or .xz, or an .npz file with the "
              "array item. [default: what `python -m tools fetch kosarak` fetched, else "
              "synthetic]")  # fmt: skip
@click.option("--repeat", type=click.IntRange(1), default=1, metavar="N",
              help="Count each click of --kosarak N times.")  # fmt: skip
@click.option("--fresh", is_flag=True, help="Compute again what an earlier run has finished.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def reproduce(
    name: str,
    *,
    output: Path | None,
    quick: bool,
    runs: int | None,
    seed: int,
    kosarak: Path | None,
    repeat: int,
    fresh: bool,
    as_json: bool,
) -> None:
    """Recompute a table or figure of the paper, or all of them.

    With -o every finished part is kept in DIR/parts: after an interruption the same command goes
    on where it stopped. report.md sets the results in DIR beside what the paper states.

    The evaluation on Kosarak is run on the file that --kosarak names, or on the one that was
    fetched; without either on a synthetic population of the same size, and the report says so.
    """
    if kosarak is None and repeat > 1:
        raise click.UsageError("--repeat is about the file of --kosarak; name one")
    path = cached_kosarak() if kosarak is None else kosarak
    settings = Context(seed, quick, runs=runs, clicks=read_clicks(path, repeat) if path else None)
    kept = Directory(output / PARTS) if output else dict[str, bytes]()
    store = Store(kept, {"code": _code(), "seed": seed}, fresh)
    names = list(EXPERIMENTS) if name == ALL else [name]
    results = []
    for position, each in enumerate(names):
        shown = each if name != ALL else f"{each} ({position + 1} of {len(names)})"
        try:
            outcome = _run(each, shown, settings, store)
        except KeyboardInterrupt:
            if output is not None:
                click.echo(
                    f"{output / PARTS} has what is finished; the same command goes on", err=True
                )
            raise
        results.append(outcome.result)
        if output is not None:
            _write(outcome, output)
            write_atomically(output / "report.md", _report(settings, store).encode())
            click.echo(f"{output / each}.csv and .png: {outcome.result.title} "
                       f"({duration(outcome.seconds)})", err=True)  # fmt: skip
        elif not as_json:
            _print(outcome.result)
    if as_json:
        documents = [{"name": r.name, "title": r.title, "notes": r.notes, "rows": r.rows}
                     for r in results]  # fmt: skip
        click.echo(json.dumps(documents, indent=2))


def _code() -> str:
    """Return a digest of this package, so that parts computed by other code are not reused."""
    digest = sha256(version("numpy").encode())
    package = Path(deniable.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def _run(name: str, shown: str, settings: Context, store: Store) -> Outcome:
    start, store.asked, store.waited = perf_counter(), {}, 0.0
    with show_progress(f"Computing {shown}", 1.0) as advance:
        context = Context(
            settings.seed,
            settings.quick,
            lambda done, what: advance(done),
            settings.runs,
            clicks=settings.clicks,
            keep=store.keep,
        )
        result = run(name, context)
    rest = perf_counter() - start - store.waited
    kept = {"rows": list(result.rows), "parts": store.asked}
    store.write(_summary(name, settings), {"seconds": rest, "outcome": kept})
    return Outcome(result, tuple(load(name).claims(result.rows)), store.asked, rest)


def _summary(name: str, settings: Context) -> str:
    """Return the key under which all rows of an experiment are kept for the report."""
    data = settings.clicks.digest if settings.clicks else "synthetic"
    return f"{name} on {data}, {settings.repetitions} runs, quick {settings.quick}"


def _write(outcome: Outcome, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    result, sink = outcome.result, BytesIO()
    load(result.name).figure(result.rows).savefig(sink, format="png", dpi=150)
    write_atomically(directory / f"{result.name}.csv", result.to_csv().encode())
    write_atomically(directory / f"{result.name}.png", sink.getvalue())


def _report(settings: Context, store: Store) -> str:
    """Return the report of all experiments in the directory that have these settings."""
    outcomes = []
    for name in EXPERIMENTS:
        kept = store.read(_summary(name, settings))
        if kept is not None:
            module, found = load(name), cast("Kept", kept["outcome"])
            result = Result(name, module.TITLE, tuple(found["rows"]), module.NOTES)
            claims = tuple(module.claims(result.rows))
            rest = float(str(kept["seconds"]))
            outcomes.append(Outcome(result, claims, found["parts"], rest))
    return make_report(dict(_facts(settings)), outcomes)


def _facts(settings: Context) -> Iterable[tuple[str, str]]:
    clicks = settings.kosarak
    yield "clicks", f"{clicks.label}: n = {clicks.n:,}, d = {clicks.domain_size:,}"
    yield "runs", f"{settings.repetitions}{' (quick)' if settings.quick else ''}"
    yield "seed", str(settings.seed)
    versions = ", ".join(filter(None, map(_version, ("deniable", "numpy", "numba"))))
    yield "software", f"{versions}, {platform.python_implementation()} {platform.python_version()}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "machine", f"{processor()}, {cores} cores, {platform.system()}"
    yield "date", f"{datetime.now(UTC):%Y-%m-%d}"


def _version(name: str) -> str | None:
    """Return a package with its version, or None where it is not installed."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return None


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names or [platform.processor() or platform.machine()])[0]


def _print(result: Result) -> None:
    console = open_console()
    console.print(f"{result.title}\n", style="bold")
    rows = [tuple(result.rows[0]), *(tuple(map(_cell, row.values())) for row in result.rows)]
    columns = list(zip(*rows, strict=True))
    turned = width_of(rows) <= console.width < width_of(columns)
    # What fits neither way is printed in full all the same: it can be piped or scrolled.
    print_columns(console, rows if turned else columns)
    for note in result.notes:
        console.print(f"\n{note}")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
