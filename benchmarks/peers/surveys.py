"""Margins of a survey by multi-freq-ldpy's SMP and SPL; runs in its own environment, prints JSON.

The JSON on the command line names a file of integer columns, the number of values of each, and the
epsilons and runs; what is printed are mean squared errors of the shares, averaged over attributes.
"""

from __future__ import annotations

import json
import sys

import numba
import numpy as np
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_ADP_Aggregator_MI, SMP_ADP_Client
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_ADP_Aggregator_MI, SPL_ADP_Client

SOLUTIONS = {
    "SMP": (SMP_ADP_Client, SMP_ADP_Aggregator_MI),
    "SPL": (SPL_ADP_Client, SPL_ADP_Aggregator_MI),
}


@numba.njit
def _seed_compiled(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002 - the only generator that Numba seeds in this way


def main() -> None:
    """Print the errors that the JSON on the command line asks for."""
    asked = json.loads(sys.argv[1])
    data, sizes = np.load(asked["file"]), asked["sizes"]
    true = [np.bincount(data[:, i], minlength=d) / len(data) for i, d in enumerate(sizes)]
    found: dict[str, dict[str, float]] = {}
    for name, (client, aggregate) in SOLUTIONS.items():
        for epsilon in asked["epsilons"]:
            errors = []
            for run in range(asked["runs"][name]):
                np.random.seed(run)  # noqa: NPY002 - the package draws from this one,
                _seed_compiled(1000 + run)  # and in compiled functions from Numba's, by other draws
                reports = [client(list(row), sizes, len(sizes), epsilon) for row in data]
                shares = aggregate(reports, sizes, len(sizes), epsilon)
                each = [np.mean((a - b) ** 2) for a, b in zip(shares, true, strict=True)]
                errors.append(float(np.mean(each)))
            found.setdefault(name, {})[str(epsilon)] = float(np.mean(errors))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
