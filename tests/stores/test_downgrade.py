"""What this version writes, in the hands of 0.2.0: taken as it is, or refused in words."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from deniable import Choices, Question
from deniable.collector.stores import open_store
from tests.components import ABSENT_HISTORY
from tests.stores.server import Server

pytestmark = pytest.mark.long("runs another version")

ROOT = Path(__file__).resolve().parents[2]
LAST = "c5d1632"
"""The commit of 0.2.0."""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the code of 0.2.0 stands, taken from the history."""
    found = subprocess.run(
        ["git", "archive", LAST, "src"], cwd=ROOT, capture_output=True, check=False
    )
    if found.returncode:
        pytest.skip(ABSENT_HISTORY)
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def run(before: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line of 0.2.0."""
    return python(before, "-m", "deniable", *arguments)


def python(before: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python where the code of 0.2.0 comes first."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(before)}, cwd=before, check=False,
    )  # fmt: skip


def test_it_is_that_version(before: Path) -> None:
    """The code from the history runs, and not the installed one, whose number its metadata has."""
    found = python(before, "-c", "import deniable; print(deniable.__file__)").stdout.strip()
    assert Path(found) == before / "deniable" / "__init__.py"


@pytest.mark.parametrize("command", ["check", "fold", "serve"])
def test_a_store_is_refused(before: Path, tmp_path: Path, command: str) -> None:
    """0.2.0 leaves the store alone, and says that a later release wrote it and what to do."""
    path = tmp_path / "store.db"
    with closing(open_store(str(path))):
        pass
    bytes_before = path.read_bytes()
    words = ["serve", "--port", "0"] if command == "serve" else ["store", command]
    found = run(before, *words, "--store", path)
    assert found.returncode == 2
    assert "written by a later release: upgrade deniable, or restore the copy" in found.stderr
    assert "Traceback" not in found.stderr
    assert path.read_bytes() == bytes_before


@pytest.mark.postgres
def test_a_store_in_postgresql_is_refused(before: Path, postgres_server: Server) -> None:
    """The same for a schema in PostgreSQL."""
    found = run(before, "store", "check", "--store", postgres_server.url("deniable_template"))
    assert found.returncode == 2
    assert "written by a later release" in found.stderr


def test_a_question_of_a_new_kind_is_refused(before: Path, tmp_path: Path) -> None:
    """A document that 0.2.0 cannot know is named as newer."""
    path = tmp_path / "question.json"
    path.write_text(Question("sets", Choices(("a", "b", "c"), at_most=2), epsilon=1.0).to_json())
    found = run(before, "question", "show", path)
    assert found.returncode == 2
    assert "expected version 1 of the format deniable-question, got 2; upgrade" in found.stderr


def test_a_question_of_an_old_kind_is_the_same(before: Path, tmp_path: Path) -> None:
    """What version 1 can say is written as before, so 0.2.0 reads it."""
    question = Question("fruit", ("kiwi", "fig"), epsilon=1.0)
    path = tmp_path / "question.json"
    path.write_text(question.to_json())
    assert question.digest[:16] in run(before, "question", "show", path).stdout
