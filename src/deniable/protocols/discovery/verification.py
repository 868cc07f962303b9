"""Verification: what check pieces say of candidates, whatever made them.

Candidates stand in the order of their payload scores, listed ones after them. A check cell that an
earlier candidate has too does not count. C supports are left among N people, and for a text that
nobody gave, and whose cells are those of no text that somebody gave, C is Bin(N, q*) exactly: the
search has seen none of these people. *Sure* are texts whose tail is at most alpha over the number
of candidates, so that at most alpha false ones are expected, for any people and any search. With a
list, found and listed ones have half of alpha each. A longer list follows Benjamini and Hochberg.

The support that makes a text sure is a number that is known before anybody is counted. Hence the
interval of a sure text is that of ``SampleLaw.shown``.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deniable.law.normal import Floats, upper_normal
from deniable.law.samples import SampleLaw
from deniable.memory import reserve
from deniable.protocols.discovery.cells import Tables
from deniable.protocols.discovery.code import Code
from deniable.protocols.discovery.mechanism import Discovery
from deniable.protocols.discovery.search import CUT, MOST_TESTED, Strings, levels, search
from deniable.tally import Tally

LEAST = 20
"""How many supports by chance a cell must have for a search."""
TYPICAL_BITS, TYPICAL_TESTED = 20, 100
_GHOSTS = 2.0
"""How far above tau a cut text must be to be shown: nothing verifies it."""

Integers = np.typing.NDArray[np.int64]


class Unfinished(NamedTuple):
    """A frequent text of which only the beginning fits: nothing verifies that it is there."""

    beginning: str
    bucket: int
    about: float


class Found(NamedTuple):
    """What is known of texts, the most frequent first, and of how they were found."""

    texts: tuple[str, ...]
    counts: Floats
    lower: Floats
    """The lower ends of the intervals of sure texts; NaN for the others."""
    upper: Floats
    sure: np.typing.NDArray[np.bool_]
    tails: Floats
    n: int
    tested: int
    level: float
    unfinished: tuple[Unfinished, ...]
    searched: bool
    complete: bool
    clipped: int
    even: bool


class _Candidates(NamedTuple):
    texts: list[str]
    unfinished: tuple[Unfinished, ...]
    searched: bool
    complete: bool


class Limits(NamedTuple):
    """How many sure texts may be false, and which part of the longer list."""

    alpha: float
    rate: float


def find(
    protocol: Discovery, code: Code, tally: Tally, listed: Sequence[str], limits: Limits
) -> Found:
    """Search a tally for texts and verify them, and the listed ones beside."""
    reserve(needed_bytes(protocol), "a search")
    tables = protocol.tables(tally)
    supports = [tables.support(j).astype(np.int32) for j in range(protocol.payload)]
    made = candidates(protocol, code, tables.sizes, supports)
    own = len(made.texts)
    named = dict(zip(made.texts, made.texts, strict=True))
    for text in listed:
        named.setdefault(code.clean(text), text)
    texts = list(named.values())
    cells = protocol.layout.cells(code.values(texts)).astype(np.int64)
    payload = np.zeros(len(texts))
    for j, support in enumerate(supports):
        payload += support[cells[:, j]]
    parts = own, len(texts) - own
    alphas = tuple(limits.alpha / (1 + all(parts)) / max(1, part) for part in parts)
    C, N, tails, least = _judge(protocol, tables, cells, np.repeat(alphas, parts))
    sure = least > 0
    shown = np.flatnonzero(sure | (tails <= _listed_up_to(tails, limits.rate)))
    n, p, q = tables.n, protocol.probabilities.exact_p, protocol.probabilities.exact_q
    counts, ends = np.zeros(len(texts)), np.full((len(texts), 2), np.nan)
    for i in shown.tolist():
        law = SampleLaw(n, int(N[i]), p, q)
        counts[i] = law.counts(C[i : i + 1])[0]
        if sure[i]:
            ends[i] = law.shown(int(C[i]), int(least[i]), 0.025)
    known = {texts[i]: int(cells[i, 0]) >> protocol.piece_bits for i in np.flatnonzero(sure)}
    unfinished = tuple(
        each
        for each in made.unfinished
        if not any(bucket == each.bucket and code.clean(text).startswith(each.beginning)
                   for text, bucket in known.items())
    )  # fmt: skip
    rank = _order(protocol, tables, payload + C, counts)
    shown = shown[np.argsort(-rank[shown], kind="stable")]
    return Found(
        tuple(texts[i] for i in shown), counts[shown], ends[shown, 0], ends[shown, 1], sure[shown],
        tails[shown], n, len(texts), alphas[not own], unfinished,
        made.searched, made.complete, tables.clipped, tables.even,
    )  # fmt: skip


def candidates(
    protocol: Discovery,
    code: Code,
    sizes: Sequence[int],
    supports: Sequence[np.typing.NDArray[np.int32]],
) -> _Candidates:
    """Return the texts that payload pieces suggest; check pieces are no argument of this."""
    m, q = protocol.payload, protocol.probabilities.q
    if min(sizes) * q < LEAST:
        return _Candidates([], (), searched=False, complete=True)
    n, layout = sum(sizes[:m]), protocol.layout
    spread = math.sqrt(n * q * (1 - q))
    shape = (m, 1 << layout.bucket_bits, 1 << layout.piece_bits)
    scores = np.empty(shape, dtype=np.float32)
    for j, support in enumerate(supports):
        scores[j] = ((support - sizes[j] * q) / spread).reshape(shape[1:])
    result = search(scores.transpose(1, 0, 2), code, layout)
    whole = np.flatnonzero(result.found.sizes != CUT)
    texts = (_text(code, result.found, i) for i in whole[:MOST_TESTED].tolist())
    high = levels(layout)[CUT] + _GHOSTS
    cut = np.flatnonzero((result.found.sizes == CUT) & (result.found.scores >= high))
    scale = spread / protocol.probabilities.gap * sum(sizes) / n
    unfinished = tuple(
        Unfinished(
            code.text(int(result.found.words[i]) >> (64 - layout.length), layout.length) or "",
            int(result.found.buckets[i]),
            float(result.found.scores[i]) * scale,
        )
        for i in cut.tolist()
    )
    kept = list(dict.fromkeys(text for text in texts if text is not None))
    return _Candidates(kept, unfinished, True, result.complete)


def _text(code: Code, found: Strings, place: int) -> str | None:
    size = int(found.sizes[place])
    return code.text(int(found.words[place]) >> (64 - size), size)


def _judge(
    protocol: Discovery, tables: Tables, cells: Integers, alphas: Floats
) -> tuple[Integers, Integers, Floats, Integers]:
    """Return supports, people and tails, and the least support of each text that is sure, else 0.

    A check cell that an earlier candidate has does not count. Texts are sure at their ``alphas``.
    """
    C, N = np.zeros((2, len(cells)), dtype=np.int64)
    for j in range(protocol.payload, protocol.layout.pieces):
        first = np.zeros(len(cells), dtype=np.bool_)
        first[np.unique(cells[:, j], return_index=True)[1]] = True
        C += np.where(first, tables.supports(j, cells[:, j]), 0)
        N += np.where(first, tables.sizes[j], 0)
    tails, least = np.ones(len(cells)), np.zeros(len(cells), dtype=np.int64)
    p, q = protocol.probabilities.exact_p, protocol.probabilities.exact_q
    limits: dict[tuple[int, float], int] = {}
    for i in np.flatnonzero(N).tolist():
        law = SampleLaw(max(1, tables.n), int(N[i]), p, q)
        key = int(N[i]), float(alphas[i])
        if key not in limits:
            limits[key] = law.least(key[1])
        tails[i] = law.tail(int(C[i]))
        least[i] = limits[key] if C[i] >= limits[key] else 0
    return C, N, tails, least


def _listed_up_to(tails: Floats, rate: float) -> float:
    """Return the largest tail on the longer list, by Benjamini and Hochberg."""
    ranks = np.sort(tails)
    good = np.flatnonzero(ranks <= rate * np.arange(1, len(ranks) + 1) / max(1, len(ranks)))
    return float(ranks[good[-1]]) if len(good) else 0.0


def _order(protocol: Discovery, tables: Tables, supports: Floats, counts: Floats) -> Floats:
    """Return what texts are ordered by: the count by all people, if check people bear it out."""
    p, q, n = protocol.probabilities.p, protocol.probabilities.q, tables.n
    whole = (supports - n * q) / (p - q)
    people = max(1, sum(tables.sizes[protocol.payload :]))
    return np.minimum(whole, counts + 3 * n / math.sqrt(people) * math.sqrt(q * (1 - q)) / (p - q))


def crafted(protocol: Discovery, n: int, alpha: float = 0.05) -> int:
    """Return how many crafted reports among ``n`` would about plant one text.

    They are different reports, each made to support the cells of that text.
    """
    q, L = protocol.probabilities.q, protocol.layout.pieces
    one = math.sqrt(n * q * (1 - q) / L) / (1 - q)
    payload = float(levels(protocol.layout)[min(TYPICAL_BITS, protocol.layout.length)])
    check = upper_normal(alpha / TYPICAL_TESTED)
    return math.ceil(
        one * (payload * math.sqrt(protocol.payload) + check * math.sqrt(protocol.check))
    )


def fewest_reports(protocol: Discovery) -> int:
    """Return from about how many reports on there is a search."""
    return math.ceil(LEAST * protocol.layout.pieces / protocol.probabilities.q)


def alpha_at(alpha: float, *, look: int = 1, segments: int = 1) -> float:
    """Return the part of alpha for one of several looks at growing data, and of several groups.

    All looks, of which there may be any number, spend at most alpha together.

    >>> sum(alpha_at(0.05, look=k) for k in range(1, 1000)) < 0.05
    True
    """
    return alpha / segments / (look * (look + 1))


def needed_bytes(protocol: Discovery) -> int:
    """Return about how many bytes a search takes at its peak."""
    cells = 1 << (protocol.bucket_bits + protocol.piece_bits)
    return protocol.lines.decoding_bytes + cells * (24 * protocol.payload + 16) + (1 << 28)
