"""The report of a reproduction: the paper's statements beside ours, with how ours came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.paper.experiment import Claim, Result


@dataclass(frozen=True)
class Outcome:
    """One experiment of a report: its result, what the paper says of it, and what it took.

    ``parts`` holds the seconds of each part, which other experiments may share, and ``rest`` those
    of everything else.
    """

    result: Result
    claims: tuple[Claim, ...]
    parts: Mapping[str, float]
    rest: float

    @property
    def seconds(self) -> float:
        """What the experiment took, or would have taken by itself."""
        return sum(self.parts.values()) + self.rest


def make_report(facts: Mapping[str, str], outcomes: Sequence[Outcome], images: str = "") -> str:
    """Return the report as Markdown; the figures are looked for at ``images`` + NAME.png.

    >>> print(make_report({"seed": "0"}, []).splitlines()[0])
    # The evaluation of the paper, run again
    """
    parts = {key: seconds for outcome in outcomes for key, seconds in outcome.parts.items()}
    total = sum(parts.values()) + sum(outcome.rest for outcome in outcomes)
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    agreeing = sum(claim.agrees for claim in claims)
    lines = [
        "# The evaluation of the paper, run again",
        "",
        *_table(("", ""), [*facts.items(), ("time", duration(total))]),
        "",
        "## Agreement",
        "",
        f"{agreeing} of {len(claims)} statements of the paper hold here. What counts as holding is "
        "a criterion in the module of each figure, for some chosen with results in view; the "
        "numbers stand beside it.",
        "",
        *_table(
            ("figure", "the paper states", "here", "agrees"),
            [
                (outcome.result.name, f"{claim.paper} [{claim.label}]", _here(claim),
                 "yes" if claim.agrees else "**no**")
                for outcome in outcomes for claim in outcome.claims
            ],
        ),
    ]  # fmt: skip
    for outcome in outcomes:
        name = outcome.result.name
        lines += [
            "",
            f"## {outcome.result.title}",
            "",
            f"![{outcome.result.title}]({images}{name}.png)",
            "",
            *(f"- {note}" for note in outcome.result.notes),
            f"- computed in {duration(outcome.seconds)}",
        ]
    return "\n".join([*lines, ""])


def duration(seconds: float) -> str:
    """Return a time in the words people use.

    >>> duration(4.2), duration(187)
    ('4.2 s', '3 min 7 s')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{round(seconds) // 60} min {round(seconds) % 60} s"


def _here(claim: Claim) -> str:
    return f"{claim.here} ({claim.remark})" if claim.remark else claim.here


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    every = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in every]
