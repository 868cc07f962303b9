"""The simulation behind docs/scale.md keeps its books, and agrees with the paper."""

import pytest

from benchmarks.outage import SCENARIOS, Scenario, on_paper, simulate


@pytest.mark.parametrize("scenario", SCENARIOS[:3], ids=lambda scenario: scenario.name)
def test_all_who_arrive_are_counted_or_waiting(scenario):
    """Nobody is lost or counted twice, whatever fails."""
    outcome = simulate(scenario, seed=3)
    assert outcome.arrived == outcome.counted + outcome.waiting
    assert outcome.arrived == pytest.approx(scenario.people, rel=0.2)


def test_a_backlog_is_as_large_as_on_paper():
    """While nothing is taken at the peak, what waits is the rate times the time."""
    scenario = Scenario("down", 1e6, 1, down=1, seconds=600)
    outcome = simulate(scenario, seed=3)
    # Five standard deviations of about 21,000 arrivals are 3.5 %.
    assert outcome.most_waiting == pytest.approx(on_paper(scenario)["backlog"], rel=0.04)


def test_more_than_the_capacity_never_clears():
    """A peak beyond the capacity refuses people, and the paper says so."""
    scenario = Scenario("too few", 1e6, 1, collector_rate=20.0)
    assert on_paper(scenario)["peak load"] > 1
    assert simulate(scenario, seed=3).refusals > 0
