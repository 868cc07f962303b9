"""Consistency: estimates adjusted to possible counts, at the price of bias.

Unbiased counts may be negative and need not add up to n. Each method here mends that in its own
way and returns new estimates with the adjusted ``counts``. The error bars cannot follow: the
intervals and the significance of the result stay those of the unbiased counts, and say so.

All methods but base-cut assume that these are all the answers there are, so that their counts add
up to n; they do not suit a few candidates of an open question.

The paper has the first [sec:eval]; the others are compared by Wang et al., "Locally Differentially
Private Frequency Estimation with Consistency" (NDSS 2020).
"""

from dataclasses import replace

import numpy as np

from deniable.errors import InvalidParameter
from deniable.estimates import Estimates

Floats = np.typing.NDArray[np.float64]

METHODS = ("significance", "norm-sub", "norm-mul", "base-cut")
"""The names that ``adjust`` takes."""


def significance(estimates: Estimates, alpha: float = 0.05) -> Estimates:
    """Keep the significant counts; share what is left of n equally among the others, [sec:eval].

    Bias: the kept counts are those that chance favoured, so answers near the threshold come out
    too high on average; the others are pulled to their common mean. When the kept counts exceed n,
    they are scaled down to n and the others get 0.
    """
    counts, kept = _unbiased(estimates), _kept(estimates, alpha)
    left = estimates.n - float(counts[kept].sum())
    others = int(np.count_nonzero(~kept))
    if left < 0 or others == 0:
        return _adjusted(
            estimates, _scaled(np.where(kept, counts, 0.0), estimates.n), "significance"
        )
    return _adjusted(estimates, np.where(kept, counts, left / others), "significance")


def norm_sub(estimates: Estimates) -> Estimates:
    """Return the nearest counts that are not negative and add up to n.

    One amount is subtracted from (or added to) all counts and what falls below 0 becomes 0: the
    projection on the simplex, and close to the most likely counts.

    Bias: rare answers come out too high, since they cannot come out negative, and frequent ones
    too low by the same small amount each. The order of the answers stays.

    >>> from deniable.estimates import Estimates
    >>> norm_sub(Estimates(np.array([7.0, 4.0, -3.0]), np.ones(3), 10, 1.0)).counts
    array([6.5, 3.5, 0. ])
    """
    # From the largest count on, beside which n must not be lost to rounding.
    counts = _unbiased(estimates) - float(np.max(_unbiased(estimates)))
    falling = np.sort(counts)[::-1]
    # With the k largest counts positive the amount is (their sum - n) / k; k is the largest one
    # that leaves the k-th count positive.
    amounts = (np.cumsum(falling) - estimates.n) / np.arange(1, len(counts) + 1)
    k = int(np.flatnonzero(falling > amounts)[-1])
    return _adjusted(estimates, np.maximum(counts - amounts[k], 0.0), "norm-sub")


def norm_mul(estimates: Estimates) -> Estimates:
    """Set negative counts to 0 and multiply the others so that they add up to n.

    Bias: with many rare answers the half that noise made positive weighs so much that all counts
    shrink, frequent ones by the largest amounts; norm-sub is better nearly always. The order of
    the answers stays. When no count is positive, all become equal.
    """
    counts = np.maximum(_unbiased(estimates), 0.0)
    return _adjusted(estimates, _scaled(counts, estimates.n), "norm-mul")


def base_cut(estimates: Estimates, alpha: float = 0.05) -> Estimates:
    """Keep the significant counts and set all others to 0; the sum is left as it comes out.

    Bias: answers below the threshold come out too low, mostly as 0, and those near it too high
    when they are kept.
    """
    counts, kept = _unbiased(replace(estimates, adds_up=True)), _kept(estimates, alpha)
    return _adjusted(estimates, np.where(kept, counts, 0.0), "base-cut")


def adjust(estimates: Estimates, method: str, alpha: float = 0.05) -> Estimates:
    """Apply the method of a name; ``alpha`` is for those that have a threshold."""
    match method:
        case "significance":
            return significance(estimates, alpha)
        case "norm-sub":
            return norm_sub(estimates)
        case "norm-mul":
            return norm_mul(estimates)
        case "base-cut":
            return base_cut(estimates, alpha)
    raise InvalidParameter.expected(f"a method among {', '.join(METHODS)}", method)


def _kept(estimates: Estimates, alpha: float) -> np.typing.NDArray[np.bool_]:
    kept = estimates.significant(alpha)
    if kept is None:
        raise InvalidParameter(f"{estimates.unknown}; adjust with norm-sub instead")
    return kept


def _unbiased(estimates: Estimates) -> Floats:
    if estimates.adjusted is not None or estimates.estimator is not None:
        method = estimates.adjusted or estimates.estimator
        way = f"{'adjusted' if estimates.adjusted else 'estimated'} by {method}"
        raise InvalidParameter(
            f"these counts are {way}; only unbiased estimates of a tally are adjusted, and once",
            value=way,
        )
    if len(estimates) != estimates.total or len(estimates) == 0:
        raise InvalidParameter(
            f"expected the estimates of all answers, got {len(estimates)} of {estimates.total}; "
            "adjust first and take the top afterwards",
            value=len(estimates),
        )
    if not estimates.adds_up:
        raise InvalidParameter(
            "the shares of these rows do not add up to 1, since a person may be in several of "
            "them; adjust with base-cut, or leave them as they are",
            value=None,
        )
    return estimates.counts


def _scaled(counts: Floats, n: int) -> Floats:
    """Multiply counts that are not negative so that they add up to n; none gives equal ones."""
    total = float(counts.sum())
    return counts * (n / total) if total > 0 else np.full(len(counts), n / len(counts))


def _adjusted(estimates: Estimates, counts: Floats, method: str) -> Estimates:
    return replace(estimates, counts=counts, adjusted=method, unbiased=estimates.counts)
