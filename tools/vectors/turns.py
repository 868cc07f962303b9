"""When a device answers a question that is asked again: ``turns.json``.

A row of ``draws`` is a secret, the digest of a question, and the phase or the arm that follows from
them. A row of ``vectors`` is a question, the secret of a device, the last turn that it took (-1 for
none) and a day: the outcome is ``answered`` where it takes the turn ``turn``, and else the reason.
Cells say which byte stands before a report.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

from deniable.protocols.direct import DE
from deniable.question import Question
from deniable.rota import Repeat, arm_of, phase_of
from deniable.segments import Dimension, Segments

Case = dict[str, object]

_FRUIT = ("kiwi", "fig", "plum", "pear", "sloe")
_REPEATS = {
    "weeks, once": Repeat("2026-03-02", 7, 4),
    "days, three times": Repeat("2026-02-27", 1, 2, 3),
    "quarters": Repeat("2025-01-01", 91, 520),
    "months of 30 days, twice": Repeat("2024-02-29", 30, 5, 2),
}
WEEKLY = Repeat("2026-03-02", 7, 4).document()
_SEGMENTS = Segments((
    Dimension("platform", ("linux", "mac", "rest"), "rest"),
    Dimension("arm", ("A", "B")),
))  # fmt: skip


def make_turns() -> dict[str, object]:
    """Return the contents of the file."""
    return {
        "format": "deniable-vectors",
        "version": 1,
        "questions": {question.digest: question.to_json() for question in repeated()},
        "draws": [*_draws()],
        "cells": [*_cells()],
        "vectors": [*_turns()],
    }


def repeated() -> Iterator[Question]:
    """Yield questions that are asked again, and one with segments."""
    for name, repeat in _REPEATS.items():
        yield Question(name, _FRUIT, DE(1.0, 5), repeat=repeat)
    yield Question("groups", _FRUIT, DE(1.0, 5), segments=_SEGMENTS)


def rounds() -> Iterator[tuple[str, Case, bool]]:
    """Yield rounds on both sides of what clients accept, at epsilon = 1 and a ceiling of 5."""
    for why, change, accepted in (
        ("a round of 91 days", {"every": 91}, True),
        ("a round of 92 days", {"every": 92}, False),
        ("a round of no day", {"every": 0}, False),
        ("half a day", {"every": 0.5}, False),
        ("520 rounds", {"rounds": 520}, True),
        ("521 rounds", {"rounds": 521}, False),
        ("a single round", {"rounds": 1}, False),
        ("rounds null", {"rounds": None}, False),
        ("five times, at the ceiling", {"times": 5}, True),
        ("six times, above the ceiling", {"times": 6}, False),
        ("no times", {"times": 0}, False),
        ("times null, without an end", {"times": None}, False),
        ("times as text", {"times": "1"}, False),
        ("times true", {"times": True}, False),
        ("a leap day", {"start": "2024-02-29"}, True),
        ("no leap day", {"start": "2026-02-29"}, False),
        ("a start in another form", {"start": "20260302"}, False),
        ("a start with a time", {"start": "2026-03-02T00:00"}, False),
        ("a start that is a number", {"start": 20260302}, False),
        ("a start before all days", {"start": "1969-12-31"}, False),
        ("rounds to the last day", {"start": "9999-12-03"}, True),
        ("rounds beyond the last day", {"start": "9999-12-04"}, False),
        ("another field of the rounds", {"phase": 1}, False),
    ):
        yield why, {"repeat": {**WEEKLY, **change}}, accepted


def groups() -> Iterator[tuple[str, Case, bool]]:
    """Yield segments on both sides of what clients accept."""
    many = [str(i) for i in range(40)]

    def of(*sizes: int, **change: object) -> list[Case]:
        names = ("one", "two", "three", "four", "five")
        made: list[Case] = [
            {"name": name, "values": many[:size], "other": None}
            for name, size in zip(names, sizes, strict=False)
        ]
        return [{**made[0], **change}, *made[1:]]

    for why, segments, accepted in (
        ("64 cells", of(32, 2), True),
        ("72 cells", of(9, 8), False),
        ("32 values", of(32), True),
        ("33 values", of(33), False),
        ("four dimensions", of(2, 2, 2, 2), True),
        ("five dimensions", of(2, 2, 2, 2, 2), False),
        ("a dimension of one value", of(1), False),
        ("a dimension twice", of(2, 2, name="two"), False),
        ("a value twice", of(2, values=["x", "x"]), False),
        ("a value for others", of(2, other="1"), True),
        ("a value for others that is none", of(2, other="2"), False),
        ("a dimension without a name", of(2, name=""), False),
        ("64 letters beyond ASCII", of(2, name="🥝" * 64), True),
        ("65 letters", of(2, name="x" * 65), False),
        ("a value of 65 letters", of(2, values=["x", "y" * 65]), False),
        ("an empty value", of(2, values=["x", ""]), False),
        ("a name with a colon", of(2, name="a:b"), False),
        ("a value with a colon", of(2, values=["a:b", "c=d"]), True),
        ("a value with a line end", of(2, values=["a\nb", "c"]), False),
        ("a value that says not stated", of(2, values=["x", "not stated"]), False),
        ("a value that is a number", of(2, values=["x", 1]), False),
        ("values that are a text", of(2, values="xy"), False),
        ("another field of a dimension", of(2, secret=True), False),
        ("a dimension that is null", [None], False),
        ("a dimension without other", [{"name": "one", "values": ["x", "y"]}], False),
    ):
        yield why, {"segments": segments}, accepted


def _secret(number: int) -> bytes:
    return sha256(b"secret %d" % number).digest()


def _draws() -> Iterator[Case]:
    for number in range(4):
        secret, digest = _secret(number), sha256(b"question %d" % number).hexdigest()
        for size in (2, 3, 26, 52, 365, 520):
            drawn: Case = {"secret": secret.hex(), "digest": digest, "size": size}
            yield drawn | {"phase": phase_of(secret, digest, size)}
            yield drawn | {"arm": arm_of(secret, digest, size)}


def _turns() -> Iterator[Case]:
    for question in list(repeated())[:-1]:
        repeat = question.repeat
        if repeat is None:
            raise AssertionError(f"{question} is asked once")
        for number in range(2):
            secret = _secret(number)
            phase = phase_of(secret, question.digest, repeat.rounds)
            mine = [repeat.days_of(c * repeat.rounds + phase) for c in range(repeat.times)]
            end = repeat.days_of(repeat.total_rounds - 1)[1]
            ends = [repeat.first_day, end, *(day for pair in mine for day in pair)]
            around = {day + timedelta(days=step) for day in ends for step in (-1, 0, 1)}
            for day in sorted(around):
                for last in range(-1, repeat.times):
                    stands = repeat.stands(phase, last, day)
                    due = isinstance(stands, int)
                    yield {
                        "why": question.name,
                        "named": question.digest,
                        "secret": secret.hex(),
                        "phase": phase,
                        "last": last,
                        "day": day.isoformat(),
                        "outcome": "answered" if due else stands,
                        "turn": stands if due else None,
                    }


def _cells() -> Iterator[Case]:
    named = list(repeated())[-1].digest
    for stated in (
        {},
        {"platform": "linux", "arm": "A"},
        {"platform": "linux", "arm": "B"},
        {"platform": "mac", "arm": "A"},
        {"platform": "rest", "arm": "B"},
        {"platform": "amiga", "arm": "B"},
        {"arm": "B"},
        {"platform": "mac"},
    ):
        yield {"named": named, "stated": stated, "cell": _SEGMENTS.cell(stated)}
    for stated in ({"arm": "C", "platform": "mac"}, {"platform": "mac", "colour": "red"}):
        yield {"named": named, "stated": stated, "cell": None}
