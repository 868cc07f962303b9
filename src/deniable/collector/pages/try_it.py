"""The page on which anybody can try a question, and see what a report reveals.

Reports are drawn in the browser and stay there, unless the question collects here and the person
presses a button that says so. Results are shown afterwards, so that they do not sway anybody.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from deniable.advice import meaning
from deniable.advice.disclosure import surest
from deniable.answers import Text
from deniable.collector.pages.embed import unknown
from deniable.collector.pages.languages import Words, words_for
from deniable.collector.pages.templating import BUILT, CLIENT, page
from deniable.collector.requests import Call
from deniable.collector.stores.records import State
from deniable.policy import refusal
from deniable.presentation.text import one_line
from deniable.protocol import Protocol
from deniable.question import Question
from deniable.segments import NOT_STATED
from deniable.validation import MAX_EPSILON

if TYPE_CHECKING:
    from starlette.responses import Response

_NAME_WIDTH = 160


class Fact(NamedTuple):
    """A number about all reports."""

    name: str
    value: str
    hint: str = ""


async def show(call: Call) -> Response:
    query, known = call.query("lang"), await call.known()
    question, protocol = known.question, known.question.protocol
    gain, fall = _shifts(protocol)
    lacking, too_much = unknown(question), refusal(question.total_epsilon, "Browsers")
    tried = not lacking and not too_much
    words = words_for(call, query.get("lang", ""))
    return page(
        "try_it.html",
        name=one_line(question.name, _NAME_WIDTH),
        digest=question.digest,
        protocol=protocol.name,
        compared=isinstance(question.answers, Text),
        client=BUILT.get(question.answers.build, CLIENT),
        unknown=lacking,
        beyond=too_much,
        tried=tried,
        sending=tried and known.terms.collect and known.asked.state is State.OPEN,
        bound=f"{math.exp(min(protocol.total_epsilon, 700.0)):.7g}",
        most=_surest(protocol.total_epsilon),
        beforehand=beforehand(question, words),
        grouped=bool(question.segments),
        times=question.repeat.times if question.repeat else 1,
        facts=_facts(protocol),
        meaning=meaning(
            protocol.epsilon, forever=protocol.total_epsilon if protocol.memoises else None
        ),
        gain=gain,
        fall=fall,
        often=f"{protocol.parameters.p:.4f}" if protocol.parameters else "",
        public=known.terms.public_results,
        words=words,
    )


def beforehand(question: Question, words: Words) -> tuple[str, ...]:
    """Return what a person should know before answering: groups, rounds, and how often."""
    said, repeat, dimensions = [], question.repeat, question.segments.dimensions
    if dimensions:
        # The page states no group, which is what stands for all others only if each has such.
        others = [each.other for each in dimensions if each.other is not None]
        group = ", ".join(others) if len(others) == len(dimensions) else NOT_STATED
        names = ", ".join(each.name for each in dimensions)
        said.append(words["groups"].format(names=names, group=group))
    if repeat is not None:
        said.append(words["rounds"].format(rounds=repeat.rounds))
    return (*said, *how_often(question, words))


def how_often(question: Question, words: Words) -> tuple[str, ...]:
    """Return what is revealed in all by a person who is asked more than once."""
    if question.repeat is None or question.repeat.times == 1:
        return ()
    one, total = question.protocol.total_epsilon, question.total_epsilon
    often = words["times"].format(
        times=question.repeat.times, one=f"{one:.3g}", total=f"{total:.3g}", most=_surest(total)
    )
    return (often,)


def _surest(epsilon: float) -> str:
    return surest(min(epsilon, MAX_EPSILON)).replace(" ", "\u202f")


def _facts(protocol: Protocol) -> tuple[Fact, ...]:
    epsilon, size = protocol.total_epsilon, protocol.report_dtype.itemsize
    found = [
        Fact("ε", f"{epsilon:.6g}", "the privacy loss"),
        Fact("e^ε", _number(math.exp(min(epsilon, 700.0))), "how far odds can move"),
        Fact("Report", f"{size:,} byte{'' if size == 1 else 's'}"),
    ]
    if (known := protocol.parameters) is not None:
        found += [
            Fact("p", _number(known.p), "how often a report fits the true answer"),
            Fact("q", _number(known.q), "how often it fits any one other answer"),
        ]
    return tuple(found)


def _shifts(protocol: Protocol) -> tuple[str, str]:
    """Return what one report adds to a count that it supports, and what it takes from others."""
    if (known := protocol.parameters) is None:
        return "", ""
    return _number((1 - known.q) / known.gap), _number(known.q / known.gap)


def _number(number: float) -> str:
    return f"{number:.5g}" if number < 1e5 else f"{number:.4e}"
