"""How long one report takes in the client of browsers, under Node, for each kind of answers.

``python -m benchmarks.browser`` prints a line for each, and whether all are below 2 ms.
"""

import json
import subprocess

from benchmarks.timing import ROOT
from deniable import Choice, Choices, Number, Question, Record, Text
from tests import components

MOST_MILLISECONDS = 2.0
_CLIENT = ROOT / "clients" / "js"


def questions() -> list[tuple[str, Question, object]]:
    """Return large questions of each kind, with an answer."""
    labels, many = [f"label {i}" for i in range(30)], [f"label {i}" for i in range(1000)]
    nine = Record({f"a{i}": Choice(labels[: 4 * i + 4]) for i in range(7)}, "pairs")
    held = dict.fromkeys(nine.names, labels[3])
    found: list[tuple[str, Question, object]] = [
        (f"one of 1,000, epsilon {e}", Question("q", many, epsilon=e), many[7])
        for e in (0.5, 1.0, 4.0)
    ]
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        load = Number(0, 30_000, 10, "ms", ("distribution", "mean"))
        found += [
            (f"7 attributes, epsilon {epsilon}", Question("q", nine, epsilon=epsilon), held),
            (f"3,001 numbers, epsilon {epsilon}", Question("q", load, epsilon=epsilon), 812),
            (
                f"8 of 1,000, epsilon {epsilon}",
                Question("q", Choices(many, 8), epsilon=epsilon),
                many[:8],
            ),
            (
                f"a text, epsilon {epsilon}",
                Question("q", Text("english"), epsilon=epsilon),
                "hello",
            ),
        ]
    return found


def measure() -> list[dict[str, object]]:
    """Return what was timed, with the middle time and the 99th percentile in milliseconds."""
    cases = [
        {
            "what": what,
            "build": build if (build := question.answers.build) not in ("choice", "text") else "",
            "text": question.to_json(),
            "digest": question.digest,
            "answer": answer,
        }
        for what, question, answer in questions()
    ]
    command = [components.node(), "test/speed.mjs"]
    run = subprocess.run(
        command, cwd=_CLIENT, input=json.dumps(cases).encode(), capture_output=True, check=True
    )
    found: list[dict[str, object]] = json.loads(run.stdout)
    return found


if __name__ == "__main__":
    worst = 0.0
    for row in measure():
        middle, tail = float(str(row["middle"])), float(str(row["p99"]))
        worst = max(worst, middle)
        print(f"{row['what']:28} {middle:7.3f} ms, 99 % within {tail:.3f} ms")
    print("holds" if worst <= MOST_MILLISECONDS else "does not hold", f": at most {worst:.3f} ms")
