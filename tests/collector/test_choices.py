"""Sets of labels in a collector: results that do not add up, who was cut, and the form to paste."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deniable import Choices, Question
from deniable.client import Client, Outcome, pull
from deniable.collector.settings import Settings
from tests.collector.conftest import Collector, start

TOOLS = ("git", "vim", "tmux", "fzf <x>", "make", "gdb")


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector of its own."""
    path = tmp_path_factory.mktemp("collector")
    yield from start(Settings(store=str(path / "store.db"), port=0, minimum=10))


@pytest.fixture(scope="module")
def tools(collector: Collector) -> Question:
    """A question about sets that the collector asks, and that 3,000 people answered."""
    question = Question("tools", Choices(TOOLS, 3), epsilon=2.0)
    document = question.to_json().encode()
    assert collector.request("POST", "/v1/questions", document, role="admin").status == 201
    answers = [["git", "vim"]] * 2000 + [list(TOOLS)] * 1000
    reports = question.privatize(answers, np.random.default_rng(1)).tobytes()
    assert collector.submit(question, reports, role="relay").status == 204
    return question


def test_results_tell_shares_sizes_and_who_was_cut(collector: Collector, tools: Question) -> None:
    """JSON has all of it, CSV has the share cut in every row, and a pulled tally gives the same."""
    path = f"/v1/questions/{tools.digest}/estimates"
    found = collector.request("GET", path, role="viewer").json
    rows = {row["label"]: row for row in found["estimates"]}
    assert list(rows) == list(TOOLS)
    # 2,000 people, and of 1,000 about a half; five standard errors. Seeded.
    assert abs(rows["git"]["count"] - 2500) < 5 * rows["git"]["std_error"] + 80
    assert found["adds_up"] is False
    assert found["cut"]["lower"] < 1 / 3 < found["cut"]["upper"]
    assert [row["size"] for row in found["sizes"]] == ["0", "1", "2", "3 or more"]
    text = collector.request("GET", f"{path}?format=csv", role="viewer").body.decode()
    assert text.splitlines()[0].endswith("at_most,cut,cut_lower,cut_upper")
    tally = pull(collector.address, tools.digest, token=collector.tokens["viewer"])
    assert [row["count"] for row in rows.values()] == tools.estimate(tally).counts.tolist()


def test_a_device_answers_with_a_set(collector: Collector, tools: Question, tmp_path: Path) -> None:
    """The client of programs takes sets of any size, since larger ones are cut."""
    client, before = Client(collector.address, tmp_path / "ledger.db"), collector.n(tools)
    assert client.answer(tools.digest, list(TOOLS)) is Outcome.ANSWERED
    assert collector.n(tools) == before + 1


def test_the_page_has_boxes_to_paste_and_the_sentence_on_cutting(
    collector: Collector, tools: Question
) -> None:
    """The snippet names the client for sets with its hash, and a box for each label."""
    page = collector.request("GET", f"/questions/{tools.digest}", role="viewer").body.decode()
    assert "gave 3 answers or had more" in page
    assert "shares do not add up to 100 %" in page
    path = f"/questions/{tools.digest}/collect"
    page = collector.request("GET", path, role="viewer").body.decode()
    assert "data-kind=&#34;choices&#34;" in page
    assert page.count("type=&#34;checkbox&#34;") == len(TOOLS)
    address = page.partition("/client/")[2].partition("&#34;")[0]
    client = collector.request("GET", f"/client/{address}").body
    assert b"SetSelection" in client
    assert b"OLH" not in client
    tried = collector.request("GET", f"/try/{tools.digest}")
    assert b"cannot be tried here" not in tried.body
    assert b"deniable-choices.js" in tried.body
