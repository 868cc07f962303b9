"""A person's client: answers each question once, within the policy of the device."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic

from deniable.client.courier import Courier, Parcel
from deniable.client.delivery import Outcome
from deniable.client.state import Ledger, NoLedger
from deniable.client.transport import Lost, Reply, Transport, Unsent
from deniable.errors import DeniableError, InvalidParameter, OutOfDomain
from deniable.policy import BUDGET, CEILING
from deniable.question import Question
from deniable.validation import check_epsilon, check_number, check_whole

_DIGEST = re.compile("[0-9a-f]{64}")


class NoQuestion(DeniableError):
    """The question could not be fetched, so that nothing was drawn."""


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

        With the question itself the report is drawn at once and only the report is kept, so that an
        answer given without a network arrives later, by ``flush``. With its digest alone the
        question is fetched first, and where that fails nothing is kept of the answer.
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
        """Read a question through the one door of a device, wherever it comes from."""
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
            return Outcome.NO_STORAGE, True  # somebody took the row away
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
        # What cannot be noted now stays in doubt: the same bytes go again, and count once.
        with suppress(NoLedger):
            if delivery.outcome is not Outcome.WAITING:
                self.ledger.settle(digest, delivery.outcome, next(turns))
            elif isinstance(mark := self.ledger.find(digest), Outcome):
                return mark, True  # by the person, or by another program
        return delivery.outcome, delivery.event != "offline"


def fetch_question(transport: Transport, digest: str, ceiling: float) -> Question:
    """Fetch a question by its digest, and read it through the one door of a device."""
    # What is no digest may be an answer in the wrong place: it must not leave, nor be shown.
    if not _DIGEST.fullmatch(digest):
        raise InvalidParameter(
            "the question is not named by a digest, 64 hexadecimal digits in lower case; pass that "
            "or the question itself, and the answer after it"
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
