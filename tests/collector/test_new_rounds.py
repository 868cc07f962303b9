"""Rounds and groups in the form for a new question, and a rehearsal of rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable import DE
from deniable.advice.groups import cell_minimum, plan_rounds
from deniable.cli import cli
from deniable.collector.stores import open_store
from deniable.presentation.verdict import points
from deniable.question import Question
from deniable.rota import Repeat
from tests.collector.conftest import Collector
from tests.collector.test_pages import KINDS, post

ROOT = Path(__file__).parents[2]


def test_rounds_and_groups_are_planned_and_created(collector: Collector) -> None:
    """The plan says what a round, a group and a whole life tell; the question has them."""
    fields = {
        "name": "Editor", "labels": "vim\nemacs", "users": "20000", "epsilon": "1",
        "rounds": "4", "every": "7", "times": "2", "start": "2027-01-04",
        "groups": 'platform: linux, "mac, any", [other]\narm: old, new',
    }  # fmt: skip
    text = post(collector, "/new", action="plan", **fields).body.decode()
    said = plan_rounds(2, users=20_000, rounds=4, lifetime=2.0, times=2)
    margin = points(1.96 * said.round_error)
    assert f"one of 4, has about 5,000 people: each share is right to ±\u00a0{margin}" in text
    assert "A group by platform, one of 3, has about 6,700 people" in text
    assert "A group by arm, one of 2, has about 10,000 people" in text
    assert f"shown from {cell_minimum(DE(1.0, 2)):,} reports on" in text
    assert "Asked: each person in one of 4 rounds of 7 days from 2027-01-04 on" in text
    assert "reveals ε = 2, for ever." in text
    assert "nothing hides them" in text
    assert text.count("<details open>") == 2
    answer = post(collector, "/new", action="create", **fields)
    assert answer.status == 303
    digest = answer.headers["location"].split("/")[2]
    question = Question.from_json(collector.request("GET", f"/v1/questions/{digest}").body)
    assert question.repeat == Repeat("2027-01-04", every=7, rounds=4, times=2)
    assert [(each.name, each.values, each.other) for each in question.segments] == [
        ("platform", ("linux", "mac, any", "other"), "other"), ("arm", ("old", "new"), None),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [*KINDS, "discover"])
def test_every_kind_has_rounds_and_groups(collector: Collector, kind: str) -> None:
    """Whatever an answer is, it can be asked again and compared between groups."""
    fields = KINDS.get(kind, {"kind": "discover", "code": "english", "examples": "busy"})
    fields = {**fields, "name": kind, "users": "400000", "epsilon": "2"}
    plain = post(collector, "/new", action="plan", **fields).body.decode()
    assert "for ever" not in plain
    fields |= {"rounds": "3", "groups": "arm: a, b"}
    text = post(collector, "/new", action="plan", **fields).body.decode()
    assert "A round, one of 3, has about 130,000 people" in text
    assert "A group by arm, one of 2, has about 200,000 people" in text
    assert post(collector, "/new", action="create", **fields).status == 303


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        ({"rounds": "1"}, "rounds", "from 2 to 520"),
        ({"rounds": "many"}, "rounds", "from 2 to 520"),
        ({"times": "2"}, "rounds", "Enter how many rounds"),
        ({"rounds": "4", "every": "92"}, "every", "from 1 to 91"),
        ({"rounds": "4", "times": "0"}, "times", "from 1 to 100"),
        ({"rounds": "4", "start": "31.1.2027"}, "start", "such as 2027-01-31"),
        ({"rounds": "4", "start": "1960-01-01"}, "start", "This cannot be asked"),
        ({"groups": "platform"}, "groups", "“platform” has no groups"),
        ({"groups": "arm: old"}, "groups", "“arm” needs 2 to 32 groups"),
        ({"groups": "arm: a, b\narm: c, d"}, "groups", "“arm” is there twice"),
        ({"groups": "a: [x], [y]"}, "groups", "at most one value of a in brackets"),
        ({"groups": "a: " + ", ".join(map(str, range(9))) + "\nb: 1, 2, 3, 4, 5, 6, 7, 8"},
         "groups", "more than 64"),
    ],
)  # fmt: skip
def test_a_mistake_in_rounds_or_groups_is_told_at_its_field(
    collector: Collector, fields: dict[str, str], place: str, said: str
) -> None:
    """Nothing is created, the part with the field is open, and what was entered is kept."""
    answer = post(collector, "/new", action="create", name="x", labels="a\nb", **fields)
    text = answer.body.decode()
    assert answer.status == 400
    at = text.split(f'id="{place}-wrong">')[1].split("</span>")[0]
    assert said in at
    assert "<details open>" in text
    for name, value in fields.items():
        assert value in text.split(f'name="{name}"')[1].split("</label>")[0]


def test_the_documented_rehearsal_shows_four_rounds(collector: Collector) -> None:
    """The example uploads a tally for a day of each round, and the trend has a point for each."""
    text = (ROOT / "docs" / "rounds.md").read_text(encoding="utf-8")
    code = text.partition("**Rehearse it**")[2].split("```python\n")[1].split("```")[0]
    line = next(each for each in code.splitlines() if each.startswith("address, admin"))
    given = f"address, admin = {collector.address!r}, {collector.tokens['admin']!r}"
    names: dict[str, object] = {}
    exec(code.replace(line, given), names)
    digest = names["rehearsal"].digest  # type: ignore[attr-defined]
    path = f"/v1/questions/{digest}/trend?by=round&candidate=one"
    found = collector.request("GET", path, role="viewer").json["trend"]
    assert [row["n"] for row in found] == [5000] * 4
    assert found[3]["share"] > found[2]["share"] + 0.03
    for number in range(4):
        answer = collector.request(
            "GET", f"/v1/questions/{digest}/estimates?round={number}", role="viewer"
        )
        assert answer.status == 200


def test_a_login_link_says_which_address_it_assumes(tmp_path: Path) -> None:
    """Without --url the address comes from the settings, and that is said where nobody pipes it."""
    store = ["--store", str(tmp_path / "store.db")]
    open_store(store[1]).close()
    found = CliRunner().invoke(cli, ["token", "login", *store], env={"DENIABLE_PORT": "8123"})
    assert found.stdout.startswith("http://127.0.0.1:8123/login?key=")
    assert "assumed that the collector is at http://127.0.0.1:8123" in found.stderr
    found = CliRunner().invoke(cli, ["token", "login", *store, "--url", "https://c.example/"])
    assert found.stdout.startswith("https://c.example/login?key=")
    assert found.stderr == ""
