"""The cells of a text, as docs/formats.md says it: bit by bit, with large integers."""

from deniable import Code, Discovery

ONES, GAMMA = (1 << 64) - 1, 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """Return a word scrambled by SplitMix64."""
    z &= ONES
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ONES
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ONES
    return z ^ (z >> 31)


def bits_of(code: Code, text: str) -> str:
    """Return the code of a text as zeros and ones, found by reading the books digit by digit."""
    data = code.clean(text).encode()
    symbols = [bytes([b]) for b in code.alphabet] + [b"END", b"ESC"] + list(code.phrases)
    end, out, past, at = len(code.alphabet), "", -1, 0
    while True:
        fits = [i for i, s in enumerate(symbols) if i not in (end, end + 1)
                and data.startswith(s, at)]  # fmt: skip
        symbol = max(fits, key=lambda i: len(symbols[i]), default=end + 1)
        symbol = end if at == len(data) else symbol
        place = 1 if past < 0 else 2 + past - (past > end)
        book = [int(digit, 16) for digit in code.books[place] or code.books[0]]
        order = sorted(range(len(book)), key=lambda i: (book[i], i))
        before = sum(2 ** -book[i] for i in order[: order.index(symbol)])
        out += format(round(before * 2 ** book[symbol]), f"0{book[symbol]}b")
        if symbol == end:
            return out
        if symbol == end + 1:
            out += format(data[at], "08b")
        at += 1 if symbol == end + 1 else len(symbols[symbol])
        past = symbol


def cells_of(protocol: Discovery, bits: str) -> list[int]:
    """Return the cell of a text in each piece."""
    s, r, m = protocol.bucket_bits, protocol.piece_bits, protocol.payload
    blocks = [int(bits[i : i + 64].ljust(64, "0"), 2) for i in range(0, len(bits), 64)]
    rest = 0
    for block in blocks[1:]:
        rest = mix((rest ^ block) + GAMMA)
    h = mix((mix(blocks[0] ^ int(protocol.salt, 16)) ^ rest) + len(bits) * GAMMA)
    fill = format(mix(h + GAMMA), "064b")
    filled = (bits + fill[len(bits) :])[:64]
    bucket = format(h, "064b")[:s]
    payload = [int(bucket + filled[j * r : (j + 1) * r], 2) for j in range(m)]
    return payload + [mix(h + (2 + i) * GAMMA) >> (64 - s - r) for i in range(protocol.check)]
