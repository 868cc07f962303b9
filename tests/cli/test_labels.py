"""Which label an answer is: spellings taken for the same, and answers that are no label."""

import json

import pytest

from deniable.cli.answers import Batch, Source
from deniable.cli.labels import Form, Matcher

CITIES = ["Zürich", "Genf", "rest"]
DECOMPOSED = "Zu\u0308rich"
ANSWERS = ["Zürich"] * 50 + ["Zürich "] * 7 + ["zürich"] * 5 + [DECOMPOSED] * 3 + ["N/A"] * 9 + [""]


@pytest.fixture
def cities(shell):
    """Return a command line with a question that has a label for all other answers."""
    shell.write("labels.json", json.dumps(CITIES))
    create = ["question", "create", "city", "--labels", "labels.json", "--epsilon", 1]
    shell(*create, "--other", "rest", "-o", "q.json")
    shell(*create, "-o", "strict.json")
    shell.write("a.txt", "".join(f"{answer}\n" for answer in ANSWERS))
    return shell


def privatize(shell, *options):
    """Return how many answers became other, and what was said about them."""
    outcome = shell("privatize", "q.json", "a.txt", "-o", "r.bin", "--json", *options)
    return json.loads(outcome.out)["other"], outcome.err


def test_answers_that_become_other_are_counted_and_placed(cities):
    """How many, which share, and the line of the first, but not what anybody answered."""
    count, said = privatize(cities)
    assert count == 25
    assert "a.txt: 25 of 75 answers (33.3 %) are not labels and count as 'rest'" in said
    assert ", the first on line 51" in said
    assert "N/A" not in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--strip"], 18),
        (["--fold-case"], 20),
        (["--normalise"], 22),
        (["--strip", "--fold-case", "--normalise"], 10),
    ],
    ids=str,
)
def test_spellings_that_are_taken_for_the_same(cities, options, count):
    """White space, case and coding are overlooked as far as the options say."""
    assert privatize(cities, *options)[0] == count


def test_nothing_is_said_where_every_answer_is_a_label(cities):
    """The label of the others may itself be an answer."""
    cities.write("a.txt", "Zürich\nrest\n")
    count, said = privatize(cities)
    assert (count, said) == (0, "")


def test_the_estimates_are_those_of_the_label(cities):
    """An answer in another spelling counts for the label itself."""
    cities.write("a.txt", " GENF\n" * 400)
    cities("privatize", "q.json", "a.txt", "-o", "r.bin", "--strip", "--fold-case")
    rows = json.loads(cities("estimate", "q.json", "r.bin", "--json").out)["estimates"]
    assert max(rows, key=lambda row: row["count"])["label"] == "Genf"


def test_an_unknown_answer_names_the_option_that_takes_it(cities):
    """The line and the fewest options that would do are named, and the answer is not."""
    args = ["privatize", "strict.json", "a.txt", "-o", "r.bin"]
    message = cities.fails(*args)
    assert "a.txt:51: the answer is none of the 3 labels" in message
    assert "pass --strip, which makes it equal to one" in message
    assert "Zürich" not in message
    assert "pass --fold-case, which" in cities.fails(*args, "--strip")
    assert "with --other" in cities.fails(*args, "--strip", "--fold-case", "--normalise")


def test_labels_that_an_option_makes_the_same_are_refused(shell):
    """Two labels of one form cannot be told apart any more."""
    shell.write("a.txt", "a\n")
    shell("question", "create", "q", "--label", "a", "--label", "A", "--epsilon", 1, "-o", "q.json")
    message = shell.fails("privatize", "q.json", "a.txt", "--fold-case", "-o", "r.bin")
    assert "the labels 'a' and 'A' are equal with --fold-case" in message


@pytest.mark.parametrize(("one", "two"), [("a", "a "), ("Fig", "fig"), ("Zürich", DECOMPOSED)])
def test_labels_that_look_alike_are_warned_of(shell, one, two):
    """A question with labels that people cannot tell apart is made with a warning."""
    create = ["question", "create", "q", "--epsilon", 1, "--label", "other", "--label", one]
    assert "warning" not in shell(*create).err
    said = shell(*create, "--label", two).err
    assert f"warning: the labels {one!r} and {two!r} differ only in white space, case" in said


def test_open_answers_take_the_form_that_stands_for_all(shell):
    """Of an open question the answers themselves are stripped, folded and normalised."""
    shell("question", "create", "site", "--open", "--epsilon", 8, "-o", "q.json")
    shell.write("a.txt", " Example.ORG\n" * 300)
    shell.write("candidates.txt", "example.org\nExample.ORG\n")
    shell("privatize", "q.json", "a.txt", "--strip", "--fold-case", "-o", "r.bin")
    found = json.loads(shell("estimate", "q.json", "r.bin", "--candidates", "candidates.txt",
                             "--json").out)["estimates"]  # fmt: skip
    assert found[0]["count"] > 200
    assert found[1]["count"] < 100


def test_forms_are_fixed_points():
    """A text in its form is its own form, even where folding takes a character apart."""
    form = Form(strip=True, fold_case=True, normalise=True)
    for text in (" ǰ ", "İ", "ΐ", "ß", "K", DECOMPOSED, "\u0345a"):
        assert form(form(text)) == form(text)


def test_endless_spellings_do_not_fill_the_memory(tmp_path, monkeypatch):
    """Only so many spellings and unknown answers are remembered, and the counts stay right."""
    monkeypatch.setattr("deniable.cli.labels._REMEMBERED", 10)
    matcher, source = Matcher(("a", "b"), "b", Form(strip=True)), Source(tmp_path / "x")
    for turn in range(50):
        answers = [" " * turn + "a", f"unknown {turn}", "N/A", "b"]
        values = matcher.values(Batch(answers, range(1, 5)), source)
        assert values.tolist() == [0, 1, 1, 1]
    assert (matcher.read, matcher.unknown) == (200, 100)
    assert len(matcher._known) <= 12
    assert "the first on line 2" in matcher.describe_unknown()


def test_answers_make_their_own_labels():
    """Without labels every form is one, in the order in which they come."""
    matcher = Matcher(None, form=Form(fold_case=True))
    source = Source(None)
    assert matcher.values(Batch(["B", "a", "b"], range(3)), source).tolist() == [0, 1, 0]
    assert matcher.values(Batch(["A", "c"], range(2)), source).tolist() == [1, 2]
    assert matcher.labels == ("b", "a", "c")


def test_simulations_know_other_and_questions(cities):
    """Answers outside the labels are counted as other, or refused; a question has all of it."""
    args = ["simulate", "a.txt", "--seed", 1, "--json"]
    found = json.loads(cities(*args, "--question", "q.json").out)
    assert [trial["protocol"]["epsilon"] for trial in found["trials"]] == [1]
    assert (found["answers"], found["other"]) == (3, 25)
    compared = json.loads(cities(*args, "--question", "q.json", "--protocol", "OUE,OLH").out)
    assert len(compared["trials"]) == 3
    assert compared["trials"][0]["protocol"] == found["trials"][0]["protocol"]
    cities.write("labels.txt", "Zürich\nGenf\n")
    labels = ["--labels", "labels.txt", "--epsilon", 1, "--protocol", "DE"]
    outcome = cities(*args, *labels, "--other", "rest", "--strip")
    assert json.loads(outcome.out)["other"] == 18
    assert "the first on line 58" in outcome.err
    assert "a.txt:51:" in cities.fails(*args, *labels)
    assert "--labels" in cities.fails(*args, "--epsilon", 1, "--other", "rest")
    assert "leave out" in cities.fails(*args, *labels, "--question", "q.json")
    assert "--epsilon" in cities.fails(*args)
