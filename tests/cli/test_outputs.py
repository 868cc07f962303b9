"""Outputs: never an input, never over a file that is there unless that is asked for."""

import os
import re
from pathlib import Path

import pytest

from deniable.cli import cli
from deniable.cli.group import OutputPath
from tools.reference import walk

WRITING = {
    "privatize": ["privatize", "fruit.json", "answers.txt", "-o"],
    "privatize csv": ["privatize", "fruit.json", "people.csv", "--column", "fruit", "-o"],
    "tally": ["tally", "fruit.json", "reports.bin", "-o"],
    "estimate": ["estimate", "fruit.json", "tally.bin", "--format", "csv", "-o"],
    "question": ["question", "create", "q", "--labels", "labels.txt", "--epsilon", "1", "-o"],
}
INPUTS = {
    "privatize": ["fruit.json", "answers.txt"],
    "privatize csv": ["fruit.json", "people.csv"],
    "tally": ["fruit.json", "reports.bin"],
    "estimate": ["fruit.json", "tally.bin"],
    "question": ["labels.txt"],
}


@pytest.fixture
def files(fruit):
    """Return a command line with all the files that the commands read."""
    fruit.write("labels.txt", "kiwi\nfig\n")
    return fruit


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["plain", "forced"])
@pytest.mark.parametrize("link", ["same", "dotted", "hard", "soft"])
@pytest.mark.parametrize("name", WRITING)
def test_an_output_that_is_an_input_is_refused(files, name, link, force):
    """By whatever name: the same path, another way to it, a hard link or a symbolic one."""
    for given in INPUTS[name]:
        before, other = files.read(given), files.path("other")
        other.unlink(missing_ok=True)
        target = {"same": given, "dotted": f"./x/../{given}"}.get(link, "other")
        files.path("x").mkdir(exist_ok=True)
        if link == "hard":
            os.link(files.path(given), other)
        elif link == "soft":
            other.symlink_to(given)
        message = files.fails(*WRITING[name], target, *force)
        assert "is also an input" in message
        assert "name another file" in message
        assert files.read(given) == before


def test_a_figure_is_no_input_and_no_other_output(files):
    """--plot is an output as well."""
    os.link(files.path("answers.txt"), files.path("answers.png"))
    simulate = ["simulate", "answers.txt", "--epsilon", 1, "--protocol", "DE", "--plot"]
    assert "is also an input" in files.fails(*simulate, "answers.png", "--force")
    estimate = ["estimate", "fruit.json", "tally.bin", "-o", "e.png", "--format", "csv"]
    assert "two outputs" in files.fails(*estimate, "--plot", "e.png")
    files.write("e.png", "mine")
    assert "exists" in files.fails(*simulate, "e.png")
    assert files.read("e.png") == b"mine"
    files.attempt(*simulate, "e.png", "--force")
    assert files.read("e.png").startswith(b"\x89PNG")


@pytest.mark.parametrize("name", WRITING)
def test_a_file_that_exists_is_kept(files, name):
    """Without --force it is refused before any work, with it replaced."""
    files.write("mine", "kept")
    message = files.fails(*WRITING[name], "mine")
    assert "mine exists already" in message
    assert "--force" in message
    assert files.read("mine") == b"kept"
    assert files.attempt(*WRITING[name], "mine", "--force").code == 0
    assert files.read("mine") != b"kept"


@pytest.mark.parametrize("name", WRITING)
def test_a_file_that_may_not_be_written_is_kept(files, name):
    """Not even --force replaces a file of mode 444."""
    files.write("mine", "kept").chmod(0o444)
    message = files.fails(*WRITING[name], "mine", "--force")
    assert message.startswith("deniable: mine: Permission denied")
    assert files.read("mine") == b"kept"


def test_devices_are_written_without_asking(files):
    """Nothing is lost in a device, even one that is an input as well."""
    files("privatize", "fruit.json", "answers.txt", "-o", os.devnull)
    files("privatize", "fruit.json", os.devnull, "-o", os.devnull)


def test_every_command_that_writes_a_file_has_force():
    """Whatever has an output has the option that replaces it, once."""
    writing = 0
    for _, command in walk(cli, "deniable"):
        names = [name for param in command.params for name in param.opts]
        outputs = [param for param in command.params if isinstance(param.type, OutputPath)]
        assert names.count("--force") == bool(outputs)
        writing += bool(outputs)
    assert writing >= 6


@pytest.mark.parametrize("name", ["privatize", "tally"])
def test_no_binary_goes_to_a_terminal(files, monkeypatch, name):
    """A report file or a tally on a terminal is refused with a remedy."""
    monkeypatch.setattr("deniable.cli.outputs._is_terminal", lambda: True)
    assert "binary" in files.fails(*WRITING[name][:-1])


def test_no_command_imports_another():
    """What commands share stands in modules that are no commands."""
    package = Path(__import__("deniable").__file__).parent / "cli"
    commands = {p.stem for p in package.glob("*.py") if "\n@command(" in p.read_text("utf-8")}
    assert {"reports", "send", "simulate"} <= commands
    for name in commands:
        text = (package / f"{name}.py").read_text("utf-8")
        for other in commands - {name}:
            assert not re.search(rf"deniable\.cli(\.| import .*\b){other}\b", text), (name, other)
