"""What `add_rows` of `deniable.kernels.hashes` computes, one bit at a time."""

WORD = 2**64


def mix(z):
    """Return the word scrambled by SplitMix64."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31


def bit(key, value):
    """Return the bit of a row at a value."""
    word = mix((mix(key) + (value // 64 + 1) * 0x9E3779B97F4A7C15) % WORD)
    return word >> value % 64 & 1


def add_rows(keys, weights, domain_size):
    """Return for each value the sum of the weights of the rows that have its bit set."""
    return [
        sum(weight * bit(key, value) for key, weight in zip(keys, weights, strict=True))
        for value in range(domain_size)
    ]
