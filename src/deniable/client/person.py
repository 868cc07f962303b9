"""A person's client: answers each question once, within a ceiling and a budget of epsilon."""

from __future__ import annotations

import secrets
from pathlib import Path

from deniable.client.courier import Courier, Outcome, Parcel
from deniable.client.ledger import Ledger
from deniable.client.transport import Transport
from deniable.errors import DeniableError, InvalidDocument
from deniable.question import Question

CEILING = 4.0
BUDGET = 16.0


class Overspent(DeniableError, ValueError):
    """The question asks for more epsilon than the client is willing to spend."""


class Client:
    """Answers the questions of one collector on behalf of one person.

    ``ceiling`` is the largest epsilon of one question that this client accepts, whatever the server
    says; ``budget`` limits the sum over all questions in the ledger. A new version of a question is
    another question and spends again.
    """

    def __init__(
        self, address: str, ledger: Path | str, *, ceiling: float = CEILING, budget: float = BUDGET
    ) -> None:
        self.transport, self.ledger = Transport(address), Ledger(ledger)
        self.ceiling, self.budget = ceiling, budget

    def load(self, digest: str) -> Question:
        """Fetch a question that the caller names by its digest, and refuse any other."""
        return load_question(self.transport, digest, self.ceiling)

    def answer(self, digest: str, answer: str) -> Outcome:
        """Answer a question once; another answer later changes nothing.

        The report is drawn and stored before it is sent. What is pending is sent by ``flush``.
        """
        if self.ledger.find(digest) is None:
            question = self.load(digest)
            epsilon = question.protocol.epsilon
            parcel = Parcel(secrets.token_bytes(16), question.privatize([answer]).tobytes())
            entered = self.ledger.begin(digest, parcel, epsilon=epsilon, budget=self.budget)
            if not entered and self.ledger.find(digest) is None:
                raise Overspent(
                    f"expected epsilon within the budget of {self.budget:g}, got {epsilon:g} "
                    f"beyond the {self.ledger.spent():g} that are spent; nothing was sent",
                    value=epsilon,
                )
        return self._deliver(digest)

    def flush(self) -> dict[str, Outcome]:
        """Send what is pending, and return how each delivery ended."""
        return {digest: self._deliver(digest) for digest in self.ledger.pending()}

    def _deliver(self, digest: str) -> Outcome:
        found = self.ledger.find(digest)
        assert found is not None
        said, parcel = found
        if parcel is None:
            return Outcome(said)
        delivery = Courier(self.transport, digest).deliver(
            parcel, lambda parcel: self.ledger.save(digest, parcel)
        )
        outcome = delivery.outcome
        if outcome.final:
            self.ledger.settle(digest, outcome.value)
        return outcome


def load_question(transport: Transport, digest: str, ceiling: float) -> Question:
    """Fetch a question by its digest; refuse another one, or an epsilon above the ceiling."""
    reply = transport.request("GET", f"/v1/questions/{digest}")
    if reply.status != 200:
        raise InvalidDocument(
            f"expected the question {digest} from {transport.address}, got status {reply.status} "
            f"{reply.kind}; check the address and the digest",
            value=reply.status,
        )
    question = Question.from_json(reply.body)
    if question.digest != digest:
        raise InvalidDocument(
            f"expected the question {digest}, got {question.digest}; the server is not to be "
            "trusted",
            value=question.digest,
        )
    if not question.protocol.epsilon <= ceiling:
        raise Overspent(
            f"expected an epsilon of at most {ceiling:g}, got {question.protocol.epsilon:g}; "
            "raise the ceiling if the people who answer agree",
            value=question.protocol.epsilon,
        )
    return question
