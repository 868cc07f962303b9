"""The whole story in one function, in the order in which it happens."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from deniable import DE, OLH, OUE, RAPPOR, Estimates, OpenLH, Question, Tally

FRUIT = ("kiwi", "fig", "plum", "other")


def run_survey(
    question: Question,
    answers: Iterable[str],
    rng: np.random.Generator,
    carry: Callable[[bytes], bytes] = lambda data: data,
) -> Estimates:
    """Ask a question: from the answers that people hold to the estimates that the analyst sees.

    ``carry`` takes bytes from one side to the other; what arrives is not trusted. The generator
    stands for the devices' own randomness, which a real survey leaves to the operating system.
    """
    # The analyst publishes the question. Its digest keeps the sides from mixing parameters.
    published = carry(question.to_json().encode())

    # On each person's device: load the question, perturb the answer, send the report.
    on_the_wire = []
    for answer in answers:
        asked = Question.from_json(published)
        assert asked.digest == question.digest
        report = asked.privatize([answer], rng)
        on_the_wire.append(carry(report.tobytes()))

    # On two servers: bytes enter by one door, one report at a time, and are summed.
    servers = [question.accumulator(), question.accumulator()]
    for number, data in enumerate(on_the_wire):
        servers[number % 2].add(question.parse(data, count=1))

    # Tallies are what is stored and moved; they add in any order.
    first, second = (Tally.from_bytes(carry(server.tally().to_bytes())) for server in servers)
    total = first + second
    servers[0].merge(second)
    assert servers[0].tally().to_bytes() == total.to_bytes()

    # Once, by the analyst: unbiased counts with their errors.
    return question.estimate(total, FRUIT)


@pytest.mark.parametrize(
    "question",
    [
        Question("fruit", FRUIT, DE(2.0, 4), other="other"),
        Question("fruit", FRUIT, OUE(2.0, 4)),
        Question("fruit", FRUIT, OLH(2.0, 4)),
        Question("fruit", None, OpenLH(2.0)),
        Question("fruit", None, RAPPOR(epsilon=4.0, bits=32, cohorts=4)),
    ],
    ids=lambda question: question.protocol.name,
)
def test_the_story(question: Question) -> None:
    """People answer, reports travel, and the counts come out within their errors."""
    answers = ["kiwi"] * 700 + ["fig"] * 250 + ["plum"] * 50
    found = run_survey(question, answers, np.random.default_rng(20))
    assert found.labels == FRUIT
    assert found.n == 1000
    assert found.provenance.digest == question.digest
    assert np.all(np.abs(found.counts - [700, 250, 50, 0]) < 5 * found.std_errors)
