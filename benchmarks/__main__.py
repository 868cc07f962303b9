"""``python -m benchmarks [--quick] [section ...]``: measure, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import billion, client, ingest, kernels, scaling, summing, table
from benchmarks.figures import draw_scaling, draw_stages
from benchmarks.page import render
from benchmarks.timing import ROOT, Result, report_progress
from deniable.kernels.jit import set_compiled

DEFAULT = ("table", "scaling", "summing", "ingest", "client")
EVERYTHING = (*DEFAULT, "plain", "kernels", "billion")


def measure(section: str, *, quick: bool, peers: Path) -> Result:
    """Run one section."""
    sections: dict[str, Callable[[], Result]] = {
        "table": lambda: table.measure(table.QUICK if quick else table.Sizes(), peers),
        "plain": lambda: table.measure(table.QUICK if quick else table.Sizes(), peers),
        "kernels": lambda: kernels.measure(kernels.QUICK if quick else kernels.Sizes()),
        "scaling": lambda: scaling.measure(scaling.QUICK if quick else scaling.Sizes()),
        "summing": lambda: summing.measure(summing.QUICK if quick else summing.Sizes()),
        "ingest": lambda: ingest.measure(ingest.QUICK if quick else ingest.Sizes()),
        "billion": lambda: billion.measure(billion.QUICK if quick else billion.STREAMS),
        "client": lambda: client.measure(client.QUICK if quick else client.Sizes()),
    }
    # Rates are those of compiled kernels, or of none; a client's first uses are timed as they come.
    set_compiled({"client": None, "plain": False}.get(section, True))
    return sections[section]()


def save(results: dict[str, Result], output: Path) -> dict[str, Result]:
    """Save new results beside the older ones and write the page and the pictures of all."""
    folder, docs = output / "benchmarks" / "results", output / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    (docs / "images").mkdir(parents=True, exist_ok=True)
    for name, result in results.items():
        (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    every = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    (docs / "benchmarks.md").write_text(render(every))
    if "scaling" in every:
        draw_scaling(every["scaling"], docs / "images")
    if "billion" in every:
        draw_stages(every["billion"], docs / "images")
    return every


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the page's sections, and save them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"of {', '.join(EVERYTHING)}, or all, or page to write the page again; "
        f"{', '.join(DEFAULT)} unless given",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes; saves nothing by itself")
    parser.add_argument("--output", type=Path, help="the folder to save below, the project's own")
    parser.add_argument(
        "--peers",
        type=Path,
        default=ROOT / ".venv-peers" / "bin" / "python",
        help="the interpreter of the environment with the other packages",
    )
    options = parser.parse_args(arguments)
    unknown = set(options.sections) - {*EVERYTHING, "all", "page"}
    if unknown:
        parser.error(f"expected sections among {', '.join(EVERYTHING)}, all, page, got {unknown}")
    chosen = options.sections or list(DEFAULT)
    if "all" in chosen:
        chosen = list(EVERYTHING)
    command = " ".join(["python -m benchmarks", *chosen, *(["--quick"] if options.quick else [])])
    results = {}
    output = options.output or (None if options.quick else ROOT)
    for section in chosen:
        if section == "page":
            continue
        found = measure(section, quick=options.quick, peers=options.peers)
        results[section] = found | {"command": command}
        # Saved one by one, so that a long run that is interrupted leaves what it has.
        if output:
            save({section: results[section]}, output)
    report_progress("")
    if "page" in chosen and output:
        results = save({}, output) | results
    sys.stdout.write(render(results))


if __name__ == "__main__":
    main()
