"""Drafts: questions as a form describes them, and what asking them would tell."""

from dataclasses import dataclass

from deniable.advice import meaning
from deniable.advice import plan as solve
from deniable.errors import InvalidParameter
from deniable.protocols.hashing import OpenLH
from deniable.question import Question


@dataclass(frozen=True)
class Draft:
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
    """A plan in sentences, and the question that it leads to, if all is there for one."""

    sentences: tuple[str, ...]
    users: int | None
    epsilon: float | None
    error: float | None
    reachable: bool
    document: str | None


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
    sentences = (found.explanation, *told)
    return Proposal(sentences, found.users, found.epsilon, found.error, found.reachable, document)


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
    sentences = (
        f"With {draft.users:,} people, {protocol.name} at epsilon = {protocol.epsilon:g} estimates "
        f"the share of any text you name later with a standard error of {100 * error:.3g} %, if "
        f"few people gave it; a report takes {size} bytes.",
        meaning(protocol.epsilon),
    )
    document = Question(draft.name, None, protocol).to_json() if draft.name else None
    return Proposal(sentences, draft.users, draft.epsilon, error, True, document)
