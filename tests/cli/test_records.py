"""Records and numbers on the command line, from the file of attributes to the table."""

import json

import pytest

from deniable import Number, Question

ATTRIBUTES = """
country = { labels = ["DE", "FR", "other"], other = "other" }
plan = ["free", "pro"]
age = { low = 0, high = 80, step = 20, unit = "y" }
"""
PEOPLE = [("pro", 41, "DE"), ("free", 23.5, "PT")] * 300
CSV = "id,plan,age,country\n" + "".join(f"7,{p},{a},{c}\n" for p, a, c in PEOPLE)
NDJSON = "".join(
    json.dumps({"id": 7, "plan": p, "age": a, "country": c}) + "\n" for p, a, c in PEOPLE
)


@pytest.fixture
def survey(shell):
    """Return a command line with a question about three attributes."""
    shell.write("set-up.toml", ATTRIBUTES)
    shell("question", "create", "set-up", "--record", "set-up.toml", "--tables", "pairs",
          "--epsilon", 4, "-o", "set-up.json")  # fmt: skip
    return shell


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plan = [1, 2]", "a.toml: plan: expected labels as strings"),
        ("age = { low = 0, high = 10, step = 3 }", "a.toml: age: expected a step that divides"),
        ('plan = "free"', "a.toml: plan: expected labels and other"),
        ('age = { low = 0, high = 9, want = ["mean"] }', "a.toml: age: expected labels and other"),
    ],
)
def test_a_bad_attribute_is_named_with_its_file(shell, text: str, said: str) -> None:
    """So that one sees which of many is meant."""
    shell.write("a.toml", text)
    args = ("--record", "a.toml", "--epsilon", 1, "-o", "a.json")
    assert said in shell.fails("question", "create", "a", *args)


def test_a_missing_column_is_no_matter_of_choosing_one(survey) -> None:
    """Every attribute has its column."""
    survey.write("few.csv", "plan,age\npro,3\n")
    said = survey.fails("privatize", "set-up.json", "few.csv", "-o", "reports.bin")
    assert "the column 'country'" in said
    assert "no answer to it is a label of its own" in said


@pytest.mark.parametrize(("name", "text"), [("people.csv", CSV), ("people.ndjson", NDJSON)])
def test_columns_of_a_file_are_the_attributes(survey, name: str, text: str) -> None:
    """Columns are taken by name, and margins and cross tables are printed."""
    survey.write(name, text)
    survey("privatize", "set-up.json", name, "-o", "reports.bin")
    survey("tally", "set-up.json", "reports.bin", "-o", "tally.bin")
    found = json.loads(survey("estimate", "set-up.json", "tally.bin", "--json").text)
    rows = {row["label"]: row["count"] for row in found["estimates"]}
    assert abs(rows["country: other"] - 300) < 150  # some five standard errors
    cross = json.loads(
        survey("estimate", "set-up.json", "tally.bin", "--cross", "country+plan", "--json").text
    )
    table = {row["label"]: row["count"] for row in cross["estimates"]}
    assert abs(table["DE / pro"] - 300) < 150
    assert sum(table.values()) == pytest.approx(600)


def test_rows_that_are_no_record_are_named_by_their_line(survey) -> None:
    """Neither a wrong label nor a missing column is privatized, and no answer is printed."""
    survey.write("people.csv", CSV + "8,secret plan,1,DE\n")
    said = survey.fails("privatize", "set-up.json", "people.csv", "-o", "r.bin")
    assert "people.csv:602" in said
    assert "secret plan" not in said
    survey.write("people.csv", "plan,age\npro,1\n")
    assert "country" in survey.fails("privatize", "set-up.json", "people.csv", "-o", "r.bin")


def test_a_number_is_created_as_it_is_asked_for(shell) -> None:
    """Ends, step, unit and what is wanted are those of the question."""
    shell("question", "create", "hours", "--number", 0, 100, "--step", 5, "--unit", "h",
          "--want", "mean", "--want", "distribution", "--epsilon", 2,
          "-o", "hours.json")  # fmt: skip
    question = Question.open(shell.path("hours.json"))
    assert question.answers == Number(0, 100, 5, "h", ("distribution", "mean"))
    shell.write("hours.csv", "hours\n" + "40\n" * 500)
    shell("privatize", "hours.json", "hours.csv", "--column", "hours", "-o", "reports.bin")
    text = shell("estimate", "hours.json", "reports.bin").text
    assert "mean " in text
    assert "median " in text


@pytest.mark.parametrize(
    "options",
    [
        ("--tables", "pairs", "--label", "a"), ("--step", 2, "--label", "a"),
        ("--number", 0, 9, "--label", "a"), ("--number", 0, 9, "--open"),
        ("--number", 0, 9, "--protocol", "DE"), ("--number", 0, 9, "--record", "set-up.toml"),
        ("--number", 9, 0), ("--number", 0, 9, "--step", 2), ("--record", "broken.toml"),
        ("--record", "list.json"), ("--record", "odd.json"), ("--number", 0, 9, "--goal", "rare"),
        ("--record", "set-up.toml", "--tables", "country+age"),
    ],
)  # fmt: skip
def test_options_that_make_no_answer_are_refused(survey, options) -> None:
    """Each ends with one line that says what is wrong."""
    files = {"broken.toml": "a = [", "list.json": "[]", "odd.json": '{"a": {"b": 1}}'}
    for name, text in files.items():
        survey.write(name, text)
    survey.fails("question", "create", "x", *options, "--epsilon", 1, "-o", "x.json")


def test_cross_tables_are_of_records_only(shell) -> None:
    """Other questions have no attributes."""
    labels = ("--label", "a", "--label", "b")
    shell("question", "create", "fruit", *labels, "--epsilon", 1, "-o", "f.json")
    shell.write("answers.txt", "a\nb\n")
    shell("privatize", "f.json", "answers.txt", "-o", "r.bin")
    assert "about records" in shell.fails("estimate", "f.json", "r.bin", "--cross", "a+b")


@pytest.mark.parametrize("row", ["DE,gold,41", "DE,,41"])
def test_an_attribute_that_is_none_is_named(survey, row: str) -> None:
    """The line and the attribute are told, and not the answer."""
    survey.write("people.csv", f"country,plan,age\nDE,pro,41\n{row}\n")
    refused = survey.attempt("privatize", "set-up.json", "people.csv", "-o", "reports.bin")
    assert "the answer is not one of the 2 labels (in 'plan')" in " ".join(refused.err.split())
    assert "gold" not in refused.err


def test_tables_are_repeated_or_put_between_commas(shell) -> None:
    """Both ways ask for the same, and a table of something else names what there is."""
    shell.write("set-up.toml", ATTRIBUTES)
    args = ("--record", "set-up.toml", "--epsilon", 1)
    shell("question", "create", "r", *args, "--tables", "country+plan", "--tables", "age",
          "-o", "one.json")  # fmt: skip
    shell("question", "create", "r", *args, "--tables", "country+plan,age", "-o", "two.json")
    one, two = (Question.open(str(shell.directory / f"{name}.json")) for name in ("one", "two"))
    assert one == two
    said = shell.fails("question", "create", "r", *args, "--tables", "plan+sex", "-o", "r.json")
    assert (
        "expected attributes of the record, 'country', 'plan', 'age', got ('plan', 'sex')" in said
    )


def test_two_weeks_of_a_cross_table_are_compared(survey) -> None:
    """The cells are, in place of the margins; of anything else a table is refused."""
    survey.write("people.csv", CSV)
    for week in ("a", "b"):
        survey("privatize", "set-up.json", "people.csv", "-o", f"{week}.bin")
    files = ("compare", "set-up.json", "a.bin", "b.bin")
    found = json.loads(survey(*files, "--cross", "country+plan", "--json").text)
    assert {row["label"] for row in found["changes"]} >= {"DE / pro", "other / free"}
    assert "--above is for questions about a number" in survey.fails(*files, "--above", 3)
    survey("estimate", "set-up.json", "a.bin", "--cross", "country+plan", "-o", "table.html")


def test_what_was_wrong_says_what_to_write(shell) -> None:
    """A unit in a number, blanks in a label, an attribute without a table, far too fine steps."""
    shell.write("set-up.toml", ATTRIBUTES)
    record = ("--record", "set-up.toml", "--epsilon", 1, "-o", "set-up.json")
    said = shell.fails("question", "create", "a", *record, "--tables", "country+plan")
    assert "'age' in none; add it, as in country+plan,age" in said
    shell("question", "create", "a", *record)
    shell.write("people.csv", "country,plan,age\nDE, free,41\n")
    said = shell.fails("privatize", "set-up.json", "people.csv", "-o", "b.bin")
    assert "not one of the 2 labels (in 'plan'); correct it; capitals and blanks count" in said
    number = ("--number", 0, 1000, "--unit", "ms", "--epsilon", 1)
    made = shell("question", "create", "load", *number, "-o", "load.json")
    assert "a number from 0 to 1000 ms" in made.err + made.text
    shell.write("load.csv", "load\n200 ms\n")
    said = shell.fails("privatize", "load.json", "load.csv", "-o", "b.bin")
    assert "not a number of ms, without the unit, such as 500; correct it" in said
    said = shell.fails("question", "create", "a", "--number", 0, 10**8, "--epsilon", 1)
    assert "got 100,000,001 with steps of 1; use larger steps" in said


def test_a_file_without_a_header_loses_nobody(shell) -> None:
    """A first line that is an answer is refused, unless it is named as the column."""
    shell("question", "create", "load", "--number", 0, 1000, "--epsilon", 1, "-o", "load.json")
    shell("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", 1,
          "-o", "fruit.json")  # fmt: skip
    for name, text in (("load", "200\n300\n"), ("fruit", "kiwi\nfig\n")):
        shell.write("people.csv", text)
        files = ("privatize", f"{name}.json", "people.csv", "-o", f"{name}.bin")
        said = shell.fails(*files)
        assert "people.csv:1: the first line is an answer" in said
        assert text.split()[0] not in said
        shell(*files, "--column", text.split()[0])
        assert "2 reports" in shell(*files, "--input-format", "lines", "--force").err


def test_a_plan_says_when_segments_are_shown_and_when_people_are_too_few(shell) -> None:
    """A segment of 2,700 people has an error to live with, and yet is not shown."""
    number = ("plan", "--number", 0, 12_000, "--step", 50, "--unit", "ms", "--epsilon", 2)
    many = shell(*number, "--users", 8000, "--cells", 3).text
    assert "It is shown from 4,190 reports on." in " ".join(many.split())
    few = " ".join(shell(*number, "--users", 80).text.split())
    assert "which tells next to nothing: ask more people." in few
    assert "± 5,600 ms" in few


def test_a_terminal_shows_a_cross_table_as_rows_and_columns(survey, monkeypatch) -> None:
    """Rows are of the attribute that is named first; programs, and narrow windows, get a list."""
    survey.write("people.csv", CSV)
    survey("privatize", "set-up.json", "people.csv", "-o", "a.bin")
    crossed = ("estimate", "set-up.json", "a.bin", "--cross")
    assert "a row for each" not in survey(*crossed, "country+plan").text
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("NO_COLOR", "1")
    for names, rows, columns in (
        ("country+plan", ["DE", "FR", "other"], ["free", "pro"]),
        ("plan+country", ["free", "pro"], ["DE", "FR", "other"]),
    ):
        said = survey(*crossed, names).text
        caption = f"share of all people, a row for each {names.partition('+')[0]}\n"
        heads, *lines = said.partition(caption)[2].partition("\n\n")[0].splitlines()
        assert heads.split() == columns
        assert [line.split()[0] for line in lines] == rows
        assert all(line.count("%") == len(columns) for line in lines)
        assert "DE / pro" in said
    for options in (["--significant"], ["--consistency", "shrink"], []):
        monkeypatch.setenv("COLUMNS", "30" if not options else "100")
        shown = survey(*crossed, "country+plan", *options).text
        assert ("a row for each" in shown) == (options == ["--significant"])
