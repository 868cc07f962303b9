"""Audit every broken protocol and every honest one many times, and count the verdicts.

Run it as ``python -m tests.auditing.repeat 20 [part of a name]``: it prints a line for each
protocol with how often it was BROKEN and the processor time of one audit. It takes long, and is no
part of the suite, which audits each of them once.
"""

import sys
import time

import numpy as np

from deniable import DE, OLH, OUE, RAPPOR, OpenLH, audit
from deniable.protocols import discover
from tests.auditing.leaks import broken_protocols
from tests.test_audit import CORNERS, MUTANTS

SIZES = (64, 1000, 41_270)


def honest_protocols():
    """Return the examples of every protocol, and usual sizes, closed and open."""
    examples = [example for kind in discover().values() for example in kind.examples()]
    usual = [kind(1.0, d) for kind in (DE, OLH, OUE) for d in SIZES]
    return [*examples, *usual, OpenLH(1.0), RAPPOR(2.0)]


def made_anew(protocol):
    """Return the protocol without the state that an earlier audit may have left in it."""
    return type(protocol)(**protocol.arguments())


def main(times, part=""):
    """Print a line for each protocol whose description contains ``part``."""
    for kind, protocols in (
        ("broken", [*MUTANTS, *CORNERS, *broken_protocols()]),
        ("honest", honest_protocols()),
    ):
        for protocol in protocols:
            named = f"{type(protocol).__name__} {protocol}"
            if part not in named:
                continue
            start, broken = time.process_time(), 0
            for seed in range(times):
                found = audit(made_anew(protocol), rng=np.random.default_rng(seed))
                broken += not found.holds
            seconds = (time.process_time() - start) / times
            print(f"{kind} {named}: BROKEN {broken} of {times}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
