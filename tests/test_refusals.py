"""Which questions are accepted and which refused, from ``vectors/questions.json``."""

import json
from pathlib import Path

import pytest

from deniable.errors import InvalidDocument
from deniable.question import Question
from tools.vectors.questions import make_refusals

FILE = Path(__file__).parent.parent / "vectors" / "questions.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["vectors"]


def accepts(case):
    """Tell whether a client in Python may answer the question of a case."""
    try:
        Question.load(case["text"], case["ceiling"], digest=case["named"])
    except InvalidDocument:
        return False
    return True


def test_the_file_is_what_the_module_makes():
    """The committed file has the cases that the module makes now."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == make_refusals(), "run make vectors"


@pytest.mark.parametrize("case", CASES, ids=[case["why"] for case in CASES])
def test_the_verdict_is_that_of_the_file(case):
    """A question is accepted or refused as the file says."""
    assert accepts(case) == case["accepted"]


@pytest.mark.parametrize("case", [c for c in CASES if c.get("newer")], ids=lambda c: c["why"])
def test_what_a_newer_version_may_know_is_refused_by_name(case):
    """Who reads a question from the future is told to upgrade, not that the file is damaged."""
    with pytest.raises(InvalidDocument, match=r"this version of deniable.*upgrade deniable"):
        Question.from_json(case["text"])


def test_both_verdicts_have_many_cases():
    """A reader that accepts everything fails on many cases, and so does one that refuses all."""
    assert sum(case["accepted"] for case in CASES) > 15
    assert sum(not case["accepted"] for case in CASES) > 80
