"""``deniable send``: every line is one person, who is counted once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from deniable import InvalidDocument, Question
from deniable.client import Outbox, Outcome, Parcel
from deniable.rota import Repeat
from deniable.segments import Segments
from tests.collector.conftest import QUESTION, Done, Workshop, today


def test_sending_twice_counts_once(workshop: Workshop) -> None:
    """Two hundred answers, one by one; the same command again sends nothing."""
    line = f"deniable send {workshop.collector.address} answers.txt"
    for _ in range(2):
        found = workshop.run(line)
        assert found.returncode == 0, found.stderr
        assert "200 reports: 200 answered" in found.stderr
    assert workshop.collector.n(QUESTION) == 200


def test_an_interrupted_sender_goes_on_with_the_same_bytes(workshop: Workshop) -> None:
    """What was sent without an answer is sent again under the same id, and counts once."""
    line = "deniable send {} answers.txt --attempts 1"
    found = workshop.run(line.format("http://127.0.0.1:1"))
    assert found.returncode == 2
    assert not (workshop.directory / "answers.txt.outbox").exists()
    found = workshop.run(line.format(workshop.collector.address))
    box = Outbox(workshop.directory / "answers.txt.outbox")
    assert box.count(Outcome.ANSWERED) == 200
    box.close()


def test_a_changed_file_is_sent_as_new_people_or_not_at_all(workshop: Workshop) -> None:
    """Other bytes are refused until told that all lines are new; the same bytes send nothing."""
    line, file = f"deniable send {workshop.collector.address} answers.txt", Path("answers.txt")
    assert workshop.run(line).returncode == 0
    file.write_text("fig\n" * 77)
    refused = workshop.run(line)
    assert refused.returncode == 2
    for said in ("answers.txt has changed since it was sent (200 reports: 200 answered)",
                 "Nothing was sent now", "pass --new-people"):  # fmt: skip
        assert said in refused.stderr
    assert workshop.collector.n(QUESTION) == 200
    found = workshop.run(f"{line} --new-people")
    assert found.returncode == 0, found.stderr
    assert "77 reports: 77 answered" in found.stderr
    assert workshop.collector.n(QUESTION) == 277
    for options in ("", " --new-people"):
        found = workshop.run(line + options)
        assert found.returncode == 0, found.stderr
        assert "answered). Nothing was sent now." in found.stderr
    assert workshop.collector.n(QUESTION) == 277


def test_an_unfinished_outbox_is_kept_when_its_file_changes(workshop: Workshop) -> None:
    """What waits is not mixed with other answers, and can be sent without the file it came from."""
    address, file, box = workshop.collector.address, Path("answers.txt"), "answers.txt.outbox"
    line = f"deniable send {address} answers.txt"
    refused = workshop.run(f"{line} --token wrong --question {QUESTION.digest}")
    assert refused.returncode == 2
    assert "200 waiting" in refused.stderr
    file.write_text("fig\n" * 3)
    for options in ("", " --new-people"):
        refused = workshop.run(line + options)
        assert refused.returncode == 2
        assert "200 reports not delivered yet. Nothing was sent now." in refused.stderr
        assert f"deniable send {address} {box}" in refused.stderr
    assert workshop.run(f"{line} --outbox other.outbox").returncode == 0
    assert workshop.collector.n(QUESTION) == 3
    file.unlink()
    token = workshop.collector.tokens["relay"]
    found = workshop.run(f"deniable send {address} {box} --token {token}")
    assert found.returncode == 0, found.stderr
    assert "200 reports: 200 answered" in found.stderr
    assert workshop.collector.n(QUESTION) == 203


@pytest.mark.long("five processes")
def test_a_pipe_is_known_by_its_bytes(workshop: Workshop, tmp_path: Path) -> None:
    """Answers from standard input are hashed as they are read, and compared as a file is."""
    command = [sys.executable, "-m", "deniable", "send", workshop.collector.address, "-"]
    command += ["--outbox", "piped.outbox"]

    def pipe(text: str, *options: str) -> Done:
        found = subprocess.run([*command, *options], input=text, capture_output=True, text=True,
                               timeout=180, check=False, cwd=tmp_path)  # fmt: skip
        return Done(found.returncode, found.stdout, found.stderr)

    assert pipe("kiwi\n" * 20).returncode == 0
    with closing(sqlite3.connect(tmp_path / "piped.outbox")) as connection:
        (noted,) = connection.execute("SELECT input FROM outbox").fetchone()
    assert noted == sha256(b"kiwi\n" * 20).hexdigest()
    assert "Nothing was sent now" in pipe("kiwi\n" * 20).stderr
    assert pipe("fig\n" * 5).returncode == 2
    same = pipe("kiwi\n" * 20, "--new-people")
    assert (same.returncode, "Nothing was sent now" in same.stderr) == (2, True)
    assert workshop.collector.n(QUESTION) == 20
    assert pipe("fig\n" * 5, "--new-people").returncode == 0
    assert workshop.collector.n(QUESTION) == 25


def test_two_senders_of_one_file_do_not_both_draw(tmp_path: Path) -> None:
    """An outbox that appears while another is made is kept, and the other sender ends."""
    path = tmp_path / "answers.txt.outbox"

    def parcels() -> Iterator[tuple[int, Parcel]]:
        yield 1, Parcel(b"i" * 16, b"\1")
        path.write_bytes(b"of the other sender")

    with pytest.raises(InvalidDocument, match="another program has made"):
        Outbox.create(path, address="a", question="q", parcels=parcels(), input=lambda: "digest")
    assert path.read_bytes() == b"of the other sender"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_an_outbox_has_one_sender_at_a_time(workshop: Workshop) -> None:
    """A second sender is told so, and sends nothing."""
    line = f"deniable send {workshop.collector.address} answers.txt"
    assert workshop.run(line).returncode == 0
    box = Outbox(workshop.directory / "answers.txt.outbox")
    refused = workshop.run(line)
    assert refused.returncode == 2
    assert "another program is sending what is in answers.txt.outbox" in refused.stderr
    box.close()
    assert workshop.run(line).returncode == 0


def test_a_relay_sends_in_bulk(workshop: Workshop) -> None:
    """With a token reports go a thousand at a time, under the relay's name."""
    token = workshop.collector.tokens["relay"]
    found = workshop.run(
        f"deniable send {workshop.collector.address} answers.txt", DENIABLE_TOKEN=token
    )
    assert found.returncode == 0, found.stderr
    path = f"/v1/questions/{QUESTION.digest}/sources"
    sources = workshop.collector.request("GET", path, role="viewer").json["sources"]
    assert sources == [{"name": "relay:relay", "n": 200, "excluded": False, "excluded_days": []}]


def test_segments_are_stated_by_columns(workshop: Workshop) -> None:
    """Each person's report is sent with the cell that the columns state, one by one and in bulk."""
    groups = Segments.of({"platform": ("web", "desktop"), "arm": ("A", "B")})
    asked = Question("used?", ("yes", "no"), epsilon=2.0, segments=groups)
    created = workshop.collector.request(
        "POST", "/v1/questions", asked.to_json().encode(), role="admin"
    )
    assert created.status == 201
    rows = ["used,os,arm", *["yes,web,A"] * 5, *["no,desktop,B"] * 3, "no,,B"]
    Path("people.csv").write_text("\n".join(rows) + "\n")
    line = (
        f"deniable send {workshop.collector.address} people.csv --column used --question used? "
        "--segment-column platform=os --segment-column arm"
    )
    token = workshop.collector.tokens["relay"]
    assert workshop.run(line).returncode == 0
    assert workshop.run(f"{line} --outbox other.outbox", DENIABLE_TOKEN=token).returncode == 0
    path = f"/v1/questions/{asked.digest}/estimates?by=platform"
    parts = workshop.collector.request("GET", path, role="viewer").json["segments"]
    found = {part["value"]: part["n"] for part in parts}
    assert found == {"web": 10, "desktop": 6, "not stated": 2}
    wrong = workshop.run(f"{line} --outbox third.outbox --segment colour=red")
    assert (wrong.returncode, "colour" in wrong.stderr) == (2, True)


def test_a_file_for_a_question_in_rounds_counts_for_today(workshop: Workshop) -> None:
    """Files do not know whose turn it is, so that the sender is told."""
    weekly = Repeat(today(), every=7, rounds=4)
    asked = Question("again?", ("yes", "no"), epsilon=2.0, repeat=weekly)
    body = asked.to_json().encode()
    assert workshop.collector.request("POST", "/v1/questions", body, role="admin").status == 201
    Path("week.txt").write_text("yes\n")
    sent = workshop.run(f"deniable send {workshop.collector.address} week.txt --question again?")
    assert sent.returncode == 0
    assert "counts for today's round" in sent.stderr


def test_a_token_can_stand_in_a_file(workshop: Workshop) -> None:
    """A token in a file is used as one in the environment is; a file that is not there is named."""
    Path("token").write_text(workshop.collector.tokens["relay"] + "\n")
    line = f"deniable send {workshop.collector.address} answers.txt"
    found = workshop.run(line, DENIABLE_TOKEN_FILE="nowhere")
    assert (found.returncode, "nowhere" in found.stderr) == (2, True)
    assert workshop.run(line, DENIABLE_TOKEN_FILE="token").returncode == 0
    counters = workshop.collector.request("GET", "/v1/counters", role="viewer").json
    assert counters["accepted"] == 1


def test_a_refused_question_is_an_error(workshop: Workshop) -> None:
    """A ceiling below the question's epsilon, a wrong token, an unknown question."""
    address = workshop.collector.address
    for options, said in (
        ("--ceiling 0.5", "the ceiling of 0.5"),
        ("--question " + "f" * 64, "unknown-question"),
        ("--token wrong", "unauthorized"),
    ):
        found = workshop.run(f"deniable send {address} answers.txt {options}")
        assert found.returncode == 2
        assert said in found.stderr
        (workshop.directory / "answers.txt.outbox").unlink(missing_ok=True)
    assert workshop.collector.n(QUESTION) == 0
