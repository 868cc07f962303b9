import csv
import io
import json
from importlib.metadata import PackageNotFoundError

import pytest

from tools.paper import figure7, kosarak

FIGURE = ("reproduce", "fig7", "--quick", "--runs", "1")


@pytest.fixture
def small(shell, monkeypatch):
    """Return a command line for which figure 7 is about 2,000 people."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shell.path("cache")))
    monkeypatch.setattr(figure7, "PEOPLE", 2_000)
    monkeypatch.setattr(figure7, "NAMES", ("OLH", "RAP(8)", "RAP(16)", "RAP(64)", "RAP(128)"))
    return shell


@pytest.fixture
def calls(monkeypatch):
    """Count the simulations that are run, and interrupt the one whose number is ``stop``."""
    real = figure7.collect

    class Counter:
        done = 0
        stop = None

        def __call__(self, *args):
            if self.done == self.stop:
                raise KeyboardInterrupt
            self.done += 1
            return real(*args)

    counter = Counter()
    monkeypatch.setattr(figure7, "collect", counter)
    return counter


def parts(shell):
    """Return the files of finished parts."""
    return sorted(shell.path("out/parts").glob("*.json"))


def test_an_experiment_writes_its_rows_its_figure_and_a_report(small):
    """CSV, PNG and report.md are there, with the seed, the machine, the time and the claims."""
    outcome = small(*FIGURE, "-o", "out", "--seed", 3)
    assert outcome.out == b""
    assert "fig7" in outcome.err
    rows = list(csv.DictReader(io.StringIO(small.read("out/fig7.csv").decode())))
    assert {row["protocol"] for row in rows} == set(figure7.NAMES)
    assert small.read("out/fig7.png").startswith(b"\x89PNG")
    report = small.read("out/report.md").decode()
    for text in ("| seed | 3 |", "| machine | ", "| time | ", "synthetic", "OLH still performs",
                 "![Figure 7", "(fig7.png)"):  # fmt: skip
        assert text in report


def test_a_report_needs_no_accelerator(small, monkeypatch):
    """Software that is not installed is not named."""

    def version(name):
        if name == "numba":
            raise PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr("tools.paper.reproduce.version", version)
    small("reproduce", "table2", "-o", "out")
    assert "| software | deniable 1.2.3, numpy 1.2.3, " in small.read("out/report.md").decode()


@pytest.mark.long("simulates the experiments of the paper")
def test_an_interrupted_run_goes_on_where_it_stopped(small, calls):
    """What was finished is not computed again, and the outcome is that of one run."""
    small(*FIGURE, "-o", "whole")
    every = calls.done
    calls.done, calls.stop = 0, 4
    outcome = small.attempt(*FIGURE, "-o", "out")
    assert outcome.code == 130
    assert "the same command goes on" in outcome.err
    assert len(parts(small)) == 4
    assert not small.path("out/fig7.csv").exists()
    assert not list(small.path("out").glob(".*"))
    calls.done, calls.stop = 0, None
    small(*FIGURE, "-o", "out")
    assert calls.done == every - 4
    assert small.read("out/fig7.csv") == small.read("whole/fig7.csv")
    calls.done = 0
    small(*FIGURE, "-o", "out")
    assert calls.done == 0


@pytest.mark.long("simulates the experiments of the paper")
def test_other_settings_are_computed_anew(small, calls):
    """A seed, a number of people or a broken file invalidates, and more runs only add."""
    small(*FIGURE, "-o", "out")
    every, first = calls.done, small.read("out/fig7.csv")
    small(*FIGURE, "-o", "out", "--seed", 1)
    assert calls.done == 2 * every
    assert small.read("out/fig7.csv") != first
    small(*FIGURE[:-1], 2, "-o", "out")
    assert calls.done == 3 * every
    small(*FIGURE, "-o", "out", "--fresh")
    assert calls.done == 4 * every
    assert small.read("out/fig7.csv") == first
    broken = [p for p in parts(small) if "rows" not in json.loads(p.read_bytes())["outcome"]]
    broken[0].write_bytes(b'{"key": ')
    broken[1].write_bytes(b"[]")
    broken[2].write_bytes(broken[3].read_bytes())
    small(*FIGURE, "-o", "out")
    small(*FIGURE, "-o", "out", "--seed", 1)
    small(*FIGURE[:-1], 2, "-o", "out")
    assert calls.done == 4 * every + 3
    assert small.path("out/report.md").exists()


@pytest.mark.long("simulates the experiments of the paper")
def test_a_version_keeps_parts_of_its_own(small, calls, monkeypatch, tmp_path):
    """Other code of deniable, or another NumPy, does not take over what this one computed."""
    small(*FIGURE, "-o", "out")
    every = calls.done
    with monkeypatch.context() as patch:
        patch.setattr("tools.paper.reproduce.version", lambda name: "0.0")
        small(*FIGURE, "-o", "out")
    assert calls.done == 2 * every
    changed = tmp_path / "package" / "__init__.py"
    changed.parent.mkdir()
    changed.write_text("changed")
    monkeypatch.setattr("deniable.__file__", str(changed))
    small(*FIGURE, "-o", "out")
    assert calls.done == 3 * every


@pytest.mark.long("simulates the experiments of the paper")
def test_the_report_covers_what_is_in_the_directory(small):
    """Experiments add to the report as long as their settings are the same."""
    small("reproduce", "table2", "-o", "out")
    small("reproduce", "table1", "-o", "out")
    report = small.read("out/report.md").decode()
    assert "(table1.png)" in report
    assert "(table2.png)" in report
    small("reproduce", "table1", "-o", "out", "--seed", 1)
    assert "(table2.png)" not in small.read("out/report.md").decode()


@pytest.mark.long("simulates the experiments of the paper")
def test_rows_are_printed_without_a_directory(small):
    """As text and as JSON; nothing is written."""
    assert "RAP(16)" in small(*FIGURE).text
    (document,) = json.loads(small(*FIGURE, "--json").out)
    assert document["name"] == "fig7"
    assert list(small.directory.iterdir()) == []


@pytest.fixture
def clicks(small, monkeypatch):
    """Return a command line with a file of clicks, on which only local hashing is tried."""
    monkeypatch.setattr(kosarak, "METHODS", ("OLH", "BLH"))
    small.write("clicks.dat", "1 2 3\n2 5\n" * 500)
    return small


CLICKS = ("reproduce", "fig5", "--quick", "--runs", "1", "-o", "out")


def test_clicks_come_from_a_file(clicks):
    """--kosarak and --repeat decide about the population, and the report tells."""
    clicks(*CLICKS, "--kosarak", "clicks.dat", "--repeat", 10)
    report = clicks.read("out/report.md").decode()
    assert "clicks.dat, each click counted 10 times: n = 25,000, d = 41,270" in report
    assert "synthetic" not in report
    assert "each click counted 10 times" in clicks.read("out/fig5.csv").decode()


def test_clicks_come_from_the_cache_where_they_were_fetched(clicks):
    """What data fetch left is used when no file is named."""
    clicks.path("cache/deniable").mkdir(parents=True)
    clicks.write("cache/deniable/kosarak.dat", "1 2 3\n")
    clicks(*CLICKS)
    assert "kosarak.dat: n = 3, d = 41,270" in clicks.read("out/report.md").decode()


def test_without_clicks_a_stand_in_is_labelled(clicks, monkeypatch):
    """Rows and report say that the data is synthetic."""
    monkeypatch.setattr("tools.paper.clicks.PEOPLE", 20_000)
    clicks(*CLICKS)
    assert "a synthetic stand-in" in clicks.read("out/report.md").decode()
    assert "a synthetic stand-in" in clicks.read("out/fig5.csv").decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kosarak", "none.dat"], "none.dat"),
        (["--kosarak", "bad.dat"], "bad.dat: expected pages from 1 to 41270, got 0 on line 2"),
        (["--repeat", "10"], "--kosarak"),
        (["--kosarak", "clicks.dat", "--repeat", "0"], "--repeat"),
        (["--kosarak", "clicks.dat", "--repeat", "99999999999"], "count each click"),
        (["--runs", "0"], "--runs"),
    ],
)
def test_wrong_options_are_one_line(clicks, arguments, message):
    """Errors name the file, the line and the option, and nothing is written."""
    clicks.write("bad.dat", "1 2\n0\n")
    assert message in clicks.fails(*CLICKS, *arguments)
    assert not clicks.path("out").exists()


def test_a_table_is_printed_or_written(shell):
    """A table of the paper is printed, or written as CSV and PNG."""
    assert "15.82" in shell("reproduce", "table2").text
    assert json.loads(shell("reproduce", "table2", "--json").out)[0]["name"] == "table2"
    pytest.importorskip("matplotlib")
    shell("reproduce", "table2", "-o", "paper")
    assert shell.read("paper/table2.png").startswith(b"\x89PNG")
    assert b"15.8" in shell.read("paper/table2.csv")


def test_an_unknown_experiment_is_one_line_with_the_known_ones(shell):
    """The message lists what there is."""
    assert "table1" in shell.fails("reproduce", "table9")
