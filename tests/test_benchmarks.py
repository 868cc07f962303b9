"""The benchmarks run on tiny sizes and their page renders; no time is asserted."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import billion, client, kernels, scaling, segments, table
from benchmarks.__main__ import main, save
from benchmarks.figures import draw_stages
from benchmarks.page import render

pytestmark = pytest.mark.long("benchmarks, on small sizes")

TINY = table.Sizes(
    small_domain=16,
    large_domain=40,
    kosarak_reports=500,
    open_reports=50,
    candidates=20,
    report_bytes=1 << 12,
    most_reports=400,
    yardstick_megabytes=1,
    repeats=1,
)
NOWHERE = Path("no-such-python")


def test_the_table_runs_without_the_peers() -> None:
    """Where the other packages are not installed, our rates are there and ratios are not."""
    result = table.measure(TINY, NOWHERE) | {"command": "test"}
    assert {"DE", "OUE", "OLH", "OpenLH", "SHE"} <= {row["protocol"] for row in result["rows"]}
    assert all(row["ratio"] is None and row["seconds"] > 0 for row in result["ratios"])
    page = render({"table": result})
    assert page.count("| - |") >= len(result["ratios"])
    assert "not installed" in page


def test_a_ratio_is_taken_per_unit_of_work() -> None:
    """A pair is one of the peer's d values for one report, and passing means at least."""
    sizes = table.Sizes(large_domain=10, small_domain=5)
    requirement = next(r for r in table.REQUIREMENTS if r.ours[0] == "OpenLH")
    question = {"epsilon": 1.0, "reports": 1}
    rows = [
        question
        | {"package": "deniable", "protocol": "OpenLH", "work": "decode"}
        | {"domain_size": 0, "seconds": 1e-3},
        question
        | {"package": "pure-ldp", "protocol": "OLH", "work": "tally + decode"}
        | {"domain_size": 10, "seconds": 50.0},
    ]
    assert table.compare(requirement, rows, sizes)["ratio"] == pytest.approx(5000)


def test_the_ratios_without_numba_have_no_bar() -> None:
    """The same table in NumPy alone is shown, and not judged by what is required with Numba."""
    result = table.measure(TINY, NOWHERE) | {"command": "test"}
    page = render({"plain": result})
    assert "## Ratios without Numba" in page
    assert "80 x" not in page


@pytest.mark.numba
def test_every_kernel_is_timed_in_turns() -> None:
    """Each step has its times in NumPy, compiled and as a control, by both clocks."""
    result = kernels.measure(kernels.QUICK) | {"command": "test"}
    timed = {row["kernel"] for row in result["rows"]}
    assert timed == {
        "bits", "values", "patterns", "hashes", "subsets", "polynomials"
    }  # fmt: skip
    for row in result["rows"]:
        for way in ("numpy", "compiled", "control"):
            assert row[way]["processor"] >= 0 < row[way]["clock"]
        assert row["earns"] is False  # nothing takes 50 ms
    assert "| bits | OUE tally, d = 64 |" in render({"kernels": result})


def test_growth_exponents_are_recovered() -> None:
    """Times that grow as d^0.7 are fitted as such."""
    rows = [
        {"epsilon": 1.0, "domain_size": 1 << k, "seconds": 1e-6 * 2 ** (0.7 * k)}
        for k in range(8, 21)
    ]
    assert scaling.fit(rows, "domain_size") == {"1": 0.7}


def test_a_population_is_dealt_out_in_batches() -> None:
    """Every person answers exactly once, whatever the batches."""
    population = billion.Population(billion.Stream(reports=1000, domain_size=30, batch=170))
    batches = [population._answers(i, min(i + 170, 1000)) for i in range(0, 1000, 170)]
    assert [len(batch) for batch in batches] == [170] * 5 + [150]
    assert np.array_equal(np.bincount(np.concatenate(batches), minlength=30), population.counts)


def test_a_stream_reports_stages_and_memory(tmp_path: Path) -> None:
    """A small stream is tallied, decoded and measured in this process, and its stages are drawn."""
    result = billion.run(billion.Stream(reports=3000, domain_size=50, batch=1000))
    assert set(result["seconds"]) == {"simulate", "privatize", "tally", "decode"}
    assert result["peak_memory"] > 1 << 20
    draw_stages({"streams": [result]}, tmp_path)
    assert (tmp_path / "bench-billion.png").stat().st_size > 1000


def test_the_classifier_has_power() -> None:
    """Calls that differ are told apart in either direction, and equal ones are not."""
    rng = np.random.default_rng(1)
    which = rng.integers(0, 2, 4000)
    noise = rng.normal(1000, 10, 4000)
    for sign in (1, -1):
        assert client.classify((noise + sign * 30 * which).astype(np.int64), which) > 0.9
    assert client.classify(noise.astype(np.int64), which) < 0.55
    assert client.classify(np.full(4000, 7), which) < 0.55


def test_quick_results_are_saved_and_the_page_is_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Saved results are enough to write the same page and pictures again."""
    main(["scaling", "--quick", "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert page == printed
    assert (tmp_path / "docs" / "images" / "bench-domain.png").stat().st_size > 1000
    saved = tmp_path / "benchmarks" / "results" / "scaling.json"
    assert json.loads(saved.read_text())["command"] == "python -m benchmarks scaling --quick"
    save({}, tmp_path)
    assert (tmp_path / "docs" / "benchmarks.md").read_text() == page


def test_a_year_by_segment_runs_on_a_short_year(tmp_path: Path) -> None:
    """Results from kept months are those from days, which ``measure`` checks itself."""
    sizes = segments.Sizes(cells=4, days=70, answers=20, reports=700)
    found = segments.measure(str(tmp_path / "store.db"), sizes)
    assert found["sums of months"] >= 4
    assert found["reports in all"] == 4 * 70 * 700
