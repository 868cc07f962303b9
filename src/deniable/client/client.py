"""A person's client: it answers questions of one collector, and keeps what was spent on them."""

import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic

from deniable.client import delivery as machine
from deniable.client.delivery import Courier, Lost, Outcome, Parcel, Reply, Transport, Unsent
from deniable.client.state import Ledger, NoLedger
from deniable.errors import DeniableError, InvalidParameter, OutOfDomain
from deniable.policy import BUDGET, CEILING
from deniable.question import Question
from deniable.rota import arm_of, phase_of
from deniable.segments import MOST_CELLS
from deniable.validation import check_epsilon, check_number, check_whole

DIGEST = re.compile("[0-9a-f]{64}")


class NoQuestion(DeniableError):
    """The question could not be fetched, and nothing was drawn."""


class Client:
    """Answers the questions of one collector on behalf of one person.

    The ledger is a file of the person's own; clients of several collectors may share it.
    ``ceiling`` is the most epsilon that one question may ask for, whatever the server says, and
    ``budget`` the most of all questions in the ledger together, for ever: it does not renew. A new
    version of a question is another question and spends again. ``attempts`` is how often one call
    sends a report at most, ``most_cells`` into how many segments a question may divide people.
    """

    def __init__(  # noqa: PLR0913 - what the person allows, each by name
        self,
        address: str,
        ledger: Path | str,
        *,
        ceiling: float = CEILING,
        budget: float = BUDGET,
        attempts: int = 1,
        most_cells: int = MOST_CELLS,
    ) -> None:
        self.transport, self.ledger = Transport(address), Ledger(ledger)
        self.ceiling = check_epsilon(ceiling)
        self.attempts = check_whole("attempts", attempts, 1, 1000)
        self.budget = check_number("the budget", budget, "10 is usual")
        self.most_cells = check_whole("most_cells", most_cells, 0, MOST_CELLS)
        self._rest_until = 0.0

    def load(self, digest: str) -> Question:
        """Fetch a question that the caller names by its digest, and refuse any other."""
        return fetch_question(self.transport, digest, self.ceiling, self.most_cells)

    def answer(
        self,
        question: Question | str,
        answer: object,
        *,
        segment: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Answer a question once; another answer later changes nothing.

        With the question itself the report is drawn at once and only the report is kept: an answer
        given without a network arrives later, by ``flush``. With its digest alone the question is
        fetched first, and where that fails nothing of the answer is kept.

        A question with ``repeat`` is answered once in each turn of this device, and ``NOT_NOW`` or
        ``FINISHED`` at other times. Call this in every round, whatever the answer is: to call it
        only when the answer has changed would reveal that. ``segment`` names the public groups to
        which the person belongs, and nothing hides it.
        """
        digest = question if isinstance(question, str) else question.digest
        try:
            found = self.ledger.find(digest)
            if found is None and self.ledger.opted_out():
                return Outcome.OPTED_OUT
            # Whether there is another turn is not known without the question.
            if found is None or self.ledger.turn(digest) is not None:
                entered = self._enter(self._read(question), answer, segment)
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

    def arm(self, question: Question | str, arms: Sequence[str]) -> str:
        """Return the arm of an experiment to which this device belongs, always the same.

        It is drawn from the secret of the device, each arm with the same chance, and named as a
        segment when the question is answered.
        """
        digest = question if isinstance(question, str) else question.digest
        if isinstance(arms, str) or len(arms) < 2 or len(set(arms)) < len(arms):
            raise InvalidParameter.expected("two or more arms, each once", arms)
        return arms[arm_of(self.ledger.secret(), _check_digest(digest), len(arms))]

    def _read(self, question: Question | str) -> Question:
        """Read a question through the one door of a device, from wherever it comes."""
        if isinstance(question, str):
            return self.load(question)
        text, digest = question.to_json(), question.digest
        return Question.load(text, self.ceiling, digest=digest, most_cells=self.most_cells)

    def _enter(
        self, question: Question, answer: object, segment: Mapping[str, str] | None
    ) -> Outcome:
        """Draw a report and put it into the ledger; errors say nothing about the answer."""
        if not question.takes(answer):
            raise OutOfDomain(
                f"this answer to {question.name!r} is not {question.answers.wanted_of(answer)}; "
                "nothing was drawn or sent"
            )
        cell, turn = question.segments.encode(segment), self._turn(question)
        if isinstance(turn, Outcome):
            return turn
        report = cell + question.privatize([answer]).tobytes()
        parcel = Parcel(secrets.token_bytes(16), report, address=self.transport.address)
        if turn is not None:
            self.ledger.take(question.digest, parcel, turn)
            return Outcome.WAITING
        epsilon = question.total_epsilon
        return self.ledger.begin(question.digest, parcel, epsilon=epsilon, budget=self.budget)

    def _turn(self, question: Question) -> int | Outcome | None:
        """Return the turn that this device may take now or why it has none; None if asked once.

        What all turns spend is reserved when the question is first seen: a device whose turn is
        late would else meet a fuller budget than one whose turn is early.
        """
        repeat, digest = question.repeat, question.digest
        if repeat is None:
            return None
        epsilon = question.total_epsilon
        reserved = self.ledger.begin(digest, None, epsilon=epsilon, budget=self.budget)
        last = self.ledger.turn(digest)
        if reserved not in (Outcome.NOT_NOW, Outcome.ALREADY) or last is None:
            return reserved
        phase = phase_of(self.ledger.secret(), digest, repeat.rounds)
        stands = repeat.stands(phase, last, machine.utc_today())
        if isinstance(stands, int):
            return stands
        waits = isinstance(self.ledger.find(digest), Parcel)
        return Outcome.ALREADY if waits else Outcome(stands)

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
        notes = count(found.noted)
        courier = Courier(self.transport, digest, self.attempts)
        delivery = courier.deliver(
            found, lambda parcel: self.ledger.save(digest, parcel, next(notes))
        )
        if isinstance(delivery.event, Reply) and delivery.event.retry_after is not None:
            self._rest_until = monotonic() + delivery.event.retry_after
        # What cannot be noted now stays in doubt: the same bytes are sent again and count once.
        with suppress(NoLedger):
            if delivery.outcome is not Outcome.WAITING:
                self.ledger.settle(digest, delivery.outcome, next(notes))
            elif isinstance(mark := self.ledger.find(digest), Outcome):
                return mark, True  # by the person, or by another program
        return delivery.outcome, delivery.event != "offline"


def fetch_question(
    transport: Transport, digest: str, ceiling: float, most_cells: int = MOST_CELLS
) -> Question:
    """Fetch a question by its digest, and read it through the one door of a device."""
    _check_digest(digest)
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
    return Question.load(reply.body, ceiling, digest=digest, most_cells=most_cells)


def _check_digest(digest: str) -> str:
    # A text that is not a digest may be an answer in the wrong place: never send or show it.
    if not DIGEST.fullmatch(digest):
        raise InvalidParameter(
            "the question is not named by a digest, 64 hexadecimal digits in lower case; pass its "
            "digest or the question itself, and then the answer"
        )
    return digest
