"""Docstrings and docs/paper.md cite the same labels, and the paper has them."""

import re
from pathlib import Path

import pytest

from tests.components import ABSENT_DATA

ROOT = Path(__file__).resolve().parents[1]
LABEL = re.compile(r"\[((?:aln|def|eq|fig|sec|tbl|thm):[A-Za-z0-9_:=.-]+)\]")


def labels_in(text: str) -> set[str]:
    """Return the labels that a text cites in square brackets."""
    return set(LABEL.findall(text))


def cited() -> set[str]:
    """Return the labels that the source cites."""
    files = [path for part in ("src", "tools") for path in (ROOT / part).rglob("*.py")]
    return set().union(*(labels_in(path.read_text(encoding="utf-8")) for path in files))


def test_every_cited_label_is_explained() -> None:
    """What a docstring cites can be looked up in docs/paper.md."""
    listed = labels_in((ROOT / "docs" / "paper.md").read_text(encoding="utf-8"))
    assert cited() - listed == set()


def test_every_explained_label_is_cited() -> None:
    """What docs/paper.md lists is used somewhere in the code."""
    listed = labels_in((ROOT / "docs" / "paper.md").read_text(encoding="utf-8"))
    assert listed - cited() == set()


def test_every_label_is_the_papers_own(shared_data: Path) -> None:
    """No label is misspelt."""
    paper = shared_data.parent / "paper.tex"
    if not paper.exists():
        pytest.skip(ABSENT_DATA)
    theirs = set(re.findall(r"\\label\{([^}]+)\}", paper.read_text(encoding="utf-8")))
    assert cited() <= theirs
