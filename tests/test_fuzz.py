"""A short run of the fuzzer; the long one is ``python -m tests.fuzz``."""

import random

import pytest

from deniable.protocols import discover
from tests.fuzz import fuzz_header, fuzz_parse, fuzz_question, fuzz_tally

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", discover())
def test_mutated_bytes_raise_nothing_but_our_own_errors(name: str) -> None:
    """Thousands of mutated reports and tallies are refused or are what they say they are."""
    protocol = discover()[name].examples()[0]
    rng = random.Random(7)
    fuzz_parse(protocol, 5_000, rng)
    fuzz_tally(protocol, 3_000, rng)


@pytest.mark.parametrize("name", discover())
def test_altered_documents_raise_nothing_but_our_own_errors(name: str) -> None:
    """Hundreds of documents whose checksum holds, but whose parts are of the wrong type or size."""
    protocol = discover()[name].examples()[0]
    rng = random.Random(8)
    fuzz_header(protocol, 800, rng)
    fuzz_question(protocol, 800, rng)
