"""The journey of words that nobody listed: browsers, search, dashboard, closed question."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import Discovery, Question, Text
from deniable.collector.pages.embed import _form, _tag
from deniable.collector.settings import Settings
from tests.browser.dashboard import Visit, site_with, until
from tests.collector.conftest import start

pytestmark = [pytest.mark.browser, pytest.mark.long("searches of full size")]

PEOPLE = 20_000
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pa", "ri", "so", "ta", "ve")
WORDS = [a + b for a in SYLLABLES[:6] for b in SYLLABLES[5:]]
"""Words of no list that a server has."""
SHARES = np.array([1 / (i + 1) ** 0.8 for i in range(len(WORDS))])
SHARES /= SHARES.sum()


def crowd(question, seed):
    """Return how many people gave each word, and their reports."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(PEOPLE, SHARES)
    values = question.values(WORDS)
    reports = question.protocol.privatize(np.repeat(values, counts, axis=0), rng)
    return dict(zip(WORDS, counts.tolist(), strict=True)), rng.permutation(reports)


def words(salt):
    """Return a question for words, at epsilon 4."""
    return Question("new words", Text(discover="english"), Discovery(4.0, salt=salt))


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return one collector for the tests of this file."""
    path: Path = tmp_path_factory.mktemp("words") / "store.db"
    yield from start(Settings(store=str(path), port=0))


def test_words_of_browsers_are_named_and_asked_about_again(context, collector) -> None:
    """20,000 people and a real browser answer; ten words are named, and one click asks again."""
    question, visit = words("0" * 16), Visit(context, collector)
    asked = collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    assert asked.status == 201, asked.body
    pasted = _form("ask", question) + _tag("ask", collector.address, question)
    with site_with(pasted, collector).running() as site:
        page = context.new_page()
        page.goto(site.url)
        until(page, "!document.querySelector('form button').disabled")
        page.fill("form input", WORDS[0])
        page.click("form button")
        until(page, "outcomes.length > 0")
        assert page.evaluate("outcomes") == ["answered"]
        page.close()
    held, reports = crowd(question, 1)
    for start_at in range(0, PEOPLE, 2000):
        some = reports[start_at : start_at + 2000].tobytes()
        assert collector.submit(question, some, role="relay").status == 204
    page = visit.log_in()
    page.goto(f"{collector.address}/questions/{question.digest}")
    for _ in range(200):
        if page.locator("text=Texts that are sure").count():
            break
        page.wait_for_timeout(2000)
        page.reload()
    named = page.locator("section[aria-labelledby=shares] th[scope=row]").all_inner_texts()
    assert sum(held.get(word, 0) > 0 for word in named) >= 10
    page.click("text=Make a closed question of these")
    page.wait_for_url("**/collect")
    digest = page.url.split("/")[-2]
    closed = json.loads(collector.request("GET", f"/v1/questions/{digest}").body)
    assert closed["labels"] == [*named, "(other)"]
    assert visit.violations() == []


def test_intervals_of_five_crowds_hold_the_truth() -> None:
    """At least 85 % of the intervals of sure words hold how many people gave them."""
    held = covered = 0
    for seed in range(5):
        question = words(f"{seed:016x}")
        true, reports = crowd(question, seed)
        rows = [row for row in question.discover(question.tally(reports)) if row.sure]
        assert sum(row.label in true for row in rows) >= 10
        held += len(rows)
        covered += sum(row.lower <= true.get(row.label, 0) <= row.upper for row in rows)
    assert covered >= 0.85 * held
