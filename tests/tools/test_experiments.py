import io
import json
from dataclasses import replace

import numpy as np
import pytest

from tools.paper import (
    EXPERIMENTS,
    Clicks,
    Context,
    figure2,
    figure3,
    figure4,
    figure6,
    figure7,
    kosarak,
    load,
    run,
    thresholds,
)
from tools.paper.report import Outcome, make_report
from tools.paper.trials import METHODS, collect, make_protocol, spread, squared_error

TINY = Context(quick=True, shrink=1000)
SIMULATIONS = [name for name in EXPERIMENTS if name.startswith("fig") and name != "fig1"]


@pytest.fixture(scope="module")
def results():
    """Return every simulation, run on populations a thousand times smaller."""
    memory = {}

    def keep(key, compute):
        if key not in memory:
            memory[key] = json.loads(json.dumps(compute()))
        return memory[key]

    context = replace(TINY, keep=keep)
    return {name: run(name, context) for name in SIMULATIONS}


@pytest.mark.long("simulates the experiments of the paper")
@pytest.mark.parametrize("name", SIMULATIONS)
def test_simulations_are_data_a_drawing_and_claims(results, name: str) -> None:
    """Each gives finite rows, a figure whose axes have names and legends, and claims."""
    rows, module = results[name].rows, load(name)
    assert len({tuple(row) for row in rows}) == 1
    for row in rows:
        assert all(np.isfinite(x) for x in row.values() if not isinstance(x, str))
        assert row["runs"] >= TINY.repetitions
    drawing = module.figure(rows)
    for axes in drawing.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_legend().get_texts()
    image = io.BytesIO()
    drawing.savefig(image, format="png", dpi=40)
    assert len(image.getvalue()) > 5_000
    for claim in module.claims(rows):
        assert claim.paper
        assert claim.here
        assert isinstance(claim.agrees, bool)


@pytest.mark.parametrize("name", ["table1", "table2", "fig1"])
def test_claims_about_what_is_only_computed_hold(name: str) -> None:
    """The paper's analytical statements are true of the protocols here."""
    rows = run(name).rows
    claims = load(name).claims(rows)
    assert claims
    assert all(claim.agrees for claim in claims)


@pytest.mark.long("simulates the experiments of the paper")
def test_results_do_not_depend_on_the_order_of_parts(results) -> None:
    """Each part has its own randomness, so another figure's parts change nothing."""
    assert run("fig3", TINY).rows == results["fig3"].rows
    assert run("fig3", replace(TINY, seed=1)).rows != results["fig3"].rows


def test_more_runs_keep_the_first_ones() -> None:
    """Two runs are the first two of three."""
    two, three = ({}, {})
    for memory, runs in ((two, 2), (three, 3)):

        def keep(key, compute, memory=memory):
            return memory.setdefault(key, compute())

        kosarak.run_trials(replace(TINY, runs=runs, keep=keep), (4.0,))
    assert two.items() <= three.items()
    assert len(three) == 3 * len(METHODS)


def test_positives_are_defined_as_in_the_paper() -> None:
    """A true positive is above the threshold in truth and estimate, a false one in estimate."""
    clicks = Clicks("a few", np.array([50_000, 30_000, 200] + [10] * 40))
    trials = kosarak.run_trials(Context(runs=1, clicks=clicks), (4.0,))
    for trial in trials:
        assert trial["above_at"] == [int(np.sum(clicks.counts > t)) for t in kosarak.THRESHOLDS]
        assert trial["true_at"] == trial["above_at"] == [2] * len(kosarak.THRESHOLDS)
        assert trial["true_positives"] == 2
        assert trial["identified"] >= trial["true_positives"]
        assert trial["above"] >= trial["true_positives"]
        assert trial["data"] == "a few"


def test_rows_of_thresholds_add_runs_up() -> None:
    """The rows have the mean and the standard deviation over the runs."""
    clicks = Clicks("a few", np.array([5_000, 3_000, 2_900] + [10] * 40))
    context = Context(runs=3, clicks=clicks)
    trials = [t for t in kosarak.run_trials(context, (2.0,)) if t["protocol"] == "BLH"]
    rows = [r for r in thresholds.threshold_rows(context, (2.0,)) if r["protocol"] == "BLH"]
    second = [trial["false_at"][1] for trial in trials]
    assert (rows[1]["false_positives"], rows[1]["false_positives_std"]) == spread(second)
    assert rows[1]["threshold"] == kosarak.THRESHOLDS[1]
    assert rows[1]["runs"] == 3


def test_trials_are_unbiased_for_all_methods() -> None:
    """With few candidates that do not collide much, every method finds the counts."""
    truth = np.array([60_000, 30_000, 10_000, 0])
    rng = np.random.default_rng(5)
    for name in METHODS:
        protocol = make_protocol(name, 4.0, len(truth))
        found = [collect(protocol, truth, rng).counts for _ in range(8)]
        error = np.sqrt(protocol.variance(100_000, 0.6))
        assert np.abs(np.mean(found, axis=0) - truth).max() < 5 * error / np.sqrt(8)


def test_measures() -> None:
    """The squared error is an average over the chosen values, the spread that of the sample."""
    assert squared_error(np.array([1.0, 5.0]), np.array([0, 2]), np.array([1])) == 9
    assert spread([2.0]) == (2.0, 0.0)


@pytest.mark.long("a thousand runs")
def test_small_domains_take_more_runs() -> None:
    """At d = 64 there are 64 times the runs, since one averages over fewer values."""
    rows = run("fig2", replace(TINY, runs=1)).rows
    runs = {row["domain_size"]: row["runs"] for row in rows}
    assert runs == {4: 1024, 64: 64, 1024: 4}


@pytest.mark.long("simulates the experiments of the paper")
def test_measured_and_exact_variance_agree() -> None:
    """At d = 64 and 1024 all protocols are near the exact variance, and not near another one."""
    rows = run("fig2", Context(quick=True, runs=1)).rows
    for row in rows:
        if row["domain_size"] >= 64:
            assert row["ratio"] == pytest.approx(1, abs=0.2), row
            assert row["exact"] >= 0.7 * row["analytical"]
    assert [claim.agrees for claim in figure2.claims(rows)][1:3] == [True, True]


def _rows(key: str, numbers: dict[str, float], **more) -> list[dict]:
    return [{"protocol": name, key: x, f"{key}_std": 1.0, **more} for name, x in numbers.items()]


def test_claims_can_fail() -> None:
    """Numbers that contradict the paper are reported as such."""
    errors = {"OLH": 5.0, "BLH": 1.0, "RAP(8)": 1.0, "RAP(16)": 1.0}
    rows = [r for e in (1.0, 2.0, 4.0) for r in _rows("error", errors, epsilon=e)]
    assert not figure3.claims(rows)[0].agrees
    flipped = {name: 6 - x for name, x in errors.items()}
    rows = [r for e in (1.0, 2.0, 4.0) for r in _rows("error", flipped, epsilon=e)]
    assert figure3.claims(rows)[0].agrees
    counts = {"OLH": 20.0, "BLH": 90.0, "RAP(8)": 10.0, "RAP(16)": 10.0}
    falling = [
        row
        for e in (2.0, 4.0, 8.0)
        for row in _rows("error", dict.fromkeys(errors, 1 / e), epsilon=e)
    ]
    assert not figure3.claims(falling)[2].agrees
    flat = [
        row | {"error": row["error"] ** 3 if row["protocol"] == "OLH" else 1.0} for row in falling
    ]
    assert figure3.claims(flat)[2].agrees
    nearest = {"nearest_at": 5_000, "nearest_true": 30.0, "nearest_false": 3.0}
    rows = [
        row | {"identified": 100.0, "threshold": 5.0, "above": 30, "significant": 9.0} | nearest
        for e in (1.0, 4.0)
        for row in _rows("true_positives", counts, epsilon=e)
    ]
    agrees = [claim.agrees for claim in figure4.claims(rows)]
    assert agrees[:4] == [False] * 4
    assert figure4.claims([row for row in rows if row["epsilon"] == 1.0]) == []


def test_populations_are_the_papers() -> None:
    """The normal law is centred at 500 and Zipf's falls as the rank to the power of 1.5."""
    held = figure6.populations(Context(shrink=10))
    assert {law: int(counts.sum()) for law, counts in held.items()} == {
        "Zipf": 1_000_000,
        "normal": 1_000_000,
    }
    values = np.repeat(np.arange(figure6.DOMAIN_SIZE), held["normal"])
    assert values.mean() == pytest.approx(500, abs=0.1)
    assert values.std() == pytest.approx(10, abs=0.1)
    assert held["Zipf"][0] / held["Zipf"][3] == pytest.approx(8, rel=0.05)
    assert figure7.NAMES == ("OLH", "RAP(8)", "RAP(16)", "RAP(32)", "RAP(64)", "RAP(128)")


def test_progress_and_parts_are_told() -> None:
    """Progress rises from 0 to 1, and every part has a key of its own."""
    told, keys = [], []

    def keep(key, compute):
        keys.append(key)
        return compute()

    context = replace(TINY, progress=lambda done, what: told.append(done), keep=keep)
    run("fig5", context)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
    assert len(set(keys)) == len(keys) == 2 * len(METHODS)


@pytest.mark.long("simulates the experiments of the paper")
def test_the_report_sets_claims_beside_results(results) -> None:
    """It has the facts, a line for each claim, the figures, and counts shared parts once."""
    outcomes = []
    for name in ("fig3", "fig4"):
        result = results[name]
        outcomes.append(Outcome(result, tuple(load(name).claims(result.rows)), {"a": 60.0}, 0.5))
    text = make_report({"seed": "7"}, outcomes, images="images/x-")
    assert "| seed | 7 |" in text
    assert "| time | 1 min 1 s |" in text
    assert "![Figure 3" in text
    assert "(images/x-fig3.png)" in text
    claims = sum(len(outcome.claims) for outcome in outcomes)
    lines = [line for line in text.splitlines() if line.startswith(("| fig3", "| fig4"))]
    assert len(lines) == claims
    assert all(line.endswith(("| yes |", "| **no** |")) for line in lines)
