"""The automaton that reads a code bit by bit: how the search walks through all texts at once."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deniable.protocols.discovery.code import Code

States = np.typing.NDArray[np.int32]
Words = np.typing.NDArray[np.uint64]

_BYTE = 8
_BLOCK = 1 << 10


class Endings(NamedTuple):
    """Of each state all bits that lead from it to the end of a text, within a piece.

    Those of state i are ``bits[starts[i] : starts[i + 1]]``, on the left of a 64-bit word, and
    ``sizes`` says how many bits they are.
    """

    starts: np.typing.NDArray[np.int64]
    bits: Words
    sizes: np.typing.NDArray[np.int64]


class Automaton(NamedTuple):
    """``step[state, bit]`` is the next state; the last one is the end, which nothing leaves."""

    step: States

    @property
    def end(self) -> int:
        return len(self.step) - 1

    def walk(self, states: States, bits: np.typing.NDArray[np.int64], count: int) -> States:
        """Return where ``count`` bits, the highest first, lead from each state."""
        step = self.step.ravel()
        for place in range(count - 1, -1, -1):
            states = step.take(2 * states + (bits >> place & 1))
        return states


@lru_cache(maxsize=4)
def automaton(code: Code) -> Automaton:
    """Return the automaton of a code; it starts in state 0."""
    tables = code.tables
    rows: list[list[int]] = []
    roots: dict[int, int] = {}
    end = len(code.alphabet)
    known = {id(table): table for table in [tables[1], *tables]}
    for key, table in known.items():
        roots[key] = len(rows)
        rows += [[-1, -1] for _ in range(len(table) - 1)]
    literal = len(rows)
    rows += [[-1, -1] for _ in range(2**_BYTE - 1)]
    target = [roots[id(tables[2 + symbol])] for symbol in range(code.size)]
    target[end], target[end + 1] = len(rows), literal
    for key, table in known.items():
        _plant(rows, roots[key], table, target)
    after = roots[id(tables[2 + end + 1])]
    _plant(rows, literal, [(byte, _BYTE) for byte in range(1 << _BYTE)], [after] * (1 << _BYTE))
    rows.append([len(rows), len(rows)])
    return Automaton(np.array(rows, dtype=np.int32))


def _plant(
    rows: list[list[int]], root: int, table: list[tuple[int, int]], target: list[int]
) -> None:
    """Write the tree of a book into rows that wait for it from ``root`` on."""
    inner = {(0, 0): root}
    for symbol, (bits, size) in enumerate(table):
        for depth in range(size):
            key, bit = (depth, bits >> (size - depth)), bits >> (size - 1 - depth) & 1
            if depth == size - 1:
                rows[inner[key]][bit] = target[symbol]
                break
            below = (depth + 1, bits >> (size - 1 - depth))
            if below not in inner:
                inner[below] = root + len(inner)
                rows[inner[key]][bit] = inner[below]


@lru_cache(maxsize=4)
def endings(code: Code, count: int) -> Endings:
    """Return the ways to the end within ``count`` bits, from every state."""
    found = automaton(code)
    parts = []
    for start in range(0, found.end, _BLOCK):
        parts += _block(found, np.arange(start, min(start + _BLOCK, found.end)), count)
    owners = np.concatenate([part[0] for part in parts])
    order = np.argsort(owners, kind="stable")
    sizes = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
    starts = np.searchsorted(owners[order], np.arange(found.end + 1))
    words = np.concatenate([part[1] for part in parts])
    return Endings(starts, words[order], sizes[order])


def _block(
    found: Automaton, states: np.typing.NDArray[np.int64], count: int
) -> list[tuple[States, Words, int]]:
    """Return the ways to the end from some states, by their sizes."""
    origins = states.astype(np.int32)
    places, bits, parts = origins, np.zeros(len(states), dtype=np.uint16), []
    for size in range(1, count + 1):
        origins, bits = np.repeat(origins, 2), np.repeat(bits << 1, 2)
        bits[1::2] |= 1
        places = found.step[places].ravel()
        ended = places == found.end
        words = bits[ended].astype(np.uint64) << np.uint64(64 - size)
        parts.append((origins[ended], words, size))
        if size < count:
            origins, bits, places = origins[~ended], bits[~ended], places[~ended]
    return parts
