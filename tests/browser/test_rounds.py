"""The whole journey of a question that is asked again, by segments, with thirty real browsers."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from deniable import DE, Question
from deniable.collector.settings import Settings
from deniable.rota import Repeat
from tests.browser.dashboard import Visit, until
from tests.browser.standin import Site
from tests.collector.conftest import start, today

pytestmark = [pytest.mark.browser, pytest.mark.long("thirty browsers on four days")]

BROWSERS = 30
FIRST = date.fromisoformat(today(-6))
REPEAT = Repeat(FIRST.isoformat(), every=2, rounds=4)
PAGE = """<!doctype html><meta charset="utf-8"><title>A site</title>
<form id="ask" method="dialog" data-ready="" data-not-now="not this week"
  data-answered="thank you" data-already="thank you already" data-finished="no more">
  <select required><option value="" disabled selected>…</option>
  <option>kiwi</option><option>fig</option></select>
  <button disabled>Send</button><p role="status"></p></form>
<script type="module" src="/deniable.js" data-collector="{collector}" data-question="{digest}"
  data-form="#ask" data-segment="platform={platform}"></script>"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """Return one collector for the tests of this file."""
    path: Path = tmp_path_factory.mktemp("rounds") / "store.db"
    yield from start(Settings(store=str(path), port=0, minimum=1))


def test_thirty_browsers_answer_once_each_in_their_round(browser, collector) -> None:
    """Each answers once, in a round of its own and with its segment; others read why not."""
    segments = {"platform": ("linux", "mac")}
    question = Question("fruit", ("kiwi", "fig"), DE(4.0, 2), repeat=REPEAT, segments=segments)
    body = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", body, role="admin").status == 201
    path = f"/v1/questions/{question.digest}"
    change = b'{"origins": ["*"], "minimum": 1}'
    changed = collector.request("PATCH", path, change, role="admin")
    assert changed.status == 200, changed.body
    built = Path(__file__).parents[2] / "src/deniable/collector/pages/static/deniable.js"
    pages = {
        f"/{platform}.html": PAGE.format(
            collector=collector.address, digest=question.digest, platform=platform
        ).encode()
        for platform in ("linux", "mac")
    }
    site = Site({**pages, "/deniable.js": built.read_bytes()},
                type("At", (), {"url": collector.address}))  # fmt: skip
    answered = []
    with site.running():
        for number in range(BROWSERS):
            context = browser.new_context()
            platform = ("linux", "mac")[number % 2]
            said = [visit(context, f"{site.url}/{platform}.html", r) for r in range(4)]
            mine = [r for r in range(4) if said[r] == "thank you"]
            assert len(mine) == 1, said
            assert set(said[: mine[0]]) <= {"not this week"}, said
            assert set(said[mine[0] + 1 :]) <= {"no more"}, said
            answered.append((mine[0], platform))
            context.close()
    status = collector.request("GET", f"{path}/status", role="viewer").json
    assert status["reports"] == BROWSERS
    assert status["segments"] == {"platform: linux": 15, "platform: mac": 15}
    rounds = [round for round, _ in answered]
    assert len(set(rounds)) > 1  # all thirty in one of four rounds: 4^-29
    trend = collector.request("GET", f"{path}/trend?by=round&candidate=kiwi", role="viewer").json
    assert [row["n"] for row in trend["trend"]] == [rounds.count(r) for r in sorted(set(rounds))]
    with browser.new_context() as context:
        page = Visit(context, collector).log_in()
        page.goto(f"{collector.address}/questions/{question.digest}")
        shown = page.inner_text("main")
        assert "Round by round" in shown
        assert "platform" in shown
        assert "linux" in shown


def visit(context, address, number):
    """Visit the site on the first day of a round, answer if asked, and return what is said."""
    day = FIRST + timedelta(days=2 * number)
    page = context.new_page()
    page.clock.set_fixed_time(f"{day}T12:00:00Z")
    page.goto(address)
    text = "document.querySelector('[role=status]').innerText"
    ready = "!document.querySelector('button').disabled"
    until(page, f"{ready} || {text}")
    if page.evaluate(ready):
        page.select_option("select", "kiwi")
        page.click("button")
        until(page, f"{text} !== ''")
    said = page.inner_text("[role=status]")
    page.close()
    return said
