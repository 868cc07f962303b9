"""A kind of answers whose values are rows, brought by another package, in a collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.cli import cli
from deniable.client import Client, Outcome, pull
from deniable.collector.settings import Settings
from deniable.errors import OutOfDomain
from deniable.question import Question
from tests.collector.conftest import Collector, start, today
from tests.walkthrough.package import installed


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector whose processes find the package."""
    path = tmp_path_factory.mktemp("collector")
    with installed(path, "ratings", "Ratings"):
        yield from start(Settings(store=str(path / "store.db"), port=0, minimum=10))


@pytest.fixture(scope="module")
def stars(collector: Collector) -> Question:
    """A question about two items that the collector asks, and that 3,000 people answered."""
    from ratings import Ratings  # noqa: PLC0415 - installed by the collector's fixture

    question = Question("stars", Ratings(("price", "taste"), 5), epsilon=2.0)
    document = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", document, role="admin").status == 201
    answers = [[5, 3]] * 2000 + [[1, 3]] * 1000
    reports = question.privatize(answers, np.random.default_rng(1)).tobytes()
    assert collector.submit(question, reports, role="relay").status == 204
    return question


def test_rows_are_submitted_and_estimated_over_http(collector: Collector, stars: Question) -> None:
    """Reports on rows are counted, and the results have the names that the kind gives them."""
    for answer in ([5, 3], "[1, 3]"):
        assert collector.submit(stars, stars.privatize([answer]).tobytes()).status == 204
    assert collector.submit(stars, b"\xff").problem == "invalid-report"
    path = f"/v1/questions/{stars.digest}/estimates"
    found = collector.request("GET", path, role="viewer").json
    rows = {row["label"]: row for row in found["estimates"]}
    assert list(rows) == list(stars.labels)
    assert abs(rows["taste: 3"]["count"] - 3002) < 5 * rows["taste: 3"]["std_error"]
    text = collector.request("GET", f"{path}?format=csv", role="viewer").body.decode()
    assert text.count("\n") == 11
    tally = pull(collector.address, stars.digest, token=collector.tokens["viewer"])
    assert [row["count"] for row in rows.values()] == stars.estimate(tally).counts.tolist()


def test_a_device_answers_with_a_row(collector: Collector, stars: Question, tmp_path: Path) -> None:
    """The client of programs takes what the question takes, and no error holds an answer."""
    client = Client(collector.address, tmp_path / "ledger.db")
    with pytest.raises(OutOfDomain, match="not a list of 2 whole numbers from 1 to 5; nothing"):
        client.answer(stars.digest, [7, 7])
    before = collector.n(stars)
    assert client.answer(stars.digest, [5, 3]) is Outcome.ANSWERED
    assert collector.n(stars) == before + 1


def test_a_file_of_rows_is_sent(
    collector: Collector, stars: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that sends a file of answers one by one takes rows as JSON."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.txt").write_text("[5, 3]\n" * 20, encoding="utf-8")
    before = collector.n(stars)
    line = ["send", collector.address, "people.txt", "--question", stars.digest]
    found = CliRunner().invoke(cli, line)
    assert found.exit_code == 0, found.stderr
    assert collector.n(stars) == before + 20


def test_every_page_of_the_question_is_shown(collector: Collector, stars: Question) -> None:
    """Pages show the rows of results, and say that browsers do not speak the protocol."""
    for path in (f"/questions/{stars.digest}", f"/questions/{stars.digest}?fragment", "/"):
        found = collector.request("GET", path, role="viewer")
        assert found.status == 200, (path, found.body[:500])
    assert b"taste: 3" in collector.request("GET", f"/questions/{stars.digest}", role="viewer").body
    tried = collector.request("GET", f"/try/{stars.digest}")
    assert tried.status == 200
    assert b"RatingByLot" in tried.body
    days = f"/questions/{stars.digest}?from={today()}&to={today()}"
    assert collector.request("GET", days, role="viewer").status == 200


def test_the_document_is_served_as_it_came(collector: Collector, stars: Question) -> None:
    """Version 2 of the document is stored and given out to the byte."""
    found = collector.request("GET", f"/v1/questions/{stars.digest}")
    assert found.body.decode() == stars.to_json()
    assert json.loads(found.body)["version"] == 2
