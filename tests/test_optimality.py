"""What is recommended is within one percent of the least variance, in the range that docs state."""

import io
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.optimal import CLAIMED, FOUR_ERRORS, LOSS, claim, main, read_counts, squared_error
from deniable import DE, OLH, AffineSelection, Protocol, SubsetSelection
from deniable.advice import plan, recommend
from deniable.protocols.affine import TOLERANCE
from tests.marks import examples, shortened
from tools.paper import Context, load, run
from tools.paper.clicks import parse_clicks
from tools.paper.optimality import least_variance

EPSILONS = sorted(np.linspace(0.1, 6.0, 8).tolist(), key=lambda epsilon: epsilon % 2.5)
"""The first three are 0.1, 2.6 and 5.2."""
SIZES = [*range(2, 70), *range(70, 201, 11), 333, 1009, 2335, 5550, 31_348, 41_270, 10**5, 10**6]


def variance_of_best_subsets(epsilon: float, d: int) -> float:
    """Return the least mean variance over all sizes k of the sets, from p and q written out."""
    sizes = range(1, d) if d <= 400 else range(1, min(d, 3 * math.ceil(d / math.exp(epsilon)) + 9))
    k, power = np.array(sizes, dtype=float), math.exp(epsilon)
    p = k * power / (k * power + d - k)
    q = p * (k - 1) / (d - 1) + (1 - p) * k / (d - 1)
    return float((q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / d).min())


@pytest.mark.parametrize("epsilon", shortened(EPSILONS, "more epsilons", keep=3))
def test_the_recommended_protocol_is_within_a_percent_of_the_optimum(epsilon: float) -> None:
    """Over the domain sizes its mean variance is at most 1.01 times the least, in eight bytes."""
    for d in SIZES:
        best, least = recommend(epsilon, d).best, variance_of_best_subsets(epsilon, d)
        assert best.mean_variance <= 1.01 * least, best.protocol
        assert best.report_bytes <= 8
        assert least_variance(epsilon, d) == pytest.approx(least, rel=1e-9)


def test_the_claim_holds_at_random_points() -> None:
    """For each goal the excess is at most 1 %, and 22 % where it was chosen for the other goal.

    ``python -m benchmarks.optimal claim`` tries 5,000 points; all is computed, nothing is drawn.
    """
    found = claim(examples(100), seed=11)
    assert max(found["mean"], found["rare"])[0] <= CLAIMED
    assert max(found["mean for rare"], found["rare for mean"])[0] <= LOSS


@pytest.mark.parametrize("d", [169_974, 321_977, 334, 339, 10])
def test_the_loss_of_the_other_goal_is_bounded_where_it_is_largest(d: int) -> None:
    """Where one value and two of a set are as good on average, rare answers lose the most."""
    for epsilon in np.linspace(math.log(d) - 1, min(12.0, math.log(d) + 0.2), 25).tolist():
        mean, rare = (recommend(epsilon, d, goal=goal).best for goal in ("mean", "rare"))
        assert mean.variance <= (1 + LOSS) * least_variance_of_rare(epsilon, d)
        assert rare.variance <= (1 + CLAIMED) * least_variance_of_rare(epsilon, d)
        assert rare.mean_variance <= (1 + LOSS) * least_variance(epsilon, d)


def least_variance_of_rare(epsilon: float, d: int) -> float:
    """Return the least variance of an answer that nobody gives, over sets of up to nine values."""
    k, power = np.arange(1, min(10, d), dtype=float), math.exp(epsilon)
    p = k * power / (k * power + d - k)
    q = (k - p) / (d - 1)
    return float((q * (1 - q) / (p - q) ** 2).min())


def test_rare_answers_are_what_is_asked_for() -> None:
    """At epsilon 1.7727 and 10 answers, the threshold of 10,000 people is 201 and not 216."""
    chosen = {
        "rare": recommend(1.7727, 10, goal="rare").best.protocol,
        "mean": recommend(1.7727, 10).best.protocol,
        "significant": plan(10, epsilon=1.7727, significant=0.03).protocol,
        "error": plan(10, epsilon=1.7727, error=0.01).protocol,
    }
    thresholds = {}
    for name, protocol in chosen.items():
        tally = protocol.tally(protocol.privatize(np.zeros(10_000, dtype=np.int64)))
        thresholds[name] = protocol.estimate(tally).threshold(0.05)
    assert thresholds["rare"] == thresholds["significant"] <= 201
    assert thresholds["mean"] == thresholds["error"] > 215


def test_the_papers_choice_is_not() -> None:
    """The same grid finds 44 % more variance in the better of DE and OLH, so it has power."""
    excess = [
        min(float(kind(e, d).variance(1, 1 / d)) for kind in (DE, OLH))
        / variance_of_best_subsets(e, d)
        for e in (0.5, 1.0)
        for d in range(4, 16)
    ]
    assert 1.3 < max(excess) < 1.6


@pytest.mark.parametrize("kind", [SubsetSelection, AffineSelection])
def test_realised_epsilon_is_at_most_epsilon_and_close(kind: type[Protocol]) -> None:
    """500 pairs and more: never above, and within 1e-12 below for d <= 4096."""
    epsilons = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.3, 1.7, 2.0, 2.5, 3.0, 3.7, 4.0]
    epsilons += [4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0]
    sizes = [2, 3, 4, 5, 7, 10, 12, 16, 20, 24, 33, 40, 50, 55, 60, 63, 64, 65, 66, 67]
    sizes += [] if kind is SubsetSelection else [100, 255, 1000, 1024, 4095, 4096, 41_270, 10**6]
    checked = 0
    for epsilon in epsilons:
        for d in sizes:
            protocol = kind(epsilon=epsilon, domain_size=d)
            assert protocol.realised_epsilon <= epsilon
            assert d > 4096 or epsilon - protocol.realised_epsilon <= 1e-12
            checked += 1
    assert checked >= 500


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 6.0])
def test_settings_are_within_a_quarter_of_a_percent_of_the_best(epsilon: float) -> None:
    """No other settings that decode in time have much less variance than those chosen."""
    for d in (20, 150, 1000, 20_000):
        chosen = float(AffineSelection(epsilon, d).variance(1, 1 / d))
        for g in (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27, 32, 53, 101, 151, 1009):
            window = max(1, round(g / (math.exp(epsilon) + 1)))
            if g ** (math.ceil(math.log(d, g)) + 2) < 2**64 and window < g:
                other = AffineSelection(epsilon, d, g, None, window)
                assert chosen <= TOLERANCE * float(other.variance(1, 1 / d)) * (1 + 1e-9)


def check_errors(people: np.ndarray, epsilon: float, d: int, runs: int) -> None:
    """Assert that errors are those of the exact variance, and below OLH's and DE's as predicted."""
    rng, truth = np.random.default_rng(d), np.bincount(people, minlength=d)
    protocols = recommend(epsilon, d).best.protocol, OLH(epsilon, d), DE(epsilon, d)
    measured = [squared_error(p, people, truth, runs, rng) for p in protocols]
    exact = [float(p.variance(len(people), 1 / d)) for p in protocols]
    assert measured[0] == pytest.approx(exact[0], rel=0.05)
    for other in (1, 2):
        predicted = exact[0] / exact[other]
        assert measured[0] / measured[other] == pytest.approx(predicted, rel=0.07)


@pytest.mark.parametrize("d", shortened([64, 6, 12, 1000], "more domains"))
def test_errors_on_surnames_are_the_exact_variance(d: int) -> None:
    """On the d most frequent surnames, 5 % of the mean square being four standard errors."""
    shares = read_counts(None, d)
    people = np.repeat(np.arange(d), (300 * shares / shares.sum()).round().astype(int))
    check_errors(people, 1.0, d, math.ceil(FOUR_ERRORS / (d - 1)))


@pytest.mark.long("a large data set")
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_errors_on_kosarak_are_the_exact_variance(epsilon: float, shared_data: Path) -> None:
    """On 801,947 clicks and 41,270 pages, in one run."""
    path = shared_data / "kosarak-first-100000.dat.xz"
    clicks = parse_clicks(path.read_bytes(), path.name)
    people = np.repeat(np.arange(clicks.domain_size), clicks.counts)
    check_errors(people, epsilon, clicks.domain_size, 1)


def test_a_plan_for_twelve_answers_asks_fewer_people() -> None:
    """At epsilon 1 and an error of 1 % it is at least 15 % fewer than with DE, OUE and OLH."""
    found = plan(12, epsilon=1.0, error=0.01)
    before = min(plan(12, epsilon=1.0, error=0.01, protocol=n).users for n in ("DE", "OUE", "OLH"))
    assert found.users <= 0.85 * before


def test_the_figure_is_data_a_drawing_and_a_claim() -> None:
    """The experiment has the excess before and after at each point, drawn in three panels."""
    found = run("optimality", Context(quick=True))
    assert all(row["excess_after"] <= 0.01 and row["report_bytes"] <= 8 for row in found.rows)
    assert max(row["excess_before"] for row in found.rows) > 0.1
    module, image = load("optimality"), io.BytesIO()
    drawing = module.figure(found.rows)
    assert [axes.get_xlabel() for axes in drawing.axes[:3]] == ["epsilon"] * 3
    drawing.savefig(image, format="png", dpi=40)
    assert len(image.getvalue()) > 5_000
    (claim,) = module.claims(found.rows)
    assert claim.agrees
    assert claim.label == "sec:compare"


@pytest.mark.long("a benchmark, on small sizes")
@pytest.mark.parametrize("section", ["claim", "grid", "speed", "client", "plan", "error"])
def test_the_benchmark_runs(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each section prints what it measured, on tiny sizes; no time is asserted."""
    main([section, "--quick"])
    assert len(capsys.readouterr().out.splitlines()) >= 2
