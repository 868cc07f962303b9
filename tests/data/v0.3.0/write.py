"""Write what version 0.3.0 wrote first: questions of its new kinds, with reports and tallies.

Runs with deniable 0.3.0 only (``python write.py DIRECTORY``), once; later versions read the result.
The files beside it write the rest: ``write_client.py``, ``write_store.py`` and, with Node,
``write_browser.mjs``.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np

import deniable
from deniable import Choice, Choices, Number, Question, Record, Text
from deniable.files import write_reports
from deniable.rota import Repeat

REPORTS = 150
WEEKLY = Repeat("2026-01-05", every=7, rounds=4, times=2)
GROUPS = {"platform": ("linux", "mac"), "arm": ("A", "B")}
FRUIT = ("kiwi", "fig", "pear", "plum", "other")
PAGES = tuple(f"page {i}" for i in range(30))
TRIP = Record(way=Choice(("foot", "bus", "car")), km=Number(0, 40, 10), town=Choice(("yes", "no")))

QUESTIONS: list[tuple[Question, list[object]]] = [
    (
        Question("set", Choices(FRUIT[:4], at_most=2), epsilon=2.0, segments=GROUPS),
        [["kiwi"], ["fig", "kiwi"], [], ["plum", "pear"]],
    ),
    (
        Question("large set", Choices(PAGES, at_most=4, cut=True),
                 deniable.PolynomialSelection(3.0, 30, 4)),
        [["page 1"], ["page 2", "page 7", "page 29"], [], list(PAGES[:6])],
    ),
    (Question("minutes", Number(0, 120, 5, unit="min"), epsilon=2.0), [0, 5, 30, 45, 120]),
    (Question("mean", Number(-1.5, 4.5, 0.25, want=("mean",)), epsilon=1.0), [0, 0.25, -1.5, 4.5]),
    (
        Question("trip", TRIP, epsilon=3.0),
        [{"way": "bus", "km": 10, "town": "yes"}, {"way": "car", "km": 40, "town": "no"},
         {"way": "foot", "km": 0, "town": "yes"}],
    ),
    (
        Question("word", Text(discover="digits"), deniable.Discovery(4.0, 2, salt="5eed" * 4)),
        ["2026", "1984", "12345678"],
    ),
    (
        Question("again", FRUIT, deniable.AffineSelection(1.0, 5), other="other", repeat=WEEKLY,
                 segments=GROUPS),
        list(FRUIT),
    ),
]  # fmt: skip
"""Each new kind, and answers to it."""


def drawn(question: Question, given: list[object], rng: np.random.Generator, count: int):
    """Return which answers people have, their reports, and the cell of each report."""
    held = rng.zipf(1.6, count) % len(given)
    reports = question.privatize([given[i] for i in held], rng)
    cells = rng.integers(0, question.segments.codes, count, dtype=np.uint8) * bool(
        question.segments
    )
    return held, reports, cells


def document_of(number: int, question: Question, given: list[object]) -> dict[str, object]:
    """Return one document: the question, what people answered, reports, tally and estimates."""
    held, reports, cells = drawn(question, given, np.random.default_rng(number), REPORTS)
    stream = io.BytesIO()
    write_reports(stream, question, [reports], cells=[cells.tobytes()])
    tally = question.tally(reports)
    estimates = question.estimate(tally, None if question.labels else given)
    return {
        "question": question.to_json(),
        "digest": question.digest,
        "given": given,
        "answers": held.tolist(),
        "single": question.privatize([given[1]], np.random.default_rng(7)).tobytes().hex(),
        "reports": stream.getvalue().hex(),
        "tally": tally.to_bytes().hex(),
        "counts": estimates.counts.tolist(),
        "std_errors": estimates.std_errors.tolist(),
    }


def main(directory: Path) -> None:
    """Write one JSON document for each question."""
    assert deniable.__version__ == "0.3.0"
    for number, (question, given) in enumerate(QUESTIONS):
        document = document_of(number, question, given)
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(document[key])}" for key in document)
        path = directory / f"{number:02}-{question.protocol.name}.json"
        path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
