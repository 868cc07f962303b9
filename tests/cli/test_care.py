"""Commands that could destroy, miscount or mislead: what each does, in one table.

Each line is a command, its exit code and what it says on stderr. Nothing that was there before is
changed by any of them.
"""

import gzip
from hashlib import sha256

import pytest

REFUSED = {
    "privatize fruit.json answers.txt -o fruit.json": "fruit.json is also an input",
    "privatize fruit.json people.csv --column fruit -o people.csv": "people.csv is also an input",
    "tally fruit.json p0.bin reports.bin -o p0.bin": "p0.bin is also an input",
    "estimate fruit.json tally.bin -o tally.bin": "tally.bin is also an input",
    "estimate fruit.json tally.bin -o tally.bin --force": "tally.bin is also an input",
    "privatize fruit.json answers.txt -o readonly.bin": "readonly.bin exists already",
    "tally fruit.json reports.bin -o readonly.bin": "pass --force",
    "estimate fruit.json tally.bin -o readonly.csv": "readonly.csv exists already",
    "tally fruit.json raw.bin -o new.bin": "expected a report file or a tally file",
    "tally fruit.json garbage.bin -o new.bin": "got binary data that begin with 00 c1",
    "tally fruit.json empty.bin -o new.bin": "got an empty file",
    "tally fruit.json people.csv -o new.bin": "got text, probably CSV",
    "estimate fruit.json tally.bin -o new.xlsx": "expected an output whose name ends with .txt",
    "estimate fruit.json tally.bin -o new.png": "draw it with --plot new.png",
    "privatize fruit.json semicolons.csv --column fruit -o new.bin": "pass --delimiter ';'",
    "privatize fruit.json foreign.txt -o new.bin": "foreign.txt:2: the answer is none of",
    "question create q --label a --label b --epsilon 1e-300 -o new.json": "got 1e-300",
    "recommend --epsilon 1e-300 --domain-size 8": "got 1e-300",
}
DONE = {
    "tally fruit.json --raw raw.bin -o new.bin": "raw.bin: 2 reports of 1 byte",
    "tally fruit.json p0.bin p1.bin -o new.bin": "p1.bin has the same content as p0.bin",
    "privatize other.json foreign.txt -o new.bin": "1 of 3 answers (33.3 %) are not labels and",
    "privatize other.json foreign.txt --strip --fold-case -o new.bin": "new.bin: 3 reports",
    "privatize fruit.json people.csv.gz --column fruit -o new.bin": "new.bin: 500 reports",
    "privatize fruit.json semicolons.csv --column fruit --delimiter ; -o new.bin": "500 reports",
    "plan --domain-size 8 --users 1000 --epsilon 9": "epsilon = 9 is above 5",
    "question create q --label a --label b --epsilon 50 -o new.json": "epsilon = 50 is above 5",
    "question create q --labels twins.txt --epsilon 1 -o new.json": "'a' and 'a ' differ only in",
    "estimate fruit.json tally.bin -o new.tsv": "",
    "simulate foreign.txt --question other.json --runs 1": "are not labels",
    "simulate foreign.txt --labels twins.txt --other a --epsilon 1 --runs 1": "3 of 3 answers",
    "audit fruit.json --calls 100": "",
}


@pytest.fixture
def files(fruit):
    """Return a command line with files of many kinds."""
    reports = fruit.read("reports.bin")
    people = fruit.read("people.csv")
    contents = {
        "p0.bin": reports, "p1.bin": reports, "raw.bin": b"\1\2", "empty.bin": b"",
        "garbage.bin": b"\0\xc1\xfe" * 100, "readonly.bin": b"mine", "readonly.csv": b"mine",
        "people.csv.gz": gzip.compress(people), "semicolons.csv": people.replace(b",", b";"),
        "foreign.txt": b"kiwi\nKiwi \nfig\n", "twins.txt": b"a\na \n",
    }  # fmt: skip
    for name, content in contents.items():
        fruit.write(name, content)
    for name in ("readonly.bin", "readonly.csv"):
        fruit.path(name).chmod(0o444)
    fruit("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--other", "other",
          "--epsilon", 1, "--protocol", "DE", "-o", "other.json")  # fmt: skip
    return fruit


def _contents(files):
    found = sorted(path for path in files.directory.iterdir() if path.is_file())
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.mark.parametrize("command", REFUSED)
def test_what_would_hurt_is_refused(files, command) -> None:
    """Exit code 2, one line that says what to do, and every file as it was."""
    before = _contents(files)
    assert REFUSED[command] in files.fails(*command.split(" "))
    assert _contents(files) == before


@pytest.mark.parametrize("command", DONE)
def test_what_is_done_is_said(files, command) -> None:
    """Exit code 0, what is worth knowing on stderr, and every file as it was but the new one."""
    before = _contents(files)
    outcome = files.attempt(*command.split(" "))
    assert outcome.code == 0, outcome.err
    assert DONE[command] in outcome.err
    assert {name: _contents(files)[name] for name in before} == before
