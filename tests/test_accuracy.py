"""Measured errors equal the exact variance, on the paper's synthetic data."""

import numpy as np
import pytest

from deniable import BLH, DE, LH, OLH, OUE, SHE, SUE, THE, UE, OpenLH
from tests.marks import shortened

D, N, RUNS = 1024, 10_000, 10


def zipf_values(rng: np.random.Generator) -> np.ndarray:
    """Draw N values from Zipf(1.1) over D values."""
    weights = 1.0 / np.arange(1, D + 1) ** 1.1
    return rng.choice(D, size=N, p=weights / weights.sum())


MAKERS = {
    "DE": lambda eps: DE(eps, D),
    "SHE": lambda eps: SHE(eps, D),
    "THE": lambda eps: THE(eps, D),
    "THE(1)": lambda eps: THE(eps, D, theta=1.0),
    "SUE": lambda eps: SUE(eps, D),
    "OUE": lambda eps: OUE(eps, D),
    "UE": lambda eps: UE(0.6, 0.6 / (0.6 + 0.4 * np.exp(eps)), D),
    "BLH": lambda eps: BLH(eps, D),
    "OLH": lambda eps: OLH(eps, D),
    "LH(6)": lambda eps: LH(eps, D, 6),
    "OpenLH": OpenLH,
}


@pytest.mark.parametrize("epsilon", shortened([4.0, 0.5, 1.0, 2.0], "more epsilons"))
@pytest.mark.parametrize("name", MAKERS)
def test_mean_squared_error_is_the_exact_variance(name: str, epsilon: float) -> None:
    """Ten runs over 1024 values: within 10 % of the variance averaged over the values."""
    protocol = MAKERS[name](epsilon)
    rng = np.random.default_rng(20170816)
    values = zipf_values(rng)
    true = np.bincount(values, minlength=D)
    errors = []
    for _ in range(RUNS):
        tally = protocol.tally(protocol.privatize(values, rng))
        candidates = (np.arange(D, dtype=np.uint64),) if name == "OpenLH" else ()
        errors.append(protocol.estimate(tally, *candidates).counts - true)
    measured = np.mean(np.square(errors))
    theory = np.mean(protocol.variance(N, true / N))
    assert measured == pytest.approx(theory, rel=0.1)
