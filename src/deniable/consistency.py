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
from deniable.law.normal import Floats, nearest_shares

METHODS = ("significance", "norm-sub", "norm-mul", "base-cut", "shrink")
"""The names that ``adjust`` takes."""
_EM_STEPS, _SPREAD_STEPS = 200, 100

Bools = np.typing.NDArray[np.bool_]


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
    return _adjusted(estimates, nearest_shares(_unbiased(estimates), estimates.n), "norm-sub")


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


def shrink(estimates: Estimates, alpha: float = 0.05) -> Estimates:
    """Keep the significant counts, and draw all others towards what such counts usually are.

    How many answers have which count is estimated from all of them: a mixture over a grid of counts
    that makes the unbiased ones most likely (empirical Bayes). An answer that is not significant
    gets the mean of its own posterior law. What then lacks to n is spread over all answers in
    proportion to their variances, with no count below 0.

    Bias: rare answers come out near their common mean, and among those the order tells little.
    With few answers there is nothing to learn from, and next to nothing is gained; with some
    hundred or more the total squared error is well below that of norm-sub.
    """
    counts, kept = _unbiased(estimates), _kept(estimates, alpha)
    null, errors = estimates.null_std_error, estimates.std_errors
    if null is None or errors is None:
        raise InvalidParameter("expected estimates with known errors to shrink")
    slope = max(float(np.max(errors)) ** 2 - null**2, 0.0) / max(float(np.max(counts)), 1.0)
    guess = np.where(kept, counts, _posterior_means(counts, ~kept, null, slope))
    return _adjusted(estimates, _spread(guess, errors**2, estimates.n), "shrink")


def _posterior_means(counts: Floats, rare: Bools, null: float, slope: float) -> Floats:
    """Return posterior means of counts, by the mixture of counts that fits the rare ones."""
    end = float(np.max(counts[rare], initial=null)) + 4 * null
    grid = np.concatenate(
        [[0.0], np.geomspace(null / 30, null, 40)[:-1], np.arange(null, end, null / 2)]
    )
    near = counts <= end
    # Counts are taken in steps of a twentieth of their error, so that many become few.
    rounded = np.rint(np.minimum(counts, end) / null * 20)
    steps, where = np.unique(rounded, return_inverse=True)
    spread = np.sqrt(null**2 + slope * grid)
    likely = np.exp(-0.5 * ((steps[:, None] * null / 20 - grid) / spread) ** 2) / spread
    times = np.bincount(where[near], minlength=len(steps))
    if not rare.any():
        return counts
    prior = np.full(len(grid), 1 / len(grid))
    for _ in range(_EM_STEPS):
        posterior = likely * prior
        posterior /= posterior.sum(axis=1, keepdims=True) + 1e-300
        prior = times @ posterior / times.sum()
    return np.asarray((posterior @ grid)[where])


def _spread(guess: Floats, variances: Floats, n: int) -> Floats:
    """Change guesses in proportion to their variances until they add up to n, none below 0."""
    found = np.maximum(guess, 0.0)
    for _ in range(_SPREAD_STEPS):
        lacking = n - float(found.sum())
        able = (found > 0) | (lacking > 0)
        weight = float(variances[able].sum())
        if abs(lacking) <= 1e-9 * n or weight == 0:
            break
        found = np.maximum(found + able * lacking * variances / weight, 0.0)
    return _scaled(found, n)


def adjust(estimates: Estimates, method: str, alpha: float = 0.05) -> Estimates:
    """Apply the method of a name; ``alpha`` is for those that have a threshold."""
    limited = {"significance": significance, "base-cut": base_cut, "shrink": shrink}
    if method in limited:
        return limited[method](estimates, alpha)
    if method not in METHODS:
        raise InvalidParameter.expected(f"a method among {', '.join(METHODS)}", method)
    return norm_sub(estimates) if method == "norm-sub" else norm_mul(estimates)


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
            "them; adjust with base-cut, or leave them as they are"
        )
    return estimates.counts


def _scaled(counts: Floats, n: int) -> Floats:
    """Multiply counts that are not negative so that they add up to n; none gives equal ones."""
    total = float(counts.sum())
    return counts * (n / total) if total > 0 else np.full(len(counts), n / len(counts))


def _adjusted(estimates: Estimates, counts: Floats, method: str) -> Estimates:
    return replace(estimates, counts=counts, adjusted=method, unbiased=estimates.counts)
