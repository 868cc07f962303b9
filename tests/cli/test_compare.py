"""``deniable compare``: two tallies in, what changed between them out."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from deniable import OpenLH, Question, Tally, compare


@pytest.fixture
def days(fruit):
    """Return a command line with the reports of two days, on which figs overtook kiwis."""
    for day, counts in (("monday", (900, 300, 300)), ("tuesday", (300, 900, 300))):
        names = ("kiwi", "fig", "plum")
        fruit.write(f"{day}.txt", "".join(f"{n}\n" * c for n, c in zip(names, counts, strict=True)))
        fruit("privatize", "fruit.json", f"{day}.txt", "-o", f"{day}.bin")
    return fruit


def test_changes_are_told(days):
    """The table names the answers that changed, with their shares, and nothing else is marked."""
    text = days("compare", "fruit.json", "monday.bin", "tuesday.bin").text
    assert text.startswith("fruit: changes of 3 answers between 1,500 and 1,500 reports\n")
    rows = {line.split()[1]: line for line in text.splitlines()[3:6]}
    assert "✓" in rows["kiwi"]
    assert "✓" in rows["fig"]
    assert "·" in rows["plum"]


def test_the_command_says_what_the_library_says(days):
    """JSON and CSV have the numbers of ``compare``, from reports and from tallies alike."""
    days("tally", "fruit.json", "tuesday.bin", "-o", "tuesday.tally")
    data = json.loads(days("compare", "fruit.json", "monday.bin", "tuesday.tally", "--json").out)
    again = days("compare", "fruit.json", "monday.bin", "tuesday.bin", "--format", "csv").text
    rows = list(csv.DictReader(io.StringIO(again)))
    assert [float(row["difference"]) for row in rows] == [
        row["difference"] for row in data["changes"]
    ]
    assert data["provenance"]["question"] == "fruit"
    assert (data["first_n"], data["second_n"]) == (1500, 1500)
    assert [row["label"] for row in data["changes"] if row["significant"]] == [
        row["label"] for row in rows if row["significant"] == "true"
    ]


def test_every_output_is_written(days):
    """The endings of names choose the format, and figures carry where they come from."""
    starts = {"c.csv": b"label,first_share,", "c.tsv": b"label\t", "c.json": b"{",
              "c.html": b"<!DOCTYPE", "c.txt": b"fruit: changes"}  # fmt: skip
    for name, start in starts.items():
        days("compare", "fruit.json", "monday.bin", "tuesday.bin", "-o", name)
        assert days.read(name).startswith(start)
    for name in ("c.png", "c.svg", "c.pdf"):
        days("compare", "fruit.json", "monday.bin", "tuesday.bin", "--plot", name)
    digest = Question.from_json(days.read("fruit.json")).digest.encode()
    assert digest in days.read("c.png")
    assert digest in days.read("c.svg")


@pytest.mark.frames
def test_changes_are_written_as_parquet(days):
    """The ending of a name chooses Parquet as well."""
    days("compare", "fruit.json", "monday.bin", "tuesday.bin", "-o", "c.parquet")
    assert days.read("c.parquet").startswith(b"PAR1")


def test_rows_are_chosen(days):
    """--top and --significant leave rows out, and change no verdict."""
    some = ["compare", "fruit.json", "monday.bin", "tuesday.bin", "--json"]
    everything = json.loads(days(*some).out)["changes"]
    assert json.loads(days(*some, "--top", 1).out)["changes"] == everything[:1]
    changed = json.loads(days(*some, "--significant").out)["changes"]
    assert changed == [row for row in everything if row["significant"]]
    assert len(changed) == 2


def test_level_and_alpha_are_taken(days):
    """A higher level widens the intervals, and a smaller alpha asks for more."""
    some = ["compare", "fruit.json", "monday.bin", "tuesday.bin", "--json"]
    wide = json.loads(days(*some, "--level", 0.999).out)["changes"][0]
    usual = json.loads(days(*some).out)["changes"][0]
    assert wide["lower"] < usual["lower"] < usual["upper"] < wide["upper"]
    strict = json.loads(days(*some, "--alpha", 1e-300).out)["changes"]
    assert not any(row["significant"] for row in strict)


def test_open_questions_need_candidates(shell):
    """Candidates are counted in both, and asked for when they are missing."""
    question = Question("site", None, OpenLH(4.0))
    shell.write("q.json", question.to_json())
    rng = np.random.default_rng(2)
    for name, counts in (("a", (500, 100)), ("b", (100, 500))):
        answers = ["x.example"] * counts[0] + ["y.example"] * counts[1]
        tally = question.tally(question.privatize(answers, rng))
        shell.write(f"{name}.bin", tally.to_bytes())
    assert "--candidates" in shell.fails("compare", "q.json", "a.bin", "b.bin")
    shell.write("names.txt", "x.example\ny.example\nz.example\n")
    found = json.loads(
        shell("compare", "q.json", "a.bin", "b.bin", "--candidates", "names.txt", "--json").out
    )
    assert {row["label"]: row["significant"] for row in found["changes"]} == {
        "x.example": True, "y.example": True, "z.example": False,
    }  # fmt: skip


def test_what_cannot_be_compared_ends_with_one_line(days):
    """The same file twice, an empty tally and one of another question are refused."""
    assert "more than once" in days.fails("compare", "fruit.json", "monday.bin", "monday.bin")
    days.write("none.txt", "")
    days("privatize", "fruit.json", "none.txt", "-o", "none.bin")
    assert "none.bin: there are no reports" in days.fails(
        "compare", "fruit.json", "monday.bin", "none.bin"
    )
    days("question", "create", "other", "--label", "a", "--label", "b", "--epsilon", 1,
         "-o", "other.json")  # fmt: skip
    assert "monday.bin" in days.fails("compare", "other.json", "monday.bin", "tuesday.bin")


def test_a_copy_is_no_second_sample(days):
    """Two files of the same content are compared with a warning."""
    days.write("copy.bin", days.read("monday.bin"))
    outcome = days("compare", "fruit.json", "monday.bin", "copy.bin")
    assert "copy.bin has the same content as monday.bin" in outcome.err
    assert "✓ significant" in outcome.text
    assert not any("✓" in line for line in outcome.text.splitlines()[3:6])


def test_compare_is_at_hand_in_python(days):
    """The function of the package gives what the command prints."""
    question = Question.from_json(days.read("fruit.json"))
    days("tally", "fruit.json", "monday.bin", "-o", "m.tally")
    days("tally", "fruit.json", "tuesday.bin", "-o", "t.tally")
    found = compare(*(
        question.estimate(Tally.from_bytes(days.read(name))) for name in ("m.tally", "t.tally")
    ))  # fmt: skip
    printed = days("compare", "fruit.json", "monday.bin", "tuesday.bin").text
    assert printed == f"{found.table()}\n"


def test_questions_that_differ_only_in_name_are_compared(days):
    """Reports that answer a question of another name are named with it, and both names are told."""
    june = replace(Question.from_json(days.read("fruit.json")), name="fruit in June")
    days.write("june.json", june.to_json())
    days.write("june.txt", "kiwi\n" * 300 + "fig\n" * 900 + "plum\n" * 300)
    days("privatize", "june.json", "june.txt", "-o", "june.bin")
    said = days.fails("compare", "fruit.json", "monday.bin", "june.bin")
    assert "use the question file that they were made with" in said
    some = ["compare", "fruit.json", "monday.bin", "june.bin", "--second-question", "june.json"]
    found = days(*some).text
    assert found.startswith("fruit and fruit in June: changes of 3 answers between 1,500 and 1,500")
    said = json.loads(days(*some, "--json").out)["provenance"]
    assert (said["question"], said["second_question"]) == ("fruit", "fruit in June")


def test_questions_that_ask_something_else_are_not_compared(days):
    """Other answers, or another protocol, are refused before anything is read."""
    fruit = Question.from_json(days.read("fruit.json"))
    others = (
        replace(fruit, answers=fruit.labels[::-1]),
        replace(fruit, protocol=type(fruit.protocol)(fruit.protocol.epsilon + 1, 3)),
    )
    for other in others:
        days.write("other.json", other.to_json())
        said = days.fails(
            *("compare", "fruit.json", "monday.bin", "tuesday.bin"),
            *("--second-question", "other.json"),
        )
        assert "has other answers or another protocol than fruit.json" in said


def test_an_experiment_is_told_in_sentences_with_the_names_as_they_are(shell) -> None:
    """An arm keeps its small letter, and a broken split says what to do if it was planned."""
    shell("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 4, "-o", "q.json")
    for name, answers in (("old", "a\nb\n"), ("new", "a\na\n"), ("few", "a\n")):
        shell.write(f"{name}.txt", answers * 400)
        shell("privatize", "q.json", f"{name}.txt", "-o", f"{name}.bin")
    said = shell("experiment", "q.json", "old=old.bin", "new=new.bin").text
    assert said.startswith("new differs from old: ")
    assert re.search(r"new +[ab] +\d+\.\d\d % +\d+\.\d\d %", said)
    assert "at most 5 % for any false alarm in 1 test" in said
    assert all(line == line.rstrip() for line in said.splitlines())
    rows = list(csv.DictReader(io.StringIO(shell("experiment", "q.json", "old=old.bin",
                                                 "new=new.bin", "--csv").text)))  # fmt: skip
    assert [(row["arm"], row["control"], row["answer"]) for row in rows] == [
        ("new", "old", "a"), ("new", "old", "b"),
    ]  # fmt: skip
    assert float(rows[0]["lift"]) == pytest.approx(-float(rows[1]["lift"]))
    broken = " ".join(shell("experiment", "q.json", "old=old.bin", "few=few.bin").text.split())
    assert broken.startswith("The split is broken: old 800, few 400")
    assert "or state the planned sizes as weights" in broken


def test_experiment_takes_the_planned_sizes_of_its_arms(shell) -> None:
    """Nine to one is a broken split unless it was planned; --weight says that it was."""
    shell("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 2, "-o", "q.json")
    for name, people in (("a", 900), ("b", 100)):
        shell.write(f"{name}.txt", "a\nb\n" * people)
        shell("privatize", "q.json", f"{name}.txt", "-o", f"{name}.bin")
    line = ("experiment", "q.json", "A=a.bin", "B=b.bin", "--json")
    assert json.loads(shell(*line).text)["split_is_broken"]
    planned = shell(*line, "--weight", "A", 9)
    assert json.loads(planned.text)["sample_ratio_p_value"] == 1
    assert "among A, B" in shell.attempt(*line, "--weight", "C", 9).err
