"""All functions of the kernels that a survey uses, once, on data from a seed."""

from hashlib import sha256

import numpy as np

from deniable import LH
from deniable.kernels import bits, hashes, linear, subsets
from deniable.kernels.fields import field
from deniable.randomness import Seeded

G, T, D = 9, 3, 700


def fold_codes(codes, counts, f, t):
    """Count the reports of each cell, one report after the other."""
    folded = np.zeros(linear.folded_size(f.order, t), np.int64)
    np.add.at(folded, linear.fold_each(codes, f, t).view(np.int64), counts)
    return folded


def hold(n):
    """Make n reports of linear hashing, count them and decode them."""
    rng, f = np.random.default_rng(n), field(G)
    codes = LH(1.0, D, G).privatize(rng.integers(0, D, n), rng).astype(np.uint64)
    table, others = bits.count_values(codes.astype(np.uint16), G ** (T + 1))
    distinct = np.flatnonzero(table).astype(np.uint64)
    folded = linear.fold_table(table, f, T)
    return [
        codes,
        table,
        folded,
        fold_codes(distinct, table[table > 0], f, T),
        linear.decode_folded(folded, f, T, D),
        linear.solve_cells(linear.fold_each(distinct[:99], f, T), table[table > 0][:99], f, T, D),
        np.array([others]),
    ]


def hold_others(n):
    """Make and count n rows of bits, and count the support of n hashed reports."""
    rng = np.random.default_rng(n)
    made = bits.perturb_bits(rng.integers(0, 50, n), 2**63, 2**62, 50, Seeded(rng))
    a1, a2, b, keys = rng.integers(0, 2**64, (4, n), dtype=np.uint64)
    y, triples = rng.integers(0, 5, n, dtype=np.uint8), subsets.binomials(12, 3)
    return [
        made,
        bits.count_bits(made, 50),
        hashes.count_support(a1, a2, b, y, keys[:60], 5),
        hashes.add_rows(keys, rng.integers(-3, 4, n), 90),
        subsets.select_many(
            keys % np.uint64(12), a1 % np.uint64(220), (b % np.uint64(12)).astype(np.int64), triples
        ),
        subsets.count_members(a1 % np.uint64(220), triples),
    ]


def fingerprint():
    """Return a digest of all results, their types included."""
    digest = sha256()
    for array in [*hold(2000), *hold_others(2000)]:
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
