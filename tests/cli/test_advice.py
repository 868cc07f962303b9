"""What the command line says of its own accord: warnings, settings, completion, spread."""

import json
import os
import subprocess
import sys

import pytest

from deniable.protocols import discover

CREATE = ["question", "create", "q", "--label", "a", "--label", "b"]


@pytest.mark.parametrize(
    "args",
    [
        [*CREATE, "--epsilon", 9],
        [*CREATE, "--protocol", "UE:p=0.999:q=0.001"],
        ["question", "create", "q", "--open", "--epsilon", 9],
        ["recommend", "--epsilon", 9, "--domain-size", 10],
        ["plan", "--epsilon", 9, "--domain-size", 10, "--users", 100],
        ["plan", "--domain-size", 10, "--users", 200, "--error", 0.005],
    ],
    ids=lambda args: " ".join(map(str, args)),
)
def test_an_epsilon_that_hides_little_is_warned_of(shell, args):
    """One line on stderr names the epsilon and what it means; what was asked for is still done."""
    outcome = shell(*args)
    assert outcome.err.count("warning: epsilon = ") == 1
    assert "is above 5" in outcome.err
    assert outcome.out


@pytest.mark.parametrize(
    "args",
    [
        [*CREATE, "--epsilon", 5],
        ["recommend", "--epsilon", 5, "--domain-size", 10],
        ["plan", "--epsilon", 1, "--domain-size", 10, "--users", 100],
    ],
    ids=lambda args: " ".join(map(str, args)),
)
def test_a_usual_epsilon_is_not_warned_of(shell, args):
    """Five is not above five."""
    assert shell(*args).err == ""


@pytest.mark.parametrize(
    "args",
    [
        CREATE,
        ["recommend", "--domain-size", 10],
        ["plan", "--domain-size", 10, "--users", 100],
    ],
    ids=lambda args: args[0],
)
def test_an_epsilon_next_to_nothing_is_named(shell, args):
    """The error is about the epsilon that was given, and not about the size of reports."""
    message = shell.fails(*args, "--epsilon", "1e-300")
    assert "got 1e-300" in message
    assert "epsilon" in message
    assert "max_report_bytes" not in message


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
@pytest.mark.parametrize("users", [[], ["--users", 1_000_000]], ids=["", "users"])
def test_recommendations_fit_the_terminal(shell, monkeypatch, columns, users):
    """Every protocol is one line, and no line is longer than the terminal is wide."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = shell("recommend", "--epsilon", 1, "--domain-size", 1000, *users).text
    table = text.partition("\n\n")[0].splitlines()
    assert max(map(len, table)) <= columns
    rows = [line.split()[0] for line in table if "shown" not in line]
    assert len(set(rows)) == len(rows)
    assert {"OLH", "OUE", "DE"} <= set(rows)
    if columns >= 100:
        assert "decoding" in text


def test_rare_answers_can_be_the_goal(shell):
    """Recommend and question create take another protocol where rare answers are asked for."""
    best = {}
    for goal in ("mean", "rare"):
        args = ["recommend", "--epsilon", 1.7727, "--domain-size", 10, "--goal", goal]
        found = json.loads(shell(*args, "--json").out)
        assert found["goal"] == goal
        best[goal] = found["best"]
        assert ("variance of rare answers" in shell(*args).text) == (goal == "rare")
        shell.write("labels.txt", "".join(f"label {i}\n" for i in range(10)))
        create = ["question", "create", "q", "--labels", "labels.txt", "--epsilon", 1.7727]
        shell(*create, "--goal", goal, "-o", f"{goal}.json")
        shown = json.loads(shell("question", "show", f"{goal}.json", "--json").out)
        assert shown["protocol"]["name"] == best[goal]
    assert best == {"mean": "SubsetSelection", "rare": "DE"}
    message = shell.fails(*create, "--protocol", "OLH", "--goal", "rare", "-o", "x.json")
    assert "--goal is about the recommended protocol" in message


def test_a_question_shows_its_settings(shell):
    """What a protocol was made with is shown, and epsilons have no more digits than they need."""
    shell("question", "create", "s", "--open", "--protocol", "RAPPOR:f=0.5:bits=64:cohorts=4",
          "-o", "q.json")  # fmt: skip
    text = " ".join(shell("question", "show", "q.json").text.split())
    for setting in ("bits = 64", "cohorts = 4", "f = 0.5"):
        assert setting in text
    shell(*CREATE, "--epsilon", 2, "--protocol", "OUE", "-o", "q.json")
    assert "realised epsilon = 2, " in " ".join(shell("question", "show", "q.json").text.split())


def completions(*words):
    """Return what the shell would offer for the last of some words."""
    environment = {**os.environ, "_DENIABLE_COMPLETE": "bash_complete",
                   "COMP_WORDS": " ".join(["deniable", *words]),
                   "COMP_CWORD": str(len(words))}  # fmt: skip
    code = "from deniable.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                           check=True, text=True)  # fmt: skip
    return [line.partition(",")[2] for line in found.stdout.splitlines()]


@pytest.mark.long("five processes")
def test_commands_and_protocols_complete(request):
    """The shell offers commands, options and protocols, the last of a list as well."""
    assert completions("pri") == ["privatize"]
    assert "--delimiter" in completions("privatize", "--del")
    assert set(discover()) <= set(completions("question", "create", "--protocol", ""))
    assert completions("plan", "--protocol", "ol") == ["OLH"]
    assert completions("simulate", "--protocol", "DE,ou") == ["DE,OUE"]
    page = (request.config.rootpath / "docs" / "cli.md").read_text(encoding="utf-8")
    assert "_DENIABLE_COMPLETE=bash_source deniable" in page


def test_completion_of_commands_imports_none():
    """The names of commands are known without loading what they need."""
    environment = {**os.environ, "_DENIABLE_COMPLETE": "bash_complete", "COMP_CWORD": "1",
                   "COMP_WORDS": "deniable "}  # fmt: skip
    code = """
import sys
from deniable.cli import main
try:
    main()
finally:
    print(*(name for name in ("numpy", "rich") if name in sys.modules), file=sys.stderr)
"""
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                           check=True, text=True)  # fmt: skip
    assert "privatize" in found.stdout
    assert found.stderr.strip() == ""


def test_simulations_show_chance_for_what_it_is(fruit):
    """Several runs, their spread, and the best in theory and not the luckiest."""
    args = ["simulate", "answers.txt", "--epsilon", 1, "--seed", 2]
    document = json.loads(fruit(*args, "--json").out)
    assert document["runs"] == 5
    for trial in document["trials"]:
        assert len(trial["mse_of_runs"]) == 5
        assert min(trial["mse_of_runs"]) < trial["mse"] < max(trial["mse_of_runs"])
        assert trial["mse_std"] > 0
    text = fruit(*args).text
    known = [trial for trial in document["trials"] if trial["theoretical_mse"] is not None]
    best = min(known, key=lambda trial: trial["theoretical_mse"])
    assert f"The best in theory, {best['protocol']['name']} at epsilon = 1, in the last run" in text
    assert "±" in text
    single = json.loads(fruit(*args, "--runs", 1, "--json").out)
    assert single["trials"][0]["mse_std"] is None
    assert "±" not in fruit(*args, "--runs", 1).text


def test_simulations_fit_eighty_columns(shell, monkeypatch):
    """The usual protocols on a usual number of people need no more than a terminal has."""
    monkeypatch.setenv("COLUMNS", "80")
    shell.write("a.txt", "".join(f"answer {i % 8}\n" for i in range(20_000)))
    text = shell("simulate", "a.txt", "--epsilon", 1, "--seed", 1).text
    assert max(map(len, text.splitlines())) <= 80


def test_long_simulations_are_run_once(fruit, monkeypatch):
    """Where five runs would take long there are fewer, unless they are asked for."""
    monkeypatch.setattr("deniable.cli.simulate._SOON", 500 * 2)
    args = ["simulate", "answers.txt", "--epsilon", 1, "--protocol", "DE", "--json"]
    assert json.loads(fruit(*args).out)["runs"] == 2
    assert json.loads(fruit(*args, "--runs", 4).out)["runs"] == 4


def test_rounds_tell_what_one_report_and_what_all_reveal(shell) -> None:
    """Epsilon 4 in two reports is a factor of 7.39 by one of them."""
    told = " ".join(shell("plan", "--domain-size", 3, "--users", 30_000, "--rounds", 3, "--every",
                          7, "--lifetime", 4, "--times", 2).text.split())  # fmt: skip
    assert "by a factor of at most 7.39:" in told
    assert "4 in all" in told
