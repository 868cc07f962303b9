"""Time pure-ldp and multi-freq-ldpy; runs in their own environment and prints JSON.

Each package is used as its documentation says: a client object or function called once for each
person, a server that is given the reports and asked for the estimates. Seconds are for one report,
the best of several repeats; what multi-freq-ldpy compiles is compiled before.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, UE
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.histogram_encoding import HEClient, HEServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

Measurement = dict[str, Any]


def pure_ldp(epsilon: float, d: int) -> dict[str, tuple[Callable[[int], Any], Any]]:
    """Return a client function and a server for each protocol of pure-ldp."""
    return {
        "DE": (DEClient(epsilon, d).privatise, DEServer(epsilon, d)),
        "SHE": (HEClient(epsilon, d).privatise, HEServer(epsilon, d)),
        "THE": (HEClient(epsilon, d).privatise, HEServer(epsilon, d, use_the=True)),
        "SUE": (UEClient(epsilon, d).privatise, UEServer(epsilon, d)),
        "OUE": (UEClient(epsilon, d, use_oue=True).privatise, UEServer(epsilon, d, use_oue=True)),
        "BLH": (LHClient(epsilon, d).privatise, LHServer(epsilon, d)),
        "OLH": (LHClient(epsilon, d, use_olh=True).privatise, LHServer(epsilon, d, use_olh=True)),
    }


def multi_freq(
    epsilon: float, d: int
) -> dict[str, tuple[Callable[[int], Any], Callable[[list[Any]], Any]]]:
    """Return a client and an aggregator function for each protocol of multi-freq-ldpy."""
    return {
        "DE": (
            lambda v: GRR.GRR_Client(v, d, epsilon),
            lambda reports: GRR.GRR_Aggregator_MI(reports, d, epsilon),
        ),
        "SUE": (
            lambda v: UE.UE_Client(v, d, epsilon, False),
            lambda reports: UE.UE_Aggregator_MI(reports, epsilon, False),
        ),
        "OUE": (
            lambda v: UE.UE_Client(v, d, epsilon, True),
            lambda reports: UE.UE_Aggregator_MI(reports, epsilon, True),
        ),
        "BLH": (
            lambda v: LH.LH_Client(v, d, epsilon, False),
            lambda reports: LH.LH_Aggregator_MI(reports, d, epsilon, False),
        ),
        "OLH": (
            lambda v: LH.LH_Client(v, d, epsilon, True),
            lambda reports: LH.LH_Aggregator_MI(reports, d, epsilon, True),
        ),
    }


def aggregate(server: Any, reports: list[Any]) -> None:
    """Give reports to a server of pure-ldp and have it work out its estimates."""
    for report in reports:
        server.aggregate(report)
    server.estimate(1, suppress_warnings=True)


def best(function: Callable[[Any], Any], parts: list[Any]) -> float:
    """Return the seconds that the fastest of the parts took."""
    seconds = []
    for part in parts:
        start = time.perf_counter()
        function(part)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measure(
    package: str, protocol: str, question: tuple[float, int], sizes: dict[str, int]
) -> Iterator[Measurement]:
    """Time one protocol's client and server."""
    epsilon, d = question
    hashing, repeats = protocol in {"OLH", "BLH"}, sizes["repeats"]
    if package == "pure-ldp":
        client, server = pure_ldp(epsilon, d)[protocol]
        first = 1  # pure-ldp counts values from 1

        def decode(reports: list[Any]) -> None:
            aggregate(server, reports)

    else:
        client, decode = multi_freq(epsilon, d)[protocol]
        first = 0
    count = sizes["reports"]
    values = [first + int(v) for v in np.random.default_rng(1).integers(0, d, count)]
    reports = [client(v) for v in values]
    row = {"package": package, "protocol": protocol, "epsilon": epsilon, "domain_size": d}

    def privatize(part: list[int]) -> None:
        for v in part:
            client(v)

    seconds = best(privatize, [values] * repeats) / count
    yield row | {"work": "privatize", "reports": count, "seconds": seconds}
    if hashing:
        # The server hashes every value for every report, so few reports have to do.
        share = max(1, sizes["hashed_reports"] // repeats)
        parts = [reports[i * share : (i + 1) * share] for i in range(repeats)]
        count = share * repeats
    else:
        share, parts = count, [reports] * repeats
    seconds = best(decode, parts) / share
    yield row | {"work": "tally + decode", "reports": count, "seconds": seconds}


def main() -> None:
    """Print the measurements that the JSON on the command line asks for."""
    sizes = json.loads(sys.argv[1])
    random.seed(1)
    small, large = (1.0, sizes["small_domain"]), sizes["large_domain"]
    rows = []
    for protocol in pure_ldp(*small):
        rows += measure("pure-ldp", protocol, small, sizes)
    for epsilon in sizes["epsilons"]:
        rows += measure("pure-ldp", "OLH", (epsilon, large), sizes)
    for protocol in multi_freq(*small):
        rows += measure("multi-freq-ldpy", protocol, small, sizes)
    packages = ("pure-ldp", "multi-freq-ldpy", "numpy", "numba", "xxhash")
    print(json.dumps({"versions": {name: version(name) for name in packages}, "rows": rows}))


if __name__ == "__main__":
    main()
