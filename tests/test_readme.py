"""What the README and the quick start tell a new user to type works, line by line."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from tests.marks import shortened

ROOT = Path(__file__).resolve().parents[1]


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return re.findall(
        rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one line as a shell of 100 columns would, with this interpreter's deniable."""
    command = f'deniable() {{ {shlex.quote(sys.executable)} -m deniable.cli "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize(
    "page",
    shortened(
        ["README.md", "docs/quick-start.md", "docs/choosing.md"], "a process for each command"
    ),
)
def test_every_command_of_the_page_works(page: str, tmp_path: Path) -> None:
    """The lines after each dollar sign succeed in order, in one folder."""
    lines = [
        line[2:]
        for block in blocks(page, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    assert lines
    for line in lines:
        done = run(line, tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if " estimate " in line and "plot" not in line:
            assert "Firefox" in done.stdout


def test_the_python_of_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """The example ends with the table of estimates that stands below it, but for the version."""
    (example,), (table,) = blocks("README.md", "python"), blocks("README.md", "text")
    exec(compile(example, "README.md", "exec"), {})
    version = re.compile(r"deniable \d+\.\d+\.\d+\S*")
    assert version.sub("", capsys.readouterr().out) == version.sub("", table)


@pytest.mark.parametrize("page", ["docs/exports.md", "docs/audit.md"])
def test_the_python_of_the_page_works(page: str) -> None:
    """The examples run as they stand, one after the other."""
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)


def test_the_python_of_the_quick_start_works(tmp_path: Path) -> None:
    """A device reads its question and makes a report, whatever the encoding of its locale."""
    labels = ("Firefox", "Vašek's own")
    question = deniable.Question("browser", labels, protocol=deniable.DE(1.0, 2))
    (tmp_path / "browser.json").write_text(question.to_json(), encoding="utf-8")
    device, server, analyst = blocks("docs/quick-start.md", "python")
    checked = (
        f"{device}\nassert len(report) == 1\n{server}\nassert tally.n == 1\n"
        f"tally.to_bytes('tally.bin')\n{analyst}\nassert estimates.n == 1\n"
    )
    # Python itself cannot read a path beyond ASCII from the file that names ours in such a locale.
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-S", "-X", "utf8=0", "-c", checked],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_opens_with_the_two_commands() -> None:
    """Whoever reads ten lines knows how to run it."""
    opening = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:10])
    assert "make demo" in opening
    assert "make test" in opening
