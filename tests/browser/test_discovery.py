"""The journey of words that nobody listed: browsers, search, dashboard, closed question."""

from pathlib import Path

import pytest

from benchmarks.discovery.journey import COVERED, LEAST, ask, draw, holds, walk
from deniable.collector.settings import Settings
from tests.browser.dashboard import Visit
from tests.collector.conftest import start

pytestmark = [pytest.mark.browser, pytest.mark.long("searches of full size")]


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return one collector for the tests of this file."""
    path: Path = tmp_path_factory.mktemp("words") / "store.db"
    yield from start(Settings(store=str(path), port=0))


def test_words_of_browsers_are_named_and_asked_about_again(context, collector) -> None:
    """20,000 people and a real browser answer; ten words are named, and one click asks again."""
    row = walk(Visit(context, collector), 1)
    assert row["false"] == 0
    assert holds([row]), row


def test_intervals_of_five_crowds_hold_the_truth() -> None:
    """At least 85 % of the intervals of sure words hold how many people gave them."""
    held = covered = 0
    for seed in range(5):
        question, (true, answers, rng) = ask(seed), draw(seed)
        tally = question.tally(question.privatize(answers, rng))
        rows = [row for row in question.discover(tally) if row.sure]
        assert sum(row.label in true for row in rows) >= LEAST
        held += len(rows)
        covered += sum(row.lower <= true.get(row.label, 0) <= row.upper for row in rows)
    assert covered >= COVERED * held


def test_journey_is_held_to_what_it_promises() -> None:
    """Nine words, five of six intervals, or another closed question are not enough."""
    row = {"named": 20, "covered": 18, "intervals": 20, "closed": True}
    assert holds([row])
    for less in ({"named": 9}, {"covered": 16}, {"closed": False}):
        assert not holds([row, row | less, row | less])
