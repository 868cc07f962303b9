"""From a word that nobody listed to a closed question: browsers, collector, dashboard, one click.

A person pastes what the dashboard shows into a site, somebody answers there in a real browser, and
20,000 more people send one report each, as browsers do. Then the page of the question is read.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from deniable import Discovery, Question, Text
from deniable.collector.settings import Settings
from tests import components
from tests.browser.conftest import ARGUMENTS
from tests.browser.dashboard import Visit, send_people, site_with, until
from tests.collector.conftest import start

PEOPLE, EPSILON = 20_000, 4.0
LEAST, COVERED = 10, 0.85
"""How many words a dashboard has to name, and which part of their intervals hold the truth."""
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pa", "ri", "so", "ta", "ve")
WORDS = tuple(a + b for a in SYLLABLES[:6] for b in SYLLABLES[5:])
"""Words of no list that a server has."""
_SECONDS = 400.0
"""How long to wait for a search, which gives way to everything else."""

Row = dict[str, object]


def ask(seed: int) -> Question:
    """Return a question for words."""
    protocol = Discovery(EPSILON, salt=f"{seed:016x}")
    return Question("new words", Text(discover="english"), protocol)


def draw(seed: int) -> tuple[dict[str, int], list[str], np.random.Generator]:
    """Return how many people gave each word, the words in a drawn order, and what drew them."""
    rng = np.random.default_rng(seed)
    shares: npt.NDArray[np.float64] = np.arange(1, len(WORDS) + 1) ** -0.8
    counts = rng.multinomial(PEOPLE, shares / shares.sum())
    answers = rng.permutation(np.repeat(WORDS, counts)).tolist()
    return dict(zip(WORDS, counts.tolist(), strict=True)), answers, rng


def walk(visit: Visit, seed: int) -> Row:
    """Walk from the question to the closed one that follows, in a browser that nobody knows."""
    question, collector = ask(seed), visit.collector
    path = f"{collector.address}/questions/{question.digest}"
    asked = collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    assert asked.status == 201, asked.body
    page = visit.log_in()
    page.goto(f"{path}/collect")
    pasted = page.locator("#snippet").inner_text()
    held, answers, rng = draw(seed)
    held[WORDS[0]] += 1
    _answer(visit, pasted, WORDS[0])
    send_people(collector, question, answers, rng)
    began = time.perf_counter()
    page.goto(path)
    while not page.locator("text=Texts that are sure").count():
        assert time.perf_counter() - began < _SECONDS, page.locator("main").inner_text()
        page.wait_for_timeout(2000)
        page.reload()
    seconds = time.perf_counter() - began
    named = page.locator("section[aria-labelledby=shares] th[scope=row]").all_inner_texts()
    numbers = f"/v1/questions/{question.digest}/discoveries"
    found = collector.request("GET", numbers, role="viewer").json
    rows = [row for row in found["discoveries"] if row["sure"]]
    assert [row["label"] for row in rows] == named, "the page and the data differ"
    page.click("text=Make a closed question of these")
    page.wait_for_url("**/collect")
    digest = page.url.split("/")[-2]
    closed = json.loads(collector.request("GET", f"/v1/questions/{digest}").body)
    assert visit.violations() == []
    return {
        "seed": seed, "n": found["n"], "alpha": found["alpha"], "named": len(named),
        "false": sum(not held.get(word) for word in named),
        "covered": sum(row["lower"] <= held.get(row["label"], 0) <= row["upper"] for row in rows),
        "intervals": len(rows), "closed": closed["labels"] == [*named, "(other)"],
        "seconds": round(seconds, 1),
    }  # fmt: skip


def _answer(visit: Visit, pasted: str, word: str) -> None:
    """Answer on a site that has pasted the form."""
    with site_with(pasted, visit.collector).running() as site:
        page = visit.context.new_page()
        page.goto(site.url)
        until(page, "!document.querySelector('form button').disabled")
        page.fill("form input", word)
        page.click("form button")
        until(page, "outcomes.length > 0")
        assert page.evaluate("outcomes") == ["answered"]
        page.close()


def run(seeds: int) -> Iterator[Row]:
    """Walk with each seed, in a new profile on one collector."""
    from playwright import sync_api  # noqa: PLC0415 - absent where no browser is driven

    with tempfile.TemporaryDirectory() as folder, sync_api.sync_playwright() as playwright:
        path = components.browser()
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        with _running(Settings(store=f"{folder}/store.db", port=0)) as collector:
            for seed in range(seeds):
                context = browser.new_context()
                yield walk(Visit(context, collector), seed)
                context.close()
        browser.close()


_running = contextmanager(start)
"""A collector that ends where its block does."""


def holds(rows: list[Row]) -> bool:
    """Tell whether every walk names enough words and ends with the question, and intervals hold."""

    def of(name: str) -> list[int]:
        return [int(str(row[name])) for row in rows]

    covered = sum(of("covered")) >= COVERED * sum(of("intervals"))
    return covered and min(of("named")) >= LEAST and all(row["closed"] for row in rows)
