"""What subset and affine selection do, by definition, one report at a time."""

from itertools import combinations

from tests.naive import fields as naive


def subtract(a, b, field):
    """Return a - b in the field: the element whose sum with b is a."""
    p, k = field.characteristic, field.degree
    return next(c for c in range(field.order) if naive.add(c, b, p, k) == a)


def place(word, kept, inside, outside):
    """Return the place that a word draws: the first ones are wider than the others."""
    edge = 0
    for at in range(10**6):
        edge += inside if at < kept else outside
        if word < edge:
            return at
    raise AssertionError("a word beyond the limit")


def affine_report(value, words, shape, weights):
    """Return the code of the report that two words make of a value; shape is (field, t, m)."""
    (field, t, m), (inside, outside) = shape, weights
    g, functions = field.order, field.order**t - 1
    u = 1 + words[0] // (2**64 // functions)
    y = place(words[1], m, inside, outside)
    return (u - 1) * g + subtract(y, naive.dot(u, value, t, field), field)


def affine_supports(code, value, field, t, m):
    """Tell whether a report supports a value."""
    g, p, k = field.order, field.characteristic, field.degree
    return naive.add(naive.dot(code // g + 1, value, t, field), code % g, p, k) < m


def all_subsets(d, k):
    """Return the subsets of k of d values in the order of their ranks."""
    return sorted(combinations(range(d), k), key=lambda subset: subset[::-1])


def subset_report(value, words, shape, weights):
    """Return the rank of the set that two words make of a value; shape is (d, k)."""
    (d, k), (inside, outside) = shape, weights
    every = all_subsets(d, k)
    drawn = every[words[0] // (2**64 // len(every))]
    others = [v for v in range(d) if v not in drawn]
    y = [*drawn, *others][place(words[1], k, inside, outside)]
    return every.index(tuple(sorted((member + value - y) % d for member in drawn)))
