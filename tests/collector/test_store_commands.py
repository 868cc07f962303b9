"""What an operator does to a store from the command line, with the collector stopped."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result

from deniable.cli import cli
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Asked, Slice, State, Submission, today, write_day
from deniable.collector.stores.sqlite import SqliteStore
from tests.collector.conftest import QUESTION

ASKED = Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms()))
POSTGRES = "postgresql://nobody@/nowhere?host=/nonexistent"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one report."""
    found = tmp_path / "store.db"
    store = open_store(str(found))
    store.ask(ASKED)
    store.add([Submission(QUESTION.digest, today(), b"1" * 16, b"\1")])
    store.close()
    return found


def run(path: Path | str, *words: str) -> Result:
    """Run a command on a store."""
    return CliRunner().invoke(cli, ["store", *words, "--store", str(path)])


def reports(path: Path) -> int:
    """Return how many reports a store has."""
    store = open_store(str(path))
    try:
        return store.standing(Slice(QUESTION.digest)).n
    finally:
        store.close()


def test_a_backup_comes_back(path: Path) -> None:
    """Restoring says where the old store is; a backup replaces no file."""
    copy = path.with_name("copy.db")
    assert run(path, "backup", str(copy)).exit_code == 0
    assert run(path, "backup", str(copy)).exit_code == 2
    store = open_store(str(path))
    store.add([Submission(QUESTION.digest, today(), b"2" * 16, b"\1")])
    store.close()
    found = run(path, "restore", str(copy))
    assert (found.exit_code, "store.db.replaced" in found.stderr) == (0, True)
    assert (reports(path), reports(path.with_name("store.db.replaced"))) == (1, 2)


def test_check_names_what_is_wrong(path: Path) -> None:
    """A row that waits, and afterwards the row that was set aside."""
    assert run(path, "check").exit_code == 0
    store = open_store(str(path))
    assert isinstance(store, SqliteStore)
    store.connection().execute("UPDATE waiting SET reports = x'00'")
    store.close()
    found = run(path, "check")
    assert (found.exit_code, "waiting row 1" in found.stdout) == (2, True)
    assert "1 row set aside" in run(path, "fold").stderr
    found = run(path, "check")
    assert (found.exit_code, "a row of waiting" in found.stdout) == (2, True)
    assert "checksum does not fit its reports" in found.stdout


def test_check_reads_questions_tallies_and_sums(path: Path) -> None:
    """Each is named with its question when it cannot be read."""
    run(path, "fold")
    store = open_store(str(path))
    assert isinstance(store, SqliteStore)
    store.connection().execute("UPDATE tallies SET tally = substr(tally, 1, 20)")
    assert store.ask(Asked("f" * 64, "{}", State.OPEN, "{}"))
    store.close()
    said = run(path, "check").stdout
    assert f"the tally of {write_day(today())} and the source 'anonymous'" in said
    assert f"the question {'f' * 64} cannot be read" in said


def test_days_are_opened_again(path: Path) -> None:
    """The command says what is open, and ends with an error when today cannot be."""
    ahead = SqliteStore(path, today=lambda: today() + 30)
    ahead.seal(trust_clock=True)
    ahead.close()
    assert "take no reports" in run(path, "check").stdout
    assert "deniable store reopen" in run(path, "fold", "--trust-clock").stderr
    found = run(path, "reopen")  # ids of today are forgotten by folding
    assert (found.exit_code, write_day(today() + 1) in found.stderr) == (2, True)
    fresh = path.with_name("fresh.db")
    SqliteStore(fresh, today=lambda: today() + 30).close()
    found = run(fresh, "reopen")
    assert found.exit_code == 0
    assert f"accepted for {write_day(today() - 7)} to {write_day(today() + 1)}" in found.stdout


def test_a_vacuum_says_what_it_gave_back(path: Path) -> None:
    """The sizes before and after."""
    found = run(path, "vacuum")
    assert (found.exit_code, "bytes before" in found.stderr) == (0, True)
    assert reports(path) == 1


def test_an_export_is_a_zip_file(path: Path) -> None:
    """It names a tally for the day; an unknown digest is refused."""
    target = path.with_name("out.zip")
    assert run(path, "export", QUESTION.digest, "-o", str(target)).exit_code == 0
    contents = json.loads(ZipFile(BytesIO(target.read_bytes())).read("contents.json"))
    assert [entry["n"] for entry in contents["tallies"]] == [1]
    assert run(path, "export", "f" * 64, "-o", str(path.with_name("no.zip"))).exit_code == 2


@pytest.mark.parametrize(
    ("words", "remedy"), [(("restore", "copy.db"), "pg_restore"), (("vacuum",), "VACUUM FULL")]
)
def test_of_postgresql_the_commands_name_its_own(words: tuple[str, ...], remedy: str) -> None:
    """They say in words what to run instead."""
    found = run(POSTGRES, *words)
    assert (found.exit_code, remedy in found.stderr) == (2, True)
