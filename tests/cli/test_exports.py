"""What ``estimate`` writes and prints: formats, labels, fonts, and readers that go away."""

import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import font_manager

from deniable import DE, OUE, Question, Tally
from deniable.presentation.text import columns_of
from tests.marks import shortened

URLS = tuple(f"https://example.com/page/{i:03d}/about/us/and/them/index.html" for i in range(12))
PARQUET = pytest.param("parquet", marks=pytest.mark.frames)
PYTHON = [sys.executable, "-m", "deniable.cli"]


@pytest.fixture
def pages(shell):
    """Return a command line with a tally of answers that are long addresses."""
    question = Question("pages", URLS, DE(3.0, len(URLS)))
    rng = np.random.default_rng(4)
    weights = np.arange(len(URLS), 0, -1)
    values = rng.choice(len(URLS), 5000, p=weights / weights.sum())
    shell.write("q.json", question.to_json())
    shell.write("t.bin", question.tally(question.protocol.privatize(values, rng)).to_bytes())
    return shell


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_off_a_terminal_nothing_is_cut(pages, monkeypatch, columns):
    """Every address stands in full, whatever the environment says about columns."""
    monkeypatch.setenv("COLUMNS", columns)
    text = pages("estimate", "q.json", "t.bin").text
    assert all(url in text for url in URLS)
    assert "…" not in text


def test_python_prints_what_the_command_line_prints(pages):
    """The table of the library and that of the command have the same lines."""
    question = Question.from_json(pages.read("q.json"))
    found = question.estimate(Tally.from_bytes(pages.read("t.bin")))
    assert pages("estimate", "q.json", "t.bin").text == f"{found.table()}\n"
    pages("estimate", "q.json", "t.bin", "-o", "e.txt")
    assert pages.read("e.txt").decode() == f"{found.table()}\n"


def on_terminal(args, columns, cwd):
    """Run a command on a terminal of its own, and return what it printed, without colours."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "50", "TERM": "xterm"}
    process = subprocess.Popen([*PYTHON, *args], cwd=cwd, env=environment, stdin=follower,
                               stdout=follower, stderr=follower)  # fmt: skip
    os.close(follower)
    data = b""
    while True:
        try:
            more = os.read(leader, 1 << 16)
        except OSError:  # Linux says so when the last writer is gone
            break
        if not more:
            break
        data += more
    os.close(leader)
    assert process.wait() == 0, data
    return re.sub(r"\x1b\[[0-9;]*m", "", data.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", shortened([60, 80, 120], "more processes"))
def test_on_a_terminal_labels_lose_what_they_share(pages, columns):
    """Lines fit, and every address can still be told from the others."""
    text = on_terminal(["estimate", "q.json", "t.bin"], columns, pages.directory)
    rows = [line for line in text.splitlines() if line.lstrip()[:1].isdigit()]
    assert len(rows) == len(URLS)
    assert max(map(columns_of, rows)) <= columns
    assert len({row.split()[1] for row in rows}) == len(URLS)
    for url in URLS:
        number = url.split("/")[4]
        assert any(number in row.split()[1] for row in rows)


@pytest.mark.parametrize("name", ["e.xlsx", "e.cvs", "e.md", "e.csv.bak"])
def test_unknown_endings_are_refused(pages, name):
    """A name that promises a format that there is not gets none, before any work."""
    message = pages.fails("estimate", "q.json", "missing.bin", "-o", name)
    assert ".tsv" in message
    assert name in message
    assert not pages.path(name).exists()
    pages("estimate", "q.json", "t.bin", "-o", name, "--format", "csv")
    assert pages.read(name).startswith(b"label,")


def test_a_name_without_an_ending_is_a_table(pages):
    """A device or a plain name promises nothing, and gets the table."""
    pages("estimate", "q.json", "t.bin", "-o", "plain")
    assert pages.read("plain").startswith(b"pages: 12 answers")
    pages("estimate", "q.json", "t.bin", "-o", os.devnull)


def test_pages_of_many_answers_are_short(shell):
    """1,200 answers make a page of a thousand rows that says so; --top 0 asks for all."""
    labels = tuple(f"answer {i}" for i in range(1200))
    question = Question("many", labels, OUE(4.0, len(labels)))
    tally = question.tally(question.protocol.privatize(np.arange(1200), np.random.default_rng(1)))
    shell.write("q.json", question.to_json())
    shell.write("t.bin", tally.to_bytes())
    page = shell("estimate", "q.json", "t.bin", "--format", "html").text
    assert page.count("<svg") == 1000 + 1  # one for each row, and the axis
    assert "1,000 of 1,200 answers" in page
    assert shell("estimate", "q.json", "t.bin", "--format", "html", "--top", 0).text.count(
        "<svg") == 1200 + 1  # fmt: skip


def test_figures_warn_of_what_they_cannot_draw(shell, monkeypatch):
    """A label without a font is named on stderr, and the figure is written all the same."""
    fonts = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    question = Question("old", ("日本", "b"), DE(1.0, 2))
    shell.write("q.json", question.to_json())
    shell.write("t.bin", question.tally(question.privatize(["b"] * 9)).to_bytes())
    outcome = shell("estimate", "q.json", "t.bin", "--plot", "e.png")
    assert shell.read("e.png").startswith(b"\x89PNG")
    assert outcome.err.startswith("deniable: warning: no installed font has 2 of the characters")
    assert outcome.err.count("\n") == 1


def test_json_names_its_origin(pages):
    """Name, digest, protocol, epsilon, people and version stand in every file."""
    document = json.loads(pages("estimate", "q.json", "t.bin", "--json").out)
    question = Question.from_json(pages.read("q.json"))
    assert document["provenance"]["digest"] == question.digest
    assert document["provenance"]["n"] == document["n"] == 5000
    for form in ("csv", "tsv", "html"):
        assert question.digest in pages("estimate", "q.json", "t.bin", "--format", form).text
    assert question.digest[:16] in pages("estimate", "q.json", "t.bin").text
    pages("estimate", "q.json", "t.bin", "--plot", "e.png")
    assert question.digest.encode() in pages.read("e.png")


@pytest.mark.parametrize(
    "form", [*shortened(["table", "csv", "tsv", "json", "html"], "more processes", keep=2), PARQUET]
)
def test_a_reader_that_leaves_is_no_failure(pages, form):
    """Into a closed pipe every format ends with 0 and says nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run([*PYTHON, "estimate", "q.json", "t.bin", "--format", form],
                           cwd=pages.directory, stdout=writer, stderr=subprocess.PIPE,
                           check=False)  # fmt: skip
    os.close(writer)
    assert (found.returncode, found.stderr) == (0, b"")
