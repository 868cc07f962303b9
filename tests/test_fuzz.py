"""Short runs of the fuzzers; the long ones are ``python -m tests.fuzz`` and ``tests.hostile``."""

import random

import pytest

from deniable import set_memory_budget
from deniable.protocols import discover
from tests.fuzz import fuzz_header, fuzz_parse, fuzz_question, fuzz_tally
from tests.hostile import BUDGET, CASES, attack


@pytest.mark.parametrize("name", discover())
def test_mutated_bytes_raise_nothing_but_our_own_errors(name: str) -> None:
    """Thousands of mutated reports and tallies are refused or are what they say they are."""
    protocol = discover()[name].examples()[0]
    rng = random.Random(7)
    fuzz_parse(protocol, 2_000, rng)
    fuzz_tally(protocol, 1_500, rng)


@pytest.mark.parametrize("name", discover())
def test_altered_documents_raise_nothing_but_our_own_errors(name: str) -> None:
    """A hundred documents whose checksum holds, but whose parts are of the wrong type or size."""
    protocol = discover()[name].examples()[0]
    rng = random.Random(8)
    fuzz_header(protocol, 100, rng)
    fuzz_question(protocol, 100, rng)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_hostile_input_is_refused_or_sound(case) -> None:
    """Mutants of all that was once too expensive or wrongly taken are refused, or are in order."""
    set_memory_budget(BUDGET)
    try:
        assert "nothing but DeniableError" in attack(case, 300, large=False, seed=9)
    finally:
        set_memory_budget(None)
