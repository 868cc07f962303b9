"""What `deniable.kernels.hashes` computes, one pair of report and key at a time."""


def hash_key(a1, a2, b, key, g):
    """Return the multiply-shift hash of one key."""
    h = (a1 * (key % 2**32) + a2 * (key >> 32) + b) % 2**64
    return (h >> 32) * g // 2**32


def count_support(reports, keys, g):
    """Return for each key how many of the reports (a1, a2, b, y) support it."""
    return [sum(hash_key(a1, a2, b, x, g) == y for a1, a2, b, y in reports) for x in keys]
