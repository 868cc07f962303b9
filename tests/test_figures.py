"""The figures on the pages are those of the library, or of measurements that are saved."""

import json
import math
import re

import deniable
from benchmarks import page as benchmarks
from benchmarks.discovery.__main__ import looks
from deniable import consistency
from deniable.advice import plan, recommend
from deniable.protocols import discover
from tests.faults import page as reliability
from tests.pages import ROOT, cells, text_of


def made(name: str, epsilon: float, size: int) -> deniable.Protocol:
    """Return a protocol as pages name it, at an epsilon and a number of answers."""
    if name.startswith("THE"):
        return deniable.THE(epsilon, size, theta=1.0)
    return discover()[name](epsilon, size)


def test_variances_in_protocols_are_those_of_the_library() -> None:
    """The table of Var* / n is the library's, to two decimals."""
    for epsilon, *found in cells("docs/protocols.md", "## Variance"):
        names = ["SubsetSelection", "AffineSelection", "DE", "OLH", "OUE", "SUE", "SHE", "BLH"]
        protocols = [made(name, float(epsilon), 32) for name in names]
        assert found == [f"{protocol.variance(1):.2f}" for protocol in protocols]


def best(epsilon: float, size: int) -> str:
    """Return the name of the protocol that is recommended."""
    return recommend(epsilon, size).best.protocol.name


def test_protocols_that_are_chosen_are_those_of_the_library() -> None:
    """The table of protocols by epsilon and number of answers is what ``recommend`` puts first."""
    for epsilon, *found in cells("docs/protocols.md", "## Which protocol is chosen"):
        sizes = (2, 5, 12, 64, 1000, 41_270)
        assert found == [f"`{best(float(epsilon), size)}`" for size in sizes]
    for epsilon, size in ((1.0, 5), (2.0, 12)):
        assert (best(epsilon, size) == "DE") > (best(epsilon, size + 1) == "DE")


def test_sizes_in_protocols_are_those_of_the_library() -> None:
    """The table of bytes is the library's, at epsilon 1."""
    for name, *found in cells("docs/protocols.md", "## Size of a report"):
        expected = []
        for size in (12, 1000, 41_270):
            try:
                protocol = made(name.strip("`"), 1.0, size)
                expected.append(f"{protocol.report_bits // 8:,}")
            except deniable.DeniableError:
                expected.append("-")
        assert found == expected


def test_every_protocol_is_explained() -> None:
    """A protocol that users can choose stands in docs/protocols.md."""
    page = text_of(ROOT / "docs" / "protocols.md")
    assert [name for name in discover() if f"`{name}`" not in page] == []


def test_odds_in_choosing_follow_from_epsilon() -> None:
    """What a coin-flip suspicion becomes at most is e^epsilon / (1 + e^epsilon), rounded up."""
    page = text_of(ROOT / "docs" / "choosing.md")
    for epsilon in (1, 2, 4):
        share = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert re.search(rf"(?:At |at )?{epsilon}\D*?{math.ceil(100 * share)} %", page)
    for epsilon, ratio, share in cells("docs/threat-model.md", "whatever the observer believed"):
        odds = math.exp(float(epsilon))
        assert (ratio, share) == (f"{odds:.1f}", f"{math.ceil(100 * odds / (1 + odds))} %")


def test_what_repeated_reports_reveal_is_computed() -> None:
    """The figures of the threat model about answering again follow from p and q."""
    page = " ".join(text_of(ROOT / "docs" / "threat-model.md").split())
    p = deniable.DE(1.0, 10).parameters.p
    assert f"the true one for {100 * p:.0f} % of people after one report" in page
    # Two permanent responses at f = 1/2: of 16 bits 14 are held by neither value.
    equal = (2 * 0.75 * 0.25) ** 2 * (0.75**2 + 0.25**2) ** 14
    assert f"equal with probability {equal:.4f} for 16 answers" in page
    assert f"a ratio of {1 / equal:,.0f}, where" in page


def test_settings_and_sizes_in_protocols_are_those_of_the_library() -> None:
    """RAPPOR's epsilon, its defaults, and the bytes of open questions."""
    page = " ".join(text_of(ROOT / "docs" / "protocols.md").split())
    rappor = deniable.RAPPOR(f=0.5)
    assert f"two hashes at f = 1/2 have epsilon {rappor.epsilon:.2f}" in page
    for name in ("bits", "hashes", "cohorts"):
        assert f"- `{name}` ({getattr(rappor, name)}) " in page
    sizes = [deniable.OpenLH(epsilon).report_bits // 8 for epsilon in (1.0, 5.5, 5.6, 12.0)]
    assert sizes == [25, 25, 26, 28]
    assert "`OpenLH` has 25 bytes, above epsilon 5.5 up to 28" in page


def test_errors_in_choosing_are_those_of_the_plan() -> None:
    """The three errors of the example are what ``plan`` computes."""
    found = plan(domain_size=8, users=20_000, error=0.01)
    rare, typical, largest = (
        f"{100 * error:.2f} %" for error in (found.rare_error, found.error, found.largest_error)
    )
    page = text_of(ROOT / "docs" / "choosing.md")
    assert f"they are {rare}, {typical} and {largest}" in page


def test_the_people_in_optimality_are_those_of_the_plans() -> None:
    """How many people the better protocol needs, and that of the paper's guideline."""
    found = plan(domain_size=12, epsilon=1.0, error=0.01)
    guideline = re.search(r"would need ([\d,]+) people", str(found))[1]
    expected = f"| {found.users:,} instead of {guideline};"
    assert expected in text_of(ROOT / "docs" / "optimality.md")


def test_every_column_of_an_export_is_explained() -> None:
    """What CSV has of estimates, adjusted ones and comparisons stands in docs/exports.md."""
    question = deniable.Question("fruit", ("kiwi", "fig"), epsilon=1.0)
    tallies = [question.tally(question.privatize(["kiwi"] * n)) for n in (100, 200)]
    first, second = (question.estimate(tally) for tally in tallies)
    results = (first, consistency.adjust(first, "norm-sub"), deniable.compare(first, second))
    columns = {name for found in results for name in found.to_csv().splitlines()[0].split(",")}
    assert len(columns) > 15
    page = text_of(ROOT / "docs" / "exports.md")
    assert sorted(name for name in columns if f"`{name}`" not in page) == []


def test_pages_of_measurements_show_what_is_saved() -> None:
    """Both pages are what their programs write from the figures in the repository."""
    faults = json.loads((ROOT / "tests" / "faults" / "results.json").read_text(encoding="utf-8"))
    assert text_of(ROOT / "docs" / "reliability.md") == reliability.render(faults)
    saved = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in saved}
    assert text_of(ROOT / "docs" / "benchmarks.md") == benchmarks.render(results)


def test_the_speed_in_the_readme_is_the_measured_one() -> None:
    """Eight million reports decode in less than a tenth of a second, by the saved benchmark."""
    saved = json.loads((ROOT / "benchmarks" / "results" / "table.json").read_text(encoding="utf-8"))
    rows = [row for row in saved["ratios"] if row["work"] == "OLH tally + decode"]
    slowest = saved["sizes"]["kosarak_reports"] * max(row["seconds"] for row in rows)
    assert slowest < 0.1
    readme = " ".join(text_of(ROOT / "README.md").split())
    assert (
        "Eight million reports over 41,270 answers decode in less than a tenth of a second"
        in readme
    )


def test_the_size_of_the_browser_client_is_the_recorded_one() -> None:
    """README and the client's own page round the gzipped bytes that the build records."""
    size = json.loads((ROOT / "clients" / "js" / "size.json").read_text())["gzip"]
    for page in ("README.md", "clients/js/README.md"):
        assert f"{size / 1000:.1f} kB" in text_of(ROOT / page)


def test_what_looking_often_costs_a_collector_is_computed() -> None:
    """The share that a text needs there, beyond that of a plan, is what the benchmark says."""
    page = " ".join(text_of(ROOT / "docs" / "collector.md").split())
    rows = [*looks(seeds=1)]
    for size, sentence in (
        (40, "a text of 40 bits needs a share {} to {} % larger than planned"),
        (20, "one of 20 bits {} to {} %, with 100,000 to 1,000,000 people and epsilon 1 to 4"),
    ):
        larger = [100 * row["larger"] for row in rows if row["size"] == size]
        assert sentence.format(round(min(larger)), round(max(larger))) in page
