"""Drafts: questions as a form describes them, and what asking them would tell."""

import csv
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.errors import InvalidParameter
from deniable.presentation.charts import Bar, Bars
from deniable.presentation.verdict import points, rounded
from deniable.protocols.hashing import OpenLH
from deniable.question import Question

_NORMAL = 1.96
_GOOD, _COARSE = 0.05, 0.15
"""Margins of error up to which a plan is good, and up to which it is coarse."""
_SAMPLE = (0.38, 0.24, 0.15, 0.1, 0.07, 0.06)
"""Shares that are made up to show what a margin of error looks like."""


class Draft(NamedTuple):
    """A question as a form describes it; of users, epsilon and error one is to be solved for."""

    name: str = ""
    labels: tuple[str, ...] | None = ()
    other: str | None = None
    users: int | None = None
    epsilon: float | None = None
    error: float | None = None
    protocol: str | None = None


@dataclass(frozen=True)
class Proposal:
    """A plan in sentences and a picture, and the question that it leads to, if all is there."""

    title: str
    light: str
    """How good it will be: good, coarse or hopeless."""
    advice: str
    sample: str
    """A chart of invented shares with such margins of error, as HTML."""
    details: tuple[str, ...]
    users: int | None
    epsilon: float | None
    error: float | None
    reachable: bool
    document: str | None


def split_labels(text: str) -> tuple[str, ...]:
    r"""Return the answers in a text area: one on each line, or one line with commas between them.

    >>> split_labels("kiwi\r\n fig \n\n"), split_labels('kiwi, "a, b", fig')
    (('kiwi', 'fig'), ('kiwi', 'a, b', 'fig'))
    """
    lines = [line.strip() for line in text.split("\n")]
    found = [line for line in lines if line]
    if len(found) == 1 and "," in found[0]:
        found = next(csv.reader(found, skipinitialspace=True))
    return tuple(cell.strip() for cell in found if cell.strip())


def propose(draft: Draft) -> Proposal:
    """Plan a question, and make it if it has a name."""
    if draft.labels is None:
        return _propose_open(draft)
    labels = draft.labels
    if draft.other is not None and draft.other not in labels:
        labels = (*labels, draft.other)
    found = solve(
        len(labels),
        users=draft.users,
        epsilon=draft.epsilon,
        error=draft.error,
        protocol=draft.protocol,
    )
    # Made also without a name, so that labels which no question can have are told at once.
    made = Question(draft.name or "?", labels, found.protocol, other=draft.other)
    document = made.to_json() if draft.name and found.reachable else None
    told = () if found.epsilon is None or not found.reachable else (meaning(found.epsilon),)
    details = (found.explanation, *told)
    if not found.reachable or found.error is None or found.users is None:
        title, advice = "This cannot be reached.", found.explanation
        return Proposal(title, "hopeless", advice, "", (), found.users, found.epsilon, found.error,
                        False, None)  # fmt: skip
    light, advice = _judge(found.error, found.users, found.significant)
    title = _title(found.users, "each share", found.error)
    sample = _sample(labels[: len(_SAMPLE)], found.error)
    return Proposal(title, light, advice, sample, details, found.users, found.epsilon, found.error,
                    True, document)  # fmt: skip


def _title(users: int, what: str, error: float) -> str:
    people = "1 person" if users == 1 else f"{rounded(users)} people"
    return f"{people}: {what} is right to ±\u00a0{points(_NORMAL * error)}, 95\u00a0% sure."


def _judge(error: float, users: int, significant: float | None) -> tuple[str, str]:
    """Say how good a plan is, and how many more people would make it good."""
    margin = _NORMAL * error
    stands = f"Answers above {100 * significant:.2g}\u00a0% will stand out." if significant else ""
    needed = rounded(max(1, users * (margin / _GOOD) ** 2 - users))
    if not significant or margin > _COARSE:
        no = stands or "No answer will stand out, not even one that all people give."
        return "hopeless", f"Too coarse to be of use. {no} About {needed} more people make it good."
    if margin > _GOOD:
        return "coarse", f"Coarse: {stands} About {needed} more people make it good."
    return "good", f"Good. {stands}"


def _sample(labels: tuple[str, ...], error: float) -> str:
    """Return invented shares that are off by about the error, to look at."""
    shares = np.array(_SAMPLE[: len(labels)])
    off = error * np.array([0.6, -0.9, 0.3, 1.1, -0.4, -0.7])[: len(labels)]
    found = shares / shares.sum() + off
    half = _NORMAL * error
    bars = tuple(
        Bar(label, float(share), float(share - half), float(share + half), bool(share > half))
        for label, share in zip(labels, found, strict=True)
    )
    return Bars("sample", bars=bars).html()


def _propose_open(draft: Draft) -> Proposal:
    """Plan a question that takes any text: what one candidate's count will be worth."""
    if draft.epsilon is None or draft.users is None:
        raise InvalidParameter(
            "an open question needs people and epsilon, from which the error follows; let the "
            "error be computed",
            value=None,
        )
    if draft.protocol is not None:
        raise InvalidParameter.expected(
            "no protocol for an open question, which takes OpenLH",
            draft.protocol,
            "choose the best one",
        )
    protocol = OpenLH(draft.epsilon)
    error = float(protocol.variance(draft.users)) ** 0.5 / draft.users
    size = protocol.report_dtype.itemsize
    details = (
        f"With {draft.users:,} people, {protocol.name} at epsilon = {protocol.epsilon:g} estimates "
        f"the share of any text you name later with a standard error of {100 * error:.3g} %, if "
        f"few people gave it; a report takes {size} bytes.",
        meaning(protocol.epsilon),
    )
    document = Question(draft.name, None, protocol).to_json() if draft.name else None
    light, advice = _judge(error, draft.users, 3 * error)
    title = _title(draft.users, "the share of a text", error)
    return Proposal(title, light, advice, "", details, draft.users, draft.epsilon, error, True,
                    document)  # fmt: skip
