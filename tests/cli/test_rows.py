"""Commands on a kind of answers whose values are rows, brought by another package."""

import json

import pytest

from deniable import Question
from tests.walkthrough.package import installed

ROWS = [[5, 3]] * 200 + [[1, 3]] * 100


@pytest.fixture
def stars(shell, tmp_path_factory):
    """Return a command line with a question about two items."""
    with installed(tmp_path_factory.mktemp("package"), "ratings", "Ratings") as module:
        Question("stars", module.Ratings(("price", "taste"), 5), epsilon=3.0).to_json("stars.json")
        yield shell


@pytest.mark.parametrize("form", ["txt", "csv", "ndjson"])
def test_rows_in_files_are_counted(stars, form) -> None:
    """Lines and cells hold JSON, NDJSON holds lists, and a file of estimates has every row."""
    if form == "ndjson":
        lines = [json.dumps({"id": i, "stars": row}) for i, row in enumerate(ROWS)]
    elif form == "csv":
        lines = ["id,stars", *(f'{i},"{row}"' for i, row in enumerate(ROWS))]
    else:
        lines = [str(row) for row in ROWS]
    stars.write(f"people.{form}", "".join(f"{line}\n" for line in lines))
    column = [] if form == "txt" else ["--column", "stars"]
    stars("privatize", "stars.json", f"people.{form}", *column, "--strip", "-o", "reports.bin")
    stars("tally", "stars.json", "reports.bin", "-o", "tally.bin")
    stars("estimate", "stars.json", "tally.bin", "-o", "estimates.csv")
    text = stars.read("estimates.csv").decode()
    rows = {line.split(",")[0]: line.split(",") for line in text.splitlines()[1:]}
    assert len(rows) == 10
    assert abs(float(rows["taste: 3"][1]) - 300) < 100  # some five standard errors; seeded


def test_a_row_that_is_none_is_named_by_its_line(stars) -> None:
    """What is wrong is said with the line, and never with the answer."""
    stars.write("people.txt", "[5, 3]\n[5, 8]\n")
    said = stars.fails("privatize", "stars.json", "people.txt", "-o", "reports.bin")
    assert "people.txt:2: the answer is not a list of 2 whole numbers from 1 to 5" in said
    assert "8" not in said
    stars.write("people.ndjson", "[5, 3]\nnull\n")
    said = stars.fails("privatize", "stars.json", "people.ndjson", "-o", "reports.bin")
    assert "people.ndjson:2: expected an answer" in said


def test_a_question_of_rows_is_shown(stars) -> None:
    """The command says what an answer has to be, and nothing about other labels."""
    said = stars("question", "show", "stars.json").text
    assert "a list of 2 whole numbers from 1 to 5" in said
    assert "other" not in said


def test_what_cannot_be_simulated_says_so(stars) -> None:
    """A simulation needs the true counts, and names a kind that does not tell them."""
    stars.write("people.txt", "[5, 3]\n")
    said = stars.fails("simulate", "people.txt", "--question", "stars.json")
    assert "give true_counts to this kind of answers" in " ".join(said.split())
