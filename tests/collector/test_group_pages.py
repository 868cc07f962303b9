"""What the dashboard shows of rounds and groups."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from deniable import DE, Question
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
