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
    drawn = source.bytes(8 * len(values) * (1 + width)).tobytes()
    words, compared = drawn[: 8 * len(values)], drawn[8 * len(values) :]
    rows, ties = [], []
    for j, value in enumerate(values):
        row = [0] * domain_size
        for i in range(domain_size):
            byte = compared[8 * width * j + i]
            if i == value:
                row[i] = int(int.from_bytes(words[8 * j : 8 * j + 8], "little") < p_weight)
            elif byte == q_weight >> 56:
                ties.append((j, i))
            else:
                row[i] = int(byte < q_weight >> 56)
        rows.append(row)
    further = source.bytes(8 * len(ties)).tobytes()
    for k, (j, i) in enumerate(ties):
        word = int.from_bytes(further[8 * k : 8 * k + 8], "little")
        rows[j][i] = int(word >> 8 < q_weight % 2**56)
    return [pack(row) for row in rows]


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
