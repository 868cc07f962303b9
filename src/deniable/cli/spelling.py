"""Lines that are labels as they stand, found by their bytes: no string is made for any of them.

The bytes of a line are read as little-endian words of eight, the last one filled up with zeros. A
hash of the words is the place of the label in a table with open addressing. Only a line whose words
and length are those of the label there is that label, so that the hash decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

_LONGEST = 64
_ROOM = 4
_NOTHING = -1
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NEWLINE = 10


class Spellings:
    r"""The labels by their bytes.

    >>> Spellings(("kiwi", "fig")).find(b"fig\nkiwi\nfig\n")
    array([1, 0, 1])
    >>> Spellings(("kiwi", "fig")).find(b"fig\nplum\n") is None
    True
    """

    def __init__(self, labels: Sequence[str]) -> None:
        encoded = [label.encode() for label in labels]
        self._longest = max(map(len, encoded), default=0)
        # Ends of lines within labels, and labels of many words, are for who reads text.
        self._usable = len(encoded) > 0 and self._longest <= _LONGEST
        text = b"\n".join(encoded)
        self._usable &= text.count(b"\n") == len(encoded) - 1 and b"\r" not in text
        if self._usable:
            self._lengths = np.array([len(label) for label in encoded])
            starts = np.concatenate([[0], np.cumsum(self._lengths + 1)[:-1]])
            self._words = self._read(text, starts, self._lengths)
            self._table = self._place(_hashes(self._words))

    def find(self, data: bytes) -> Integers | None:
        """Return the value of each line of whole lines, or None where some line is no label."""
        if not self._usable or not data:
            return None
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
        if not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        starts = np.empty_like(ends)
        starts[0] = 0
        np.add(ends[:-1], 1, out=starts[1:])
        lengths = ends - starts
        if int(lengths.max()) > self._longest:
            return None
        return self._look_up(self._read(data, starts, lengths), lengths)

    def _read(self, data: bytes, starts: Integers, lengths: Integers) -> list[Words]:
        """Return the words of lines: a column for each word that the longest label has."""
        count = self._longest // 8 + 1
        padded = data + bytes(8 * count + 8)
        # At every byte begins a word.
        words = np.ndarray(len(padded) - 7, dtype="<u8", buffer=padded, strides=(1,))
        return [
            words[starts + 8 * k] & _MASKS[np.clip(lengths - 8 * k, 0, 8)] for k in range(count)
        ]

    def _place(self, hashes: Words) -> Integers:
        """Return a table, a power of two long, with each label at a free place after its own."""
        bits = max(1, (_ROOM * len(hashes) - 1).bit_length())
        self._shift, self._last = np.uint64(64 - bits), (1 << bits) - 1
        table = np.full(1 << bits, _NOTHING)
        places, left = (hashes >> self._shift).astype(np.int64), np.arange(len(hashes))
        while len(left):
            free = left[table[places[left]] == _NOTHING]
            table[places[free]] = free
            left = left[table[places[left]] != left]
            places[left] = (places[left] + 1) & self._last
        return table

    def _look_up(self, words: list[Words], lengths: Integers) -> Integers | None:
        places = (_hashes(words) >> self._shift).astype(np.int64)
        values = self._table[places]
        wrong = np.flatnonzero(~self._same(values, words, lengths))
        while len(wrong):
            if values[wrong].min() == _NOTHING:
                return None
            places[wrong] = (places[wrong] + 1) & self._last
            values[wrong] = self._table[places[wrong]]
            same = self._same(values[wrong], [word[wrong] for word in words], lengths[wrong])
            wrong = wrong[~same]
        return values

    def _same(
        self, values: Integers, words: list[Words], lengths: Integers
    ) -> npt.NDArray[np.bool_]:
        """Tell which lines are their labels; at an empty place the last label is compared."""
        same = self._lengths[values] == lengths
        for own, word in zip(self._words, words, strict=True):
            same &= own[values] == word
        return np.asarray(same & (values != _NOTHING))


def _hashes(words: list[Words]) -> Words:
    result = np.zeros_like(words[0])
    for word in words:
        result ^= word
        result *= _FACTOR
        result ^= result >> np.uint64(32)
    return np.asarray(result * _FACTOR)
