"""The page of the Python interface says what the docstrings say."""

import inspect
import rlcompleter
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from deniable.protocols import discover
from tests.marks import shortened
from tools.reference import make_python_reference as render

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"


def test_the_page_is_what_the_docstrings_make() -> None:
    """Nobody has to remember to write it again."""
    message = "run python -m tools reference"
    assert PAGE.read_text(encoding="utf-8") == render(), message


@pytest.mark.parametrize("name", sorted(set(deniable.__all__) - {"__version__"}))
def test_every_public_name_is_described(name: str) -> None:
    """A name of the package has a docstring and an entry."""
    item = getattr(deniable, name)
    assert inspect.getdoc(item)
    entries = ("### {name}\n", "- `{name}`: ")
    assert any(entry.format(name=name) in PAGE.read_text(encoding="utf-8") for entry in entries)


def test_completion_offers_what_users_need() -> None:
    """What completes in a shell is every public name and module, but for the bases of protocols."""
    modules = {"client", "consistency", "files", "law", "presentation", "spark"}
    bases = {"Answers", "Closed", "Mechanism", "Open", "Parameters", "Provenance", "Pure"}
    assert dir(deniable) == sorted({*deniable.__all__, *modules} - bases)
    offered: list[str] = []
    completer = rlcompleter.Completer({"deniable": deniable})
    while found := completer.complete("deniable.", len(offered)):
        offered.append(found)
    assert len(offered) == len(dir(deniable)) - 1  # __version__ is offered to who begins with _
    assert all(hasattr(deniable, name) for name in bases)


@pytest.mark.parametrize(
    "name",
    [*shortened(["files", "client", "consistency", "law", "presentation"], "more processes"),
     pytest.param("spark", marks=pytest.mark.frames)],
)  # fmt: skip
def test_a_module_is_there_when_it_is_used(name: str) -> None:
    """``import deniable`` loads none of them, and ``deniable.files`` is there all the same."""
    code = (
        f"import sys, deniable; assert 'deniable.{name}' not in sys.modules; "
        f"assert deniable.{name}.__name__ == 'deniable.{name}'; "
        "assert not hasattr(deniable, 'fruit')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_protocol_estimates_alike() -> None:
    """One signature everywhere."""
    signatures = {str(inspect.signature(kind.estimate)) for kind in discover().values()}
    assert len(signatures) == 1
