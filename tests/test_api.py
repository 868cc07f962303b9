"""The page of the Python interface says what the docstrings say."""

import inspect
from pathlib import Path

import pytest

import deniable
from deniable.cli.api import render
from deniable.protocols import discover

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"


def test_the_page_is_what_the_docstrings_make() -> None:
    """Nobody has to remember to write it again."""
    message = "run deniable reference --python -o docs/api.md --force"
    assert PAGE.read_text(encoding="utf-8") == render(), message


@pytest.mark.parametrize("name", sorted(set(deniable.__all__) - {"__version__"}))
def test_every_public_name_is_described(name: str) -> None:
    """A name of the package has a docstring and an entry."""
    item = getattr(deniable, name)
    assert inspect.getdoc(item)
    assert f"`{name}" in render()
    assert name in dir(deniable)


def test_the_package_shows_no_internals() -> None:
    """What completes in a shell is what there is to use."""
    assert dir(deniable) == sorted(deniable.__all__)
    assert not [name for name in dir(deniable) if name.startswith("_") and name != "__version__"]


def test_every_protocol_estimates_alike() -> None:
    """One signature everywhere."""
    signatures = {str(inspect.signature(kind.estimate)) for kind in discover().values()}
    assert len(signatures) == 1
