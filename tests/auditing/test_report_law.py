"""The tests of a law accept it and reject one that is a little off."""

import numpy as np

from deniable import DE, OUE
from deniable.auditing import output_law
from deniable.auditing.report_law import departure, detectable, difference


def rows_of(protocol, value, count, seed=0):
    """Return the bytes of reports of one value."""
    reports = protocol.privatize(np.full(count, value), np.random.default_rng(seed))
    return np.frombuffer(reports.tobytes(), dtype=np.uint8).reshape(count, -1)


def test_reports_follow_their_own_law_and_not_one_that_is_a_tenth_off() -> None:
    """A law of epsilon 1 accepts its reports and refuses those of epsilon 1.1."""
    for kind in (DE, OUE):
        law = output_law(kind(1.0, 4), 2)
        assert departure(law, rows_of(kind(1.0, 4), 2, 200_000)) is None
        assert departure(law, rows_of(kind(1.1, 4), 2, 200_000)) is not None


def test_impossible_reports_depart_at_once() -> None:
    """One report that the law excludes is enough."""
    law = output_law(DE(1.0, 4), 2)
    rows = rows_of(DE(1.0, 4), 2, 100).copy()
    rows[50] = 4
    assert "excludes" in departure(law, rows)


def test_a_report_that_comes_again_and_again_departs() -> None:
    """Among 2^64 reports five equal ones are no chance, whatever each of their bytes says."""
    law = output_law(OUE(1.0, 64), 2)
    rows = rows_of(OUE(1.0, 64), 2, 5000).copy()
    assert departure(law, rows) is None
    rows[:5] = 0
    rows[:5, 0] = 4
    assert "came 5 times" in departure(law, rows)


def test_two_samples_of_one_law_agree_and_others_do_not() -> None:
    """Samples are compared cell by cell, without knowing the law."""
    mine, theirs = (rows_of(OUE(1.0, 9), 2, 20_000, seed) for seed in (1, 2))
    assert difference(mine, theirs, []) is None
    assert difference(mine, rows_of(OUE(1.5, 9), 2, 20_000), []) is not None


def test_flags_are_compared_as_well() -> None:
    """A feature that no byte shows decides too."""
    mine, theirs = (rows_of(DE(1.0, 4), 2, 1000, seed) for seed in (1, 2))
    often, seldom = np.ones(1000), np.zeros(1000)
    assert difference(mine, theirs, [(often, often)]) is None
    assert "features" in difference(mine, theirs, [(often, seldom)])


def test_more_calls_detect_less() -> None:
    """The detectable difference shrinks with the square root of the calls."""
    assert detectable(40_000) * 2 == detectable(10_000)
