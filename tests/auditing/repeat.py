"""Audit every broken protocol and every honest one many times, and count the verdicts.

Run it as ``python -m tests.auditing.repeat 20 [part of a name]``: it prints a line for each
protocol with how often it was BROKEN, and the mean processor time and the longest time of one
audit. It takes hours, and is no part of the suite, which audits each of them once: with ``--record
FILE`` every verdict is written as it comes, and a later run goes on from there; ``--seconds``
stops it in good order.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from deniable import DE, OLH, OUE, RAPPOR, SHE, OpenLH, audit
from deniable.advice import recommend
from deniable.protocols import discover
from tests.auditing.leaks import broken_protocols
from tests.test_audit import CORNERS, MUTANTS

SIZES = (64, 1000, 41_270)


def honest_protocols():
    """Return the examples of every protocol, and usual sizes, closed and open."""
    examples = [example for kind in discover().values() for example in kind.examples()]
    usual = [kind(1.0, d) for kind in (DE, OLH, OUE) for d in SIZES]
    best = [recommend(1.0, d).best.protocol for d in SIZES]
    return [*examples, *usual, *best, SHE(1.0, 65), OpenLH(1.0), RAPPOR(2.0)]


def all_protocols(part):
    """Return the protocols whose description contains ``part``, by whether they are honest."""
    broken, honest = [*MUTANTS, *CORNERS, *broken_protocols()], honest_protocols()
    kinds = [("broken", p) for p in broken] + [("honest", p) for p in honest]
    named = {f"{kind} {type(p).__name__} {p}": p for kind, p in kinds}
    return {name: p for name, p in named.items() if part in name}


def made_anew(protocol):
    """Return the protocol without the state that an earlier audit may have left in it."""
    return type(protocol)(**protocol.arguments())


def judge(name, protocol, seed):
    """Audit once, and return the verdict and the times as plain data."""
    start, used = time.perf_counter(), time.process_time()
    found = audit(made_anew(protocol), rng=np.random.default_rng(seed))
    seconds, used = time.perf_counter() - start, time.process_time() - used
    return {"name": name, "seed": seed, "broken": not found.holds, "cpu": used, "wall": seconds}


def recorded(path):
    """Return the verdicts of earlier runs."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def show(names, verdicts):
    """Print a line for each protocol."""
    for name in names:
        own = [v for v in verdicts if v["name"] == name]
        if own:
            broken, cpu = sum(v["broken"] for v in own), sum(v["cpu"] for v in own) / len(own)
            longest = max(v["wall"] for v in own)
            print(f"{name}: BROKEN {broken} of {len(own)}, {cpu:.1f} s, longest {longest:.1f} s")


def main():
    """Audit what is not recorded yet, the first seeds first; return 3 if some is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    protocols, verdicts = all_protocols(options.part), recorded(options.record)
    done = {(v["name"], v["seed"]) for v in verdicts}
    seeds = range(options.first, options.first + options.times)
    tasks = [(name, seed) for seed in seeds for name in protocols]
    left = [task for task in tasks if task not in done]
    while left and time.monotonic() < end:
        name, seed = left.pop(0)
        verdicts.append(judge(name, protocols[name], seed))
        if options.record is not None:
            with options.record.open("a") as file:
                print(json.dumps(verdicts[-1]), file=file)
    show(protocols, verdicts)
    return 3 if left else 0


if __name__ == "__main__":
    sys.exit(main())
