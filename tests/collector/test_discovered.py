"""Questions whose texts are to be discovered: what a collector finds, shows and refuses."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock, patch
from urllib.parse import urlencode

import numpy as np
import pytest

from deniable import Discovery, Question, Text
from deniable.collector import jobs
from deniable.collector.jobs import Order, Sums, Wanted
from deniable.collector.pages.embed import _tag, unknown
from deniable.collector.pages.templating import client_for
from deniable.collector.settings import Settings
from deniable.collector.stores.records import Publication, Slice, Snapshot
from deniable.collector.worker import Worker, _let_others_go_first, _limit_memory
from deniable.kernels import parallel
from deniable.protocols.discovery.verification import alpha_at
from deniable.rota import Repeat
from deniable.segments import Dimension, Segments
from tests.collector.conftest import Collector, start, today

WORDS = ("kiwi", "papaya", "mango", "banana")
SHARES = (0.4, 0.3, 0.2, 0.1)


def small(name: str, epsilon: float = 4.0, **more: object) -> Question:
    """Return a question that is searched in a moment."""
    protocol = Discovery(epsilon, 4, 3, 6, 8, "0" * 16)
    return Question(name, Text(discover="english"), protocol, **more)


def answers(question: Question, n: int, seed: int = 1) -> bytes:
    """Return reports of people who gave four words."""
    rng = np.random.default_rng(seed)
    return question.privatize(rng.choice(WORDS, n, p=SHARES).tolist(), rng).tobytes()


def ask(collector: Collector, question: Question, n: int = 12_000) -> str:
    """Ask a question, send reports through a relay, and return its path."""
    path = f"/v1/questions/{question.digest}"
    asked = collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    assert asked.status == 201, asked.body
    sent = collector.submit(question, answers(question, n), role="relay")
    assert sent.status == 204, sent.body
    return path


def test_browsers_load_the_client_that_speaks_discovery() -> None:
    """The tag of such a question names the build for it, and browsers know its protocol."""
    question = Question("w", Text(discover="english"), Discovery(2.0, salt="0" * 16))
    assert unknown(question) == ""
    tag = _tag("form", "https://example.org", question)
    assert 'data-kind="discover"' in tag
    assert client_for("discover").integrity in tag
    assert "data-kind" not in _tag("form", "", Question("w", None, epsilon=1.0))


def test_the_texts_are_found_and_asked_about_again(collector: Collector) -> None:
    """The API and the page name what people gave, and one click makes the closed question."""
    question = small("which fruit")
    path = ask(collector, question)
    found = collector.request("GET", f"{path}/discoveries", role="viewer").json
    sure = {row["label"]: row for row in found["discoveries"] if row["sure"]}
    assert set(WORDS) <= set(sure)
    for word, share in zip(WORDS, SHARES, strict=True):
        assert sure[word]["lower"] <= 12_000 * share + 400
        assert sure[word]["upper"] >= 12_000 * share - 400
    table = collector.request("GET", f"{path}/discoveries?format=csv", role="viewer")
    assert table.body.decode().splitlines()[1].startswith("kiwi,")
    page = collector.request("GET", f"/questions/{question.digest}", role="admin").body.decode()
    assert "kiwi" in page
    assert "Texts that are sure" in page
    assert "Common enough to find" in page
    assert f'action="/questions/{question.digest}/follow-up"' in page
    named = collector.request("GET", f"/questions/{question.digest}?candidates=fig", role="viewer")
    assert "Make a closed question" not in named.body.decode()
    made = collector.request(
        "POST", f"/questions/{question.digest}/follow-up", b"", role="admin",
        headers={"content-type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert made.status == 303, made.body
    digest = made.headers["location"].split("/")[2]
    closed = Question.from_json(collector.request("GET", f"/v1/questions/{digest}").body)
    assert closed.name == "which fruit: how many"
    assert closed.labels == (*(row["label"] for row in found["discoveries"] if row["sure"]),
                             "(other)")  # fmt: skip
    refused = collector.request("POST", f"/questions/{question.digest}/follow-up", b"")
    assert refused.status in (303, 401)


@pytest.mark.long("several searches, each in a process that gives way to others")
def test_a_sum_is_searched_once_and_again_when_it_has_grown_by_a_quarter(
    collector: Collector,
) -> None:
    """What is found stays until a quarter more reports have come, however often one looks."""
    question = small("how often")
    path = ask(collector, question)

    def look() -> tuple[int, float]:
        found = collector.request("GET", f"{path}/discoveries", role="viewer").json
        return found["n"], found["alpha"]

    first, searcher = look(), collector.app.services.results.searcher
    with patch.object(searcher, "_send", side_effect=AssertionError("searched again")):
        assert collector.submit(question, answers(question, 2900), role="relay").status == 204
        assert look() == first
    assert collector.submit(question, answers(question, 200), role="relay").status == 204
    n, alpha = look()
    assert n == 15_100
    assert alpha < first[1]


def test_all_looks_and_groups_together_have_one_alpha() -> None:
    """Sums that grow by a quarter, or lose a source, are different looks."""
    question, n, looks, before = small("looks"), 9000, [], None
    part = Slice(question.digest)
    order = Order(question.to_json(), Wanted((part,)), (), 0, (), 1, Snapshot((), ()))
    tally = question.tally(np.zeros(0, question.protocol.report_dtype))
    while n < 10**9:
        look = jobs._looks(question, n, b"%d" % n, before)
        before = Publication(n, len(looks), b"%d" % n, looks=look)
        with patch.object(Question, "discover", lambda _, tally, named, *, alpha: alpha):
            sums = Sums(order, {part: (tally, 1)}, looks={part: look})
            looks.append(jobs.discover(sums, None))
        # Each time a source of a tenth is left out, and then a quarter more reports come.
        n = n * 9 // 10 if len(looks) % 2 else n + n // 4 + 1
    assert len(looks) > 100
    assert sum(looks) <= 0.05
    assert looks[0] == alpha_at(0.05)
    assert looks == sorted(looks, reverse=True)


def test_a_look_is_counted_when_there_is_something_new_to_see() -> None:
    """Too few reports are no look, and neither is the same sum again; what was looked at stays."""
    question = small("the same")

    def looks(n: int, data: bytes, before: int | None, tally: bytes = b"a") -> int:
        shown = None if before is None else Publication(1, 1, tally, looks=before)
        return jobs._looks(question, n, data, shown)

    assert looks(100, b"b", None) == 0
    assert looks(7422, b"b", 0) == 1
    assert looks(7422, b"a", 5) == 5
    assert looks(7422, b"b", 5) == 6
    assert looks(100, b"b", 5) == 5
    assert looks(10**6, b"b", 5) == looks(10**6, b"b", None) > 6
    closed = Question("closed", ["a", "b"], epsilon=1.0)
    assert jobs._looks(closed, 10**6, b"b", None) == 0


@pytest.mark.long("several searches, each in a process that gives way to others")
def test_a_source_that_is_left_out_is_another_look(collector: Collector) -> None:
    """Leaving a source out, and taking it in again, never gives alpha back."""
    question = small("without some")
    path = ask(collector, question)
    some = question.tally(np.frombuffer(answers(question, 3000, 2), question.protocol.report_dtype))
    sent = collector.request("PUT", f"{path}/tallies/{1:032x}?day={today()}", some.to_bytes(),
                             role="admin")  # fmt: skip
    assert sent.status == 201, sent.body

    def look() -> tuple[int, float]:
        found = collector.request("GET", f"{path}/discoveries", role="viewer").json
        return found["n"], found["alpha"]

    seen = [look()]
    for excluded in (True, False):
        body = json.dumps({"excluded": excluded}).encode()
        done = collector.request("PUT", f"{path}/sources/upload:{1:032x}", body, role="admin")
        assert done.status in (200, 204), done.body
        seen.append(look())
    closing = collector.request("PATCH", path, b'{"state": "closed"}', role="admin")
    assert closing.status in (200, 204), closing.body
    seen.append(look())
    assert [n for n, _ in seen] == [15_000, 12_000, 15_000, 15_000]
    assert seen[0][1] > seen[1][1] > seen[2][1] == seen[3][1]


@pytest.mark.long("several searches, each in a process that gives way to others")
def test_segments_and_rounds_are_searched(collector: Collector) -> None:
    """A segment has a search of its own, and a page shows the sure texts by segment and round."""
    question = small(
        "by system", repeat=Repeat(today(), every=1, rounds=2),
        segments=Segments((Dimension("system", ("web", "desktop")),)),
    )  # fmt: skip
    path = f"/v1/questions/{question.digest}"
    asked = collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    assert asked.status == 201, asked.body
    for place, (value, words) in enumerate((("web", ["kiwi"]), ("desktop", ["mango"]))):
        rng = np.random.default_rng(place)
        tally = question.tally(question.privatize(words * 9000, rng))
        query = urlencode({"day": today(), "segment": f"system:{value}"})
        sent = collector.request("PUT", f"{path}/tallies/{place:032x}?{query}", tally.to_bytes(),
                                 role="admin")  # fmt: skip
        assert sent.status == 201, sent.body

    def sure(query: str = "") -> list[str]:
        found = collector.request("GET", f"{path}/discoveries{query}", role="viewer").json
        return [row["label"] for row in found["discoveries"] if row["sure"]]

    assert set(sure()) >= {"kiwi", "mango"}
    assert sure("?segment=system:web")[0] == "kiwi"
    assert "kiwi" not in sure("?segment=system:desktop")
    assert set(sure("?round=0")) >= {"kiwi", "mango"}
    page = collector.request("GET", f"/questions/{question.digest}", role="viewer").body.decode()
    assert "By system" in page


@pytest.mark.long("several searches, each in a process that gives way to others")
def test_a_question_can_be_deleted_while_it_is_searched(collector: Collector) -> None:
    """Deletion does not wait for a search, nothing of it is stored, and the next search works."""
    question, other = small("deleted"), small("next")
    path, next_path = ask(collector, question), ask(collector, other)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(collector.request, "GET", f"{path}/discoveries", role="viewer")
        searcher = collector.app.services.results.searcher
        for _ in range(1000):
            if searcher.pid is not None or waiting.done():
                break
            time.sleep(0.005)
        assert collector.request("DELETE", f"{path}?name=deleted", role="admin").status == 204
        assert waiting.result(60).status in (200, 404)
    assert collector.request("GET", f"{path}/discoveries", role="viewer").status == 404
    found = collector.request("GET", f"{next_path}/discoveries", role="viewer").json
    assert found["discoveries"][0]["label"] == "kiwi"


def test_too_few_reports_are_said_to_be_too_few(collector: Collector) -> None:
    """Below what a search takes a page says how many there must be, and finds nothing."""
    question = small("few people")
    path = ask(collector, question, 300)
    found = collector.request("GET", f"{path}/discoveries", role="viewer").json
    assert found["discoveries"] == []
    page = collector.request("GET", f"/questions/{question.digest}", role="admin").body.decode()
    assert "too few reports for a search" in page
    assert "Make a closed question" not in page
    refused = collector.request(
        "POST", f"/questions/{question.digest}/follow-up", b"", role="admin",
        headers={"content-type": "application/x-www-form-urlencoded", "accept": "text/html"},
    )  # fmt: skip
    assert refused.status == 400


def test_other_questions_have_no_discoveries(collector: Collector) -> None:
    """Where answers are listed there is nothing to discover."""
    question = collector.ask()
    path = f"/v1/questions/{question.digest}/discoveries"
    answer = collector.request("GET", path, role="viewer")
    assert (answer.status, answer.problem) == (400, "invalid-request")
    assert collector.request("GET", path).status == 401


@pytest.fixture
def tight(tmp_path: Path) -> Iterator[Collector]:
    """A collector with too little time and memory for a search, and little room."""
    path = str(tmp_path / "store.db")
    yield from start(Settings(path, port=0, minimum=10, search_memory=1 << 26,
                              discovery_limit=40_000))  # fmt: skip


def test_a_search_beyond_the_limits_is_refused_once(tight: Collector) -> None:
    """Without the memory there is a problem and no search, and the next reader gets the same."""
    question = small("too large")
    path = ask(tight, question, 8000)
    for _ in range(2):
        answer = tight.request("GET", f"{path}/discoveries", role="viewer")
        assert (answer.status, answer.problem) == (422, "too-costly"), answer.body
    page = tight.request("GET", f"/questions/{question.digest}", role="viewer")
    assert page.status == 200
    assert b"The search was ended" in page.body
    assert b"deniable discover" in page.body
    named = tight.request("GET", f"{path}/estimates?candidate=kiwi", role="viewer")
    assert named.status == 200


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[Collector]:
    """A collector with too little time for a search."""
    path = str(tmp_path / "store.db")
    yield from start(Settings(path, port=0, minimum=10, search_seconds=0.02))


def test_a_search_that_takes_too_long_is_ended_and_said_to_be(hasty: Collector) -> None:
    """Every page says that it was ended, and what to do; it does not begin again."""
    question = small("too slow")
    path = ask(hasty, question, 8000)
    answer = hasty.request("GET", f"{path}/discoveries", role="viewer")
    assert (answer.status, answer.problem) == (422, "too-costly"), answer.body
    assert "more than 0.02 seconds" in answer.json["detail"]
    searcher = hasty.app.services.results.searcher
    with patch.object(searcher, "_send", side_effect=AssertionError("searched again")):
        page = hasty.request("GET", f"/questions/{question.digest}", role="admin").body.decode()
        home = hasty.request("GET", "/", role="admin").body.decode()
    assert "The search was ended" in page
    assert "It took more than 0.02 seconds" in page
    assert "--search-seconds" in page
    assert "Searching…" not in page + home
    assert "Open it to see why" in home


def test_a_question_takes_no_more_reports_than_there_is_room_for(tight: Collector) -> None:
    """Where the tallies are too large, reports are refused for now and not lost."""
    question = small("too many")
    path = ask(tight, question, 9000)
    tally = question.tally(np.frombuffer(answers(question, 9000), np.uint32)).to_bytes()
    assert len(tally) > 40_000
    place = f"{path}/tallies/{1:032x}?day={today()}"
    assert tight.request("PUT", place, tally, role="admin").status == 201
    tight.app.services.questions.forget(question.digest)
    answer = tight.submit(question, answers(question, 1))
    assert (answer.status, answer.problem) == (503, "queue-full")
    assert int(answer.headers["retry-after"]) >= 60
    assert tight.request("GET", f"{path}/status", role="viewer").json["reports"] >= 9000


def test_a_process_for_long_work_ends_after_each_call() -> None:
    """It gives way to others, has one thread on one core and little memory, and leaves none."""
    worker = Worker(60, 1 << 30)
    try:
        assert asyncio.run(worker.run(os.nice, 0)) == 19
        assert asyncio.run(worker.run(os.sched_getscheduler, 0)) == os.SCHED_IDLE
        assert worker.pid is None
        limit = asyncio.run(worker.run(resource.getrlimit, resource.RLIMIT_AS))
        assert limit == (1 << 30, 1 << 30)
        cores = asyncio.run(worker.run(os.sched_getaffinity, 0))
        assert len(cores) == 1
        assert cores <= os.sched_getaffinity(0)
        assert asyncio.run(worker.run(parallel.threads)) == 1
        assert asyncio.run(worker.run(os.getenv, "OPENBLAS_NUM_THREADS")) == "1"
    finally:
        worker.close()


def test_estimates_give_way_to_submissions() -> None:
    """The process for estimates has less priority than this one, and all cores."""
    worker = Worker(60)
    try:
        assert asyncio.run(worker.run(os.nice, 0)) == max(10, os.nice(0))
        assert asyncio.run(worker.run(os.sched_getscheduler, 0)) == os.sched_getscheduler(0)
        assert asyncio.run(worker.run(os.sched_getaffinity, 0)) == os.sched_getaffinity(0)
    finally:
        worker.close()


@pytest.mark.parametrize("lacks", ["a call", "a permission"])
def test_long_work_is_done_where_a_system_has_fewer_limits(
    lacks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a way to choose the core or to limit memory, as on macOS, there are searches too."""
    refused = {"side_effect": PermissionError} if lacks == "a permission" else {}
    monkeypatch.setattr(os, "setpriority", Mock(**refused))
    monkeypatch.setattr(os, "sched_setaffinity", Mock(**refused))
    monkeypatch.setattr(os, "sched_setscheduler", Mock(**refused))
    monkeypatch.setattr(resource, "setrlimit", Mock(side_effect=ValueError))
    if lacks == "a call":
        monkeypatch.delattr(os, "sched_getaffinity")
    _let_others_go_first(12345, entirely=True)
    _limit_memory(1 << 30)
    os.setpriority.assert_called_once_with(os.PRIO_PROCESS, 12345, 19)
    resource.setrlimit.assert_called_once()


def test_what_is_found_goes_between_processes() -> None:
    """A list of discoveries is pickled, without the question and its code."""
    question = small("sent")
    found = question.discover(question.tally(np.frombuffer(answers(question, 9000), np.uint32)))
    data = pickle.dumps(found)
    assert len(data) < 5000
    again = pickle.loads(data)
    assert json.loads(again.to_json()) == json.loads(found.to_json())
    assert again.question(2.0) == found.question(2.0)
