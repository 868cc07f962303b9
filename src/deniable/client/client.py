"""A person's client, and a collector from afar for the people who ask the questions.

::

    publish("https://counts.example.org", Question.open("fruit.json"), token=admin)
    tally = pull("https://counts.example.org", "fruit", token=viewer)

A device needs none of these two, and no token.
"""

import json
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import count
from pathlib import Path
from time import monotonic
from urllib.parse import urlencode

from deniable.client.delivery import Courier, Outcome, Parcel
from deniable.client.state import Ledger, NoLedger
from deniable.client.transport import Lost, Reply, Transport, Unsent
from deniable.errors import DeniableError, InvalidParameter, OutOfDomain
from deniable.memory import RAISE_IT, memory_budget
from deniable.policy import BUDGET, CEILING
from deniable.presentation.text import one_line
from deniable.question import Question
from deniable.tally import Tally
from deniable.validation import check_epsilon, check_number, check_whole

_DIGEST = re.compile("[0-9a-f]{64}")
_PREFIX = re.compile("[0-9a-f]{4,63}")
_MOST_LISTED = 10
_SAID_WIDTH = 500
_DIGITS_SHOWN, _NAME_WIDTH = 16, 60


class NoQuestion(DeniableError):
    """The question could not be fetched, and nothing was drawn."""


class Client:
    """Answers the questions of one collector on behalf of one person.

    The ledger is a file of the person's own; clients of several collectors may share it.
    ``ceiling`` is the most epsilon that one question may ask for, whatever the server says, and
    ``budget`` the most of all questions in the ledger together. A new version of a question is
    another question and spends again. ``attempts`` is how often one call sends a report at most.
    """

    def __init__(
        self,
        address: str,
        ledger: Path | str,
        *,
        ceiling: float = CEILING,
        budget: float = BUDGET,
        attempts: int = 1,
    ) -> None:
        self.transport, self.ledger = Transport(address), Ledger(ledger)
        self.ceiling = check_epsilon(ceiling)
        self.attempts = check_whole("attempts", attempts, 1, 1000)
        self.budget = check_number("the budget", budget, "10 is usual")
        self._rest_until = 0.0

    def load(self, digest: str) -> Question:
        """Fetch a question that the caller names by its digest, and refuse any other."""
        return fetch_question(self.transport, digest, self.ceiling)

    def answer(self, question: Question | str, answer: object) -> Outcome:
        """Answer a question once; another answer later changes nothing.

        With the question itself the report is drawn at once and only the report is kept: an answer
        given without a network arrives later, by ``flush``. With its digest alone the question is
        fetched first, and where that fails nothing of the answer is kept.
        """
        digest = question if isinstance(question, str) else question.digest
        try:
            found = self.ledger.find(digest)
            if found is None and self.ledger.opted_out():
                return Outcome.OPTED_OUT
            if found is None:
                entered = self._enter(self._read(question), answer)
                if entered not in (Outcome.WAITING, Outcome.ALREADY):
                    return entered
            return self._deliver(digest)[0]
        except NoLedger:
            return Outcome.NO_STORAGE
        finally:
            self.transport.close()

    def flush(self) -> dict[str, Outcome]:
        """Send what waits, and return how each delivery stands.

        Call it when the program starts, and now and then. Nothing is sent as long as the collector
        asked this client to wait; when it cannot be reached, the rest is not tried.
        """
        ends: dict[str, Outcome] = {}
        reached = True
        try:
            for digest in self.ledger.waiting(self.transport.address):
                ends[digest] = Outcome.WAITING
                if reached:
                    try:
                        ends[digest], reached = self._deliver(digest)
                    except NoLedger:
                        ends[digest] = Outcome.NO_STORAGE
        finally:
            self.transport.close()
        return ends

    def opt_out(self, out: bool = True) -> None:
        """Send nothing from now on and forget the reports that wait; False takes it back."""
        self.ledger.opt_out(out)

    def _read(self, question: Question | str) -> Question:
        """Read a question through the one door of a device, from wherever it comes."""
        if isinstance(question, str):
            return self.load(question)
        return Question.load(question.to_json(), self.ceiling, digest=question.digest)

    def _enter(self, question: Question, answer: object) -> Outcome:
        """Draw a report and put it into the ledger; errors say nothing about the answer."""
        if not question.takes(answer):
            raise OutOfDomain(
                f"this answer to {question.name!r} is not {question.answers.wanted}; nothing was "
                "drawn or sent"
            )
        report = question.privatize([answer]).tobytes()
        parcel = Parcel(secrets.token_bytes(16), report, address=self.transport.address)
        epsilon = question.protocol.total_epsilon
        return self.ledger.begin(question.digest, parcel, epsilon=epsilon, budget=self.budget)

    def _deliver(self, digest: str) -> tuple[Outcome, bool]:
        """Deliver what waits; tell how the answer stands, and whether the collector is there."""
        found = self.ledger.find(digest)
        if found is None:
            return Outcome.NO_STORAGE, True  # somebody removed the row
        if isinstance(found, Outcome):
            return Outcome.ALREADY if found is Outcome.ANSWERED else found, True
        elsewhere = found.address not in (None, self.transport.address)
        if elsewhere or monotonic() < self._rest_until:
            return Outcome.WAITING, True
        turns = count(found.turn)
        courier = Courier(self.transport, digest, self.attempts)
        delivery = courier.deliver(
            found, lambda parcel: self.ledger.save(digest, parcel, next(turns))
        )
        if isinstance(delivery.event, Reply) and delivery.event.retry_after is not None:
            self._rest_until = monotonic() + delivery.event.retry_after
        # What cannot be noted now stays in doubt: the same bytes are sent again and count once.
        with suppress(NoLedger):
            if delivery.outcome is not Outcome.WAITING:
                self.ledger.settle(digest, delivery.outcome, next(turns))
            elif isinstance(mark := self.ledger.find(digest), Outcome):
                return mark, True  # by the person, or by another program
        return delivery.outcome, delivery.event != "offline"


def fetch_question(transport: Transport, digest: str, ceiling: float) -> Question:
    """Fetch a question by its digest, and read it through the one door of a device."""
    # A text that is not a digest may be an answer in the wrong place: never send or show it.
    if not _DIGEST.fullmatch(digest):
        raise InvalidParameter(
            "the question is not named by a digest, 64 hexadecimal digits in lower case; pass its "
            "digest or the question itself, and then the answer"
        )
    try:
        reply = transport.request("GET", f"/v1/questions/{digest}")
        said = "" if reply.status == 200 else f"status {reply.status} {reply.kind}".strip()
    except (Unsent, Lost) as error:
        reply, said = Reply(0), str(error)
    if said:
        raise NoQuestion(
            f"the question {digest} could not be fetched from {transport.address} ({said}); "
            "nothing was drawn, kept or sent: check address and digest, or pass the question "
            "itself, which needs no network",
            value=digest,
        )
    return Question.load(reply.body, ceiling, digest=digest)


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

    A whole digest is taken as it is. For anything else the collector is asked, and believed: name
    the whole digest where it must not be trusted.
    """
    wanted = named.strip().rstrip("….")
    if _DIGEST.fullmatch(wanted.lower()):
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
