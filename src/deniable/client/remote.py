"""A collector from afar, for the people who ask the questions.

::

    publish("https://counts.example.org", Question.open("fruit.json"), token=admin)
    tally = pull("https://counts.example.org", "fruit", token=viewer)

A device needs neither of these, and no token.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from deniable.client.client import DIGEST
from deniable.client.delivery import Reply, Transport
from deniable.errors import DeniableError
from deniable.memory import RAISE_IT, memory_budget
from deniable.presentation.text import one_line
from deniable.question import Question
from deniable.tally import Tally

_PREFIX = re.compile("[0-9a-f]{4,63}")
_MOST_LISTED = 10
_SAID_WIDTH = 500
_DIGITS_SHOWN, _NAME_WIDTH = 16, 60


class Refused(DeniableError):
    """A collector did not do what it was asked to; ``value`` is the status of its reply."""


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

    A whole digest is taken as it is. For anything else the collector is asked, and believed: name
    the whole digest where it must not be trusted.
    """
    wanted = named.strip().rstrip("….")
    if DIGEST.fullmatch(wanted.lower()):
        return wanted.lower()
    known = listed(transport)
    start = (wanted.lower(),) if _PREFIX.fullmatch(wanted.lower()) else ()
    found = [each for each in known if each.name == named or each.digest.startswith(start)]
    if len(found) == 1:
        return found[0].digest
    remedy = (
        "names no question; name one by its whole name, its digest, or at least the first four "
        "digits of it"
    )
    if found:
        remedy = f"names {len(found)} questions; name one by more digits of its digest"
    raise Refused(
        f"{transport.address}: {named[:80]!r} {remedy}: {_enumerate(found or known)}", value=named
    )


@dataclass(frozen=True)
class Part:
    """A part of what was collected: days, both included, or a round, and the values of segments.

    Without any of them it is everything.
    """

    first: date | str | None = None
    last: date | str | None = None
    round: int | None = None
    segment: Sequence[Sequence[str]] = ()

    def query(self) -> str:
        named = (("from", self.first), ("to", self.last), ("round", self.round))
        pairs = [(name, str(value)) for name, value in named if value is not None]
        return urlencode([*pairs, *(("segment", ":".join(pair)) for pair in self.segment)])


def pull(  # noqa: PLR0913 - the parts of a question, each by name
    address: str,
    question: str | Question,
    *,
    first: date | str | None = None,
    last: date | str | None = None,
    round: int | None = None,
    segment: Mapping[str, str] | None = None,
    token: str | None = None,
) -> Tally:
    """Return the tally of a question from the collector at an address.

    The question is itself, or named as ``find`` takes it. ``first`` and ``last`` are days, both
    included; all days without. ``round`` is one of a question that is asked again, ``segment``
    the values of dimensions to which people belong. The token is of the role viewer.
    """
    part = Part(first, last, round, tuple((segment or {}).items()))
    return pull_part(address, question, part, token=token)[0]


def pull_part(
    address: str, question: str | Question, part: Part, *, token: str | None = None
) -> tuple[Tally, int | None]:
    """Return the tally of a part, and on how many days its reports came, if the collector says so.

    Of people who may answer again these are the rounds: ``question.estimate(tally, rounds=days)``.
    """
    transport = Transport(address, token=token)
    digest = question.digest if isinstance(question, Question) else find(transport, question)
    path, most = f"/v1/questions/{digest}/tally?{part.query()}", memory_budget()
    reply = transport.request("GET", path, most=most + 1)
    _check(transport, reply, "viewer")
    if len(reply.body) > most:
        raise Refused(
            f"{address}: the tally is larger than the memory budget of {most:,} bytes; {RAISE_IT}",
            value=reply.status,
        )
    tally = Tally.from_bytes(reply.body)
    if tally.question != digest:
        raise Refused(
            f"{address}: expected a tally of the question {digest}, got one of {tally.question}; "
            "do not trust the server",
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
        f"{transport.address}: the reply is not {expected}; check that a collector is at this "
        "address",
        value=reply.status,
    )


def _check(transport: Transport, reply: Reply, role: str | None = None) -> None:
    """Refuse a reply that is not a success, and say what to do about it where that is known."""
    if 200 <= reply.status < 300:
        return
    said = one_line(str(reply.problem.get("detail") or f"status {reply.status}"), _SAID_WIDTH)
    if role and reply.status == 401:
        said = f"this needs a valid token of the role {role}"
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
