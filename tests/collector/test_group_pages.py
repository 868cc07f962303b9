"""What the dashboard shows of rounds and groups."""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np

from deniable import DE, Number, Question
from deniable.rota import Repeat
from tests.collector.conftest import Collector, today


def test_a_page_shows_rounds_groups_and_a_verdict(collector: Collector) -> None:
    """Rounds as points, what changed this round, values on one scale, and arms with a verdict."""
    first = date.fromisoformat(today(-4))
    question = Question(
        "crashes", ("never", "often"), DE(3.0, 2),
        repeat=Repeat(first.isoformat(), every=2, rounds=3),
        segments={"platform": ("linux", "mac"), "arm": ("A", "B")},
    )  # fmt: skip
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    rng = np.random.default_rng(1)
    for number in range(3):
        day = (first + timedelta(days=2 * number)).isoformat()
        for cell, n in ((0, 500), (1, 500), (2, 30)):
            share = 0.3 + 0.2 * number + 0.2 * (cell % 2)
            reports = question.protocol.privatize(
                (rng.random(n) > share).astype(int), rng
            ).tobytes()
            sent = question.segments.join(cell, reports, 1)
            assert collector.submit(question, sent, role="relay", day=day).status == 204
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer")
    shown = page.body.decode()
    assert page.status == 200
    for wanted in ("Round by round", "this round vs the one before", "since the round before",
                   "By platform", "By arm", "Experiment: arm", "B differs from A:",
                   "more are needed, because of the error"):  # fmt: skip
        assert wanted in shown, wanted
    assert "Day by day" not in shown
    assert shown.count('class="multiple"') == 4


def test_groups_that_are_all_too_small_are_said_in_words(collector: Collector) -> None:
    """How many reports a group needs, how many the largest lacks, and no chart without bars."""
    question = Question("small", ("never", "often"), DE(3.0, 2),
                        segments={"os": ("linux", "mac", "beos")})  # fmt: skip
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    rng = np.random.default_rng(4)
    for cell, n in ((0, 110), (1, 100), (2, 7)):
        reports = question.protocol.privatize(rng.integers(0, 2, n), rng).tobytes()
        sent = question.segments.join(cell, reports, 1)
        assert collector.submit(question, sent, role="relay").status == 204
    path = f"/questions/{question.digest}"
    page = collector.request("GET", path, role="viewer").body.decode()
    said = re.sub(r"<[^>]+>", "", page)
    assert "No group can be shown yet: each needs 123 reports, since" in said
    assert "The largest, linux, has 110, and 13 more are needed." in said
    assert "fewer and coarser values" in said
    assert "fewer than 20 reports, such as beos, nearly name a person" in said
    assert 'class="multiple"' not in page  # nor all the small groups together, which are everybody
    table = page.split("<summary>Reports by os</summary>")[1].split("</table>")[0]
    assert re.findall(r'data-head="Reports">(\d+)<', table) == ["110", "100", "7"]
    assert re.findall(r'data-head="More needed">(\d+)<', table) == ["13", "23", "116"]
    reports = question.protocol.privatize(rng.integers(0, 2, 13), rng).tobytes()
    sent = question.segments.join(0, reports, 1)
    assert collector.submit(question, sent, role="relay").status == 204
    page = collector.request("GET", path, role="viewer").body.decode()
    assert "No group can be shown yet" not in page
    assert 'class="multiple"' in page


def test_all_panels_have_the_same_answers_in_one_order(collector: Collector) -> None:
    """They are the largest of all people, it is said of how many, and how values are compared."""
    labels = tuple(f"answer {i:02}" for i in range(16))
    question = Question("many", labels, DE(5.0, 16), segments={"os": ("linux", "mac", "beos")},
                        repeat=Repeat(today(-1), every=1, rounds=4))  # fmt: skip
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    rng = np.random.default_rng(2)
    weights = np.arange(16, 0, -1) / 136
    for day in (today(-1), today()):
        for cell, chances in ((0, weights), (1, weights[::-1])):
            drawn = rng.choice(16, 3000 if cell == 0 else 1000, p=chances)
            reports = question.protocol.privatize(drawn, rng).tobytes()
            sent = question.segments.join(cell, reports, 1)
            assert collector.submit(question, sent, role="relay", day=day).status == 204
    sent = question.segments.join(2, question.protocol.privatize([0, 1], rng).tobytes(), 1)
    assert collector.submit(question, sent, role="relay").status == 204
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    panels = [re.findall(r"answer \d\d", each) for each in page.split('class="multiple"')[1:3]]
    assert len(set(panels[0])) == 12
    assert panels[0] == panels[1]
    assert "the 12 most frequent of 16 answers of all people, the other 4 below" in page
    (every,) = re.findall(r"<summary>All 16 answers by os</summary>.*?</table>", page, re.DOTALL)
    assert sorted(re.findall(r"<bdi>(answer \d\d)", every)) == sorted(labels)
    assert every.count('data-head="mac"') == every.count('data-head="linux"') == 16
    assert re.search(r"\d %<small>\d", every.replace("\u00a0", " "))
    assert f"/v1/questions/{question.digest}/estimates?by=os&amp;format=csv" in page
    assert "the 6 most frequent of 16 answers" in page
    assert f'download="estimates-by-os-{question.digest[:8]}.csv"' in page
    assert "only groups called arm, variant or experiment" in page
    assert "fewer than 20 reports so far: if it stays so" in page


def test_a_rare_answer_that_changed_is_followed_too(collector: Collector) -> None:
    """It takes the place of the last of the most frequent ones."""
    labels = tuple(f"answer {i:02}" for i in range(12))
    question = Question("news", labels, DE(5.0, 12), repeat=Repeat(today(-1), every=1, rounds=4))
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    rng, weights = np.random.default_rng(3), np.arange(12, 0, -1) / 78
    for day in (today(-1), today()):
        reports = question.protocol.privatize(rng.choice(12, 4000, p=weights), rng).tobytes()
        assert collector.submit(question, reports, role="relay", day=day).status == 204
        weights[0], weights[11] = weights[0] - 0.05, weights[11] + 0.05
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert "the 5 most frequent of 12 answers, and 1 that changed" in page
    curves = page.split("Round by round")[1].split("</section>")[0]
    assert "answer 11" in curves
    assert len(set(re.findall(r"answer \d\d", curves))) == 6


def test_numbers_are_compared_by_their_means(collector: Collector) -> None:
    """The arms, and two days, by the mean and not by single steps."""
    times = Number(0, 10_000, step=100, unit="ms")
    question = Question("load", times, epsilon=4.0, segments={"arm": ("A", "B")})
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    rng = np.random.default_rng(3)
    for day, factor in ((today(-1), 1.5), (today(), 1.0)):
        for cell, mean in ((0, 2500), (1, 1500)):
            reports = question.privatize(factor * mean * rng.gamma(4, 0.25, 3000), rng)
            sent = question.segments.join(cell, reports.tobytes(), reports.itemsize)
            assert collector.submit(question, sent, role="relay", day=day).status == 204
    path = f"/questions/{question.digest}?from={today()}&compare_to={today(-1)}"
    page = collector.request("GET", path, role="viewer").body.decode()
    assert re.search(r"B differs from A: mean -[\d,]+ ms \(-[\d,]+ to -[\d,]+\)\.", page)
    assert page.count("What changed") == 1
    assert re.search(r"The mean changed by <[^>]+>-[\d,]+ ms<", page)
    assert "The median was " in page
