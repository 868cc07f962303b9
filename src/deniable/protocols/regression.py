"""Decoding Bloom filters: LASSO selects which candidates are frequent, regression counts all.

Each bit of each cohort is one equation, response = design @ counts + background + noise, scaled so
that the noise of all has the same known standard deviation. Up to a sixteenth as many candidates as
equations are estimated together by least squares, without bias. More candidates would explain any
noise, so the LASSO first selects among them: a path of falling penalties ends where it would select
a candidate that nobody holds with probability 0.05 / candidates. On the way, a candidate that
stands clear of the penalty is freed of it. Otherwise the part of a frequent answer that the penalty
hides would be attributed to rare answers that share its bits. Least squares on the selected
candidates then drops, step by step, those that are not significant; the others explain the bits.

Every candidate that is not among them is estimated by the regression on them and itself. What the
rest of the population adds to its bits is noise to it, which the residuals measure and the standard
errors include. Setting it to 0 instead, as a LASSO does, would be wrong by all of its count.

Frequent answers that are not among the candidates lift some bits far above the others, which no
normal law describes. But hash functions are random, so a candidate that nobody holds has random
bits. A count that is significant by the normal law but not among sums of random bits gets a larger
error.

The bits of few reports have a law of their own: each bit is a one with probability q where nobody's
bit is, and the sum of a few such bits has a heavier tail than the normal law. Of two reports all
four bits of a candidate are ones in one case of two hundred, which are 3.3 standard errors.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from deniable.errors import InvalidParameter
from deniable.law.binomial_sum import Chance, tail_of
from deniable.law.normal import Floats, upper_normal
from deniable.optional import load
from deniable.progress import tell

Integers = np.typing.NDArray[np.int64]

STEPS = 20
"""How many penalties the path has; progress is told after each, and at the end."""
ALPHA = 0.05
MOST_SELECTED = 1024
_FREED = 1e3
_BLOCK = 4096
_LEAST_INFORMATION = 1e-9
_SLOPES = np.linspace(0.25, 12.0, 48)
_MOST_ENTRIES = (1 << 31) - 1
NEARLY_NORMAL = 20.0
"""From this variance of its bits on the normal law will do for a candidate."""
LARGEST_ALPHA = 0.2
"""No usual alpha is larger."""
_LEAST_STANDING = 1e-9


class System(NamedTuple):
    """The equations of a tally, one for each bit of each cohort that has reports."""

    design: Any  # a scipy.sparse matrix by columns, which is untyped
    response: Floats
    background: Floats
    """What one more person among those who hold no candidate adds, up to a factor."""
    noise: float
    """The standard deviation of the noise of each equation."""
    bits: int
    """How many equations each cohort has; they stand together."""


class Fit(NamedTuple):
    """Least squares of some candidates beside the background."""

    counts: Floats
    inverse: Floats
    """The pseudo-inverse of the Gram matrix."""
    known: np.typing.NDArray[np.bool_]
    """Whether the equations determine each count at all."""
    variance: float
    """The variance of the residuals, not below that of the noise."""

    @property
    def std_errors(self) -> Floats:
        """The standard deviation of each count, given the selection."""
        errors = np.sqrt(self.variance * np.diag(self.inverse).clip(min=0.0))
        return np.where(self.known, errors, np.inf)


def sparse_design(rows: np.typing.NDArray[np.int32], scale: Floats) -> Any:
    """Return the design matrix: column j has scale[i] at each row i of rows[j]."""
    sparse = load("scipy.sparse", "rappor")
    if rows.size > _MOST_ENTRIES:
        raise InvalidParameter(
            f"expected at most {_MOST_ENTRIES // rows.shape[1]} candidates, got {len(rows)}; "
            "estimate them in parts, each with all frequent answers among them",
            value=len(rows),
        )
    ends = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    shape = (len(scale), len(rows))
    design = sparse.csc_array((np.ones(rows.size), rows.ravel(), ends), shape=shape)
    design.sum_duplicates()
    design.data[:] = scale[design.indices]
    return design


def solving_bytes(equations: int, candidates: int, entries: int) -> int:
    """Return about how many bytes ``solve`` takes for a design of this size."""
    if 16 * candidates <= equations:
        dense = candidates**2
    else:
        selected = min(MOST_SELECTED, equations // 2)
        dense = selected * (selected + _BLOCK)
    return 40 * (dense + entries) + 64 * equations


def solve(system: System) -> tuple[Floats, Floats]:
    """Return the count and the standard error of each candidate.

    Where the equations do not tell a candidate from others, the standard error is infinite.
    """
    equations, candidates = system.design.shape
    if 16 * candidates <= equations:
        chosen = np.arange(candidates)
        fit = _fit(system, chosen)
        counts, std_errors = fit.counts, fit.std_errors
    else:
        chosen, fit = _prune(system, _select(system))
        counts, std_errors = _beside(system, chosen, fit)
        counts[chosen], std_errors[chosen] = fit.counts, fit.std_errors
    std_errors = _doubt(system, chosen, fit, counts, std_errors)
    tell(STEPS, STEPS)
    return counts, std_errors


def _select(system: System) -> Integers:
    """Return the candidates that the LASSO takes at the end of the path."""
    sklearn, linear_model = load("sklearn", "rappor"), load("sklearn.linear_model", "rappor")
    exceptions = load("sklearn.exceptions", "rappor")
    design, response = system.design, system.response
    equations, candidates = design.shape
    norms = np.asarray(design.multiply(design).sum(axis=0)).ravel()
    least = upper_normal(ALPHA / candidates)
    last = least * system.noise * float(np.sqrt(norms.mean())) / equations
    first = float((design.T @ (response - response.mean())).max()) / equations
    if first <= last:
        return np.empty(0, dtype=np.int64)
    lasso = linear_model.Lasso(positive=True, warm_start=True, max_iter=500)
    counts, freedom = np.zeros(candidates), np.ones(candidates)
    entries = np.diff(design.indptr)
    scaled = design.copy()
    for step, penalty in enumerate(np.geomspace(first, last, STEPS)[1:], start=1):
        # A column times c has its penalty divided by c: that is how a candidate is freed.
        scaled.data[:] = design.data * np.repeat(freedom, entries)
        lasso.alpha, lasso.coef_ = penalty, counts / freedom
        # A selection needs no more digits than the sweeps have found, and to check the arguments
        # takes longer than to fit a small system.
        with warnings.catch_warnings(), sklearn.config_context(skip_parameter_validation=True):
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
            lasso.fit(scaled, response, check_input=False)
        counts = lasso.coef_ * freedom
        freedom = np.where(counts > penalty * equations / norms, _FREED, 1.0)
        tell(step, STEPS)
    most = min(MOST_SELECTED, equations // 2)
    largest = np.argsort(-counts, kind="stable")[:most]
    return np.sort(largest[counts[largest] > 0])


def _prune(system: System, chosen: Integers) -> tuple[Integers, Fit]:
    """Drop the least significant candidates, a twentieth at a time, until all that stay are."""
    least = upper_normal(ALPHA / system.design.shape[1])
    while True:
        fit = _fit(system, chosen)
        # One that is not told from others goes first, which may leave the others known.
        ratios = np.where(fit.known, fit.counts / fit.std_errors, -np.inf)
        weak = int((ratios < least).sum()) if fit.known.all() else int((~fit.known).sum())
        if weak == 0:
            return chosen, fit
        dropped = min(weak, max(1, (len(chosen) if fit.known.all() else weak) // 20))
        chosen = np.delete(chosen, np.argsort(ratios, kind="stable")[:dropped])


def _fit(system: System, chosen: Integers) -> Fit:
    design, (response, background) = system.design[:, chosen], system[1:3]
    gram = _apart(system, (design.T @ design).toarray(), design.T @ background)
    along = float(background @ response) / float(background @ background)
    right = design.T @ (response - along * background)
    inverse = _inverse(gram)
    counts = inverse @ right
    rest = response - design @ counts
    rest = rest - float(background @ rest) / float(background @ background) * background
    freedom = max(1, len(response) - len(chosen) - 1)
    known = np.abs(np.diag(inverse @ gram) - 1) < 1e-6
    return Fit(counts, inverse, known, max(system.noise**2, float(rest @ rest) / freedom))


def _inverse(gram: Floats) -> Floats:
    """Return the inverse, or where there is none the pseudo-inverse, which takes longer."""
    try:
        np.linalg.cholesky(gram)
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        inverse = np.zeros_like(gram)
    if np.all(np.abs(np.diag(inverse @ gram) - 1) < 1e-9):
        return np.asarray(inverse, dtype=np.float64)
    return np.asarray(np.linalg.pinv(gram, rcond=1e-10, hermitian=True), dtype=np.float64)


def _apart(system: System, gram: Floats, left: Floats, right: Floats | None = None) -> Floats:
    """Return products of columns without their parts along the background."""
    length = float(system.background @ system.background)
    return gram - np.outer(left, left if right is None else right) / length


def _beside(system: System, chosen: Integers, fit: Fit) -> tuple[Floats, Floats]:
    """Return the count and standard error that each candidate has in a fit with the chosen."""
    design, background = system.design, system.background
    selected = design[:, chosen]
    rest = system.response - selected @ fit.counts
    rest = rest - float(background @ rest) / float(background @ background) * background
    moments, information = np.empty((2, design.shape[1]))
    for start in range(0, design.shape[1], _BLOCK):
        block, part = design[:, start : start + _BLOCK], slice(start, start + _BLOCK)
        along = block.T @ background
        shared = _apart(system, (selected.T @ block).toarray(), selected.T @ background, along)
        own = np.asarray(block.multiply(block).sum(axis=0)).ravel()
        own = own - along**2 / float(background @ background)
        explained = (fit.inverse @ shared * shared).sum(axis=0)
        moments[part], information[part] = block.T @ rest, own - explained
    known = information > _LEAST_INFORMATION
    counts, std_errors = np.zeros(len(known)), np.full(len(known), np.inf)
    counts[known] = moments[known] / information[known]
    std_errors[known] = np.sqrt(fit.variance / information[known])
    return counts, std_errors


def _doubt(
    system: System, chosen: Integers, fit: Fit, counts: Floats, std_errors: Floats
) -> Floats:
    """Widen the error of a count that the random bits of an answer nobody holds may well have."""
    design, sd = system.design, fit.variance**0.5
    rest = (system.response - design[:, chosen] @ fit.counts) / sd
    least, widened = upper_normal(ALPHA / len(counts)), std_errors.copy()
    selected = set(chosen.tolist())
    for index in np.flatnonzero(counts > least * std_errors).tolist():
        own = slice(design.indptr[index], design.indptr[index + 1])
        places, weights = design.indices[own], design.data[own]
        values = rest.copy()
        if index in selected:
            values[places] += weights * counts[index] / sd
        table = values.reshape(-1, system.bits)
        table -= table.mean(axis=1, keepdims=True)
        unit = weights / np.sqrt(weights @ weights)
        # A few slopes tell most that stand out; all of them are for those in doubt.
        if _standing(table, places, unit, _SLOPES[3::12]) < least:
            out = _standing(table, places, unit, _SLOPES)
            widened[index] = counts[index] / max(out, 1e-9) if out < least else std_errors[index]
    return widened


def _standing(table: Floats, places: Integers, weights: Floats, slopes: Floats) -> float:
    """Return how far out a weighted sum is among those of random values of the same rows.

    In standard errors that is sqrt(2 max(s t - K(s))), t being the sum and K the cumulant
    generating function of such sums: the signed root of a large deviation.
    """
    total = float(weights @ table.ravel()[places])
    parts = table[places // table.shape[1]] * weights[:, None]
    exponents = slopes[:, None, None] * parts
    largest = exponents.max(axis=2)
    cumulants = largest + np.log(np.exp(exponents - largest[:, :, None]).mean(axis=2))
    return math.sqrt(2 * max(0.0, float((slopes * total - cumulants.sum(axis=1)).max())))


def widen(
    counts: Floats, std_errors: Floats, trials: Integers, ones: Integers, chance: Chance
) -> Floats:
    """Widen errors so that no count stands out further than its ones do by the exact law."""
    tails = [
        tail_of(n, 0, seen, chance, chance)
        for n, seen in zip(trials.tolist(), ones.tolist(), strict=True)
    ]
    out = np.array([upper_normal(tail) if tail < 1 else 0.0 for tail in tails])
    return np.asarray(np.maximum(std_errors, counts / np.maximum(out, _LEAST_STANDING)))
