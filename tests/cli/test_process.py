"""The command line as a process: start-up, pipes, interrupts, and the examples in its help."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable.cli import cli
from tests.marks import shortened
from tools.reference import walk

PYTHON = [sys.executable, "-m", "deniable.cli"]
# What a shell starts in the background, perhaps these tests, ignores interrupts unless it asks.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from deniable.cli import main
main()
"""
# tests/collector/test_commands.py runs the examples that need a collector or its store.
COLLECTOR = ("deniable serve", "deniable send", "deniable pull", "deniable token", "deniable store",
             "deniable question publish")  # fmt: skip
EXAMPLES = [
    (path, example)
    for path, command in walk(cli, "deniable")
    for example in command.examples
    if not path.startswith(COLLECTOR)
]


def run(*args, **kwargs):
    """Run the command line in a process of its own."""
    return subprocess.run([*PYTHON, *args], capture_output=True, check=False, **kwargs)


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


@pytest.mark.parametrize(
    "command", shortened(["recommend", "privatize", "compare"], "more processes")
)
def test_a_command_loads_no_part_of_numpy_that_it_may_not_need(command):
    """NumPy loads its generators and polynomials when they are used; annotations use neither."""
    modules = loaded("-m", "deniable.cli", command, "--help")
    assert "numpy" in modules
    assert not modules & {"numpy.random", "numpy.polynomial"}


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
        # Click keeps the help option that it makes first, so it is made as the group would.
        settings = {**cli.context_settings, "resilient_parsing": True}
        assert "Examples:" in command.get_help(command.make_context(path, [], **settings))


def made(directory, *args):
    """Run a command in this process, which saves the time to start one."""
    with contextlib.chdir(directory):
        found = CliRunner().invoke(cli, args)
    assert found.exit_code == 0, found.output


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Return a directory with a question, answers, reports and a tally."""
    directory = tmp_path_factory.mktemp("examples")
    answers = ["kiwi"] * 300 + ["fig"] * 200
    (directory / "answers.txt").write_text("".join(f"{a}\n" for a in answers))
    (directory / "many.txt").write_text("kiwi\n" * 100_000)
    for args in (
        ["question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", "1",
         "-o", "fruit.json"],
        ["privatize", "fruit.json", "answers.txt", "-o", "reports.bin"],
        ["tally", "fruit.json", "reports.bin", "-o", "tally.bin"],
    ):  # fmt: skip
        made(directory, *args)
    return directory


@pytest.fixture(scope="module")
def examples(gallery, tmp_path_factory):
    """Return a directory with all files that the examples read."""
    directory = tmp_path_factory.mktemp("all") / "examples"
    shutil.copytree(gallery, directory)
    answers = (directory / "answers.txt").read_text().split()
    (directory / "people.csv").write_text("id,fruit\n" + "".join(f"1,{a}\n" for a in answers))
    (directory / "labels.txt").write_text("kiwi\nfig\n")
    (directory / "names.csv").write_text("name,count\nSMITH,10\nJONES,5\nBROWN,2\n")
    (directory / "candidates.txt").write_text("a.example\nb.example\n")
    (directory / "visits.txt").write_text("a.example\n" * 50)
    (directory / "tools.txt").write_text("".join(f"tool {i}\n" for i in range(12)))
    (directory / "set-up.toml").write_text('plan = ["free", "pro"]\nsystem = ["linux", "mac"]\n')
    (directory / "survey.csv").write_text("plan,system\n" + "free,mac\npro,linux\n" * 200)
    (directory / "times.txt").write_text("".join(f"{50 * i}\n" for i in range(120)))
    (directory / "pages.txt").write_text("".join(f"/fruit/{a}/{i}\n" for i in range(50) for a in
                                                 ("kiwi", "fig")))  # fmt: skip
    (directory / "words.txt").write_text("banana\nkiwi\npapaya\n")
    (directory / "said.txt").write_text("banana\nkiwi\npapaya\n" * 8000)
    for args in (
        ["question", "create", "site", "--open", "--epsilon", "3", "-o", "site.json"],
        *(["privatize", "fruit.json", "answers.txt", "-o", f"{day}.bin"]
          for day in ("monday", "tuesday")),
        ["privatize", "site.json", "visits.txt", "-o", "sites.bin"],
        ["question", "create", "daily", "--label", "kiwi", "--label", "fig",
         "--protocol", "basicrappor:f=0.5:p=0.75:q=0.25", "-o", "daily.json"],
        *(["privatize", "daily.json", "answers.txt", "-o", f"{month}.bin"]
          for month in ("may", "june")),
        *(["question", "create", name, "--label", "kiwi", "--label", "fig", "--epsilon", "1",
           "-o", f"{name}.json"] for name in ("old", "new")),
        *(["privatize", f"{name}.json", "answers.txt", "-o", f"{name}.bin"]
          for name in ("old", "new")),
        *(["privatize", "fruit.json", "answers.txt", "-o", f"{arm}.bin"] for arm in "abc"),
        ["question", "create", "set-up", "--record", "set-up.toml", "--tables", "pairs",
         "--epsilon", "1", "-o", "set-up.json"],
        *(["privatize", "set-up.json", "survey.csv", "-o", f"{season}.bin"]
          for season in ("spring", "autumn")),
        ["question", "create", "load", "--number", "0", "6000", "--step", "50", "--epsilon", "2",
         "-o", "load.json"],
        *(["privatize", "load.json", "times.txt", "-o", f"{when}.bin"]
          for when in ("before", "after")),
        ["question", "create", "crashes", "--label", "kiwi", "--label", "fig", "--epsilon", "2",
         "--segment", "platform=linux,mac,windows", "-o", "crashes.json"],
        ["privatize", "crashes.json", "answers.txt", "--segment", "platform=mac",
         "-o", "crashes.bin"],
        ["question", "create", "words", "--discover", "--epsilon", "4",
         "--protocol", "Discovery:bucket_bits=6:piece_bits=8", "-o", "words.json"],
        ["privatize", "words.json", "said.txt", "-o", "words.bin"],
    ):  # fmt: skip
        made(directory, *args)
    return directory


@pytest.mark.long("a shell for each example of the help")
@pytest.mark.parametrize("example", sorted({example for _, example in EXAMPLES}))
def test_examples_run(examples, tmp_path, example):
    """Every example in the help runs as it stands, in a shell."""
    directory = tmp_path / "example"
    shutil.copytree(examples, directory)
    words = example.split()
    for name in {b for a, b in itertools.pairwise(words) if a == "-o"}:
        (directory / name).unlink(missing_ok=True)
    short = example.replace("deniable demo", "deniable demo --people 20000")
    line = short.replace("--people 20000 --epsilon 1 --people 1000000", "--people 20000")
    bin_directory = str(Path(sys.executable).parent)
    path = bin_directory + os.pathsep + os.environ["PATH"]
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    found = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line] if "| head" not in line else ["bash", "-c", line],
        cwd=directory, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr.decode()
    assert b"Traceback" not in found.stderr


@pytest.mark.parametrize(
    "command",
    shortened(
        ["privatize fruit.json many.txt -o -", "--help", "estimate fruit.json tally.bin",
         "estimate fruit.json tally.bin --format csv", "question show fruit.json",
         "estimate --help", "--version", ""],
        "more processes", keep=3,
    ),
)  # fmt: skip
def test_a_closed_pipe_ends_quietly_with_0(gallery, command):
    """When the reader of the output goes away, nothing is printed on stderr and the status is 0."""
    process = subprocess.Popen(
        [*PYTHON, *command.split()], cwd=gallery, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # The reader leaves after a few bytes of a long output, and before the first of a short one.
    if "many.txt" in command:
        process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_the_reference_says_what_a_closed_pipe_ends_with():
    """The page on the command line names the status that the test above finds."""
    page = " ".join(
        (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8").split()
    )
    assert "goes away, as `head` does, the command ends quietly with 0" in page


def test_every_process_draws_anew_and_says_so_in_one_line(gallery):
    """The same answers make other reports; standard error has no bar or control characters."""
    found = run("privatize", "fruit.json", "answers.txt", "-o", "fresh.bin", cwd=gallery)
    assert found.stderr == b"fresh.bin: 500 reports on 'fruit'\n"
    first, second = ((gallery / name).read_bytes() for name in ("reports.bin", "fresh.bin"))
    # 500 reports agree, each with probability 0.61, with probability below 1e-100.
    assert len(first) == len(second)
    assert first != second


def test_output_in_ascii(gallery):
    """A terminal that can only print ASCII gets a table all the same."""
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "COLUMNS": "100"}
    environment = {**os.environ, **ascii_only}
    found = run("estimate", "fruit.json", "tally.bin", cwd=gallery, env=environment)
    assert found.returncode == 0, found.stderr
    assert b"kiwi" in found.stdout
    assert found.stdout.isascii()


def test_an_interrupt_ends_with_130(gallery):
    """Ctrl-C stops the work with one line, exit code 130 and no traceback."""
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "privatize", "fruit.json", "-", "-o", "x.bin"],
        cwd=gallery, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    # More than a pipe holds and less than a batch: when all of it is written the process has read
    # some and reads on, with a temporary file that has to go. No clock is needed to know.
    process.stdin.write(b"kiwi\n" * 100_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in error
    assert b"interrupted" in error
    assert not list(gallery.glob("*x.bin*"))


@pytest.fixture(scope="module")
def named(gallery):
    """Return the directory with a question and answers that few encodings have."""
    (gallery / "names.txt").write_text("Zoë\nŽofie\n" * 50, encoding="utf-8")
    create = ["question", "create", "Prénom ☺", "--label", "Zoë", "--label", "Žofie",
              "--epsilon", "1", "-o", "names.json", "--force"]  # fmt: skip
    made(gallery, *create)
    for verb, source, target in (
        ("privatize", "names.txt", "named.bin"),
        ("tally", "named.bin", "names.bin"),
    ):
        made(gallery, verb, "names.json", source, "-o", target, "--force")
    return gallery


@pytest.mark.parametrize(
    "args",
    shortened(
        [
            ["estimate", "names.json", "names.bin"],
            ["privatize", "names.json", "answers.txt", "-o", "again.bin"],
            ["question", "show", "names.json"],
            ["simulate", "names.txt", "--epsilon", "1", "--protocol", "DE"],
            ["privatize", "names.json", "names.txt", "-o", "again.bin"],
        ],
        "more processes",
        keep=2,
    ),
    ids=" ".join,
)
@pytest.mark.parametrize("encoding", shortened(["ascii", "latin-1"], "more processes"))
def test_labels_outside_the_encoding_are_escaped(named, args, encoding):
    """A label that the terminal cannot print is printed as escapes, and never a traceback."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "100"}
    (named / "again.bin").unlink(missing_ok=True)
    found = run(*args, cwd=named, env=environment)
    assert b"Traceback" not in found.stderr
    assert found.returncode == (2 if "answers.txt" in args else 0), found.stderr
    if args[0] != "privatize":
        assert b"\\u017dofie" in found.stdout
        assert ("Zoë" if encoding == "latin-1" else "Zo\\xeb").encode(encoding) in found.stdout


def test_json_is_the_same_in_every_encoding(gallery):
    """JSON is UTF-8 or ASCII, whatever the terminal is, and so reads back."""
    create = ["question", "create", "Zoë", "--label", "Zoë", "--label", "☺", "--epsilon", "1",
              "-o", "zoe.json"]  # fmt: skip
    made(gallery, *create)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = run("question", "show", "zoe.json", "--json", cwd=gallery, env=environment)
    assert shown.stdout == (gallery / "zoe.json").read_bytes()
    lines = run("question", "show", "zoe.json", "--labels", cwd=gallery, env=environment).stdout
    assert [json.loads(line) for line in lines.splitlines()] == ["Zoë", "☺"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
@pytest.mark.parametrize("unbuffered", shortened(["1", ""], "more processes"))
def test_a_full_device_is_named(gallery, unbuffered):
    """Standard output or the device that was named, and no claim about a file that is there."""
    privatize = ["privatize", "fruit.json", "answers.txt", "-o"]
    found = run(*privatize, "/dev/full", cwd=gallery)
    assert found.returncode == 2
    assert found.stderr == b"deniable: /dev/full: No space left on device; free some space\n"
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*PYTHON, *privatize, "there.bin", "--json"], cwd=gallery, stdout=full,
            stderr=subprocess.PIPE, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr == (
        b"deniable: standard output: No space left on device; free some space\n"
    )
    (gallery / "there.bin").unlink()


def test_termination_leaves_no_temporary_file(gallery):
    """SIGTERM ends the work with exit code 143, and what was half written is gone."""
    process = subprocess.Popen(
        [*PYTHON, "privatize", "fruit.json", "-", "-o", "stopped.bin"],
        cwd=gallery, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    # As above: when all of this is written, the process has read some and reads on.
    process.stdin.write(b"kiwi\n" * 100_000)
    process.stdin.flush()
    assert list(gallery.glob(".stopped.bin.*"))
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate()
    assert process.returncode == 143
    assert error == b""
    assert not list(gallery.glob("*stopped.bin*"))


@pytest.mark.parametrize("module", ["click", "deniable.cli.group"])
def test_an_early_interrupt_is_no_traceback(module, tmp_path):
    """Ctrl-C while the command line is still being imported ends with 130 as well."""
    code = f"""
import builtins
real = builtins.__import__
def interrupted(name, *args, **kwargs):
    if name == {module!r}:
        raise KeyboardInterrupt
    return real(name, *args, **kwargs)
builtins.__import__ = interrupted
from deniable.cli import main
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert found.returncode == 130
    assert b"Traceback" not in found.stderr
