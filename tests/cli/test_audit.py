"""``deniable audit`` on protocols, question files and classes of others."""

import json
import sys

import pytest

MINE = '''
import numpy as np

class Kept:
    """Randomised response that keeps the value with the given share of calls."""
    share = {share}

    def __init__(self, epsilon, domain_size):
        self.epsilon, self.domain_size = epsilon, domain_size

    def privatize(self, values, rng=None):
        own = np.random.default_rng()
        drawn = own.integers(0, self.domain_size, len(values))
        return np.where(own.random(len(values)) < self.share, values, drawn).astype(np.uint8)

class Nothing:
    pass

class Silent(Kept):
    privatize = None
    epsilon = "much"

    def __init__(self):
        pass

class Fussy(Kept):
    def __init__(self, epsilon):
        raise RuntimeError("not today")

kept = Kept(1.0, 3)
'''
FEW = ("--calls", 100, "--samples", 5000)


@pytest.fixture
def mine(shell):
    """Return a command line beside a module with protocols in it; honest at epsilon 1."""
    shell.write("mine_audited.py", MINE.format(share=0.3))
    yield shell
    sys.modules.pop("mine_audited", None)


def test_a_question_file_is_audited(fruit):
    """The protocol of the question is, with its own epsilon and domain size."""
    printed = fruit("audit", "fruit.json", *FEW).text
    assert printed.startswith("DE(epsilon=1.0, domain_size=3): holds: epsilon is exactly 1")
    assert "proved:" in printed
    assert "sampled:" in printed
    assert "leave out --epsilon and --domain-size" in fruit.fails(
        "audit", "fruit.json", "--epsilon", 1
    )
    assert "leave out --epsilon and --domain-size" in fruit.fails(
        "audit", "fruit.json", "--domain-size", 3
    )
    assert "missing.json" in fruit.fails("audit", "missing.json")


def test_a_question_of_something_else_is_refused(shell):
    """A file that is no question is named."""
    shell.write("other.json", "[]")
    assert shell.fails("audit", "other.json").startswith("deniable: other.json: this is not")


def test_a_class_of_the_current_directory_is_audited(mine):
    """An honest one passes with exit code 0, and nothing of it is called proved."""
    found = json.loads(mine("audit", "mine_audited:Kept", "--epsilon", 1, "--domain-size", 3,
                            "--json", *FEW).out)  # fmt: skip
    assert found["holds"]
    assert not found["exact"]
    assert found["proved"] == []
    assert found["claimed"] == 1
    assert 0 < found["resolution"] <= 1


def test_a_broken_class_exits_with_1(shell):
    """A class that tells the truth too often is BROKEN, in the text and in the exit code."""
    shell.write("mine_broken.py", MINE.format(share=0.95))
    outcome = shell.attempt("audit", "mine_broken:Kept", "--epsilon", 1, "--domain-size", 3, *FEW)
    assert outcome.code == 1
    assert "BROKEN: epsilon is at least" in outcome.text
    outcome = shell.attempt("audit", "mine_broken:Kept", "--epsilon", 1, "--domain-size", 3,
                            "--json", *FEW)  # fmt: skip
    assert outcome.code == 1
    assert not json.loads(outcome.out)["holds"]


def test_an_object_of_a_module_is_audited_as_it_is(mine):
    """What is made already takes no options."""
    assert "no violation found" in mine("audit", "mine_audited:kept", *FEW).text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such_module:Kept"], "No module named 'no_such_module'; run the"),
        (["mine_audited:Kep"], "did you mean 'Kept'?"),
        (["mine_audited:Kept"], "missing 2 required positional arguments: 'epsilon' and"),
        (["mine_audited:Kept", "--epsilon", "1"], "argument: 'domain_size'; give --epsilon and"),
        (["mine_audited:Nothing"], "has no privatize and no epsilon"),
        (["mine_audited:Nothing", "--epsilon", "1"], "Nothing() takes no arguments"),
        (["mine_audited:Silent"], "positive number, got 'much'"),
        (["mine_audited:Fussy", "--epsilon", "1"], "RuntimeError: not today"),
        (["mine_wrong:Kept"], "mine_wrong cannot be imported: SyntaxError"),
        (["mine_lacks:Kept"], "No module named 'not_here'"),
        (["LH:16", "--epsilon", "1"], "expected LH with g"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_audited_is_said(mine, arguments, said):
    """A missing module, class or option, and what is no mechanism, end with one line."""
    mine.write("mine_wrong.py", "def (")
    mine.write("mine_lacks.py", "import not_here")
    assert said in mine.fails("audit", *arguments)
