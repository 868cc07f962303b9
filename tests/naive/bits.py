"""What the kernels of `deniable.kernels.bits` compute, one bit at a time."""


def perturb_bits(values, p_weight, q_weight, domain_size, source, *, chunk):
    """Return rows of bits, as lists of bytes, from the same random bytes in the same order."""
    sources = source.split(-(-len(values) // chunk)) if len(values) else []
    rows = []
    for k, own in enumerate(sources):
        rows += perturb_chunk(
            values[k * chunk : (k + 1) * chunk], p_weight, q_weight, domain_size, own
        )
    return rows


def perturb_chunk(values, p_weight, q_weight, domain_size, source):
    """Perturb the rows of one chunk, which has a source of its own."""
    width = -(-domain_size // 8)
    drawn = source.bytes(8 * len(values) + 2 * width * len(values)).tobytes()
    words, leading = drawn[: 8 * len(values)], drawn[8 * len(values) :]
    numbers = [int.from_bytes(leading[k : k + 2], "little") for k in range(0, len(leading), 2)]
    found = [pattern_of(number, 16, q_weight) for number in numbers]
    open_ = [k for k, pattern in enumerate(found) if pattern is None]
    further = source.bytes(8 * len(open_)).tobytes() if open_ else b""
    for n, k in enumerate(open_):
        word = int.from_bytes(further[8 * n : 8 * n + 8], "little")
        number = numbers[k] << 48 | word >> 16
        found[k] = pattern_of(number, 64, q_weight)
        if found[k] is None:
            last = int.from_bytes(source.bytes(56).tobytes(), "little")
            found[k] = pattern_of(number << 448 | last, 512, q_weight)
    rows = []
    for j, value in enumerate(values):
        patterns = found[width * j : width * (j + 1)]
        row = [patterns[i // 8] >> i % 8 & 1 for i in range(domain_size)]
        row[value] = int(int.from_bytes(words[8 * j : 8 * j + 8], "little") < p_weight)
        rows.append(pack(row))
    return rows


def pattern_of(number, bits, weight):
    """Return the pattern whose interval holds all numbers that begin with these bits, or None."""
    first, last = number << (512 - bits), ((number + 1) << (512 - bits)) - 1
    start = 0
    for pattern in range(256):
        ones = pattern.bit_count()
        end = start + weight**ones * (2**64 - weight) ** (8 - ones)
        if start <= first and last < end:
            return pattern
        if start <= last < end:
            return None
        start = end
    raise AssertionError("the intervals cover everything")


def pack(bits):
    """Return bits as bytes, the first bit lowest."""
    packed = [0] * -(-len(bits) // 8)
    for i, bit in enumerate(bits):
        packed[i // 8] |= bit << i % 8
    return packed


def count_bits(rows, domain_size):
    """Return for each position how many rows have its bit set."""
    return [sum(int(row[i // 8]) >> i % 8 & 1 for row in rows) for i in range(domain_size)]


def count_values(values, size):
    """Return how often each of 0..size-1 occurs, and how many values are none of them."""
    counts, others = [0] * size, 0
    for value in values:
        if value < size:
            counts[value] += 1
        else:
            others += 1
    return counts, others
