"""Drafts: questions as a form describes them, and what asking them would tell."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from deniable import advice
from deniable.advice.groups import sampled_variance
from deniable.answers import Answers, Choices, Record, Text
from deniable.answers.forecast import AnswersPlan, plan_answers
from deniable.division import least_reports
from deniable.errors import InvalidParameter
from deniable.presentation.charts import Bar, Bars
from deniable.presentation.verdict import points, rough, rounded
from deniable.presentation.view import counted
from deniable.question import Question
from deniable.rota import Repeat
from deniable.segments import Segments

_NORMAL = 1.96
_GOOD, _COARSE = 0.05, 0.15
"""Margins of error up to which a plan is good, and up to which it is coarse."""
_SAMPLE = (0.38, 0.24, 0.15, 0.1, 0.07, 0.06)
"""Shares that are made up to show what a margin of error looks like."""
_FORECASTS = 6
_HOPELESS = "hopeless", "Too coarse to be of use."


class Draft(NamedTuple):
    """A question as a form describes it; of users, epsilon and error one is to be solved for."""

    name: str = ""
    labels: tuple[str, ...] = ()
    other: str | None = None
    answers: Answers | None = None
    """What an answer is, where it is not one of the labels."""
    examples: tuple[str, ...] = ()
    """Public examples of texts that are to be discovered."""
    users: int | None = None
    epsilon: float | None = None
    error: float | None = None
    protocol: str | None = None
    repeat: Repeat | None = None
    segments: Segments = Segments()


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
    parts: tuple[str, ...] = ()
    """What a round and a group will tell, where there are any."""
    lifetime: float = 0.0
    """What all answers of a person reveal together."""


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
    if draft.answers is not None:
        return _propose_kind(draft, draft.answers)
    labels = draft.labels
    if draft.other is not None and draft.other not in labels:
        labels = (*labels, draft.other)
    found = advice.plan(
        len(labels),
        users=draft.users,
        epsilon=draft.epsilon,
        error=draft.error,
        protocol=draft.protocol,
    )
    # Made without a name too, so that impossible labels are refused at once.
    made = Question(draft.name or "?", labels, found.protocol, other=draft.other,
                    repeat=draft.repeat, segments=draft.segments)  # fmt: skip
    document = made.to_json() if draft.name and found.reachable else None
    told = () if found.epsilon is None or not found.reachable else (advice.meaning(found.epsilon),)
    details = (found.explanation, *told)
    if not found.reachable or found.error is None or found.users is None:
        unknown = found.protocol.variance(1) is None
        why = found.explanation if unknown else _beyond(draft)
        return Proposal("This cannot be reached.", "hopeless", why, "", (), found.users,
                        found.epsilon, found.error, False, None)  # fmt: skip
    light, judgement = _judge(found.error, found.users, found.significant)
    who, reach = _people(found.users), _margin(found.error)
    title = f"{who}: each share is right to {reach}, 95\u00a0% sure."
    sample = _sample(labels[: len(_SAMPLE)], found.error)
    # Those of a round or a group are drawn from all people, which counts as well.
    spread = sampled_variance(found.protocol, 1 / len(labels))
    parts = _parts(made, found.users, lambda n: (
        f"each share is right to {_margin((spread / n) ** 0.5)}"))  # fmt: skip
    return Proposal(title, light, judgement, sample, details, found.users, found.epsilon,
                    found.error, True, document, parts, made.total_epsilon)  # fmt: skip


def _parts(made: Question, users: int, told: Callable[[int], str] | None) -> tuple[str, ...]:
    """Say what all of a person's answers reveal, and how precise each round and group is."""
    repeat, cells = made.repeat, made.segments.cells if made.segments else 1
    if repeat is None and cells == 1:
        return ()
    divided = [("round", repeat.rounds)] if repeat else []
    divided += [(f"group by {each.name}", len(each.values)) for each in made.segments]
    said = []
    for part, count in divided:
        n = max(1, users // count)
        right = "." if told is None else f": {told(n)}, 95\u00a0% sure."
        said.append(f"A {part}, one of {count}, has about {_people(n)}{right}")
    if cells > 1:
        said.append(f"Groups are shown from {least_reports(made):,} reports on.")
    days = 1 if repeat is None else repeat.every * repeat.total_rounds
    asked = "" if repeat is None else f"Asked: {repeat}. "
    reveals = f"{asked}All that a person answers reveals ε = {made.total_epsilon:g}, for ever."
    return (*said, reveals, advice.tells(users, cells=cells, days=days))


def _margin(error: float) -> str:
    """Return the margin of error in points; more than all of them tells nothing."""
    margin = _NORMAL * error
    return f"±\u00a0{points(margin)}" if margin < 1 else "no better than ±\u00a0100\u00a0points"


def _people(users: int) -> str:
    return "1 person" if users == 1 else f"{rounded(users)} people"


def _beyond(draft: Draft) -> str:
    """Say why a margin cannot be reached, and what would help."""
    if draft.users is None:
        return "It takes more people than live on Earth. Allow a larger margin, or less privacy."
    who = _people(draft.users)
    return f"{who} are too few at any level of privacy. Allow a larger margin, or ask more people."


def _judge(
    error: float, users: int, significant: float | None, *, listed: bool = True
) -> tuple[str, str]:
    """Say how good a plan is, and how many more people would make it good."""
    margin, stands = _NORMAL * error, "No answer will stand out, not even one that all people give."
    if significant:
        stands = f"Answers above {rough(significant, up=True)} will stand out." if listed else ""
    more = rounded(max(1, users * (margin / _GOOD) ** 2 - users))
    if margin <= _GOOD and significant:
        return "good", f"Good. {stands}"
    light, said = ("coarse", "Coarse.") if significant and margin <= _COARSE else _HOPELESS
    said = " ".join(filter(None, (said, stands, f"About {more} more people make it good.")))
    return light, said


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


def _propose_kind(draft: Draft, answers: Answers) -> Proposal:
    """Plan a question about any text, a number, several attributes or a set."""
    if draft.protocol is not None:
        raise InvalidParameter.expected(
            "no protocol for answers of this kind, which have one of their own",
            draft.protocol,
            "choose the best one",
        )
    if isinstance(answers, Text) and answers.discover is not None:
        return _propose_discovery(draft, answers)
    found = plan_answers(answers, users=draft.users, epsilon=draft.epsilon, error=draft.error)
    made = Question(draft.name or "?", answers, found.protocol, repeat=draft.repeat,
                    segments=draft.segments)  # fmt: skip
    users, error, epsilon = found.users, found.error, found.protocol.epsilon
    if not found.reachable:
        return Proposal("This cannot be reached.", "hopeless", _beyond(draft), "", (), users,
                        epsilon, error, False, None)  # fmt: skip
    listed = isinstance(answers, Choices | Record)
    significant = found.significant if listed else 3 * error
    light, judgement = _judge(error, users, significant, listed=listed)
    tables = _tables(answers, found) if isinstance(answers, Record) else ()
    several = len(found.forecasts) > 1 and not tables
    told = [f"{each.what}: {each.shown(users)}" for each in found.forecasts[:_FORECASTS]]
    size = counted(made.protocol.report_dtype.itemsize, "byte")
    details = (f"{made.protocol.name}; a report takes {size}.", advice.meaning(epsilon))
    worst = found.worst
    what = f"each {worst.what}" if worst.what.startswith("share") else worst.what
    title = f"{_people(users)}: {what} is right to {worst.shown(users)}, 95\u00a0% sure."
    title = title.replace("± ", "±\u00a0")
    labels = answers.labels if isinstance(answers, Choices) else ()
    sample = _sample(labels[: len(_SAMPLE)], error) if labels else ""
    details = (*(told if several else ()), *details)
    document = made.to_json() if draft.name else None
    parts = _parts(made, users, lambda n: f"{what} is right to {worst.shown(n)}")
    return Proposal(title, light, judgement, sample, details, users, epsilon, error, True, document,
                    (*tables, *parts), made.total_epsilon)  # fmt: skip


def _tables(answers: Record, found: AnswersPlan) -> tuple[str, ...]:
    """Say of each table how many cells it has and how sure they are, the coarsest first."""
    sizes = dict(zip(answers.names, answers.radices, strict=True))
    every = sorted(zip(answers.tables, found.forecasts, strict=True), key=lambda x: -x[1].variance)
    said = []
    for table, told in every[:_FORECASTS]:
        cells = counted(prod(map(sizes.__getitem__, table)), "cell" if table[1:] else "share")
        reach = told.shown(found.users).replace("± ", "±\u00a0")
        said.append(f"{' by '.join(table)}: {cells}, each right to {reach}.")
    left = len(every) - len(said)
    return (*said, f"{counted(left, 'more table')}, no less sure than these.") if left else (*said,)


def _propose_discovery(draft: Draft, answers: Text) -> Proposal:
    """Plan a question whose texts are to be discovered: which of them will be."""
    users, epsilon, code = draft.users, draft.epsilon, answers.discover or "english"
    if epsilon is None or users is None:
        raise InvalidParameter(
            "for texts that are to be discovered give people and epsilon, and let what will be "
            "found be computed"
        )
    found = advice.plan_discovery(draft.examples, epsilon=epsilon, users=users, code=code)
    made = Question(draft.name or "?", answers, found.protocol, repeat=draft.repeat,
                    segments=draft.segments)  # fmt: skip
    document = made.to_json() if draft.name and found.reachable else None
    if found.share is None:
        light, title = "hopeless", "No text will be found, not even one that all people give."
        judged = "Ask more people, or allow less privacy."
    else:
        light = "good" if found.share <= _GOOD else "coarse"
        rarer = "Coarse. More people, or less privacy, would find rarer ones."
        judged = "Good." if light == "good" else rarer
        share = rough(found.share)
        title = f"{rounded(users)} people: texts that {share} of them give will be found."
    details = (found.explanation, advice.meaning(epsilon))
    return Proposal(title, light, judged, "", details, users, epsilon, None, found.reachable,
                    document, _parts(made, users, None), made.total_epsilon)  # fmt: skip
