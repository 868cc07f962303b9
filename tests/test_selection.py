"""Marks choose what runs where, and nothing is skipped in silence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SKIPPED_TEST = """
import pytest

def test_one():
    pytest.skip("no reason that counts")

def test_two():
    pass
"""
SKIPPED_MODULE = """
import pytest

pytest.importorskip("no_such_package")
"""


def run(folder: Path, *arguments: str, ci: str = "") -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder as those of the project are run."""
    shutil.copy(ROOT / "conftest.py", folder)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.long("another pytest")
def test_a_long_test_says_why(tmp_path: Path) -> None:
    """A mark without a reason stops the run and shows how it is written."""
    bare = "import pytest\n\n@pytest.mark.long\ndef test_one():\n    pass\n"
    (tmp_path / "test_it.py").write_text(bare)
    found = run(tmp_path)
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert 'pytest.mark.long("why")' in found.stderr


@pytest.mark.parametrize(
    ("ci", "status"), [("true", 1), pytest.param("", 0, marks=pytest.mark.long("more processes"))]
)
def test_a_skipped_test_fails_in_ci(tmp_path: Path, ci: str, status: int) -> None:
    """What is skipped elsewhere is a failure where everything must be installed."""
    (tmp_path / "test_it.py").write_text(SKIPPED_TEST)
    assert run(tmp_path, ci=ci).returncode == status


@pytest.mark.parametrize(
    ("arguments", "status"),
    [((), 2), (("-m", "not long"), 0)],
)
@pytest.mark.long("another pytest")
def test_a_skipped_module_fails_in_ci(
    tmp_path: Path, arguments: tuple[str, ...], status: int
) -> None:
    """A module that cannot be imported is a failure too, but not for who runs some marks only."""
    (tmp_path / "test_it.py").write_text(SKIPPED_MODULE)
    (tmp_path / "test_that.py").write_text("def test_two():\n    pass\n")
    assert run(tmp_path, *arguments, ci="true").returncode == status
