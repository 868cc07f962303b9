"""JSON test vectors, so that another implementation can be proved equal.

One file for each protocol, with reports made from given random bytes and byte strings that must be
accepted or refused, one file of fingerprints, one of questions to accept or refuse, one of what a
device spends, and one of how it delivers. Everything is derived from the protocols, from SHA-256
and from tables, so that the same version always writes the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import accumulate, cycle, islice

import numpy as np

from deniable.answers import Choices
from deniable.candidates import fingerprint
from deniable.errors import InvalidReport
from deniable.protocol import Protocol
from deniable.protocols import discover
from deniable.protocols.histogram import SHE, laplace_weights
from deniable.protocols.polynomial_selection import PolynomialSelection
from deniable.question import Question
from deniable.randomness import WORD, Replayed
from tools.vectors.codes import make_codes
from tools.vectors.deliveries import make_deliveries
from tools.vectors.instances import instances
from tools.vectors.policy import make_policy
from tools.vectors.questions import make_refusals
from tools.vectors.turns import make_turns

FORMAT = "deniable-vectors"
VERSION = 1
_CASE_INDENT = 4

_LABELS = (
    "", "kiwi", "Kiwi", "a", "0", " ", "\n", "\0", "naïve", "nai\u0308ve", "Москва", "東京", "🥝",
    '"quoted", with a comma', "x" * 63, "x" * 64, "x" * 1000,
)  # fmt: skip


def render(document: object) -> str:
    """Return a file of vectors as text: one line for each case, for small differences."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    lines: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if lines and len(line) - len(stripped) > _CASE_INDENT:
            lines[-1] += stripped if lines[-1].endswith(("{", "[")) else f" {stripped}"
        elif lines and stripped[0] in "}]" and len(line) - len(stripped) == _CASE_INDENT:
            lines[-1] += stripped
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def make_vectors() -> dict[str, dict[str, object]]:
    """Return the contents of all files of vectors, by name."""
    documents: dict[str, dict[str, object]] = {}
    for name, kind in discover(offers=False).items():
        documents[name] = {
            "format": FORMAT,
            "version": VERSION,
            "vectors": [protocol_vectors(protocol) for protocol in instances(kind)],
        }
    known = [{"label": label, "fingerprint": str(fingerprint(label))} for label in _LABELS]
    documents["choices"] = {"format": FORMAT, "version": VERSION, "vectors": list(_cuts())}
    documents["questions"] = make_refusals()
    documents["policy"] = make_policy()
    documents["delivery"] = make_deliveries()
    documents["turns"] = make_turns()
    documents["codes"] = make_codes()
    documents["fingerprint"] = {"format": FORMAT, "version": VERSION, "vectors": known}
    return documents


def _cuts() -> Iterator[dict[str, object]]:
    """Yield sets, some of them too large, with the bytes that cut and hide them."""
    for d, at_most, size in (
        (6, 2, 6),
        (6, 2, 3),
        (6, 2, 2),
        (6, 2, 0),
        (300, 4, 300),
        (300, 4, 9),
    ):
        protocol = PolynomialSelection(1.0, d, at_most)
        question = Question("cut", Choices(tuple(map(str, range(d))), at_most), protocol)
        items = [(7 * i) % d for i in range(size)]
        drawn = _words(protocol)
        data = b"".join(next(drawn).to_bytes(8, "little") for _ in range(1 + protocol.words.count))
        report = question.privatize([list(map(str, items))], Replayed(data))
        yield {
            "protocol": protocol.specification(),
            "items": items,
            "random": data.hex(),
            "report": report.tobytes().hex(),
        }


def protocol_vectors(protocol: Protocol) -> dict[str, object]:
    """Return the vectors of one protocol."""
    return {
        "protocol": protocol.specification(),
        "report_bytes": protocol.report_dtype.itemsize,
        "words": protocol.words.count,
        "cases": [make_case(protocol, *case) for case in _cases(protocol)],
        **_boundaries(protocol),
    }


def make_case(protocol: Protocol, why: str, value: int, words: Sequence[int]) -> dict[str, object]:
    """Return the report that a value and random words make, as decimal and hexadecimal text.

    Where a value is a row of integers, the row stands beside its number.
    """
    data = b"".join(word.to_bytes(8, "little") for word in words)
    source = Replayed(data)
    held = protocol.numbered(np.array([value], dtype=np.uint64))
    report = protocol.privatize(held, source)
    if source.position != len(data):
        raise AssertionError(f"{protocol}: {len(data) - source.position} bytes were not read")
    row = {"row": held[0].tolist()} if protocol.value_dtype.shape else {}
    made = {"random": data.hex(), "report": report.tobytes().hex()}
    return {"why": why, "value": str(value), **row, **made}


def _cases(protocol: Protocol) -> Iterator[tuple[str, int, list[int]]]:
    """Yield why, value and words: ordinary ones, then words at the edges of every interval."""
    count, d = protocol.words.count, min(protocol.value_count, WORD)
    values = sorted({0, 1, d // 2, d - 1})
    drawn = _words(protocol)
    for value in values:
        yield "ordinary", value, list(islice(drawn, count))
    limits, turns = protocol.words.limits, cycle(values)
    for name, edge in _edges(protocol):
        accepted = [edge if edge < limits.get(i, WORD) else 0 for i in range(count)]
        yield f"every word is {name}", next(turns), accepted
    for position, limit in limits.items():
        for name, edge in (("limit - 1", limit - 1), ("limit", limit), ("2^64 - 1", WORD - 1)):
            words = [next(drawn) % limit for _ in range(count)]
            words[position] = edge
            again = [limit - 1] if edge >= limit else []
            yield f"word {position} is {name}", next(turns), [*words, *again]
        words = [next(drawn) % limit for _ in range(count)]
        words[position] = limit
        yield f"word {position} is redrawn twice", next(turns), [*words, WORD - 1, limit // 2]


def _edges(protocol: Protocol) -> Iterator[tuple[str, int]]:
    """Yield the words at which a comparison turns: 0, 2^64 - 1 and both sides of the weights."""
    yield "0", 0
    yield "2^64 - 1", WORD - 1
    turns: dict[str, int] = {}
    if isinstance(protocol, SHE):
        ends = list(accumulate(laplace_weights(protocol.epsilon)))[:-1]
        for position in sorted({0, len(ends) // 4, len(ends) // 2, len(ends) - 1}):
            turns[f"the end of interval {position}"] = ends[position]
    else:
        weights = protocol.specification().get("weights")
        if isinstance(weights, list):
            for place, edge in enumerate(accumulate(map(int, weights[:-1]))):
                turns[f"the end of case {place}"] = edge
        for name, weight in (weights if isinstance(weights, dict) else {}).items():
            turns[f"the weight of {name}"] = int(weight)
        if isinstance(weights, dict) and len(turns) > 1:
            turns["the sum of the weights"] = sum(turns.values())
    for name, turn in turns.items():
        if 0 < turn < WORD:
            yield f"{name} - 1", turn - 1
            yield name, turn


def _words(protocol: Protocol) -> Iterator[int]:
    """Yield words that look random and are the same everywhere: SHA-256 of a counter."""
    limit = min(protocol.words.limits.values(), default=WORD)
    counter = 0
    while True:
        word = int.from_bytes(sha256(f"{protocol} {counter}".encode()).digest()[:8], "little")
        counter += 1
        if word < limit:
            yield word


def _boundaries(protocol: Protocol) -> dict[str, list[dict[str, str]]]:
    """Return the last byte strings that ``parse`` accepts and the first that it refuses."""
    first = protocol.numbered(np.zeros(1, dtype=np.uint64))
    valid = protocol.privatize(first, Replayed(bytes(8 * protocol.words.count))).tobytes()
    malformed = [("no bytes", b"")]
    if len(valid) > 1:
        malformed += [("a byte too few", valid[:-1]), ("a byte too many", valid + b"\0")]
    accepted = [("two reports", valid + valid)]
    for why, offset, kind in _scalars(protocol.report_dtype):
        put = partial(_put, valid, offset, kind)
        bounds = np.iinfo(kind.str)
        for limit in (int(bounds.min), int(bounds.max)):
            last = _last_accepted(partial(_accepts, protocol, put), limit)
            accepted.append((f"{why} is {last}, the last allowed", put(last)))
            if last != limit:
                step = 1 if limit > 0 else -1
                malformed.append((f"{why} is {last + step}", put(last + step)))
                malformed.append((f"{why} is {limit}", put(limit)))
    for why, data in malformed:
        if _parses(protocol, data):
            raise AssertionError(f"{protocol} accepts a report with {why}")
    return {
        "accepted": [{"why": why, "report": data.hex()} for why, data in dict(accepted).items()],
        "malformed": [{"why": why, "report": data.hex()} for why, data in dict(malformed).items()],
    }


def _put(valid: bytes, offset: int, kind: np.dtype[np.generic], number: int) -> bytes:
    """Return a report with one of its numbers replaced."""
    field = np.array(number, dtype=kind).tobytes()
    return valid[:offset] + field + valid[offset + len(field) :]


def _accepts(protocol: Protocol, put: Callable[[int], bytes], number: int) -> bool:
    return _parses(protocol, put(number))


def _scalars(
    dtype: np.dtype[np.generic], name: str = "the code", start: int = 0
) -> Iterator[tuple[str, int, np.dtype[np.generic]]]:
    """Yield the name, offset and type of the numbers in a report: of an array, its two ends."""
    for part, (kind, offset, *_) in (dtype.fields or {}).items():
        yield from _scalars(kind, f"field {part}", start + offset)
    if dtype.fields:
        return
    for position in sorted({0, dtype.itemsize // dtype.base.itemsize - 1}):
        which = f"element {position} of {name}" if dtype.shape else name
        yield which, start + position * dtype.base.itemsize, dtype.base


def _last_accepted(accepts: Callable[[int], bool], limit: int) -> int:
    """Return the number furthest from 0 towards ``limit`` that is accepted, by bisection."""
    if accepts(limit):
        return limit
    good, bad = 0, limit
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if accepts(middle) else (good, middle)
    return good


def _parses(protocol: Protocol, data: bytes) -> bool:
    try:
        protocol.parse(data)
    except InvalidReport:
        return False
    return True
