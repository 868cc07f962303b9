"""A short run of the fuzzer; the long one is ``python -m tests.fuzz``."""

import random

import pytest

from deniable.protocols import discover
from tests.fuzz import fuzz_parse, fuzz_tally


@pytest.mark.parametrize("name", discover())
def test_mutated_bytes_raise_nothing_but_our_own_errors(name: str) -> None:
    """Thousands of mutated reports and tallies are refused or are what they say they are."""
    protocol = discover()[name].examples()[0]
    rng = random.Random(7)
    fuzz_parse(protocol, 5_000, rng)
    fuzz_tally(protocol, 3_000, rng)
