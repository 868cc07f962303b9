"""How much a device may reveal, and which questions it therefore answers: ``policy.json``.

A question that is accepted is answered where ceiling and budget allow it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

from deniable.documents import canonical_json
from deniable.policy import BROWSERS, BUDGET, CEILING, DOCUMENT_BYTES, DUST
from deniable.protocol import Protocol
from deniable.protocols.basic_rappor import BasicRAPPOR
from deniable.protocols.direct import DE
from deniable.protocols.hashing import OLH
from deniable.protocols.histogram import THE
from deniable.protocols.unary import OUE, UE
from tools.vectors.questions import Case, ask


def make_policy() -> dict[str, object]:
    """Return the most that a device reveals, and which questions it therefore answers."""
    return {
        "format": "deniable-vectors",
        "version": 1,
        "ceiling": CEILING,
        "budget": BUDGET,
        "dust": DUST,
        "document_bytes": DOCUMENT_BYTES,
        "browsers": list(BROWSERS),
        "vectors": [*_ceilings(), *_budgets()],
    }


def _judge(why: str, protocol: Protocol, outcome: str, **limits: object) -> Case:
    """Return a question, what was spent before, and what a device makes of it."""
    document = ask(protocol)
    digest = sha256(canonical_json(document)).hexdigest()
    case = {"why": why, "outcome": outcome, "epsilon": protocol.total_epsilon, "spent": []}
    limits = {"ceiling": CEILING, "budget": BUDGET} | limits
    text = json.dumps({**document, "digest": digest})
    return {**case, **limits, "named": digest, "text": text}


def _ceilings() -> Iterator[Case]:
    """Yield questions on both sides of the ceiling, which limits what a question states."""
    quiet, loud = BasicRAPPOR(5, f=0.5, p=0.75, q=0.25), BasicRAPPOR(5, f=0.02, p=0.55, q=0.45)
    for why, protocol, outcome in (
        ("at the ceiling", DE(5.0, 5), "answered"),
        ("a little above the ceiling", DE(5.000000000000001, 5), "over-ceiling"),
        ("between the ceilings of earlier clients", DE(4.5, 5), "answered"),
        ("above the ceiling", OLH(6.0, 5), "over-ceiling"),
        ("states less than the ceiling, and spends less still", THE(4.9, 5), "answered"),
        ("states more than the ceiling, and spends less", THE(5.5, 5), "over-ceiling"),
        ("states p and q, within the ceiling", UE(0.5, 0.01, 5), "answered"),
        ("states p and q, above the ceiling", UE(0.9, 0.01, 5), "over-ceiling"),
        ("memoises, and reveals little for ever", quiet, "answered"),
        ("memoises: one report is quiet, all of them are not", loud, "over-ceiling"),
    ):
        yield _judge(why, protocol, outcome)
    yield _judge("above a lower ceiling", DE(1.0, 5), "over-ceiling", ceiling=0.999)
    yield _judge("below a higher ceiling", DE(6.0, 5), "answered", ceiling=6.0)
    for epsilon, outcome in ((10.0, "answered"), (10.5, "over-budget")):
        yield _judge(f"epsilon {epsilon} below a ceiling of 12", DE(epsilon, 5), outcome,
                     ceiling=12.0)  # fmt: skip


def _budgets() -> Iterator[Case]:
    """Yield questions on a device that answered others before."""
    one = DE(1.0, 5)
    for why, protocol, spent, outcome in (
        ("the first question", one, [], "answered"),
        ("the tenth of ten", one, [1.0] * 9, "answered"),
        ("the eleventh", one, [1.0] * 10, "over-budget"),
        ("the second of two at the ceiling", DE(5.0, 5), [5.0], "answered"),
        ("a small one after the budget is used up", DE(0.01, 5), [5.0, 5.0], "over-budget"),
        ("more than dust of floats", DE(0.1000001, 5), [1.1] * 9, "over-budget"),
        ("sums in tenths", DE(0.1, 5), [0.1] * 99, "answered"),
        ("counts with what it states", THE(1.5, 5), [9.0], "over-budget"),
        ("counts with what p and q spend", UE(0.5, 0.01, 5), [5.5], "over-budget"),
        ("counts with what it reveals for ever", BasicRAPPOR(5, f=0.5, p=0.75, q=0.25), [8.0],
         "over-budget"),
        ("fits with what it reveals for ever", BasicRAPPOR(5, f=0.5, p=0.75, q=0.25), [7.5],
         "answered"),
    ):  # fmt: skip
        yield _judge(why, protocol, outcome, spent=spent)
    yield _judge("beyond a lower budget", one, "over-budget", spent=[1.0, 1.0], budget=2.5)
    yield _judge("within a higher budget", one, "answered", spent=[10.0], budget=11.0)
    yield _judge("dust of floats", DE(0.2, 5), "answered", spent=[0.1], budget=0.3)
    yield _judge("a budget of nothing", DE(0.01, 5), "over-budget", budget=0.0)
    yield _judge("above ceiling and budget", OUE(7.0, 5), "over-ceiling", spent=[9.0])
