"""The page on which anybody can try a question, and see what a report reveals.

Reports are drawn in the browser and stay there, unless the question collects here and the person
presses a button that says so. Results are shown afterwards, so that they do not sway anybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deniable.advice import meaning
from deniable.collector.pages.embed import beyond, unknown
from deniable.collector.pages.languages import Words, words_for
from deniable.collector.pages.templating import page
from deniable.collector.requests import Call
from deniable.collector.stores.records import State
from deniable.policy import BUILDS
from deniable.presentation.text import one_line
from deniable.protocol import Protocol

if TYPE_CHECKING:
    from starlette.responses import Response

_NAME_WIDTH = 160


class Fact(NamedTuple):
    """A number about all reports."""

    name: str
    value: str
    hint: str = ""


@dataclass(frozen=True)
class Trying:
    """All that the page shows before anybody tries."""

    name: str
    digest: str
    protocol: str
    closed: bool
    unknown: str
    beyond: str
    tried: bool
    sending: bool
    bound: str
    facts: tuple[Fact, ...]
    meaning: str
    gain: str
    fall: str
    often: str
    """How often a report fits the true answer."""
    public: bool
    words: Words


async def show(call: Call) -> Response:
    query, known = call.query("lang"), await call.known()
    question, protocol = known.question, known.question.protocol
    gain, fall = _shifts(protocol)
    lacking, too_much = unknown(question), beyond(question)
    if question.answers.build in BUILDS:  # whose reports this page does not follow
        lacking = "how to show what such an answer reveals"
    tried = not lacking and not too_much
    context = Trying(
        name=one_line(question.name, _NAME_WIDTH),
        digest=question.digest,
        protocol=protocol.name,
        closed=question.labels is not None,
        unknown=lacking,
        beyond=too_much,
        tried=tried,
        sending=tried and known.terms.collect and known.asked.state is State.OPEN,
        bound=f"{math.exp(min(protocol.total_epsilon, 700.0)):.7g}",
        facts=_facts(protocol),
        meaning=meaning(protocol.epsilon, forever=_forever(protocol)),
        gain=gain,
        fall=fall,
        often=f"{protocol.parameters.p:.4f}" if protocol.parameters else "",
        public=known.terms.public_results,
        words=words_for(call, query.get("lang", "")),
    )
    return page("try_it.html", context)


def _forever(protocol: Protocol) -> float | None:
    return protocol.total_epsilon if protocol.memoises else None


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
