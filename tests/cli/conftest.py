"""A command line to call, in a directory of its own with the files that the examples name."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from deniable import randomness
from deniable.cli import cli


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode()


class Shell:
    def __init__(self, directory, command=cli):
        self.directory, self.command = directory, command

    def path(self, name):
        return self.directory / name

    def write(self, name, content):
        data = content if isinstance(content, bytes) else content.encode()
        self.path(name).write_bytes(data)
        return self.path(name)

    def read(self, name):
        return self.path(name).read_bytes()

    def __call__(self, *args, stdin=None):
        """Run a command that has to succeed, over what an earlier one may have written."""
        written = [b for a, b in itertools.pairwise(args) if a in ("-o", "--plot")]
        again = ["--force"] if any(self.path(name).is_file() for name in written) else []
        outcome = self.attempt(*args, *again, stdin=stdin)
        assert outcome.code == 0, outcome.err
        return outcome

    def attempt(self, *args, stdin=None):
        """Run a command that may fail."""
        result = CliRunner().invoke(self.command, [str(arg) for arg in args], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout_bytes, result.stderr)

    def fails(self, *args, stdin=None):
        """Run a command that has to end with one line on stderr and exit code 2."""
        outcome = self.attempt(*args, stdin=stdin)
        assert outcome.code == 2
        assert outcome.err.startswith("deniable: ")
        assert outcome.err.count("\n") == 1
        assert "Traceback" not in outcome.err
        return outcome.err


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return a command line in an empty directory, whose noise is the same in every run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    noise = np.random.default_rng(1)
    monkeypatch.setattr(randomness, "OperatingSystem", lambda: randomness.Seeded(noise))
    return Shell(Path(tmp_path))


@pytest.fixture
def fruit(shell):
    """Return a command line with a question, answers, reports and a tally of them."""
    answers = ["kiwi"] * 300 + ["fig"] * 150 + ["plum"] * 50
    shell.write("answers.txt", "".join(f"{answer}\n" for answer in answers))
    shell.write("people.csv", "id,fruit\n" + "".join(f"{i},{a}\n" for i, a in enumerate(answers)))
    shell("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--label", "plum",
          "--epsilon", 1, "--protocol", "DE", "-o", "fruit.json")  # fmt: skip
    shell("privatize", "fruit.json", "answers.txt", "-o", "reports.bin")
    shell("tally", "fruit.json", "reports.bin", "-o", "tally.bin")
    return shell
