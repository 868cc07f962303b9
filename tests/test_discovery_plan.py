"""Plans for discovery: whether a code fits, and what will be found, in sentences."""

import numpy as np
import pytest

from deniable import Code, Discovery, InvalidParameter, plan_discovery
from deniable.advice.discovery import power, smallest_share

WORDS = ["hello", "world", "kiwi", "banana", "plum", "the", "and", "with"]
PAGES = [f"https://www.example.com/news/{i}" for i in range(300)]


def test_plan_says_what_will_be_found() -> None:
    """The smallest share follows from people and epsilon, and is said in a sentence."""
    found = plan_discovery(WORDS, users=10**6, epsilon=2.0)
    assert found.reachable
    assert found.cut == 0
    assert 0.006 < found.share < 0.008
    assert "1,000,000 people" in str(found)
    assert f"{100 * found.share:.3g} %" in str(found)
    assert found.protocol.report_bits == 32


def test_plan_tells_how_many_people_it_takes() -> None:
    """The number of people for a share is the least that finds it."""
    found = plan_discovery(WORDS, share=0.02, epsilon=2.0)
    size = min(found.bits[2], found.protocol.layout.length)
    assert smallest_share(found.protocol, found.users, size) <= 0.02
    assert smallest_share(found.protocol, found.users - 1000, size) > 0.02
    assert f"A text of up to {size} bits that 2 % of the people give is found with 90 %" in str(
        found
    )


def test_hopeless_plans_say_so() -> None:
    """Too few people, or a share that is too small for them, is said beforehand."""
    few = plan_discovery(WORDS, users=40_000, epsilon=1.0, share=0.02)
    assert not few.reachable
    assert "will most likely not be found" in str(few)
    none = plan_discovery(WORDS, users=100, epsilon=1.0)
    assert none.share is None
    assert "nothing will be found" in str(none)
    never = plan_discovery(WORDS, share=1e-7, epsilon=0.1)
    assert not never.reachable
    assert "Out of reach" in str(never)


def test_code_that_cuts_too_many_examples_is_refused() -> None:
    """Addresses by the English code are refused, and the remedy is to learn one."""
    with pytest.raises(InvalidParameter, match="code learn"):
        plan_discovery(PAGES, users=10**6, epsilon=2.0)
    with pytest.raises(InvalidParameter, match=r"…xample\.com/news/299' \(\d+ bits\)"):
        plan_discovery([f"https://www.a-very-long-name.example.com/news/{i}" for i in (299, 7)],
                       users=10**6, epsilon=2.0)  # fmt: skip
    # All that differs is beyond the bytes that count, so that these are two examples and not 40.
    with pytest.raises(InvalidParameter, match=r"too long for 50 % of the examples"):
        plan_discovery(["kiwi", *("x" * 1024 + str(i) for i in range(39))], users=9, epsilon=2.0)
    fitting = plan_discovery(PAGES, users=10**6, epsilon=2.0, code=Code.learn(PAGES))
    assert fitting.cut <= 0.05


def test_power_is_that_of_the_specified_formula() -> None:
    """Shares that are found with 90 % are those that were worked out by hand."""
    protocol = Discovery(2.0, salt="0" * 16)
    assert smallest_share(protocol, 10**6, 20) == pytest.approx(0.00649, rel=0.002)
    sizes, shares = np.array([20, 50, 51]), np.full(3, 0.0065)
    assert power(protocol, 10**6, sizes, shares)[0] == pytest.approx(0.9, abs=0.01)
    assert power(protocol, 10**6, sizes, shares)[2] == 0


def test_plans_without_what_they_need_are_refused() -> None:
    """Examples, and people or a share, have to be given."""
    for arguments in ({}, {"share": 0}, {"share": 2.0}, {"users": 0}):
        with pytest.raises(InvalidParameter):
            plan_discovery(WORDS, epsilon=1.0, **arguments)
    with pytest.raises(InvalidParameter, match="examples"):
        plan_discovery([], users=100, epsilon=1.0)
