"""The command line as a process: start-up, pipes, interrupts, and the examples in its help."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deniable.cli import cli
from deniable.cli.reference import walk

PYTHON = [sys.executable, "-m", "deniable.cli"]
EXAMPLES = [
    (path, example) for path, command in walk(cli, "deniable") for example in command.examples
]


def run(*args, **kwargs):
    """Run the command line in a process of its own."""
    return subprocess.run([*PYTHON, *args], capture_output=True, check=False, timeout=120, **kwargs)


def loaded(*args):
    """Return the modules that a Python process imports."""
    found = subprocess.run(
        [sys.executable, "-X", "importtime", *args], capture_output=True, check=True, text=True
    )
    lines = [line for line in found.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_help_imports_little():
    """``--help`` imports neither Numba nor Rich, and nothing heavy that ``deniable`` does not."""
    modules = loaded("-m", "deniable.cli", "--help")
    packages = {module.partition(".")[0] for module in modules}
    assert "click" in packages
    assert not packages & {"numba", "rich", "matplotlib", "pyarrow", "pandas", "polars", "scipy"}
    own = {module for module in modules if module.startswith("deniable.cli")}
    assert own <= {"deniable.cli", "deniable.cli.group", "deniable.cli.__main__"}
    assert "numpy" not in packages or "numpy" in loaded("-c", "import deniable")


@pytest.mark.parametrize("module", ["deniable", "deniable.cli"])
def test_the_package_runs_as_a_module(module):
    """``python -m deniable`` and ``python -m deniable.cli`` are the command line."""
    found = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, check=True
    )
    assert found.stdout.startswith(b"deniable ")


def test_every_command_has_examples():
    """Every command shows examples in its help."""
    for path, command in walk(cli, "deniable"):
        assert command.examples, path
        assert "Examples:" in command.get_help(
            command.make_context(path, [], resilient_parsing=True)
        )


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Return a directory with the files that the examples read."""
    directory = tmp_path_factory.mktemp("examples")
    answers = ["kiwi"] * 300 + ["fig"] * 200
    (directory / "answers.txt").write_text("".join(f"{a}\n" for a in answers))
    (directory / "people.csv").write_text("id,fruit\n" + "".join(f"1,{a}\n" for a in answers))
    (directory / "labels.txt").write_text("kiwi\nfig\n")
    (directory / "names.csv").write_text("name,count\nSMITH,10\nJONES,5\nBROWN,2\n")
    (directory / "candidates.txt").write_text("a.example\nb.example\n")
    (directory / "visits.txt").write_text("a.example\n" * 50)
    (directory / "docs").mkdir()
    for args in (
        ["question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", "1",
         "-o", "fruit.json"],
        ["question", "create", "site", "--open", "--epsilon", "3", "-o", "site.json"],
        ["privatize", "fruit.json", "answers.txt", "-o", "reports.bin"],
        ["privatize", "fruit.json", "answers.txt", "-o", "monday.bin"],
        ["privatize", "fruit.json", "answers.txt", "-o", "tuesday.bin"],
        ["privatize", "site.json", "visits.txt", "-o", "sites.bin"],
        ["tally", "fruit.json", "reports.bin", "-o", "tally.bin"],
    ):  # fmt: skip
        assert run(*args, cwd=directory).returncode == 0
    return directory


@pytest.mark.parametrize("example", sorted({example for _, example in EXAMPLES}))
def test_examples_run(gallery, tmp_path, example):
    """Every example in the help runs as it stands, in a shell."""
    directory = tmp_path / "example"
    shutil.copytree(gallery, directory)
    short = example.replace("deniable demo", "deniable demo --people 20000")
    line = short.replace("--people 20000 --epsilon 1 --people 1000000", "--people 20000")
    bin_directory = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": bin_directory + os.pathsep + os.environ["PATH"]}
    found = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line] if "| head" not in line else ["bash", "-c", line],
        cwd=directory, env=environment, capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr.decode()
    assert b"Traceback" not in found.stderr


def test_a_broken_pipe_is_quiet(gallery):
    """When the reader of the output goes away, nothing is printed on stderr."""
    process = subprocess.Popen(
        [*PYTHON, "vectors", "-"], cwd=gallery, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(timeout=60)


def test_no_progress_bar_outside_a_terminal(gallery):
    """Standard error has one line of summary and no control characters."""
    found = run("privatize", "fruit.json", "answers.txt", "-o", "new.bin", cwd=gallery)
    assert found.stderr == b"new.bin: 500 reports on 'fruit'\n"


def test_output_in_ascii(gallery):
    """A terminal that can only print ASCII gets a table all the same."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    found = run("estimate", "fruit.json", "tally.bin", cwd=gallery, env=environment)
    assert found.returncode == 0, found.stderr
    assert b"kiwi" in found.stdout
    assert found.stdout.isascii()


def test_an_interrupt_ends_with_130(gallery):
    """Ctrl-C stops the work with one line, exit code 130 and no traceback."""
    process = subprocess.Popen(
        [*PYTHON, "privatize", "fruit.json", "-", "-o", "x.bin"],
        cwd=gallery, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not list(gallery.glob(".x.bin.*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error
    assert b"interrupted" in error
    assert not list(gallery.glob("*x.bin*"))
