"""How far one answer travels: the calls and the modules between it and its report."""

import sys
from pathlib import Path

import pytest

import deniable
from deniable import AffineSelection, Protocol, Question, SubsetSelection

PACKAGE = str(Path(deniable.__file__).parent)

PROTOCOLS = [
    SubsetSelection(1.0, 12),
    SubsetSelection(1.0, 64),
    AffineSelection(1.0, 100),
    AffineSelection(1.0, 1000),
    AffineSelection(2.0, 41_270),
    AffineSelection(4.0, 41_270),
]


def calls_of_one_answer(question: Question) -> list[str]:
    """Return the file of each function of the package that one answer goes through."""
    files: list[str] = []

    def note(frame, event, _) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        question.privatize(["answer 1"])
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_one_answer_becomes_a_report_in_few_calls_and_files(protocol: Protocol) -> None:
    """A reader follows one answer through at most 22 calls in five files, kernels included."""
    labels = [f"answer {i}" for i in range(protocol.value_count)]
    question = Question("walk", labels, protocol)
    question.privatize(["answer 1"])  # fills what is computed once
    # A word that is drawn again adds a call of its own; of several answers one has none.
    walks = [calls_of_one_answer(question) for _ in range(20)]
    shortest = min(walks, key=len)
    assert len(shortest) <= 22
    assert len({*shortest}) <= 5
