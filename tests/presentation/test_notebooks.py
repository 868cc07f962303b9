"""What notebooks and terminals show: figures and sentences that fit, and any label as it is."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

import deniable
from deniable import OUE, Question
from deniable.cli import cli
from deniable.presentation.text import columns_of, wrapped

FAMILY, PERSIAN, HEBREW = "👩\u200d👩\u200d👧\u200d👦", "می\u200cخواهم", "שלום"
LABELS = (FAMILY, PERSIAN, HEBREW, "x" * 10_000)


@pytest.fixture(scope="module")
def question() -> Question:
    """Return a question with labels that are hard to show."""
    return Question("<b>Which?</b>", LABELS, OUE(3.0, len(LABELS)))


def test_questions_tallies_and_plans_show_themselves(question: Question) -> None:
    """Each shows its figures, with all text escaped and long labels cut."""
    tally = question.tally(question.privatize([FAMILY] * 9))
    plan = deniable.plan(30, users=10_000, epsilon=1.0)
    for shown, words in (
        (question, ("&lt;b&gt;Which?", FAMILY, PERSIAN, HEBREW, "Privacy", question.digest)),
        (tally, (">9<", "OUE", question.digest)),
        (plan, ("± 3.6", "8.5", "AffineSelection")),
    ):
        html = shown._repr_html_()
        assert all(word in html for word in words)
        assert "<b>" not in html
        assert "\\x" not in html
        assert "xxxx" * 100 not in html
    assert len(repr(question.tally(question.privatize([])))) < 200


def test_any_label_shows_as_it_is(question: Question) -> None:
    """Joined emoji, Persian and Hebrew stay whole on pages and in text; endless labels are cut."""
    answers = [FAMILY] * 900 + [PERSIAN] * 500 + [HEBREW] * 300 + [LABELS[-1]] * 200
    found = question.estimate(question.tally(question.privatize(answers, np.random.default_rng(1))))
    for text in (found.to_html(), found._repr_html_(), found.table(width=80)):
        assert all(label in text for label in (FAMILY, PERSIAN, HEBREW))
        assert "\\u200" not in text
        assert "x" * 400 not in text
    rows = found.table(width=80).splitlines()
    assert all(columns_of(line) <= 80 for line in rows)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_sentences_are_wrapped_between_words(width: int) -> None:
    """No line is too wide, no word is broken, and a number keeps its sign and its unit."""
    said = "One report makes a guess of 50 % at most 73 % likely, 日本語 by ± 2.2\u00a0points."
    lines = wrapped(said, width)
    assert all(columns_of(line) <= width for line in lines)
    assert " ".join(lines) == said.replace("\u00a0", " ")
    assert not any(re.match(r"%|points", line) or line.endswith("±") for line in lines)


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("plan --users 10000 --epsilon 1 --domain-size 30", "10,000 people: each share is right"),
        (
            "audit DE --epsilon 1 --domain-size 3 --calls 64",
            "DE(epsilon=1.0, domain_size=3): holds",
        ),
    ],
)
def test_commands_say_the_verdict_first_and_wrap_all_sentences(command: str, first: str) -> None:
    """The first words are the verdict, and every line fits the terminal."""
    shown = CliRunner().invoke(cli, command.split(), env={"COLUMNS": "70"}).output
    assert shown.startswith(first)
    assert max(map(len, shown.splitlines())) <= 70
