"""A new question: what it will cost and tell, in sentences, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from re import compile

from starlette.responses import RedirectResponse, Response

from deniable.collector import drafts
from deniable.collector.drafts import Draft, Proposal
from deniable.collector.pages.templating import page
from deniable.collector.problems import Mistake
from deniable.collector.requests import Call, lines
from deniable.errors import DeniableError
from deniable.policy import CEILING

_FIRST = {
    "name": "", "kind": "closed", "labels": "", "other": "", "solve": "error", "users": "10000",
    "epsilon": "1", "error": "1", "protocol": "",
}  # fmt: skip
"""What the form has when it is opened."""
_THOUSANDS = compile(r"[0-9]{1,3}(,[0-9]{3})+")
_CHOICES = ("DE", "SubsetSelection", "AffineSelection", "OLH", "OUE", "SUE", "THE", "BLH")
"""What the browser client speaks; the best of all is taken unless one is named."""


@dataclass(frozen=True)
class Plan:
    """The plan in sentences, or why there is none."""

    sentences: tuple[str, ...]
    problem: str | None
    warning: str | None


@dataclass(frozen=True)
class Asking:
    """The form as it was sent, with the plan that follows from it."""

    fields: Mapping[str, str]
    plan: Plan
    protocols: tuple[str, ...] = _CHOICES
    admin: bool = True
    place: str = "new"


async def form(call: Call) -> Response:
    call.query()
    return page("new_question.html", Asking(_FIRST, await _plan(call, _FIRST)))


async def send(call: Call) -> Response:
    """Plan, or create the question and go to its page; a mistake keeps what was entered."""
    limit = 4 * call.services.settings.question_limit  # as percent signs
    fields = {**_FIRST, **await call.form(limit)}
    if fields.get("action") != "create":
        plan = await _plan(call, fields)
        if "fragment" in fields:
            return page("plan.html", plan)
        return page("new_question.html", Asking(fields, plan))
    try:
        digest = await _create(call, fields)
    except DeniableError as error:
        wrong = Plan((), _said(error), None)
        return page("new_question.html", Asking(fields, wrong), 400)
    return RedirectResponse(f"/questions/{digest}", 303)


async def _create(call: Call, fields: Mapping[str, str]) -> str:
    draft = _draft(fields)
    if not draft.name:
        raise Mistake("Enter a name for the question.")
    found = await call.services.worker.run(drafts.propose, draft)
    if found.document is None:
        raise Mistake(" ".join(found.sentences))
    reading, _ = await call.services.questions.ask(found.document.encode())
    return reading.digest


async def _plan(call: Call, fields: Mapping[str, str]) -> Plan:
    if fields["kind"] == "closed" and len(lines(fields["labels"])) + bool(fields["other"]) < 2:
        return Plan(("Enter at least two answers to see what the question will tell.",), None, None)
    try:
        found = await call.services.worker.run(drafts.propose, _draft(fields))
    except DeniableError as error:
        return Plan((), _said(error), None)
    return Plan(_sentences(found, fields["solve"]), None, _warning(found))


def _said(error: DeniableError) -> str:
    if isinstance(error, Mistake):
        return str(error)
    return f"This question cannot be asked: {error}."


def _sentences(found: Proposal, solve: str) -> tuple[str, ...]:
    if not found.reachable or found.error is None:
        return found.sentences
    solved = {
        "users": f"{found.users:,} people are needed.",
        "epsilon": f"Epsilon has to be {found.epsilon:g}.",
        "error": f"Shares will be known to within about ± {100 * found.error:.3g} percentage "
        "points (one standard error).",
    }
    return (solved.get(solve, ""), *found.sentences)


def _warning(found: Proposal) -> str | None:
    if not found.reachable or found.epsilon is None or found.epsilon <= CEILING:
        return None
    said = f"Epsilon = {found.epsilon:g} hides little, and browsers refuse more than {CEILING:g}."
    return f"{said} 1 to 3 is usual."


def _draft(fields: Mapping[str, str]) -> Draft:
    """Read the form; the number that is to be solved for is not looked at."""
    solve = fields["solve"]
    users, epsilon, error = (
        None if solve == name else _number(fields, name) for name in ("users", "epsilon", "error")
    )
    is_open = fields["kind"] == "open"
    other = fields["other"].strip()
    return Draft(
        name=fields["name"].strip(),
        labels=None if is_open else lines(fields["labels"]),
        other=other if other and not is_open else None,
        users=None if users is None else _whole(users),
        epsilon=epsilon,
        error=None if error is None else error / 100,
        protocol=fields["protocol"] or None,
    )


def _whole(users: float) -> int:
    if not 1 <= users < 1 << 53 or users != int(users):
        raise Mistake(f"Enter people as a whole number, not as {users:g}.")
    return int(users)


def _number(fields: Mapping[str, str], name: str) -> float | None:
    text = fields.get(name, "").strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"Enter a number for {name}, not {text[:40]!r}.") from None
