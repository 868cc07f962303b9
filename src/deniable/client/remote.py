"""A collector from afar, for whoever asks the questions: publish one, find one, pull its tally.

::

    publish("https://counts.example.org", Question.open("fruit.json"), token=admin)
    tally = pull("https://counts.example.org", "fruit", token=viewer)

A device needs none of this, and no token.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from deniable.client.transport import Reply, Transport
from deniable.errors import DeniableError
from deniable.memory import RAISE_IT, memory_budget
from deniable.presentation.text import one_line
from deniable.question import Question
from deniable.tally import Tally

_DIGEST = re.compile("[0-9a-f]{64}")
_PREFIX = re.compile("[0-9a-f]{4,63}")
_MOST_LISTED = 10
_SAID_WIDTH = 500
_DIGITS_SHOWN, _NAME_WIDTH = 16, 60


class Refused(DeniableError):
    """A collector that did not do what it was asked to; ``value`` is the status of its reply."""


@dataclass(frozen=True)
class Listed:
    """A question as a collector lists it."""

    digest: str
    name: str
    state: str

    def __str__(self) -> str:
        name, state = one_line(self.name, _NAME_WIDTH), one_line(self.state)
        return f"{one_line(self.digest[:_DIGITS_SHOWN])} ({name}, {state})"


def listed(transport: Transport) -> list[Listed]:
    """Return the questions that a collector asks, the first asked first."""
    reply = transport.request("GET", "/v1/questions")
    _check(transport, reply)
    try:
        found = json.loads(reply.body)["questions"]
        return [
            Listed(*(str(entry[key]) for key in ("digest", "name", "state"))) for entry in found
        ]
    except (ValueError, KeyError, TypeError):
        raise _no_collector(transport, "a list of questions", reply) from None


def find(transport: Transport, named: str) -> str:
    """Return the digest of the question that is named by its digest, the start of it, or its name.

    A whole digest is taken as it is. For anything else the collector is asked, and believed: who
    must not trust it names the whole digest.
    """
    wanted = named.strip().rstrip("….")
    if _DIGEST.fullmatch(wanted.lower()):
        return wanted.lower()
    known = listed(transport)
    start = wanted.lower() if _PREFIX.fullmatch(wanted.lower()) else None
    found = [
        entry
        for entry in known
        if entry.name == named or (start is not None and entry.digest.startswith(start))
    ]
    if len(found) == 1:
        return found[0].digest
    if found:
        said = f"{named[:80]!r} names {len(found)} questions; name one by more digits of its digest"
    else:
        said = (
            f"{named[:80]!r} names no question; name one by its whole name, its digest, or at "
            "least the first four digits of it"
        )
    raise Refused(f"{transport.address}: {said}: {_enumerate(found or known)}", value=named)


def pull(
    address: str,
    question: str | Question,
    *,
    first: date | str | None = None,
    last: date | str | None = None,
    token: str | None = None,
) -> Tally:
    """Return the tally of a question from the collector at an address.

    The question is itself, or named as ``find`` takes it. ``first`` and ``last`` are days, both
    included; all days without. The token is of the role viewer.
    """
    return pull_days(address, question, first=first, last=last, token=token)[0]


def pull_days(
    address: str,
    question: str | Question,
    *,
    first: date | str | None = None,
    last: date | str | None = None,
    token: str | None = None,
) -> tuple[Tally, int | None]:
    """Return what ``pull`` does, and on how many days the reports came, if the collector says so.

    Of people who may answer again these are the rounds: ``question.estimate(tally, rounds=days)``.
    """
    transport = Transport(address, token=token)
    digest = question.digest if isinstance(question, Question) else find(transport, question)
    days = {name: str(day) for name, day in (("from", first), ("to", last)) if day is not None}
    path, most = f"/v1/questions/{digest}/tally?{urlencode(days)}", memory_budget()
    reply = transport.request("GET", path, most=most + 1)
    _check(transport, reply, "viewer")
    if len(reply.body) > most:
        raise Refused(
            f"{address}: expected a tally within the memory budget of {most:,} bytes, got a larger "
            f"one; {RAISE_IT}",
            value=reply.status,
        )
    tally = Tally.from_bytes(reply.body)
    if tally.question != digest:
        raise Refused(
            f"{address}: expected a tally of the question {digest}, got one of {tally.question}; "
            "the server is not to be trusted",
            value=tally.question,
        )
    return tally, reply.days


def publish(address: str, question: Question, *, token: str | None = None) -> bool:
    """Let the collector at an address ask a question; false if it does so already.

    One that is there already stays as it is, closed or open. The token is of the role admin.
    """
    transport = Transport(address, token=token)
    reply = transport.request("POST", "/v1/questions", question.to_json().encode())
    _check(transport, reply, "admin")
    if question.digest.encode() not in reply.body:
        raise _no_collector(transport, "the digest of the question", reply)
    return reply.status == 201


def _no_collector(transport: Transport, expected: str, reply: Reply) -> Refused:
    return Refused(
        f"{transport.address}: expected {expected}, got something else; check that a collector is "
        "at this address",
        value=reply.status,
    )


def _check(transport: Transport, reply: Reply, role: str | None = None) -> None:
    """Refuse what is no success, with what to do about it where that is known."""
    if 200 <= reply.status < 300:
        return
    said = one_line(str(reply.problem.get("detail") or f"status {reply.status}"), _SAID_WIDTH)
    if role and reply.status == 401:
        said = f"a token of the role {role} is needed, and none came that is valid"
    if role and reply.status in (401, 403):
        said += (
            f"; make one where the collector runs, with `deniable token create NAME --role {role}`,"
            " and pass it as --token or DENIABLE_TOKEN, in Python as token="
        )
    elif not reply.problem:
        said += "; check that a collector is at this address"
    raise Refused(f"{transport.address}: {said}", value=reply.status)


def _enumerate(found: list[Listed]) -> str:
    if not found:
        return "no question is asked there"
    more = f" and {len(found) - _MOST_LISTED:,} more" if len(found) > _MOST_LISTED else ""
    return ", ".join(map(str, found[:_MOST_LISTED])) + more
