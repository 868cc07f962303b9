"""Commands on sets: created, privatized from files of all kinds, estimated and planned."""

import json
import re
from statistics import NormalDist

import pytest

from deniable import Question

TOOLS = ("git", "vim", "tmux", "fzf", "make", "gdb")
PEOPLE = [["git", "vim"], ["git"], [], ["git", "make", "fzf", "gdb"]] * 100


@pytest.fixture
def tools(shell):
    """Return a command line with a question about sets of at most three tools."""
    shell.write("tools.txt", "".join(f"{tool}\n" for tool in TOOLS))
    shell("question", "create", "tools", "--choices", "tools.txt", "--at-most", 3, "--epsilon", 3,
          "-o", "tools.json")  # fmt: skip
    return shell


@pytest.mark.parametrize("form", ["txt", "csv", "ndjson", "json lines"])
def test_sets_in_files_are_counted(tools, form) -> None:
    """Labels between semicolons, JSON lists in lines, and lists in NDJSON are the same."""
    column = ["--column", "tools"] if form in {"csv", "ndjson"} else []
    lines = {
        "txt": [";".join(row) or "[]" for row in PEOPLE],
        "csv": ["id,tools", *(f"{i},{';'.join(row)}" for i, row in enumerate(PEOPLE))],
        "ndjson": [json.dumps({"id": i, "tools": row}) for i, row in enumerate(PEOPLE)],
        "json lines": [json.dumps(row) for row in PEOPLE],
    }[form]
    name = f"people.{form.split()[0] if column else 'txt'}"
    tools.write(name, "".join(f"{line}\n" for line in lines))
    tools("privatize", "tools.json", name, *column, "-o", "reports.bin")
    tools("tally", "tools.json", "reports.bin", "-o", "tally.bin")
    found = json.loads(tools("estimate", "tools.json", "tally.bin", "--json").text)
    rows = {row["label"]: row["count"] for row in found["estimates"]}
    assert list(rows) == list(TOOLS)
    assert abs(rows["git"] - 275) < 150  # some five standard errors
    assert found["adds_up"] is False
    assert 0 <= found["cut"]["lower"] <= found["cut"]["share"] <= found["cut"]["upper"]


def test_the_table_tells_who_was_cut_and_the_sizes(tools) -> None:
    """The sentence stands below the rows; --sizes has a row for each size."""
    tools.write("people.txt", "".join(f"{json.dumps(row)}\n" for row in PEOPLE))
    tools("privatize", "tools.json", "people.txt", "-o", "reports.bin")
    said = " ".join(tools("estimate", "tools.json", "reports.bin").text.split())
    assert "gave 3 answers or had more" in said
    assert "shares do not add up to 100 %" in said
    assert "3 or more" in tools("estimate", "tools.json", "reports.bin", "--sizes").text
    said = tools.fails("estimate", "tools.json", "reports.bin", "--consistency", "norm-sub")
    assert "do not add up" in said


def test_protocols_are_recommended_for_a_file_of_labels(tools) -> None:
    """The file says how many there are, as for a plan; --at-most is needed."""
    shared = ("--epsilon", 1, "--at-most", 3, "--json")
    by_file = tools("recommend", "--choices", "tools.txt", *shared).text
    assert by_file == tools("recommend", "--domain-size", len(TOOLS), *shared).text
    said = tools.fails("recommend", "--choices", "tools.txt", "--epsilon", 1)
    assert "--choices takes --at-most" in said


def test_equal_answers_are_cut_each_by_itself(tools) -> None:
    """A hundred like sets do not all keep the same three labels."""
    tools.write("people.txt", "".join(f"{json.dumps(TOOLS)}\n" for _ in range(400)))
    tools("question", "create", "sure", "--choices", "tools.txt", "--at-most", 3, "--epsilon", 20,
          "-o", "sure.json")  # fmt: skip
    tools("privatize", "sure.json", "people.txt", "-o", "reports.bin")
    found = json.loads(tools("estimate", "sure.json", "reports.bin", "--json").text)
    counts = [row["count"] for row in found["estimates"]]
    # 400 people keep each label with a chance of 1/2, so that 120 is 8 deviations from the mean.
    assert 120 < min(counts) <= max(counts) < 280


def test_a_set_that_is_none_is_named_by_its_line(tools) -> None:
    """What is wrong is said with the line, and never with the answer."""
    tools.write("people.txt", "git;vim\ngit;emacs\n")
    said = tools.fails("privatize", "tools.json", "people.txt", "-o", "reports.bin")
    assert (
        "people.txt:2: the answer is not a list of any of the 6 labels, none of them twice; "
        "correct it, with ; between labels or as a JSON list"
    ) in said
    assert "emacs" not in said


def test_a_label_with_a_semicolon_is_given_in_a_json_list(tools) -> None:
    """Making the question says so, since a line of labels would be cut there."""
    tools.write("labels.txt", "git\nvim; emacs\ntmux\n")
    said = tools("question", "create", "q", "--choices", "labels.txt", "--at-most", 2, "--epsilon",
                 2, "-o", "q.json").err  # fmt: skip
    assert "'vim; emacs' has a semicolon" in said
    assert "JSON lists" in said
    tools.write("people.txt", '["git", "vim; emacs"]\n')
    tools("privatize", "q.json", "people.txt", "-o", "reports.bin")


def test_the_question_is_shown_with_its_limit(tools) -> None:
    """How many labels a person may choose, and what becomes of more, is part of it."""
    said = tools("question", "show", "tools.json").text
    assert "at most 3 of 6: git, vim, tmux" in said
    assert "larger sets are cut at random" in said
    assert "other" not in said
    tools("question", "create", "few", "--label", "a", "--label", "b", "--label", "c", "--at-most",
          2, "--no-cut", "--epsilon", 1, "-o", "few.json")  # fmt: skip
    assert "larger sets are refused" in tools("question", "show", "few.json").text
    tools("question", "create", "named", "--choices", "tools.txt", "--at-most", 2, "--epsilon", 1,
          "--protocol", "PolynomialSelection:g=101", "-o", "named.json")  # fmt: skip
    assert "g = 101" in tools("question", "show", "named.json").text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--choices", "tools.txt"], "--at-most as well"),
        (["--labels", "tools.txt", "--no-cut"], "--at-most as well"),
        (["--choices", "tools.txt", "--at-most", "3", "--other", "git"], "--other is about one"),
        (["--choices", "tools.txt", "--labels", "tools.txt", "--at-most", "2"], "one of them"),
        (["--open", "--at-most", "3"], "--at-most is about labels"),
        (["--choices", "tools.txt", "--at-most", "6"], "at_most as a whole number from 1 to 5"),
        (["--choices", "tools.txt", "--at-most", "0"], "--at-most"),
        (["--choices", "tools.txt", "--at-most", "2", "--protocol", "DE"], "DE with no settings"),
    ],
)
def test_options_that_do_not_fit_are_refused(tools, options, said) -> None:
    """The error says which option is missing or too many."""
    assert said in tools.fails(
        "question", "create", "x", *options, "--epsilon", "1", "-o", "x.json"
    )


def test_arms_and_rounds_of_sets_are_planned_with_their_own_protocol(tools) -> None:
    """The error is that of the question's protocol, by --domain-size as by --choices."""
    arms = ("--at-most", 3, "--epsilon", 3, "--arms", 2, "--from", 0.2, "--lift", 0.05, "--json")
    found = json.loads(tools("plan", "--choices", "tools.txt", *arms).text)
    assert found == json.loads(tools("plan", "--domain-size", 6, *arms).text)
    protocol = Question.open("tools.json").protocol
    assert found["protocol"] == protocol.name
    drawn = sum(float(protocol.variance(1, f)) + f * (1 - f) for f in (0.2, 0.25))
    z = NormalDist().inv_cdf(1 - 0.05 / 6 / 2) + NormalDist().inv_cdf(0.8)
    assert found["people"] == pytest.approx(z * z * drawn / 0.05**2, rel=1e-4)
    rota = json.loads(tools("plan", "--choices", "tools.txt", "--at-most", 3, "--users", 60000,
                            "--rounds", 6, "--lifetime", 3, "--json").text)  # fmt: skip
    one = float(protocol.variance(1, 0.5)) + 0.25
    assert rota["round_error"] == pytest.approx((one / 10_000) ** 0.5)


def test_plans_tell_the_error_within_a_segment(tools) -> None:
    """Of four segments each has a quarter of the people, and twice the error."""
    sets = ("plan", "--at-most", 3, "--users", 40000, "--epsilon", 3)
    for given in (("--domain-size", 6), ("--choices", "tools.txt")):
        whole = " ".join(tools(*sets, *given).text.split())
        within = " ".join(tools(*sets, *given, "--cells", 4).text.split())
        off = float(re.search(r"right to ± ([\d.]+)", whole)[1])
        there = re.search(r"has about 10,000 people: .* is right to ± ([\d.]+)", within)[1]
        assert float(there) == pytest.approx(2 * off, abs=0.11)
        assert "about 10,000 look the same" in within
    numbers = ("plan", "--number", 0, 10, "--epsilon", 1, "--users", 1000)
    assert "--rounds and --arms are about answers of a list" in tools.fails(*numbers, "--arms", 2)
    assert "--cells" in tools.fails("plan", "--domain-size", 6, "--cells", 0)


def test_sets_are_planned_ranked_and_audited(tools) -> None:
    """Advice takes --at-most, and an audit a protocol for sets by its settings."""
    said = tools("plan", "--domain-size", 1000, "--at-most", 8, "--users", 100000, "--epsilon", 1)
    assert "1,000 answers, up to 8 each, PolynomialSelection" in " ".join(said.text.split())
    ranked = tools("recommend", "--domain-size", 32, "--at-most", 4, "--epsilon", 1, "--json").text
    document = json.loads(ranked)
    assert (document["best"], document["at_most"]) == ("SetSelection", 4)
    assert document["guideline"] is None
    assert document["impossible"] == []
    proved = tools("audit", "SetSelection:at_most=1", "--epsilon", 1, "--domain-size", 3,
                   "--calls", 64, "--json")  # fmt: skip
    assert json.loads(proved.text)["complete"] is True


def test_sizes_are_adjusted_as_well(tools) -> None:
    """Sizes add up to everybody, so that an adjustment that shares refuse is made of them."""
    tools.write("few.txt", "git\n[]\n")
    tools("privatize", "tools.json", "few.txt", "-o", "reports.bin")
    args = ("tools.json", "reports.bin", "--consistency", "norm-sub", "--json")
    found = json.loads(tools("estimate", *args, "--sizes").text)
    counts = [row["count"] for row in found["estimates"]]
    assert min(counts) >= 0
    assert sum(counts) == pytest.approx(2)
    assert "do not add up to 1" in tools.fails("estimate", *args)
