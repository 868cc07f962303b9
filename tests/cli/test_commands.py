"""What the commands print and write."""

import csv
import io
import itertools
import json
from importlib.metadata import version

import click
import numpy as np
import pytest

from deniable import DE, Number, Question, Record
from deniable.advice import recommend
from deniable.cli import COMMANDS
from deniable.cli.options import find_protocol, takes
from deniable.protocols import discover
from tools.reference import make_reference


def test_version(shell):
    """``--version`` prints the version of the package."""
    assert shell("--version").text == f"deniable {version('deniable')}\n"


def test_summaries_stand_in_the_help(shell):
    """``--help`` lists every command with its summary."""
    text = shell("--help").text
    for name, (_, summary) in COMMANDS.items():
        assert f"  {name} " in text
        assert summary in text


def test_the_reference_is_up_to_date(request):
    """docs/cli.md is what ``python -m tools reference`` writes."""
    kept = request.config.rootpath / "docs" / "cli.md"
    assert kept.read_text(encoding="utf-8") == make_reference(), "run python -m tools reference"


def test_auto_takes_the_recommended_protocol(shell):
    """Without a protocol the question gets the one that the advice ranks first."""
    made = shell("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 1).out
    assert Question.from_json(made).protocol == recommend(1.0, 2).best.protocol
    made = shell("question", "create", "q", "--open", "--epsilon", 3).out
    assert Question.from_json(made).protocol.name == "OpenLH"


@pytest.mark.parametrize(
    ("text", "epsilon", "name"),
    [
        ("lh:g=4", 1, "LH"),
        ("GRR", 1, "DE"),
        ("THE:theta=1", 2, "THE"),
        ("UE:p=0.5:q=0.2", None, "UE"),
        ("BasicRAPPOR:f=0.5", None, "BasicRAPPOR"),
    ],
)
def test_protocols_with_settings(shell, text, epsilon, name):
    """A protocol is named in any case, with its settings after colons."""
    options = [] if epsilon is None else ["--epsilon", epsilon]
    made = shell("question", "create", "q", "--label", "a", "--label", "b", *options,
                 "--protocol", text).out  # fmt: skip
    assert Question.from_json(made).protocol.name == name


@pytest.mark.parametrize(
    "args",
    [
        ["--label", "a", "--label", "b"],
        ["--epsilon", "1"],
        ["--label", "a", "--epsilon", "1"],
        ["--label", "a", "--label", "a", "--epsilon", "1"],
        ["--open", "--label", "a", "--epsilon", "1"],
        ["--open", "--epsilon", "1", "--protocol", "DE"],
        ["--label", "a", "--label", "b", "--epsilon", "-1"],
        ["--label", "a", "--label", "b", "--epsilon", "nan"],
        ["--label", "a", "--label", "b", "--epsilon", "one"],
        ["--label", "a", "--label", "b", "--epsilon", "1", "--protocol", "XYZ"],
        ["--label", "a", "--label", "b", "--epsilon", "1", "--protocol", "LH"],
        ["--label", "a", "--label", "b", "--epsilon", "1", "--protocol", "LH:g=x"],
        ["--label", "a", "--label", "b", "--epsilon", "1", "--protocol", "LH:h=3"],
        ["--label", "a", "--label", "b", "--epsilon", "1", "--protocol", "UE:p=0.5:q=0.2"],
        ["--labels", "missing.txt", "--epsilon", "1"],
        ["--lable", "a"],
    ],
    ids=" ".join,
)
def test_questions_that_cannot_be_are_refused(shell, args):
    """Each wrong way to create a question ends with one line and nothing written."""
    shell.fails("question", "create", "q", *args, "-o", "q.json")
    assert not shell.path("q.json").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["privatise"], ["privatize"]),
        (["privatize", "fruit.json", "people.csv", "--colum", "fruit"], ["--column"]),
        (["privatize", "missing.json", "answers.txt"], ["missing.json", "check the path"]),
        (["privatize", "fruit.json", "missing.txt"], ["missing.txt", "check the path"]),
        (["privatize", "fruit.json", "."], ["directory"]),
        (["privatize", "answers.txt", "answers.txt"], ["answers.txt", "more than once"]),
        (["privatize", "people.csv", "answers.txt"], ["people.csv", "JSON"]),
        (["privatize", "-", "-"], ["standard input"]),
        (["privatize", "fruit.json", "answers.txt", "--json"], ["-o"]),
        (
            ["privatize", "fruit.json", "answers.txt", "-o", "no/where.bin"],
            ["no", "check the path"],
        ),
        (["tally", "fruit.json"], ["FILES"]),
        (["tally", "fruit.json", "answers.txt"], ["answers.txt", "got text;", "privatize"]),
        (["tally", "fruit.json", "reports.bin", "reports.bin"], ["reports.bin", "more than once"]),
        (["estimate", "fruit.json", "tally.bin", "--level", "2"], ["level"]),
        (["estimate", "fruit.json", "tally.bin", "--plot", "x.gif"], [".png", "x.gif"]),
        (["estimate", "fruit.json", "tally.bin", "--format", "xml"], ["table"]),
        (["estimate", "fruit.json", "empty.bin"], ["empty"]),
        (["plan", "--domain-size", "12", "--users", "5"], ["two of"]),
        (["recommend", "--epsilon", "0", "--domain-size", "5"], ["epsilon"]),
        (["audit", "XYZ"], ["OLH"]),
        (["simulate", "answers.txt", "--epsilon", "1", "--protocol", "XYZ"], ["OLH"]),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else None,
)
def test_errors_are_one_line_with_a_remedy(fruit, args, words):
    """A wrong option, file or value: one line on stderr that helps, and exit code 2."""
    fruit.write("none.txt", "")
    fruit("privatize", "fruit.json", "none.txt", "-o", "empty.bin")
    message = fruit.fails(*args)
    assert all(word in message for word in words), message


def test_question_show(fruit):
    """A question is shown for people, as JSON, or as its labels."""
    text = fruit("question", "show", "fruit.json").text
    assert "kiwi, fig, plum" in text
    assert fruit("question", "show", "fruit.json", "--json").out == fruit.read("fruit.json")
    labels = fruit("question", "show", "fruit.json", "--labels").text.splitlines()
    assert [json.loads(line) for line in labels] == ["kiwi", "fig", "plum"]


def test_what_question_show_pipes_is_never_broken(shell):
    """Off a terminal every fact is one line, however long: the digest, and the labels shown."""
    labels = [f"a label of some length, the {i}th" for i in range(9)]
    options = [word for label in labels for word in ("--label", label)]
    shell("question", "create", "long " * 30, *options, "--epsilon", 1, "-o", "q.json")
    shell("question", "create", "open", "--open", "--epsilon", 1, "-o", "open.json")
    for name in ("q.json", "open.json"):
        lines = shell("question", "show", name).text.splitlines()
        digest = json.loads(shell.read(name))["digest"]
        assert [line.split() for line in lines if line.startswith("digest")] == [["digest", digest]]
        assert not [line for line in lines if line.startswith(" ")]
    assert ", ".join(labels[:8]) in shell("question", "show", "q.json").text


def test_a_terminal_wraps_all_but_the_digest(shell, monkeypatch):
    """On a narrow terminal facts are folded, and the digest can be copied in one piece."""
    shell("question", "create", "fruit", "--label", "kiwi " * 30, "--label", "fig", "--epsilon", 1,
          "-o", "q.json")  # fmt: skip
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    lines = click.unstyle(shell("question", "show", "q.json").text).splitlines()
    assert json.loads(shell.read("q.json"))["digest"] in lines[-1]
    assert max(map(len, lines[:-1])) <= 60


def test_estimates_in_every_format(fruit):
    """The same estimates as table, CSV, JSON and HTML."""
    data = json.loads(fruit("estimate", "fruit.json", "tally.bin", "--json").out)
    rows = list(csv.DictReader(io.StringIO(fruit("estimate", "fruit.json", "tally.bin",
                                                 "--format", "csv").text)))  # fmt: skip
    assert [row["label"] for row in rows] == ["kiwi", "fig", "plum"]
    assert [float(row["count"]) for row in rows] == [row["count"] for row in data["estimates"]]
    assert data["n"] == 500
    table = fruit("estimate", "fruit.json", "tally.bin").text
    assert f"{data['estimates'][0]['count']:,.0f}" in table
    page = fruit("estimate", "fruit.json", "tally.bin", "--format", "html").text
    assert page.startswith("<!DOCTYPE html>")
    fruit("estimate", "fruit.json", "tally.bin", "-o", "e.txt")
    assert b"kiwi" in fruit.read("e.txt")


@pytest.mark.frames
def test_estimates_as_parquet(fruit):
    """The same estimates as a Parquet file."""
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    fruit("estimate", "fruit.json", "tally.bin", "--format", "parquet", "-o", "e.parquet")
    stored = parquet.read_table(fruit.path("e.parquet")).to_pydict()
    assert stored["label"] == ["kiwi", "fig", "plum"]


def test_top_and_significant(fruit):
    """``--top`` keeps the largest counts, ``--significant`` those above the threshold."""
    top = json.loads(fruit("estimate", "fruit.json", "tally.bin", "--top", 2, "--json").out)
    counts = [row["count"] for row in top["estimates"]]
    assert len(counts) == 2
    assert counts == sorted(counts, reverse=True)
    assert top["answers"] == 3
    found = json.loads(fruit("estimate", "fruit.json", "tally.bin", "--significant", "--json").out)
    assert all(row["significant"] for row in found["estimates"])
    fruit("estimate", "fruit.json", "tally.bin", "--significant", "--alpha", 1e-300)


@pytest.mark.parametrize("method", ["significance", "norm-sub", "norm-mul", "base-cut"])
def test_consistency(fruit, method):
    """Counts are adjusted by name, and their unbiased values stay beside them."""
    found = json.loads(fruit("estimate", "fruit.json", "tally.bin", "--consistency", method,
                             "--json").out)  # fmt: skip
    assert found["adjusted"] == method
    assert all("unbiased_count" in row for row in found["estimates"])
    fruit.write("some.txt", "kiwi\n")
    some = json.loads(fruit("estimate", "fruit.json", "tally.bin", "--consistency", method,
                            "--candidates", "some.txt", "--json").out)  # fmt: skip
    assert some["estimates"][0]["count"] == found["estimates"][0]["count"]


def test_plots(fruit):
    """A plot is written in the format of its name."""
    for name, start in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")):
        fruit("estimate", "fruit.json", "tally.bin", "--plot", name)
        assert fruit.read(name).startswith(start)
    fruit("simulate", "answers.txt", "--epsilon", 1, "--protocol", "DE,OUE", "--plot", "s.svg")
    assert fruit.read("s.svg").startswith(b"<?xml")


def test_open_questions(shell):
    """An open question takes any answer, and counts the candidates it is given afterwards."""
    shell("question", "create", "site", "--open", "--epsilon", 6, "-o", "site.json")
    shell.write("visits.txt", "a.example\n" * 300 + "b.example\n" * 100 + "c.example\n")
    shell("privatize", "site.json", "visits.txt", "-o", "r.bin")
    shell("tally", "site.json", "r.bin", "-o", "t.bin")
    assert "--candidates" in shell.fails("estimate", "site.json", "t.bin")
    shell.write("candidates.txt", "b.example\na.example\nz.example\n")
    options = ["--candidates", "candidates.txt", "--json"]
    found = json.loads(shell("estimate", "site.json", "t.bin", *options).out)["estimates"]
    assert [row["label"] for row in found] == ["b.example", "a.example", "z.example"]
    for row, true in zip(found, (100, 300, 0), strict=True):
        assert row["count"] == pytest.approx(true, abs=60)
    assert "open" in shell.fails("estimate", "site.json", "t.bin", *options,
                                 "--consistency", "norm-sub")  # fmt: skip


def test_everything_pipes(fruit):
    """Question, answers, reports and tallies pass through standard input and output."""
    reports = fruit("privatize", "fruit.json", "-", stdin=fruit.read("answers.txt")).out
    tally = fruit("tally", "fruit.json", "-", stdin=reports).out
    direct = fruit("estimate", "fruit.json", "-", "--json", stdin=reports).out
    assert fruit("estimate", "fruit.json", "-", "--json", stdin=tally).out == direct
    question = fruit.read("fruit.json")
    fruit.write("t.bin", tally)
    assert fruit("estimate", "-", "t.bin", "--json", stdin=question).out == direct


def test_summaries_as_json(fruit):
    """``privatize`` and ``tally`` tell in JSON what they wrote."""
    made = json.loads(fruit("privatize", "fruit.json", "people.csv", "--column", "fruit",
                            "-o", "r.bin", "--json").out)  # fmt: skip
    assert made["reports"] == 500
    summed = json.loads(
        fruit("tally", "fruit.json", "r.bin", "tally.bin", "-o", "t.bin", "--json").out
    )
    assert (summed["reports"], summed["files"]) == (1000, 2)


def test_simulate(fruit):
    """Protocols are tried on data, with an error near theory; the seed makes it repeatable."""
    args = ["simulate", "people.csv", "--column", "fruit", "--epsilon", 1, "--epsilon", 4,
            "--protocol", "DE,LH:g=4,OpenLH,UE:p=0.6:q=0.2",
            "--runs", 60, "--seed", 1, "--json"]  # fmt: skip
    found = json.loads(fruit(*args).out)
    assert len(found["trials"]) == 7  # UE has the epsilon of its settings, and is tried once
    for trial in found["trials"]:
        assert trial["mse"] == pytest.approx(trial["theoretical_mse"], rel=0.6)
        assert trial["recall_at_10"] == 1
    again = json.loads(fruit(*args).out)
    assert [t["mse"] for t in again["trials"]] == [t["mse"] for t in found["trials"]]
    text = fruit("simulate", "answers.txt", "--epsilon", 1, "--people", 200).text
    assert "200 people, 3 answers" in text
    assert "OUE" in text


def test_simulate_over_given_labels(fruit):
    """With --labels the domain is what the file says, and an answer outside it is refused."""
    fruit.write("labels.txt", "kiwi\nfig\nplum\npear\n")
    args = ["--epsilon", "1", "--protocol", "DE", "--labels", "labels.txt", "--json"]
    assert json.loads(fruit("simulate", "answers.txt", *args).out)["answers"] == 4
    fruit.write("labels.txt", "kiwi\nfig\n")
    assert "answers.txt:451:" in fruit.fails("simulate", "answers.txt", *args)
    fruit.write("one.txt", "kiwi\n" * 5)
    assert "--labels" in fruit.fails("simulate", "one.txt", "--epsilon", 1)


def test_plan_and_recommend(shell):
    """Plans and recommendations come as sentences and as JSON, and say what cannot be reached."""
    plan = json.loads(
        shell("plan", "--domain-size", 12, "--users", 20000, "--error", 0.01, "--json").out
    )
    assert plan["reachable"]
    assert plan["error"] <= 0.01
    hopeless = shell("plan", "--domain-size", 41270, "--users", 100, "--error", 0.0001).text
    assert "Out of reach" in hopeless
    found = json.loads(shell("recommend", "--epsilon", 1, "--domain-size", 1000, "--json").out)
    assert found["best"] == found["options"][0]["protocol"]
    assert found["best"] in shell("recommend", "--epsilon", 1, "--domain-size", 1000).text


def test_audit(shell):
    """An audit says that the protocol holds, in a sentence and in JSON."""
    assert "holds" in shell("audit", "DE", "--epsilon", 1, "--domain-size", 3, "--calls", 200).text
    few = ("--domain-size", 2, "--calls", 200, "--json")
    found = json.loads(shell("audit", "ue:p=0.5:q=0.25", *few).out)
    assert found["holds"]
    assert found["exact"]


@pytest.mark.parametrize("columns", [80, 120])
def test_demo(shell, monkeypatch, columns):
    """The demo shows truth beside estimates and keeps within the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = shell("demo", "--people", 20_000, "--top", 5).text
    assert "Smith" in text
    assert "e^epsilon = 7.39" in text
    assert max(map(len, text.splitlines())) <= columns
    found = json.loads(shell("demo", "--people", 5_000, "--epsilon", 1, "--json").out)
    assert (found["people"], len(found["surnames"])) == (5_000, 25)


def test_one_is_no_plural(shell):
    """One byte, one report and one file are said so."""
    shell.write("one.txt", "kiwi\n")
    made = shell("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", 1,
                 "--protocol", "DE", "-o", "fruit.json")  # fmt: skip
    assert ", 1 byte a report," in made.err
    shown = shell("question", "show", "fruit.json").text.split()
    assert "report 1 byte typical" in " ".join(shown)
    assert "1 report on" in shell("privatize", "fruit.json", "one.txt", "-o", "one.bin").err
    assert "1 report in 1 file\n" in shell("tally", "fruit.json", "one.bin", "-o", "t.bin").err
    assert "from 1 report\n" in shell("estimate", "fruit.json", "t.bin").text


def test_simulation_speaks_of_the_answers_there_are(fruit):
    """With three answers there are no ten most frequent ones."""
    text = fruit("simulate", "answers.txt", "--epsilon", 1, "--protocol", "DE").text
    assert "the 3 most frequent" in " ".join(text.split())
    assert "10" not in text.split("MSE: ")[1].partition("found")[0]


def test_hostile_questions_end_with_one_line(fruit):
    """A question that nobody made with deniable is refused without a traceback."""
    document = json.loads(fruit.read("fruit.json"))
    for key, value in (
        ("name", "\ud800"),
        ("labels", ["\ud800", "a", "b"]),
        ("protocol", {**document["protocol"], "epsilon": 10**400}),
        ("other", json.loads("[" * 600 + "]" * 600)),
    ):
        fruit.write("wrong.json", json.dumps({**document, key: value}))
        assert "wrong.json" in fruit.fails("question", "show", "wrong.json")


def test_advice_at_an_epsilon_next_to_nothing_is_no_traceback(shell):
    """What 64-bit probabilities cannot express is said in one line."""
    for epsilon in ("1e-17", "1e-300"):
        outcome = shell.attempt("recommend", "--epsilon", epsilon, "--domain-size", 10)
        assert outcome.code == 0 or outcome.err.startswith("deniable: expected")


@pytest.mark.parametrize("args", [[], ["question"], ["store"]], ids=str)
def test_a_group_without_a_command_shows_its_help(shell, args):
    """What stands alone is explained, as with --help."""
    assert shell(*args).text == shell(*args, "--help").text


@pytest.fixture
def millions(shell):
    """Return a command line with a tally of forty million reports on long labels."""
    labels = tuple(f"{'a rather long label ' * 3}{i}" for i in range(3))
    question = Question("long", labels, DE(1.0, 3))
    shell.write("long.q", question.to_json())
    some = question.tally(question.protocol.privatize(np.repeat([0, 1, 2], [750, 200, 50])))
    for _ in range(4):
        some = sum([some] * 9, some)
    shell.write("long.t", some.to_bytes())
    return shell


@pytest.fixture
def terminal(monkeypatch):
    """Return how to make commands print for a terminal of some columns, without colours."""

    def resize(columns):
        for name, value in (("FORCE_COLOR", "1"), ("TERM", "dumb"), ("LINES", "50")):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("COLUMNS", str(columns))

    return resize


@pytest.mark.parametrize("columns", [30, 40, 60, 70, 80, 100, 160])
def test_no_digit_is_ever_cut(millions, terminal, columns):
    """The bar gives way first, then the labels; numbers stand in full, if need be beyond."""
    terminal(columns)
    text = millions("estimate", "long.q", "long.t").text
    data = json.loads(millions("estimate", "long.q", "long.t", "--json").out)["estimates"]
    for row in data:
        interval = f"{row['lower']:,.0f} to {row['upper']:,.0f}"
        numbers = (f"{row['count']:,.0f}", f"{100 * row['share']:.2f} %", interval)
        assert any(all(number in line for number in numbers) for line in text.splitlines())
    if columns >= 70:
        assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize("columns", [40, 80])
def test_simulations_of_long_labels_keep_rank_and_mark(shell, terminal, columns):
    """Labels of fifty letters are cut; the rank, the numbers and the mark are not."""
    terminal(columns)
    shell.write("a.txt", "".join(f"{letter * 50}\n" * 4000 for letter in "ab"))
    text = shell("simulate", "a.txt", "--epsilon", 4, "--protocol", "DE").text
    rows = [line.split() for line in text.splitlines() if line.startswith(("1 ", "2 "))]
    assert [row[0] for row in rows] == ["1", "2"]
    for row in rows:
        assert "…" in row[1]
        assert row[2] == "4,000"
        assert "✓" in row
    assert all("…" not in line for line in text.splitlines() if line.startswith("DE "))


def test_the_name_of_the_output_decides_about_the_format(fruit):
    """What is written to .csv, .json and .html is that; a figure is drawn with --plot."""
    starts = {"e.csv": b"label,", "e.json": b"{", "e.HTML": b"<!DOCTYPE", "e.tsv": b"label\t",
              "e.txt": b"fruit: 3 answers"}  # fmt: skip
    for name, start in starts.items():
        fruit("estimate", "fruit.json", "tally.bin", "-o", name)
        assert fruit.read(name).startswith(start)
    fruit("estimate", "fruit.json", "tally.bin", "-o", "e.csv", "--format", "table")
    assert fruit.read("e.csv").startswith(b"fruit: 3 answers")
    assert "--plot e.png" in fruit.fails("estimate", "fruit.json", "tally.bin", "-o", "e.png")
    assert not fruit.path("e.png").exists()


@pytest.mark.parametrize("option", ["--level", "--alpha"])
@pytest.mark.parametrize("value", ["0", "1", "2", "nan", "x", "0.9999999999999999"])
def test_probabilities_are_checked_before_anything_is_printed(fruit, option, value):
    """A level or alpha that cannot be is one line on stderr and nothing on stdout."""
    outcome = fruit.attempt("estimate", "fruit.json", "tally.bin", option, value)
    assert (outcome.code, outcome.out) == (2, b"")
    assert f"'{option}': expected a number above 0 and below 1, got '{value}'" in outcome.err


@pytest.mark.parametrize("names", [",", "", " , "])
def test_a_simulation_needs_a_protocol(fruit, names):
    """A list of no names is refused."""
    assert "DE,LH:g=4" in fruit.fails("simulate", "answers.txt", "--epsilon", 1,
                                      "--protocol", names)  # fmt: skip


def test_what_does_not_fit_into_memory_is_one_line(fruit, monkeypatch):
    """Too many people end with exit code 2 and no traceback."""

    def choice(*args):
        raise MemoryError

    generator = type("Generator", (), {"choice": choice})
    monkeypatch.setattr("deniable.cli.simulate.np.random.default_rng", lambda seed: generator())
    message = fruit.fails("simulate", "answers.txt", "--epsilon", 1, "--people", 99_999_999_999)
    assert "memory" in message
    fruit.fails("simulate", "answers.txt", "--epsilon", 1, "--people", 10**30)


_MADE = {"Levels": ("--want", "mean"), "Views": ()}
"""The protocols of numbers, and what is wanted of these."""


@pytest.mark.parametrize("name", sorted(set(discover()) - set(_MADE)))
def test_the_protocol_that_an_error_suggests_is_taken(shell, name):
    """Whatever an error writes for example makes a question."""
    kind = find_protocol(name)
    labels = [part for label in "abc" for part in ("--label", label)]
    answers = labels if takes(kind, "domain_size") else ["--open"]
    epsilon = ["--epsilon", 1] if takes(kind, "epsilon") else []
    message = shell.fails("question", "create", "q", *answers, *epsilon, "--protocol", f"{name}:x")
    example = message.partition("for example ")[2].split(",")[0].strip()
    shell("question", "create", "q", *answers, *epsilon, "--protocol", example)
    if name == "RandomMatrixProjection":
        assert "as many rows as people" in message


@pytest.mark.parametrize("name", sorted(_MADE))
def test_a_protocol_of_numbers_is_not_named_but_made(shell, name):
    """Wherever it is named, an error says which options make it, and these do."""
    shell.write("answers.txt", "a\nb\n")
    for text in (name, f"{name}:x", f"{name}:radices=3"):
        for answers in (["--open"], ["--label", "a", "--label", "b"]):
            message = shell.fails(
                "question", "create", "q", *answers, "--epsilon", 1, "--protocol", text
            )
            assert f"{name} is neither for labels nor for any text" in message
        simulated = shell.fails("simulate", "answers.txt", "--epsilon", 1, "--protocol", text)
        for said in (message, simulated):
            assert "--number" in said
            assert all(option in said for option in _MADE[name])
    assert "--number" in shell.fails("audit", f"{name}:x", "--epsilon", 1)
    shell("question", "create", "q", "--number", 0, 7, *_MADE[name], "--epsilon", 1, "-o", "q.json")
    assert f'"{name}"' in shell.path("q.json").read_text()


def test_a_setting_is_given_once(shell):
    """Of two values for one setting none is taken."""
    assert "'g' more than once" in shell.fails("audit", "LH:g=4:g=5", "--epsilon", 1)


@pytest.mark.parametrize("name", ["LH:g=4", "OpenLH", "RAPPOR", "XYZ"])
def test_a_plan_names_the_protocols_that_it_takes(shell, name):
    """What cannot be planned is refused with those that can, and each of them can."""
    options = ["--domain-size", 10, "--users", 1000, "--epsilon", 1]
    message = shell.fails("plan", *options, "--protocol", name)
    listed = message.partition("one of ")[2].partition(", got")[0].split(", ")
    assert "OLH" in listed
    for each in [*listed, "grr", "olh"]:
        shell("plan", *options, "--protocol", each)


def test_a_plan_out_of_reach_does_not_explain_its_epsilon(shell):
    """The privacy of an epsilon that nobody asked for is not praised."""
    options = ["plan", "--domain-size", 41270, "--users", 100, "--error", 0.0001]
    assert "One report" not in shell(*options).text
    assert json.loads(shell(*options, "--json").out)["meaning"] is None


def test_recommend_says_which_protocols_are_impossible(shell):
    """A protocol that cannot be had at this size is named, not dropped."""
    options = ["recommend", "--epsilon", 1, "--domain-size", 2 * 10**9]
    assert "Impossible at this epsilon and domain size: SHE" in shell(*options).text
    assert json.loads(shell(*options, "--json").out)["impossible"] == ["SHE", "SubsetSelection"]
    assert "Impossible" not in shell("recommend", "--epsilon", 1, "--domain-size", 9).text
    message = shell.fails("recommend", "--epsilon", 1, "--domain-size", 4 * 10**9)
    assert "at least two" not in message


def test_recommend_orders_as_its_help_says(shell):
    """Within half a percent what decodes fastest comes first, else the smaller variance."""
    assert "half a percent" in " ".join(shell("recommend", "--help").text.split())
    for epsilon, size in ((1.344, 13), (1, 12), (1, 1000)):
        options = ["recommend", "--epsilon", epsilon, "--domain-size", size, "--json"]
        rows = json.loads(shell(*options).out)["options"]
        for first, second in itertools.pairwise(rows):
            if first["mean_variance"] > second["mean_variance"]:
                assert first["mean_variance"] <= 1.005 * second["mean_variance"]


def test_options_without_their_file_are_refused(fruit):
    """A column of a file that was not named is not ignored."""
    create = ["question", "create", "q", "--epsilon", 1, "--labels-column", "x"]
    assert "--labels;" in fruit.fails(*create, "--label", "a", "--label", "b")
    assert "--labels;" in fruit.fails(*create, "--open")
    fruit.write("l.json", '["a", "b"]')
    assert "leave out --labels-column" in fruit.fails(*create, "--labels", "l.json")
    assert "--labels;" in fruit.fails("simulate", "answers.txt", "--epsilon", 1,
                                      "--labels-column", "x")  # fmt: skip
    assert "--candidates;" in fruit.fails("estimate", "fruit.json", "tally.bin",
                                          "--candidates-column", "x")  # fmt: skip


def test_suggestions_end_with_a_question_mark(shell):
    """What was probably meant is asked for, and the help comes after it."""
    assert "; did you mean 'tally'? See " in shell.fails("tallly")


def test_names_reach_the_terminal_without_control_characters(shell):
    """A question's name is escaped in the headline and cut in errors, as labels are."""
    shell.write("a.txt", "a\n" * 20)
    create = ["--label", "a", "--label", "b", "--epsilon", 4]
    shell("question", "create", "x\ny\x1b[31m", *create, "-o", "q.json")
    assert r"'x\ny\x1b[31m'" in shell("privatize", "q.json", "a.txt", "-o", "r.bin").err
    outcome = shell("estimate", "q.json", "r.bin")
    assert r"x\ny\x1b[31m: 2 answers" in outcome.text
    assert "\x1b[31m" not in outcome.text
    shell("question", "create", "n" * 10_000, *create, "-o", "q.json")
    assert len(shell("privatize", "q.json", "a.txt", "-o", "r.bin").err) < 200
    shell.write("a.txt", "c\n")
    assert len(shell.fails("privatize", "q.json", "a.txt", "-o", "r.bin")) < 400
    assert "UTF-8" in shell.fails("question", "create", "x\udcff", *create)


def test_show_describes_records_and_numbers(shell) -> None:
    """Attributes, tables and ranges are named, and the error is that of a share or a mean."""
    shell.write("record.json", Question("usage", Record(
        {"country": ["DE", "FR"], "age": Number(0, 120, step=5, unit="years")}
    ), epsilon=2.0).to_json())  # fmt: skip
    said = " ".join(shell("question", "show", "record.json").text.split())
    assert "country: 2: DE, FR; age: a number from 0 to 120 years, by 5" in said
    assert "Tables: country, age" in said
    assert "with 1,000,000" in said
    assert "not known" not in said
