"""What `deniable.kernels.hashes` computes, one pair of report and key at a time."""


def hash_key(a1, a2, b, key, g):
    """Return the multiply-shift hash of one key."""
    h = (a1 * (key % 2**32) + a2 * (key >> 32) + b) % 2**64
    return (h >> 32) * g // 2**32


def count_support(reports, keys, g):
    """Return for each key how many of the reports (a1, a2, b, y) support it."""
    return [sum(hash_key(a1, a2, b, x, g) == y for a1, a2, b, y in reports) for x in keys]


def mix(z):
    """Return a word scrambled by SplitMix64."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def match_endings(beginnings, endings, salt, bucket_bits):
    """Return which (word, bucket, first, count) and which (bits, size, done) have that bucket."""
    found = []
    for i, (word, bucket, first, count) in enumerate(beginnings):
        for place in range(first, first + count):
            bits, size, done = endings[place]
            inner = mix((word | bits >> done) ^ salt)
            hashed = mix((inner + (size + done) * 0x9E3779B97F4A7C15) % 2**64)
            if hashed >> (64 - bucket_bits) == bucket:
                found.append((i, place))
    return found
