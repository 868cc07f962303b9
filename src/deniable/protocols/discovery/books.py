"""Books of a code: which bits stand for each symbol, and how books are learned from examples.

A book gives every symbol a length from 1 to 15 such that the sum of 2^-length is exactly 1, so that
any sequence of bits can be read. The bits follow from the lengths: symbols are sorted by length,
then by number, and counted through (a canonical code).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

LONGEST = 15
"""The most bits of a symbol."""
MOST_PHRASES, LONGEST_PHRASE = 512, 64
_LEAST_CONTEXT = 30.0
"""How much weight the examples must give a context for a book of its own."""
_ESCAPE = 1 / 64
"""The least share of ESC in a book: a byte that no example had costs 14 bits or so."""
_SAMPLE, _JOINED, _USED = 600, 8, 4
"""From how many examples phrases are joined, how often a pair and a phrase have to occur."""

Book = list[tuple[int, int]]
"""The bits of each symbol, as a number, and how many they are."""


def lengths(weights: np.typing.NDArray[np.float64], longest: int = LONGEST) -> list[int]:
    """Return the best lengths, none above ``longest``, by package-merge.

    Of each level only the cheapest items count, and the leaves among them are the first of all
    leaves: how many they are at each level is all there is to know (Larmore and Hirschberg, 1990).

    >>> lengths(np.array([8.0, 4.0, 1.0, 1.0]))
    [1, 2, 3, 3]
    """
    order = np.argsort(weights, kind="stable")
    leaves, packages, levels = weights[order], np.empty(0), []
    for _ in range(longest):
        merged = np.concatenate([leaves, packages])
        places = np.argsort(merged, kind="stable")
        levels.append(places < len(leaves))
        merged = merged[places]
        packages = merged[: len(merged) // 2 * 2].reshape(-1, 2).sum(axis=1)
    found, taken = np.zeros(len(leaves), dtype=np.int64), 2 * len(leaves) - 2
    for level in reversed(levels):
        own = int(level[:taken].sum())
        found[:own] += 1
        taken = 2 * (taken - own)
    return [int(found[place]) for place in np.argsort(order)]


def canonical(sizes: Sequence[int]) -> Book:
    """Return the bits of each symbol from the lengths of all.

    >>> canonical([1, 3, 2, 3])
    [(0, 1), (6, 3), (2, 2), (7, 3)]
    """
    book, bits, last = [(0, 0)] * len(sizes), 0, 0
    for size, symbol in sorted((size, symbol) for symbol, size in enumerate(sizes)):
        bits <<= size - last
        book[symbol], last = (bits, size), size
        bits += 1
    return book


def complete(sizes: Iterable[int]) -> bool:
    """Tell whether lengths are from 1 to 15 and leave no sequence of bits without a symbol."""
    counts = Counter(sizes)
    within = all(1 <= size <= LONGEST for size in counts)
    return within and sum(n << (LONGEST - size) for size, n in counts.items()) == 1 << LONGEST


class Parser:
    """Cuts bytes into symbols, the longest phrase first.

    Symbols are numbered: the bytes of the alphabet, END, ESC, the phrases. A byte outside the
    alphabet is given as -1 less the byte.
    """

    def __init__(self, alphabet: bytes, phrases: Sequence[bytes]) -> None:
        self.end = len(alphabet)
        self._bytes = [-1 - byte for byte in range(256)]
        for symbol, byte in enumerate(alphabet):
            self._bytes[byte] = symbol
        self._phrases: dict[int, list[tuple[bytes, int]]] = {}
        for i in sorted(range(len(phrases)), key=lambda i: -len(phrases[i])):
            own = self._phrases.setdefault(phrases[i][0], [])
            own.append((phrases[i], self.end + 2 + i))

    def parse(self, data: bytes) -> list[int]:
        """Return the symbols of some bytes, without END."""
        if not self._phrases:
            return [self._bytes[byte] for byte in data]
        found, at = [], 0
        while at < len(data):
            for phrase, symbol in self._phrases.get(data[at], ()):
                if data.startswith(phrase, at):
                    found.append(symbol)
                    at += len(phrase)
                    break
            else:
                found.append(self._bytes[data[at]])
                at += 1
        return found


def learn(
    examples: Mapping[bytes, float], phrases: int, states: int
) -> tuple[bytes, tuple[bytes, ...], tuple[str, ...]]:
    """Return the alphabet, the phrases and the books that suit some examples with weights.

    The books together have at most ``states`` inner nodes: contexts of little weight share the
    book that is without context.
    """
    alphabet = bytes(sorted(set().union(*examples)))
    joined = _join(list(examples), phrases)
    every = Parser(alphabet, joined)
    used = Counter(symbol for data in examples for symbol in every.parse(data))
    kept = tuple(p for i, p in enumerate(joined) if used[len(alphabet) + 2 + i] >= _USED)
    parser, size = Parser(alphabet, kept), len(alphabet) + 2 + len(kept)
    start, end = size, len(alphabet)
    counts = np.zeros((size + 1, size))
    for data, weight in examples.items():
        past = start
        for symbol in (*parser.parse(data), end):
            counts[past, symbol] += weight
            past = symbol
    free = _smoothed(counts.sum(axis=0), np.full(size, 1 / size))
    room = states // (size - 1) - 1
    heavy = np.argsort(-counts.sum(axis=1), kind="stable")[: max(0, room)].tolist()
    own = {int(c) for c in heavy if counts[c].sum() >= _LEAST_CONTEXT}
    order = [start, *(symbol for symbol in range(size) if symbol != end)]
    books = [_digits(free, end + 1)]
    books += [_digits(_smoothed(counts[c], free), end + 1) if c in own else "" for c in order]
    return alphabet, kept, tuple(books)


def _smoothed(
    counts: np.typing.NDArray[np.float64], below: np.typing.NDArray[np.float64]
) -> np.typing.NDArray[np.float64]:
    """Return shares that leave room for what a context has not shown, by how much it varies.

    After Witten and Bell: a context that has shown many symbols will show others.
    """
    unseen = max(1.0, 0.5 * np.count_nonzero(counts))
    return np.asarray((counts + unseen * below) / (counts.sum() + unseen))


def _digits(shares: np.typing.NDArray[np.float64], escape: int) -> str:
    """Return the lengths of a book, a hexadecimal digit for each symbol."""
    shares[escape] = max(shares[escape], _ESCAPE)
    return "".join(format(size, "x") for size in lengths(shares))


def _join(examples: list[bytes], most: int) -> list[bytes]:
    """Return phrases, made by joining the most frequent neighbours again and again."""
    step = max(1, math.ceil(len(examples) / _SAMPLE))
    rows = [[bytes([byte]) for byte in data] for data in examples[::step]]
    found: list[bytes] = []
    while len(found) < most:
        pairs = Counter(pair for row in rows for pair in pairwise(row))
        fitting = ((n, a, b) for (a, b), n in pairs.items() if len(a) + len(b) <= LONGEST_PHRASE)
        times, first, second = max(fitting, default=(0, b"", b""))
        if times < _JOINED:
            break
        found.append(first + second)
        for row in rows:
            at = 0
            while at + 1 < len(row):
                if row[at] == first and row[at + 1] == second:
                    row[at : at + 2] = [first + second]
                at += 1
    return list(dict.fromkeys(found))
