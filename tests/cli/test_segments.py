"""Segments on the command line: stated by columns, summed by dimension, and never by an answer."""

import csv
import json

import numpy as np
import pytest

from deniable import Question, Tally
from deniable.files import read_segments

PEOPLE = [("kiwi", "linux", "A"), ("fig", "mac", "B"), ("kiwi", "amiga", "A"), ("fig", "", "B")]


@pytest.fixture
def platforms(shell):
    """A question with two dimensions, one of which has a value for all others."""
    shell("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", 3,
          "--segment", "platform=linux,mac,[rest]", "--segment", "arm=A,B",
          "-o", "q.json")  # fmt: skip
    return shell


def table(rows, header="answer,os,arm"):
    """Return rows as CSV."""
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


def cells(shell, name="r.bin"):
    """Return the cells in a report file."""
    question = Question.from_json(shell.read("q.json"))
    with shell.path(name).open("rb") as stream:
        return [cell for some, _ in read_segments(stream, question) for cell in some]


COLUMNS = ("--segment-column", "platform=os", "--segment-column", "arm")


@pytest.mark.parametrize("form", ["csv", "tsv", "ndjson"])
def test_columns_state_the_segment_of_each_person(platforms, form):
    """A value that is not listed is the dimension's other, and so is one that is empty."""
    if form == "ndjson":
        names = ("answer", "os", "arm")
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in PEOPLE]
        platforms.write("p.ndjson", "\n".join(lines))
    else:
        text = table(PEOPLE)
        platforms.write(f"p.{form}", text if form == "csv" else text.replace(",", "\t"))
    platforms("privatize", "q.json", f"p.{form}", "--column", "answer", *COLUMNS, "-o", "r.bin")
    assert cells(platforms) == [0, 3, 4, 5]


@pytest.mark.frames
def test_columns_of_parquet_state_segments_too(platforms):
    """Rows of a Parquet file have their values beside the answer."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ("answer", "os", "arm")
    columns = dict(zip(names, map(list, zip(*PEOPLE, strict=True)), strict=True))
    columns["os"][3] = None
    parquet.write_table(arrow.table(columns), platforms.path("p.parquet"))
    platforms("privatize", "q.json", "p.parquet", "--column", "answer", *COLUMNS, "-o", "r.bin")
    assert cells(platforms) == [0, 3, 4, 5]


def test_a_segment_of_all_and_a_column_go_together(platforms):
    """A dimension has a value or a column, and may lack both if one of its values is for others."""
    platforms.write("p.csv", table(PEOPLE))
    given = ("privatize", "q.json", "p.csv", "--column", "answer", "-o", "r.bin")
    platforms(*given, "--segment", "arm=B", "--segment-column", "platform=os")
    assert cells(platforms) == [1, 3, 5, 5]
    platforms(*given, "--segment", "arm=B")  # the platform has a value for all others
    assert cells(platforms) == [5] * 4
    said = platforms(*given).err
    assert cells(platforms) == [6] * 4
    assert "4 reports without a segment: name it with --segment" in said


def test_who_states_nothing_in_one_column_is_counted_in_a_warning(platforms):
    """An empty cell is no segment, and nobody notices that in a long file."""
    platforms.write("p.csv", table([("kiwi", "linux", "A"), ("fig", "mac", "")]))
    given = ("privatize", "q.json", "p.csv", "--column", "answer", *COLUMNS, "-o", "r.bin")
    assert "warning: 1 report without a segment" in platforms(*given).err
    assert cells(platforms) == [0, 6]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--segment-column", "colour"), "colour"),
        (("--segment-column", "platform=nowhere", "--segment", "arm=A"), "nowhere"),
        (("--segment", "arm=A", "--segment-column", "arm"), "a value and a column"),
        (("--segment", "arm"), "--segment"),
        (("--segment", "platform=linux"), "state 'arm' as well"),
        (("--segment-column", "platform=os"), "state 'arm' as well"),
        (("--segment-column", "arm=answer"), "p.csv:2"),
    ],
)
def test_what_states_no_segment_is_refused(platforms, given, said):
    """Unknown dimensions, columns and values end the command with a sentence, and no file."""
    platforms.write("p.csv", table(PEOPLE))
    found = platforms.fails("privatize", "q.json", "p.csv", "--column", "answer", *given,
                            "-o", "r.bin")  # fmt: skip
    assert said in found
    assert not platforms.path("r.bin").exists()
    platforms.write("p.txt", "kiwi\n")
    assert "--segment-column" in platforms.fails("privatize", "q.json", "p.txt", *COLUMNS,
                                                 "-o", "r.bin")  # fmt: skip


def test_report_files_are_estimated_by_segment(platforms):
    """Each shown segment has the estimates of its own tally, and the sum of all is the total."""
    rows = [("kiwi", "linux", "A")] * 300 + [("fig", "mac", "B")] * 200 + [("fig", "mac", "A")] * 9
    platforms.write("p.csv", table(np.random.default_rng(1).permutation(rows).tolist()))
    platforms("privatize", "q.json", "p.csv", "--column", "answer", *COLUMNS, "-o", "r.bin")
    question = Question.from_json(platforms.read("q.json"))
    found = json.loads(platforms("estimate", "q.json", "r.bin", "--by", "platform", "--json").out)
    assert [(part["value"], part["n"]) for part in found["segments"]] == [
        ("linux", 300), ("mac", 209), ("rest", 0)
    ]  # fmt: skip
    platforms("tally", "q.json", "r.bin", "--segment", "platform=linux", "-o", "t.bin")
    linux = question.estimate(Tally.from_bytes(platforms.read("t.bin")))
    counts = [row["count"] for row in found["segments"][0]["estimates"]]
    assert counts == linux.counts.tolist()
    assert found["segments"][2]["missing"] == found["shown_from"]
    lines = platforms("estimate", "q.json", "r.bin", "--by", "platform", "--format",
                      "csv").text.splitlines()  # fmt: skip
    assert lines[0].startswith("platform,label,")
    assert len(lines) == 5
    asked = ("--level", 0.5, "--top", 1)
    short = platforms("estimate", "q.json", "r.bin", "--by", "platform", *asked, "--json").out
    (row,) = json.loads(short)["segments"][0]["estimates"]
    lower, upper = linux.interval(0.5)
    assert (row["label"], row["lower"], row["upper"]) == ("kiwi", lower[0], upper[0])
    text = platforms("estimate", "q.json", "r.bin", "--by", "platform", *asked, "--format",
                     "csv").text  # fmt: skip
    rows = {row["platform"]: row for row in csv.DictReader(text.splitlines())}
    assert (len(rows), float(rows["linux"]["lower"])) == (2, lower[0])
    shown = platforms("estimate", "q.json", "r.bin", "--by", "platform").text
    assert "platform: linux, 300 reports" in shown
    assert "not shown because of its error" in shown
    platforms("estimate", "q.json", "r.bin", "--by", "platform", "-o", "all.txt")
    assert platforms.read("all.txt").decode() == shown.lstrip()
    platforms("tally", "q.json", "r.bin", "-o", "all.bin")
    assert "does not say of which segments" in platforms.fails(
        "estimate", "q.json", "all.bin", "--by", "arm"
    )
    assert "colour" in platforms.fails("estimate", "q.json", "r.bin", "--by", "colour")
    twice = platforms.fails("estimate", "q.json", "r.bin", "--by", "platform", "--by", "arm")
    assert "give --by once" in twice
    assert "JSON or CSV" in platforms.fails("estimate", "q.json", "r.bin", "--by", "arm",
                                            "--format", "html")  # fmt: skip


@pytest.mark.parametrize(
    ("by", "other", "column"),
    [
        ("platform", "n", "platform"),
        ("version", "n", "group_version"),
        ("n", "version", "group_n"),
        ("n", "group_n", "group_group_n"),
        ("group_n", "n", "group_n"),
        ("label", "version", "group_label"),
        ("@os", "n", "'@os"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_dimension_never_takes_the_place_of_a_column(shell, by, other, column, form):
    """One with the name of a column has another name; the other columns stay as they are."""
    shell("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", 3,
          "--segment", f"{by}=1.0,2.0", "--segment", f"{other}=x,y", "-o", "q.json")  # fmt: skip
    shell.write("p.txt", "kiwi\n" * 400)
    shell("privatize", "q.json", "p.txt", "--segment", f"{by}=2.0", "--segment", f"{other}=x",
          "-o", "r.bin")  # fmt: skip
    text = shell("estimate", "q.json", "r.bin", "--by", by, "--format", form).text
    whole = shell("estimate", "q.json", "r.bin", "--format", form).text
    mark = "," if form == "csv" else "\t"
    head, *rows = csv.reader(text.splitlines(), delimiter=mark)
    expected_head, *expected = csv.reader(whole.splitlines(), delimiter=mark)
    assert head == [column, *expected_head]
    assert rows == [["2.0", *row] for row in expected]


def test_numbers_by_segment_have_their_mean_and_quartiles(shell):
    """As a table, as JSON and as CSV, each segment has its own; small ones wait for their error."""
    shell("question", "create", "load", "--number", 0, 150, "--step", 10, "--unit", "ms",
          "--epsilon", 4, "--want", "distribution", "--want", "mean", "--segment", "os=a,b",
          "-o", "q.json")  # fmt: skip
    shell.write("p.csv", "load,os\n" + "50,a\n" * 2000 + "100,a\n" * 1500 + "20,b\n" * 40)
    shell("privatize", "q.json", "p.csv", "--column", "load", "--segment-column", "os",
          "-o", "r.bin")  # fmt: skip
    by = ("estimate", "q.json", "r.bin", "--by", "os", "--above", 70)
    shown = " ".join(shell(*by).text.split())
    assert "median 50 ms (" in shown
    assert "upper quartile 100 ms (" in shown
    assert "not shown because of its error" in shown
    found = json.loads(shell(*by, "--json").out)
    (a, b) = found["segments"][:2]
    assert a["median"]["value"] == 50
    assert a["mean"]["lower"] < 250 / 3.5 < a["mean"]["upper"]
    assert (b["estimates"], b["missing"]) == (None, found["shown_from"] - 40)
    head, *lines = shell(*by, "--format", "csv").text.splitlines()
    assert "n,version,lower_quartile_value" in head
    assert head.endswith("above_number,above_share,above_lower,above_upper")
    assert all(line.startswith("a,") for line in lines)
    shell("estimate", "q.json", "r.bin", "--above", 70, "--level", 0.5, "-o", "found.csv")
    rows = list(csv.DictReader(shell.read("found.csv").decode().splitlines()))
    above = json.loads(shell("estimate", "q.json", "r.bin", "--above", 70, "--level", 0.5,
                             "--json").out)["above"]  # fmt: skip
    assert above["lower"] < above["share"] < above["upper"]
    assert [{key: float(row[f"above_{key}"]) for key in above} for row in rows] == [above] * 16


def test_a_file_of_mixed_segments_adds_up_to_the_same_tally(platforms):
    """The tally of a file with segments is that of its reports without them, byte for byte."""
    platforms.write("p.csv", table(PEOPLE * 25))
    platforms("privatize", "q.json", "p.csv", "--column", "answer", *COLUMNS, "-o", "r.bin")
    platforms("tally", "q.json", "r.bin", "-o", "t.bin")
    question, total = Question.from_json(platforms.read("q.json")), 0
    with platforms.path("r.bin").open("rb") as stream:
        reports = np.concatenate([some for _, some in read_segments(stream, question)])
    assert platforms.read("t.bin") == question.tally(reports).to_bytes()
    for arm in ("A", "B", "not stated"):
        platforms("tally", "q.json", "r.bin", "--segment", f"arm={arm}", "-o", "arm.bin")
        total += Tally.from_bytes(platforms.read("arm.bin"))
    assert total.to_bytes() == platforms.read("t.bin")
