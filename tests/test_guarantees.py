"""Every promise of docs/guarantees.md names the tests that keep it, and these exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))
SECTIONS = dict(re.findall(r"^## (.+?)$\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(("path", "name"), NAMED, ids="::".join)
def test_the_tests_that_are_named_exist(path: str, name: str) -> None:
    """A test that was renamed or removed is noticed here."""
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("section", SECTIONS)
def test_every_promise_has_a_test(section: str) -> None:
    """A section without a test would be a claim."""
    assert re.search(r"`tests/[\w/]+\.py", SECTIONS[section])


def test_all_promises_are_there() -> None:
    """Privacy, audit, coverage, alarms, power, comparison, files and hostile input are covered."""
    expected = {"Privacy", "Audit", "Coverage", "False alarms", "Power", "Comparison", "Files",
                "Nothing is overwritten", "Hostile input"}  # fmt: skip
    assert expected <= SECTIONS.keys()
    assert len(NAMED) >= 35
