"""A new question in three steps: what is asked, what people answer, and how sure it will be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from re import compile

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from deniable.collector import drafts
from deniable.collector.drafts import Draft, Proposal
from deniable.collector.pages.again import AGAIN, GROUPS, read_groups, read_repeat
from deniable.collector.pages.kinds import KINDS, Wrong
from deniable.collector.pages.templating import page
from deniable.collector.problems import Mistake, Refusal
from deniable.collector.requests import Call
from deniable.collector.stores.records import StoreError
from deniable.errors import DeniableError
from deniable.policy import CEILING
from deniable.presentation.parts import privacy_word

_FIRST = {
    "name": "", "kind": "closed", "solve": "error", "users": "10000", "epsilon": "1", "error": "2",
    "protocol": "", **{each.name: each.initial for kind in KINDS.values() for each in kind.fields},
    **{each.name: each.initial for each in (*AGAIN, *GROUPS)},
}  # fmt: skip
"""What the form has when it is opened."""
_THOUSANDS = compile(r"[0-9]{1,3}(,[0-9]{3})+")
_NORMAL = 1.96
_CHOICES = ("DE", "SubsetSelection", "AffineSelection", "OLH", "OUE", "SUE", "THE", "BLH")
"""What the browser client speaks; the best of all is taken unless one is named."""
_MOST_EPSILON, _LEAST_MARGIN = 100, 1e-9
_TITLES = {"users": "the number of people", "epsilon": "the privacy level", "error": "the margin"}


@dataclass(frozen=True)
class Plan:
    """What the question will tell, or what is still missing."""

    title: str
    light: str = ""
    advice: str = ""
    sample: Markup = field(default_factory=Markup)
    details: tuple[str, ...] = ()
    warning: str = ""
    parts: tuple[str, ...] = ()
    solved: str = ""
    """The number that was solved for, as its field shows it."""


async def form(call: Call) -> Response:
    call.query()
    return _page(_FIRST, await _plan(call, _FIRST))


async def send(call: Call) -> Response:
    """Plan, or create the question and go to its page; a mistake keeps what was entered."""
    limit = 4 * call.services.settings.question_limit  # as percent signs
    fields = {**_FIRST, **await call.form(limit)}
    if fields.get("action") != "create":
        plan = await _plan(call, fields)
        if "fragment" in fields:
            return page("plan.html", **vars(plan))
        return _page(fields, plan)
    try:
        digest = await _create(call, fields)
    except DeniableError as error:
        place = error.field if isinstance(error, Wrong) else _first_field(fields)
        status = 503 if isinstance(error, StoreError) else 400
        return _page(fields, await _plan(call, fields), {place: _said(error)}, status)
    return RedirectResponse(f"/questions/{digest}/collect", 303)


def _first_field(fields: Mapping[str, str]) -> str:
    """Return the field at which a mistake is shown that belongs to no other."""
    kind = KINDS.get(fields["kind"], KINDS["closed"])
    return kind.fields[0].name if kind.fields else "name"


def _page(
    fields: Mapping[str, str], plan: Plan, wrong: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:  # fmt: skip
    shown = dict(fields)
    if plan.solved and shown["solve"] in shown:
        shown[shown["solve"]] = plan.solved
    try:
        word = privacy_word(float(shown["epsilon"]))
    except ValueError:
        word = ""
    return page("new_question.html", status, fields=shown, plan=plan,
                wrong=wrong or {}, kinds=tuple(KINDS.values()), protocols=_CHOICES, word=word,
                again=AGAIN, groups=GROUPS, admin=True, place="new")  # fmt: skip


async def _create(call: Call, fields: Mapping[str, str]) -> str:
    if not fields["name"].strip():
        raise Wrong("Enter the question, for example: Which fruit do you like best?", "name")
    found = await call.services.worker.run(drafts.propose, _draft(fields))
    if found.document is None:
        # Of texts to be discovered no margin is asked.
        place = "users" if fields["kind"] == "discover" else fields["solve"]
        raise Wrong(f"{found.title} {found.advice}".rstrip(), place)
    reading, _ = await call.services.questions.ask(found.document.encode())
    return reading.digest


async def _plan(call: Call, fields: Mapping[str, str]) -> Plan:
    try:
        draft = _draft(fields)
    except Mistake as error:
        return Plan(str(error), "missing")
    try:
        found = await call.services.worker.run(drafts.propose, draft)
    except DeniableError as error:
        return Plan(_said(error), "hopeless")
    return Plan(
        found.title,
        found.light,
        found.advice,
        Markup(found.sample),
        found.details,
        _warning(found),
        found.parts,
        _solved(found, fields["solve"]),
    )


def _said(error: DeniableError) -> str:
    if isinstance(error, Mistake):
        return str(error)
    if isinstance(error, StoreError):
        return f"Nothing was stored: {error.reason}. Try again in a moment."
    if isinstance(error, Refusal) and error.page:
        return error.page
    return f"This question cannot be asked: {error}."


def _solved(found: Proposal, solve: str) -> str:
    if not found.reachable or found.users is None or found.epsilon is None or found.error is None:
        return ""
    number = {"users": found.users, "epsilon": found.epsilon, "error": 100 * _NORMAL * found.error}
    return f"{number[solve]:.3g}" if solve == "error" else f"{number.get(solve, 0):.10g}"


def _warning(found: Proposal) -> str:
    if not found.reachable or found.lifetime <= CEILING:
        return ""
    said = f"ε = {found.lifetime:g} hides little, and browsers refuse more than {CEILING:g}."
    return f"{said} 1 to 3 is usual."


def _draft(fields: Mapping[str, str]) -> Draft:
    """Read the form; the number that is to be solved for is not looked at."""
    kind = KINDS.get(fields["kind"], KINDS["closed"])
    solve = "error" if kind.name == "discover" else fields["solve"]  # nothing else follows there
    numbers = {
        name: None if solve == name else _number(fields, name)
        for name in ("users", "epsilon", "error")
    }
    error, users, epsilon = numbers["error"], numbers["users"], numbers["epsilon"]
    if epsilon is not None and not 0 < epsilon <= _MOST_EPSILON:
        raise Wrong(f"Enter a privacy level above 0, such as 1 or 2, not {epsilon:g}.", "epsilon")
    if error is not None and not 0 < error < 100:
        raise Wrong(f"Enter a margin of error between 0 and 100, not {error:g}.", "error")
    if fields["protocol"] and kind.name != "closed":
        said = "Answers of this kind have a protocol of their own: choose “the best” here."
        raise Wrong(said, "protocol")
    draft = Draft(
        name=fields["name"].strip(),
        users=None if users is None else _whole(users),
        epsilon=epsilon,
        error=None if error is None else max(error, _LEAST_MARGIN) / 100 / _NORMAL,
        protocol=fields["protocol"] or None,
        repeat=read_repeat(fields),
        segments=read_groups(fields),
    )
    return kind.read(fields, draft)


def _whole(users: float) -> int:
    if not 1 <= users < 1 << 53 or users != int(users):
        raise Wrong(f"Enter people as a whole number from 1 on, not {users:g}.", "users")
    return int(users)


def _number(fields: Mapping[str, str], name: str) -> float:
    text = fields.get(name, "").strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        raise Wrong(f"Enter {_TITLES[name]}.", name)
    try:
        return float(text)
    except ValueError:
        raise Wrong(f"Enter {_TITLES[name]} in digits, not “{text[:40]}”.", name) from None
