"""The short form of ``python -m benchmarks.sets``: the same figures on less."""

from pathlib import Path

import pytest

from benchmarks import sets
from deniable import PolynomialSelection, SetSelection


def test_the_variance_is_that_of_the_specification() -> None:
    """Six settings within a percent, and never more than 5 % above PrivSet, which rejects 8 %."""
    figures = list(sets.variance(sets.GRID[::4]))
    assert len(figures) == 7
    assert all(figure.holds for figure in figures), [str(figure) for figure in figures]
    assert sets.privset(1.0, 4, 32) == pytest.approx(12.08, rel=1e-3)
    assert PolynomialSelection(1.0, 32, 4).variance(1) > 1.08 * sets.privset(1.0, 4, 32)


@pytest.mark.long("enumerates all reports of all sets")
@pytest.mark.parametrize(
    "protocol", [SetSelection(1.0, 5, 2, 2), PolynomialSelection(1.0, 3, 2, 5, 1)], ids=repr
)
def test_enumerated_laws_are_exact(protocol: sets.Sets) -> None:
    """What the code does with every word is what the parameters say, as fractions."""
    (figure,) = sets.laws([protocol])
    assert figure.holds
    assert figure.value == pytest.approx(2.718281828, rel=1e-9)


@pytest.mark.long("three collections of real sets")
def test_real_sets_are_estimated_as_promised(shared_data: Path) -> None:
    """Errors, coverage and sizes of pages that people visited keep their bars."""
    sessions = sets.Sessions.read(shared_data / "kosarak-first-100000.dat.xz", 20_000)
    error, coverage, size = sets.kosarak(sessions, 3, 3)
    # 480 intervals of 95 % cover less than 0.92 of the counts with a chance below 1 %; seeded.
    assert error.value < 1.1
    assert 0.92 < coverage.value < 0.985
    assert size.holds


def test_the_decoder_is_timed() -> None:
    """Both ways come out with their times; no time is asserted."""
    figures = [figure.name for figure in sets.decode(4000)]
    assert any("in NumPy" in name for name in figures)
