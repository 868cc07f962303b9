"""What set and polynomial selection do, by definition, one report at a time."""

import math
from fractions import Fraction
from itertools import combinations, product

from deniable.randomness import WORD, exponential_bounds
from tests.naive.selection import all_subsets


def padded(items, d, most):
    """Return a set with the first dummies in the place of items that it lacks."""
    return [*sorted(items), *range(d, d + most - len(items))]


def all_sets(d, most):
    """Return the padded sets in the order of their numbers."""
    return [padded(s, d, most) for size in range(most + 1) for s in all_subsets(d, size)]


def weights(epsilon, counts):
    """Return the weight of each case: e^epsilon as much for a report of any but the first."""
    low, _ = exponential_bounds(epsilon)
    total = low * sum(counts[1:]) + counts[0]
    hits = [math.floor(WORD * low * count / total) for count in counts[1:]]
    return [WORD - sum(hits), *hits]


def case(word, drawn):
    """Return the case that a word falls into."""
    return next(i for i in range(len(drawn)) if word < sum(drawn[: i + 1]))


def overlaps(d, most, k):
    """Return how many sets of k points share 0, 1, ... with a padded set."""
    return [math.comb(most, j) * math.comb(d, k - j) for j in range(min(k, most) + 1)]


def set_report(held, words, shape, drawn):
    """Return the rank of the set that words make of a padded set; shape is (d, most, k)."""
    d, most, k = shape
    j = case(words[0], drawn)
    common = math.lcm(*(math.comb(most, i) for i in range(len(drawn))))
    inside = all_subsets(most, j)
    mine = inside[words[1] // (WORD // common * common // len(inside))]
    others = [x for x in range(d + most) if x not in held]
    outside = all_subsets(d, k - j)
    rank = words[2 + j] // (WORD // len(outside)) if j < k else 0
    union = {held[i] for i in mine} | {others[i] for i in outside[rank]}
    return all_subsets(d + most, k).index(tuple(sorted(union)))


def set_law(held, shape, drawn):
    """Return the probability of every report of set selection, given a padded set."""
    d, most, k = shape
    counts = overlaps(d, most, k)
    shared = [len(set(s) & set(held)) for s in all_subsets(d + most, k)]
    return [Fraction(drawn[j], WORD * counts[j]) for j in shared]


def hits(most, g, m):
    """Return how many values at ``most`` points hit nowhere, first at 1, first at 2, ..."""
    first = [(g - m) ** (i - 1) * m * g ** (most - i) for i in range(1, most + 1)]
    return [(g - m) ** most, *first]


def evaluate(polynomial, x, g):
    """Return the value of a polynomial at a point."""
    return sum(c * x**j for j, c in enumerate(polynomial)) % g


def through(points, values, leading, g):
    """Return the polynomial with these values and this leading coefficient, by Lagrange."""
    total = [0] * (len(points) + 1)
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        others = [p for j, p in enumerate(points) if j != i]
        scale = y * pow(math.prod(x - p for p in others), -1, g) % g
        for j, c in enumerate(_roots(others)):
            total[j] += scale * c
    for j, c in enumerate(_roots(points)):
        total[j] += leading * c
    return [c % g for c in total]


def _roots(points):
    """Return the coefficients of the product of all x - point."""
    found = [1]
    for p in points:
        found = [a - p * b for a, b in zip([0, *found], [*found, 0], strict=True)]
    return found


def polynomial_report(held, words, shape, drawn):
    """Return the coefficients that words make of a padded set; shape is (g, m)."""
    (g, m), most = shape, len(held)
    i, start = case(words[0], drawn), words[1] // (WORD // most)
    points = [held[(start + j) % most] for j in range(most)]
    limit = WORD // (m * (g - m) * g) * (m * (g - m) * g)
    values = []
    for place, word in enumerate(words[2:-1], start=1):
        if place == i:
            values.append(word // (limit // m))
        elif 0 < i < place:
            values.append(word // (limit // g))
        else:
            values.append(m + word // (limit // (g - m)))
    return through(points, values, words[-1] // (WORD // g), g)


def polynomial_law(held, shape, drawn):
    """Return the probability of every polynomial, given a padded set."""
    (g, m), most = shape, len(held)
    counts = hits(most, g, m)
    law = {}
    for polynomial in product(range(g), repeat=most + 1):
        small = [evaluate(polynomial, x, g) < m for x in held]
        chance = Fraction(0)
        for start in range(most):
            turned = [*small[start:], *small[:start]]
            first = turned.index(True) + 1 if any(small) else 0
            chance += Fraction(drawn[first], WORD * counts[first] * g * most)
        law[polynomial] = chance
    return law


def sets_of(d, most):
    """Return all sets of at most so many items, as tuples."""
    return [s for size in range(most + 1) for s in combinations(range(d), size)]
