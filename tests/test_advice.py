import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import DE, OUE, InvalidParameter, Protocol
from deniable.advice import guideline, meaning, plan, ranking, recommend
from deniable.advice.planning import LARGEST_EPSILON, MOST_USERS
from tests.marks import examples
from tests.naive.law import estimates_of, support_law

EPSILONS = st.floats(0.05, 8)
LARGE = pytest.mark.long("many answers")
SIZES = st.integers(2, 100_000)


@settings(deadline=None)
@given(EPSILONS, SIZES)
def test_options_are_ranked_by_exact_variance(epsilon: float, domain_size: int) -> None:
    """Each variance is at most 0.5 % above those that follow."""
    variances = [option.mean_variance for option in recommend(epsilon, domain_size).options]
    assert all(a <= 1.005 * min(variances[i:]) for i, a in enumerate(variances))


def test_all_closed_protocols_are_ranked() -> None:
    """Every protocol that epsilon and the domain size make is there, once."""
    names = [option.name for option in recommend(1.0, 100).options]
    assert {"BLH", "DE", "OLH", "OUE", "SHE", "SUE", "THE"} <= set(names)
    assert not {"LH", "OpenLH", "UE"} & set(names)
    assert len(names) == len(set(names))


def test_foreign_signatures_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protocols that need more, take other types or cannot be had are left out."""

    @dataclass(frozen=True)
    class _More(OUE):
        bits: int = 0
        cohorts: int = 0

        def __post_init__(self) -> None:
            raise InvalidParameter("expected something else", value=None)

    @dataclass(frozen=True)
    class _Other:
        seed: int

    @dataclass(frozen=True)
    class _Settings(OUE):
        usual_settings: ClassVar = {"bits": 8}

    kinds = {"DE": DE, "More": _More, "Other": _Other, "Settings": _Settings}
    monkeypatch.setattr(ranking, "discover", lambda: kinds)
    assert [option.name for option in recommend(1.0, 10).options] == ["DE"]


@settings(deadline=None)
@given(EPSILONS, SIZES)
def test_the_papers_guideline_is_one_row(epsilon: float, domain_size: int) -> None:
    """One option is marked, DE below 3 e^eps + 2 and OUE or OLH above."""
    advice = recommend(epsilon, domain_size)
    (marked,) = [option.name for option in advice.options if option.guideline]
    assert marked == advice.guideline
    assert (marked == "DE") == (domain_size < 3 * math.exp(epsilon) + 2)


@settings(deadline=None)
@given(st.floats(0.1, 5), st.integers(-3, 3))
def test_the_guideline_is_where_var_star_crosses(epsilon: float, offset: int) -> None:
    """Below 3 e^eps + 2 direct encoding has the lower Var*, above it OUE."""
    domain_size = max(2, math.floor(3 * math.exp(epsilon) + 2) + offset)
    better = DE(epsilon, domain_size).variance(1) < OUE(epsilon, domain_size).variance(1)
    assert (guideline(epsilon, domain_size) == "DE") == better


def test_guideline_turns_to_hashing_when_bits_are_too_many() -> None:
    """More bits than the limit, or than one packet holds, are too many."""
    assert guideline(1.0, 8 * 1400) == "OUE"
    assert guideline(1.0, 8 * 1400 + 1) == "OLH"
    assert guideline(1.0, 1000, max_report_bytes=124) == "OLH"
    assert guideline(1.0, 1000, max_report_bytes=125) == "OUE"


def test_faster_decoding_wins_ties() -> None:
    """Within 0.5 % of the least variance the protocol that decodes fastest is taken."""
    advice = recommend(1.0, 1_000_000)
    least = min(advice.options, key=lambda option: option.mean_variance)
    tied = [o for o in advice.options if o.mean_variance <= 1.005 * least.mean_variance]
    assert list(advice.options[: len(tied)]) == sorted(
        tied, key=lambda o: (o.protocol.decoding_time(1_000_000), o.report_bytes)
    )
    assert "OUE" in {option.name for option in tied[1:]}
    assert advice.best.report_bytes == 4
    assert least.name in advice.reason


@pytest.mark.parametrize(("epsilon", "d", "share"), [(1.0, 12, 0.2), (1.0, 6, 0.07), (4.0, 12, 0)])
def test_saving_is_the_ratio_of_variances(epsilon: float, d: int, share: float) -> None:
    """The guideline's protocol takes more people for the same error, where it is not as good."""
    best = recommend(epsilon, d).best
    found = ranking.saving(best.protocol, 10_000)
    if not share:
        assert found is None
        return
    other = next(o for o in recommend(epsilon, d).options if o.guideline)
    assert found.guideline == other.name
    assert found.users == math.ceil(10_000 * other.mean_variance / best.mean_variance)
    assert found.saved == found.users - 10_000
    assert found.saved / found.users == pytest.approx(share, abs=0.02)
    assert f"{found.saved:,}" in str(found)


def test_report_limit_is_kept() -> None:
    """Protocols above the limit come last and are marked; an impossible limit is refused."""
    advice = recommend(2.0, 41_270, max_report_bytes=100)
    fits = [option.fits for option in advice.options]
    assert fits == sorted(fits, reverse=True)
    assert advice.best.report_bytes <= 100
    assert "at most 100 bytes" in advice.reason
    assert "too many" in str(advice)
    with pytest.raises(InvalidParameter, match="max_report_bytes of at least"):
        recommend(2.0, 41_270, max_report_bytes=1)


def test_costs_follow_from_the_protocol() -> None:
    """Random words, bytes and growth are those of the protocols."""
    rows = {option.name: option for option in recommend(1.0, 1000, users=10_000).options}
    assert rows["DE"].client_cost == "1 random word, O(1)"
    assert rows["OUE"].client_cost == "1,000 random words, O(d)"
    assert rows["DE"].server_cost == "O(1) a report"
    assert rows["OUE"].server_cost == "O(d) a report"
    assert rows["OLH"].server_cost == "O(1) a report, then decode"
    assert rows["OUE"].report_bytes == 125
    assert rows["OUE"].variance == pytest.approx(3.68, abs=0.005)
    assert rows["OUE"].std_error == pytest.approx(
        math.sqrt(float(OUE(1.0, 1000).variance(10_000, 1 / 1000))) / 10_000
    )
    assert rows["OUE"].row()["protocol"] == "OUE"


def test_advice_prints_as_a_table() -> None:
    """One line for each option, under a header and above the reason."""
    advice = recommend(1.0, 100, users=1000)
    lines = str(advice).splitlines()
    assert len(lines) == len(advice.options) + len(advice.notes) + 2
    assert lines[-1] == advice.reason


@pytest.mark.parametrize("bad", [0, -1, 1.5, "many", True])
def test_users_are_whole(bad: object) -> None:
    """A number of people that cannot be is refused."""
    with pytest.raises(InvalidParameter, match="users"):
        recommend(1.0, 10, users=bad)  # type: ignore[arg-type]


# plan


def _error_achieved(protocol: Protocol, users: int, runs: int) -> float:
    """Simulate: the root mean squared error of shares, over skewed answers and some runs."""
    rng = np.random.default_rng(17)
    d = protocol.domain_size
    shares = 1 / np.arange(1, d + 1)
    truth = rng.multinomial(users, shares / shares.sum())
    values = np.repeat(np.arange(d), truth)
    squares = []
    for _ in range(runs):
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        squares.append(np.mean((found.counts - truth) ** 2))
    return math.sqrt(np.mean(squares)) / users


@pytest.mark.parametrize(
    ("known", "runs"),
    [
        ({"domain_size": 12, "users": 20_000, "error": 0.01}, 150),
        ({"domain_size": 12, "users": 5_000, "error": 0.004}, 150),
        ({"domain_size": 12, "epsilon": 4.0, "error": 0.004}, 300),
        ({"domain_size": 3, "users": 4_000, "error": 0.01}, 400),
        ({"domain_size": 1000, "users": 5_000, "epsilon": 1.0}, 8),
        pytest.param(
            {"domain_size": 300, "users": 5_000, "error": 0.01, "protocol": "OUE"}, 20, marks=LARGE
        ),
        pytest.param({"domain_size": 41_270, "users": 50_000, "epsilon": 1.0}, 2, marks=LARGE),
    ],
    ids=str,
)
def test_the_error_promised_is_achieved(known: dict[str, object], runs: int) -> None:
    """A simulation confirms the promise within 5 %."""
    found = plan(**known)  # type: ignore[arg-type]
    assert found.reachable
    achieved = _error_achieved(found.protocol, found.users, runs)
    assert achieved == pytest.approx(found.error, rel=0.05)


@settings(deadline=None, max_examples=examples(30))
@given(
    st.integers(2, 5000), st.floats(0.1, 6), st.integers(100, 10**7), st.sampled_from([None, "OUE"])
)
def test_solving_goes_both_ways(
    domain_size: int, epsilon: float, users: int, protocol: str | None
) -> None:
    """The error at an epsilon takes about that epsilon, and that many people."""
    # Free to choose, a plan takes small reports within 2 % of the least variance, and OLH a range
    # within 1 %: together 1.5 % of the error, which less than 0.04 of epsilon makes up for.
    slack = 0.002 if protocol else 0.04
    found = plan(domain_size, users=users, epsilon=epsilon, protocol=protocol)
    back = plan(domain_size, users=users, error=min(found.error, 0.999), protocol=protocol)
    if found.error < 0.999:
        assert back.reachable
        assert back.error <= found.error
        assert back.epsilon <= epsilon + slack
        again = plan(domain_size, epsilon=epsilon, error=found.error, protocol=protocol)
        assert again.users == pytest.approx(users, rel=1e-6, abs=1)


@settings(deadline=None, max_examples=examples(10))
@given(st.integers(2, 5000), st.integers(1000, 10**7), st.floats(0.001, 0.2))
def test_the_epsilon_found_is_the_least(domain_size: int, users: int, error: float) -> None:
    """The error is met at the epsilon found, and was not met 0.001 below it."""
    found = plan(domain_size, users=users, error=error)
    if found.reachable:
        assert found.error <= error
        if found.epsilon > 0.01:
            less = plan(domain_size, users=users, epsilon=round(found.epsilon - 0.001, 3))
            assert less.error > error


def _power(protocol: Protocol, users: int, held: int) -> float:
    """Return the exact chance that ``significant`` accepts an answer of so many people."""
    supports, chances = support_law(protocol, users, held)
    found = estimates_of(protocol, supports, users, protocol.domain_size)
    return float(chances[found.significant()].sum())


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 6.0, 10.0])
def test_promised_shares_are_significant(epsilon: float) -> None:
    """An answer of the promised share is accepted in 95 % of cases; one person less is not.

    Twenty plans for each epsilon, 2 to 1000 answers and 50 to 100,000 people.
    """
    promised = 0
    for domain_size in (2, 5, 30, 300, 1000):
        for users in (50, 400, 6000, 100_000):
            found = plan(domain_size, users=users, epsilon=epsilon)
            if found.significant is None:
                assert _power(found.protocol, users, users) < 0.95
                continue
            promised += 1
            held = math.ceil(found.significant * users)
            assert _power(found.protocol, users, held) >= 0.9499
            assert _power(found.protocol, users, held - 1) < 0.9501
    assert promised >= 12


def test_promises_that_the_normal_law_broke_are_kept() -> None:
    """Where few reports support an answer by chance, T_s promised 95 % and gave 5 to 75 %."""
    for domain_size, users, epsilon in ((1000, 100, 4.0), (10, 100, 4.0), (10, 1000, 10.0)):
        found = plan(domain_size, users=users, epsilon=epsilon)
        assert found.significant is not None
        assert _power(found.protocol, users, math.ceil(found.significant * users)) >= 0.95


@pytest.mark.parametrize(
    ("domain_size", "epsilon", "share"),
    [(1000, 6.0, 0.05), (10, 10.0, 0.004), (4, 3.0, 0.1), (30, 2.0, 0.4), (100, 4.0, 0.12)],
)
def test_the_people_found_are_the_least(domain_size: int, epsilon: float, share: float) -> None:
    """With as many and any more people the share is significant; with one less it is not.

    Larger numbers are tried up to twice as many, where the next jumps of the limit lie.
    """
    found = plan(domain_size, epsilon=epsilon, significant=share)
    assert found.significant == share or found.significant < share

    def power(users: int) -> float:
        return _power(found.protocol, users, math.ceil(share * users))

    assert power(found.users - 1) < 0.95
    assert min(power(users) for users in range(found.users, 2 * found.users)) >= 0.95


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.01), (2.0, 0.001), (6.0, 0.0005)])
def test_many_people_are_hardly_more_than_the_least(epsilon: float, share: float) -> None:
    """Among many thousands the number found is enough, and 5 % less is not."""
    found = plan(1000, epsilon=epsilon, significant=share)
    for users in (found.users, found.users + 1, round(1.01 * found.users)):
        law = found.protocol.law(users)
        assert law.exceeds(math.ceil(share * users), law.limit(0.05 / 1000)) >= 0.95
    fewer = round(0.95 * found.users)
    law = found.protocol.law(fewer)
    assert law.exceeds(math.ceil(share * fewer), law.limit(0.05 / 1000)) < 0.95


def test_summed_histograms_are_planned_by_their_own_law() -> None:
    """With SHE the people found are enough at every larger number, and one less is not."""
    found = plan(10, epsilon=4.0, significant=0.2, protocol="SHE")

    def power(users: int) -> float:
        law = found.protocol.law(users)
        return law.exceeds(math.ceil(0.2 * users), law.limit(0.05 / 10))

    assert power(found.users - 1) < 0.95
    assert min(power(users) for users in range(found.users, found.users + 60)) >= 0.95
    rng, runs, held = np.random.default_rng(3), 600, math.ceil(0.2 * found.users)
    values = np.concatenate([np.zeros(held, int), rng.integers(1, 10, found.users - held)])
    passed = 0
    for _ in range(runs):
        tally = found.protocol.tally(found.protocol.privatize(values, rng))
        passed += bool(found.protocol.estimate(tally).significant()[0])
    assert passed / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)


def test_significance_solves_for_epsilon() -> None:
    """At the epsilon found the share is significant, by the exact law."""
    found = plan(100, users=20_000, significant=0.05)
    assert found.reachable
    assert found.significant is not None
    assert found.significant <= 0.05
    assert _power(found.protocol, 20_000, 1000) >= 0.95
    assert (plan(100, users=20_000, epsilon=0.98 * found.epsilon).significant or 1) > 0.05


def test_a_plan_says_which_standard_error() -> None:
    """The typical error is the mean square's; rare and frequent answers have their own."""
    found = plan(8, users=20_000, error=0.01)
    variances = [float(found.protocol.variance(1, share)) for share in (0.0, 1 / 8, 1.0)]
    rare, typical, largest = (math.sqrt(v / 20_000) for v in variances)
    assert (found.rare_error, found.error) == pytest.approx((rare, typical))
    assert found.largest_error == pytest.approx(largest)
    assert rare < typical <= 0.01 < largest
    for error in (rare, typical, largest):
        assert f"{100 * error:.3g} %" in str(found)
    assert "typical standard error" in str(found)


def test_few_people_find_nothing() -> None:
    """When not even a unanimous answer stands out, the plan says so."""
    found = plan(1000, users=100, epsilon=0.5)
    assert found.significant is None
    assert "no answer will be significant" in str(found)


def test_hopeless_errors_are_out_of_reach() -> None:
    """Too few people for any epsilon: the plan says what it would take."""
    found = plan(41_270, users=1000, error=1e-4)
    assert not found.reachable
    assert found.epsilon == LARGEST_EPSILON
    assert found.error > 1e-4
    assert str(found).startswith("Out of reach: even at epsilon = 10")
    needed = plan(41_270, epsilon=1.0, error=1e-4).users
    assert f"{needed:,} people" in str(found)


def test_hopeless_crowds_are_out_of_reach() -> None:
    """More people than there are: the plan says so."""
    found = plan(1000, epsilon=0.01, error=1e-5)
    assert not found.reachable
    assert found.users == MOST_USERS
    assert "more than live on Earth" in str(found)


def test_protocol_can_be_fixed() -> None:
    """A plan for one protocol uses it; an unknown one is refused with the names there are."""
    assert plan(100, users=1000, epsilon=1.0, protocol="BLH").protocol.name == "BLH"
    with pytest.raises(InvalidParameter, match="OUE"):
        plan(100, users=1000, epsilon=1.0, protocol="UE")


def test_plans_are_plain_data_too() -> None:
    """A row has only names, numbers and text."""
    row = plan(100, users=1000, epsilon=1.0).row()
    assert all(isinstance(value, int | float | str) for value in row.values())
    assert row["protocol"] == "AffineSelection"


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"users": 10},
        {"users": 10, "epsilon": 1.0, "error": 0.1},
        {"error": 0.1, "significant": 0.1},
        {"users": 10, "error": 0.0},
        {"users": 10, "error": 1.0},
        {"users": 10, "significant": "much"},
        {"users": 0, "epsilon": 1.0},
        {"users": 10, "epsilon": 0.0},
    ],
    ids=str,
)
def test_plans_that_make_no_sense_are_refused(known: dict[str, float]) -> None:
    """Two of three, each in its range."""
    with pytest.raises(InvalidParameter, match="expected"):
        plan(10, **known)  # type: ignore[arg-type]


# meaning


@pytest.mark.parametrize(
    ("epsilon", "texts"),
    [
        (0.01, ("1.02", "49.7 %", "50.3 %")),
        (1.0, ("2.72", "26 %", "74 %", "2.7 %")),
        (math.log(3), ("at most 3:", "25 %", "75 %", "3.0 %")),
        (2.0, ("7.39", "11 %", "89 %", "7.0 %")),
        (4.0, ("54.6", "1.7 %", "98.3 %", "36 %")),
        (12.0, ("162,755", "99.99939 %")),
        (60.0, ("e+26", "practically 100 %")),
    ],
)
def test_meaning_is_the_change_of_odds(epsilon: float, texts: tuple[str, ...]) -> None:
    """The words contain the factor and what becomes of a belief of 50 and of 1 %.

    What is said to be the most is rounded up and the least down, but for errors of floating point.
    """
    assert all(text in meaning(epsilon) for text in texts)
