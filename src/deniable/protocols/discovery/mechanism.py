"""Discovery: a report is one piece of a public code of the text, or of its hash, drawn by lot.

Encode   a text -> its code as bits, filled up by a hash -> m payload pieces of r bits, each in one
         of 2^s buckets by a hash of the whole text; and c check pieces of s + r bits of that hash
Perturb  draw one of the L = m + c pieces by lot, whatever the text is; report the piece, and its
         cell, one of 2^(s + r), by affine selection with the whole epsilon
Support  of the reports on a piece those that support the text's cell there, hence p* and q* are
         those of affine selection among them
Privacy  Pr[(j, y) | text] = Pr[j] Pr[y | cell j of the text], so the worst ratio is that of affine
         selection, whatever code, salt and text are
         (docs/proofs.md#discovery)

Payload pieces make candidates, in any way we like. Check pieces are a sample of other people that
no search has looked at: a text that nobody gave has Bin(N, q*) supports there. A value is the three
words of ``Code.value``; ``deniable.protocols.discovery.cells`` says which cells it has.

A report is the integer j R + y, with y the report of affine selection and R = (g^t - 1) g, in the
narrowest unsigned integer that holds L R - 1. Random bytes: three words. The first gives the piece
j = floor(r0 L / 2^64), the others are those of affine selection.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from deniable import validation
from deniable.candidates import FINGERPRINTS, Candidates, Chosen
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.kernels import windows
from deniable.law.samples import SampleLaw
from deniable.mechanism import Reports, Values
from deniable.protocol import Open, Parameters, Share
from deniable.protocols.affine import AffineSelection, complete_settings, prime_powers
from deniable.protocols.discovery.cells import Layout, Tables, read
from deniable.protocols.linear import Lines
from deniable.protocols.parts import Lots
from deniable.randomness import WORD, Integers, Words, open_source
from deniable.statistics import Table
from deniable.sums import TableSum
from deniable.tally import Tally

MOST_BITS = 22
"""How many bits a cell may have: all cells of a piece are decoded at once."""
_FOUR_BYTES = 1 << 32
_WORTH = 1.02


@dataclass(frozen=True)
class Discovery(Open):
    """Discovery of texts that nobody listed: pieces of a public code, and of a hash, by lot.

    ``salt`` is 16 hexadecimal digits, drawn unless given; ``g`` is the field of affine selection,
    the best one that leaves reports at four bytes unless given.

    >>> Discovery(epsilon=2.0).report_bits
    32
    """

    epsilon: float
    payload: int = 5
    check: int = 3
    bucket_bits: int = 10
    piece_bits: int = 10
    salt: str | None = None
    g: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.check_epsilon(self.epsilon))
        validation.check_whole("payload", self.payload, 1, 12)
        validation.check_whole("check", self.check, 1, 8)
        validation.check_whole("bucket_bits", self.bucket_bits, 1, 12)
        validation.check_whole("piece_bits", self.piece_bits, 2, 12)
        if self.payload * self.piece_bits > 60 or self.bucket_bits + self.piece_bits > MOST_BITS:
            raise InvalidParameter(
                f"expected payload x piece_bits of at most 60, got {self.payload} x "
                f"{self.piece_bits}, and bucket_bits + piece_bits of at most {MOST_BITS}, got "
                f"{self.bucket_bits} + {self.piece_bits}; leave them out for the usual ones",
                value=(self.payload, self.bucket_bits, self.piece_bits),
            )
        if self.salt is None:
            object.__setattr__(self, "salt", bytes(open_source(None).bytes(8)).hex())
        if not (isinstance(self.salt, str) and len(self.salt) == 16) or set(self.salt) - set(
            "0123456789abcdef"
        ):
            raise InvalidParameter.expected(
                "a salt of 16 small hexadecimal digits", self.salt, "leave it out to have one drawn"
            )
        object.__setattr__(self, "g", self.closed.g)

    @classmethod
    def examples(cls) -> list[Self]:
        salts = ("0123456789abcdef", "0000000000000000", "ffffffffffffffff")
        small, usual, wide = salts
        return [
            cls(1.0, 1, 1, 1, 2, small),
            cls(0.5, 2, 1, 1, 2, usual, 3),
            cls(3.0, 1, 2, 2, 2, wide, 4),
        ]

    @classmethod
    def further_examples(cls) -> list[Self]:
        return [cls(epsilon, payload=m, salt="5eed5eed5eed5eed")
                for epsilon, m in ((1.0, 5), (2.0, 5), (4.0, 6), (4.5, 5))]  # fmt: skip

    @cached_property
    def layout(self) -> Layout:
        return Layout(
            self.payload, self.check, self.bucket_bits, self.piece_bits, int(str(self.salt), 16)
        )

    @cached_property
    def closed(self) -> AffineSelection:
        """The protocol by which a cell is reported: affine selection with windows of one."""
        d = 1 << (self.bucket_bits + self.piece_bits)
        g, digits, _ = complete_settings(self.epsilon, d, self.g, None, 1)
        if digits == 1:
            g, digits, _ = complete_settings(self.epsilon, d, self.g, 2, 1)
        best = AffineSelection(self.epsilon, d, g, digits, 1)
        return best if self.g is not None else self._shorter(best)

    def _shorter(self, best: AffineSelection) -> AffineSelection:
        """Return the best affine selection with reports of four bytes, if it costs next to nothing.

        It may cost a fiftieth of the variance, not more.
        """
        pieces, d, least = self.payload + self.check, best.domain_size, best._settings.g
        if pieces * best._lines.reports <= _FOUR_BYTES:
            return best
        near = [g for g in prime_powers(2 * least).astype(int).tolist() if least / 2 < g]
        shapes = [complete_settings(self.epsilon, d, g, None, 1) for g in near]
        short = [s for s in shapes if pieces * (s.g**s.digits - 1) * s.g <= _FOUR_BYTES]
        tried = [AffineSelection(self.epsilon, d, *shape) for shape in short if shape.digits > 1]
        found = min(tried, key=lambda each: float(each.variance(1)), default=best)
        return found if found.variance(1) <= _WORTH * best.variance(1) else best

    @property
    def lines(self) -> Lines:
        """The lines that reports of a piece stand for."""
        return self.closed._lines

    @property
    def cells(self) -> int:
        """How many cells the tally has for each piece: lines, without the function zero."""
        return self.lines.cells - 2

    @property
    def probabilities(self) -> Parameters:
        """p* and q* of a report on a piece."""
        return self.closed.parameters

    @property
    def worst_ratio(self) -> Fraction:
        return self.closed.worst_ratio

    @cached_property
    def report_dtype(self) -> np.dtype[np.generic]:
        return validation.smallest_unsigned(self.layout.pieces * self.lines.reports - 1)

    @property
    def value_count(self) -> int:
        return FINGERPRINTS

    @property
    def value_dtype(self) -> np.dtype[np.generic]:
        return np.dtype((np.uint64, (3,)))

    def numbered(self, numbers: Integers) -> Integers:
        """Return the values of codes with exactly 64 bits, of which a number scrambles the bits."""
        rows = np.zeros((len(numbers), 3), dtype=np.uint64)
        rows[:, 0] = numbers * np.uint64(0x9E3779B97F4A7C15)
        rows[:, 2] = 64
        return rows

    @cached_property
    def _lots(self) -> Lots:
        """The lot of each piece, as even as 2^64 words can be."""
        ends = [-(-i * WORD // self.layout.pieces) for i in range(self.layout.pieces + 1)]
        return Lots(tuple(last - first for first, last in pairwise(ends)))

    @cached_property
    def words(self) -> Words:
        limits = {place + 1: limit for place, limit in self.closed.words.limits.items()}
        return Words(1 + self.closed.words.count, limits)

    def _details(self) -> dict[str, object]:
        return {"closed": self.closed.specification()}

    def _check_values(self, values: Values) -> Integers:
        return validation.check_rows(values, FINGERPRINTS, 3)

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        drawn = self._lots.of(words[:, 0]).astype(np.uint64)
        # All cells are computed and one is selected by arithmetic, so that the work tells nothing.
        chosen = drawn[:, None] == np.arange(self.layout.pieces, dtype=np.uint64)
        cell = (self.layout.cells(values) * chosen).sum(axis=1, dtype=np.uint64)
        code = self.closed._perturb(cell, words[:, 1:]).astype(np.uint64)
        return (drawn * np.uint64(self.lines.reports) + code).astype(self.report_dtype)

    def _validate(self, reports: Reports) -> None:
        most = self.layout.pieces * self.lines.reports
        validation.check_below("report codes", int(reports.max(initial=0)), most)

    def _new_sum(self) -> TableSum:
        return TableSum(self.layout.pieces * self.cells, self._place)

    def _place(self, reports: Reports) -> Integers:
        piece, code = np.divmod(reports.astype(np.uint64), np.uint64(self.lines.reports))
        lines = windows.expand(code, self.lines.field, 1)
        return piece * np.uint64(self.cells) + self.lines.fold(lines)

    def _read_statistic(self, data: memoryview, n: int) -> Table:
        size = self.layout.pieces * self.cells
        return Table.decode(data, n, validation.Footprint(size, total=(1, 1)))

    def tables(self, tally: Tally) -> Tables:
        """Return what a tally holds: the pieces' numbers of reports, and the supports of cells."""
        places = self.closed._places
        worst = places.inside / places.limit / self.lines.functions
        return read(tally.statistic, self.lines, self.layout.pieces, worst)

    def _choose(self, candidates: Candidates | None) -> Chosen:
        if candidates is None:
            raise InvalidParameter(
                "name the candidates to count, or have a question discover them", value=None
            )
        given = np.asarray(candidates)
        if given.dtype.kind not in "iu" or not given.size:
            raise InvalidParameter(
                "the protocol counts values: let a question with Text(discover=...) count texts"
            )
        whole = given.ndim == 2 and given.dtype == np.uint64
        values = given if whole else self.numbered(given.astype(np.uint64))
        return Chosen(self._check_values(values))

    def _estimate(self, tally: Tally, chosen: Chosen) -> Estimates:
        """Count from check people alone, whose lot made them a sample of all."""
        tables = self.tables(tally)
        n, people = sum(tables.sizes), sum(tables.sizes[self.payload :])
        if not people:
            return Estimates(np.zeros(len(chosen.keys)), np.full(len(chosen.keys), float(n)), n, n)
        cells = self.layout.cells(chosen.keys).astype(np.int64)
        support, yields = np.zeros(len(cells), dtype=np.int64), self._yields(tables, cells)
        for j, none in zip(range(self.payload, self.layout.pieces), yields, strict=True):
            by_chance = math.floor(tables.sizes[j] * self.probabilities.exact_q)
            support += np.where(none, by_chance, tables.supports(j, cells[:, j]))
        law = SampleLaw(n, people, self.probabilities.exact_p, self.probabilities.exact_q)
        counts = law.counts(support)
        errors = np.sqrt(law.variance(np.clip(counts / n, 0.0, 1.0)))
        return Estimates(counts, errors, n, float(np.sqrt(law.variance(np.zeros(1))[0])), law=law)

    def _yields(
        self, tables: Tables, cells: np.typing.NDArray[np.int64]
    ) -> list[np.typing.NDArray[np.bool_]]:
        """Tell for each check piece whose cell is that of a more frequent candidate.

        People who gave that one support the cell, and would be counted for both. Payload people,
        who are others, say which is more frequent. The cell then counts for the other as if nobody
        had given it, which makes nothing significant that nobody gave.
        """
        check = range(self.payload, self.layout.pieces)
        if all(len(np.unique(cells[:, j])) == len(cells) for j in check):
            return [np.zeros(len(cells), dtype=np.bool_)] * self.check
        payload = [tables.supports(j, cells[:, j]) for j in range(self.payload)]
        score, yields = np.sum(payload, axis=0), []
        same = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
        for j in check:
            order = np.lexsort((same, -score, cells[:, j]))  # by cell, the most frequent first
            _, start, group = np.unique(cells[order, j], return_index=True, return_inverse=True)
            yields.append(np.empty(len(cells), dtype=np.bool_))
            yields[-1][order] = same[order] != same[order[start]][group]
        return yields

    def variance(self, n: int, share: Share = 0.0) -> Share:
        """Return about the variance of a count: that of the people who drew a check piece."""
        shares = validation.check_shares(n, share)
        p, q = self.probabilities.p, self.probabilities.q
        chance = q + shares * (p - q)
        spread = n * self.layout.pieces / self.check / (p - q) ** 2
        result = np.asarray(spread * chance * (1 - chance))
        return float(result) if result.ndim == 0 else result

    def influence(self, values: Sequence[int]) -> None:
        """Return None: what a forged report does depends on the piece that it claims to be of."""
        del values

    def _estimate_bytes(self, chosen: Chosen) -> int:
        table = 8 * (self.lines.cells + self.closed.domain_size * (1 + self.check))
        return 64 * len(chosen.keys) + self.lines.decoding_bytes + table
