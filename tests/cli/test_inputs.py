"""Answers and labels in all their forms: taken as they are meant, or refused with file and line."""

import csv
import io
import json

import pytest

from deniable import Question
from tests.marks import shortened

# The longest comes first, where it is repeated least: the files stay small.
ODD = [
    "x" * 1_000_000, "naïve", "Москва", "東京", "🥝", "a,b", 'say "hi"', "two\nlines", "cr\rlf",
    " spaces ", "\t", "",
]  # fmt: skip


def question_of(shell, labels, *extra):
    """Create a question over labels of any kind, and return it."""
    shell.write("labels.json", json.dumps(labels))
    shell("question", "create", "odd", "--labels", "labels.json", "--epsilon", 8, *extra,
          "-o", "q.json")  # fmt: skip
    return Question.from_json(shell.read("q.json"))


def estimated(shell, *args, stdin=None):
    """Privatize answers at a high epsilon and return the estimated counts by label."""
    shell("privatize", "q.json", *args, "-o", "r.bin", stdin=stdin)
    found = json.loads(shell("estimate", "q.json", "r.bin", "--json").out)
    return {row["label"]: row["count"] for row in found["estimates"]}


def as_csv(rows, delimiter=","):
    """Return rows as CSV text, with odd fields quoted."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


def test_odd_labels_survive_every_format(shell):
    """Labels with any characters, of any length, go from file to estimate unharmed."""
    question = question_of(shell, ODD, "--protocol", "DE")
    assert question.labels == tuple(ODD)
    answers = [label for i, label in enumerate(ODD) for _ in range(20 * (i + 1))]
    shell.write("a.csv", as_csv([["id", "it"], *([i, a] for i, a in enumerate(answers))]))
    shell.write("a.tsv", as_csv([["id", "it"], *([i, a] for i, a in enumerate(answers))], "\t"))
    shell.write("a.ndjson", "".join(json.dumps({"it": a}) + "\n" for a in answers))
    for name in ("a.csv", "a.tsv", "a.ndjson"):
        counts = estimated(shell, name, "--column", "it")
        assert list(counts) == ODD
        for i, label in enumerate(ODD):
            assert abs(counts[label] - 20 * (i + 1)) < 10
    table = shell("estimate", "q.json", "r.bin").text
    assert "two\\nlines" in table
    assert len(table) < 2 * sum(map(len, ODD))


@pytest.mark.frames
def test_parquet_answers(shell):
    """A column of strings in a Parquet file is read, and a null is refused with its row."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - the same

    question_of(shell, ["a", "b"])
    parquet.write_table(arrow.table({"it": ["a"] * 90 + ["b"] * 10}), shell.path("a.parquet"))
    assert estimated(shell, "a.parquet", "--column", "it")["a"] == pytest.approx(90, abs=15)
    piped = shell.read("a.parquet")
    estimated(shell, "-", "--column", "it", "--input-format", "parquet", stdin=piped)
    parquet.write_table(arrow.table({"it": ["a", None]}), shell.path("null.parquet"))
    assert "null.parquet:2:" in shell.fails("privatize", "q.json", "null.parquet", "-o", "x")
    shell.write("bad.parquet", "not parquet")
    assert "bad.parquet" in shell.fails("privatize", "q.json", "bad.parquet", "-o", "x")


def test_numbers_and_line_ends(shell):
    """Whole numbers are their digits; both line ends do; a key stands once; a BOM is no text."""
    question_of(shell, ["1", "2"])
    shell.write("twice.jsonl", '{"n": 1}\n{"n": 1, "n": 2}')
    refused = shell.fails("privatize", "q.json", "twice.jsonl", "--column", "n", "-o", "x")
    assert "twice.jsonl:2: this object has the key 'n' twice" in refused
    shell.write("a.jsonl", '{"n": 1}\r\n{"n": 2}\n\n{"n": "1"}')
    assert sum(estimated(shell, "a.jsonl", "--column", "n").values()) == pytest.approx(3)
    shell.write("a.txt", b"\xef\xbb\xbf1\r\n2\r\n1")
    assert sum(estimated(shell, "a.txt").values()) == pytest.approx(3)
    shell.write("a.csv", b"\xef\xbb\xbfn\r\n1\r\n\r\n2\r\n")
    assert sum(estimated(shell, "a.csv").values()) == pytest.approx(2)


@pytest.mark.parametrize(
    ("name", "content", "column", "line", "word"),
    [
        ("a.txt", "a\nb\nmango\n", None, 3, "none of the 2 labels"),
        ("a.txt", "a\n\nb\n", None, 2, "none of the 2 labels"),
        ("a.txt", b"a\n\xff\n", None, 2, "UTF-8"),
        ("a.csv", "id,it\n1,a\n2\n", "it", 3, "2 fields"),
        ("a.csv", "id,it\n1,a\n2,b,c\n", "it", 3, "2 fields"),
        ("a.csv", 'id,it\n1,"a\nb",\n2,b\n', "it", 2, "2 fields"),
        ("a.csv", 'id,it\n1,a\n2,"b\n3,a\n', "it", 3, "CSV"),
        ("a.csv", 'id,it\n1,"a\nb"\n2,a\n', "it", 2, "none of the 2 labels"),
        ("a.csv", "id,it\n1,a\n2,mango\n", "it", 3, "none of the 2 labels"),
        ("a.csv", "id,it\n1,a\n", "fruit", 1, "'id', 'it'"),
        ("a.csv", "id,it\n1,a\n", None, 1, "--column"),
        ("a.csv", "it,it\na,b\n", "it", 1, "all but one"),
        ("a.csv", "", "it", 1, "header"),
        ("a.ndjson", '{"it": "a"}\n{"is": "a"}\n', "it", 2, "'is'"),
        ("a.ndjson", '{"it": "a"}\n{"it": \n', "it", 2, "JSON"),
        ("a.ndjson", '{"it": null}\n', "it", 1, "got null;"),
        ("a.ndjson", '{"it": 1.5}\n', "it", 1, "of the type float"),
        ("a.ndjson", "[1]\n", "it", 1, "not a JSON object"),
        ("a.ndjson", '{"it": ' + "[" * 100_000 + "\n", "it", 1, "JSON"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(shell, name, content, *, column, line, word):
    """A bad row, an unknown label or a missing column: one line with file, line and remedy."""
    question_of(shell, ["a", "b"])
    shell.write(name, content)
    options = [] if column is None else ["--column", column]
    message = shell.fails("privatize", "q.json", name, *options, "-o", "x.bin")
    assert f"{name}:{line}: " in message
    assert word in message
    assert not shell.path("x.bin").exists()


def test_lines_of_standard_input_are_named(shell):
    """An unknown answer on standard input is named with its line as well."""
    question_of(shell, ["a", "b"])
    assert "standard input:2:" in shell.fails("privatize", "q.json", "-", "-o", "x", stdin="a\nc\n")


def test_other_takes_unknown_answers(shell):
    """With --other, answers that are no labels are counted there."""
    question_of(shell, ["a", "b"], "--other", "rest")
    counts = estimated(shell, "-", stdin="a\nmango\n" * 50)
    assert list(counts) == ["a", "b", "rest"]
    assert counts["rest"] == pytest.approx(50, abs=15)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("l.txt", "a\nb\na\n", 3),
        ("l.txt", "a\n\nb\n", 2),
        ("l.csv", 'name\na\n"b"\nb\n', 4),
        ("l.json", '["a", "b", "a"]', 3),
        ("l.ndjson", '"a"\n"a"\n', 2),
    ],
)
def test_repeated_and_empty_labels_are_refused(shell, name, content, line):
    """A label that comes twice, or an empty line among labels, is named with its line."""
    shell.write(name, content)
    message = shell.fails("question", "create", "q", "--labels", name, "--epsilon", 1)
    assert f"{name}:{line}:" in message


@pytest.mark.parametrize("content", ['{"a": 1}', '["a", 1]', "[", '"a"'])
def test_labels_in_json_are_an_array_of_strings(shell, content):
    """Anything but an array of strings is refused."""
    shell.write("l.json", content)
    assert "l.json" in shell.fails("question", "create", "q", "--labels", "l.json", "--epsilon", 1)


def test_label_files_of_every_kind_make_the_same_question(shell):
    """Lines, CSV, NDJSON and JSON with the same labels give the same digest."""
    labels = ["kiwi", "fig", "ö"]
    shell.write("l.txt", "\n".join(labels))
    shell.write("l.csv", "name,count\n" + "".join(f"{label},1\n" for label in labels))
    shell.write("l.ndjson", "".join(json.dumps(label) + "\n" for label in labels))
    shell.write("l.json", json.dumps(labels))
    digests = set()
    for name in ("l.txt", "l.csv", "l.ndjson", "l.json"):
        column = ["--labels-column", "name"] if name == "l.csv" else []
        made = shell("question", "create", "q", "--labels", name, *column, "--epsilon", 1)
        digests.add(json.loads(made.out)["digest"])
    assert len(digests) == 1


def test_labels_that_utf8_cannot_encode_are_refused(shell):
    """Half of a surrogate pair is no label."""
    shell.write("l.json", r'["a", "\ud800"]')
    shell.fails("question", "create", "q", "--labels", "l.json", "--epsilon", 1)


@pytest.mark.parametrize("size", shortened([2_000, 162_252], "as many labels as surnames"))
def test_a_question_over_many_labels(shell, size):
    """A question over 162,252 labels works, and 10,000 answers to it are estimated."""
    names = [f"NAME{i}" for i in range(size)]
    shell.write("names.csv", "name\n" + "\n".join(names) + "\n")
    shell("question", "create", "name", "--labels", "names.csv", "--epsilon", 4, "-o", "q.json")
    shell.write("people.csv", "name\n" + "NAME7\n" * 9_000 + f"NAME{size - 1}\n" * 1_000)
    shell("privatize", "q.json", "people.csv", "-o", "r.bin")
    found = json.loads(shell("estimate", "q.json", "r.bin", "--top", 1, "--json").out)
    assert found["estimates"][0]["label"] == "NAME7"
    assert found["estimates"][0]["count"] == pytest.approx(9_000, rel=0.1)


def test_exported_labels_make_the_same_question(shell):
    """The CSV of estimates is read back as labels, whatever characters they have."""
    odd = ["a\rb", "a\nb", "a\r\nb", "\r", 'say "hi"', "a,b", " a ", "\ufeffa", "\0", "'", "ö", "",
           "=1+1", "'=1"]  # fmt: skip
    question = question_of(shell, odd)
    shell.write("a.ndjson", "".join(json.dumps(label) + "\n" for label in odd))
    shell("privatize", "q.json", "a.ndjson", "-o", "r.bin")
    shell("estimate", "q.json", "r.bin", "-o", "e.csv")
    again = shell("question", "create", "odd", "--labels", "e.csv", "--labels-column", "label",
                  "--epsilon", 8).out  # fmt: skip
    assert Question.from_json(again) == question


def test_errors_name_the_option_of_the_column(shell):
    """A file with several columns is refused with the option that names one, which exists."""
    shell.write("names.csv", "id,name\n1,a\n2,b\n")
    shell.write("a.txt", "a\n" * 20)
    create = ["question", "create", "q", "--epsilon", 4, "-o", "q.json", "--labels", "names.csv"]
    assert "choose one with --labels-column" in shell.fails(*create)
    assert "with --labels-column" in shell.fails(*create, "--labels-column", "x")
    shell(*create, "--labels-column", "name")
    shell("privatize", "q.json", "a.txt", "-o", "r.bin")
    estimate = ["estimate", "q.json", "r.bin", "--json", "--candidates", "names.csv"]
    assert "choose one with --candidates-column" in shell.fails(*estimate)
    found = json.loads(shell(*estimate, "--candidates-column", "name").out)["estimates"]
    assert [row["label"] for row in found] == ["a", "b"]
    simulate = ["simulate", "a.txt", "--epsilon", 1, "--protocol", "DE", "--labels", "names.csv"]
    assert "choose one with --labels-column" in shell.fails(*simulate)
    shell(*simulate, "--labels-column", "name")
    shell.write("twice.csv", "it,it\na,b\n")
    message = shell.fails("privatize", "q.json", "twice.csv", "--column", "it", "-o", "x")
    assert "rename" in message


def test_candidates_are_checked_against_the_question(shell):
    """A candidate that is no answer is named with its line; no candidates at all are refused."""
    question_of(shell, ["a", "b"])
    shell.write("a.txt", "a\n" * 20)
    shell("privatize", "q.json", "a.txt", "-o", "r.bin")
    shell.write("some.txt", "a\nmango\n")
    estimate = ["estimate", "q.json", "r.bin", "--candidates", "some.txt"]
    assert "some.txt:2: expected one of the 2 answers to the question, got 'mango'" in shell.fails(
        *estimate
    )
    shell.write("some.txt", "")
    assert "some.txt is empty; list the answers to count" in shell.fails(*estimate)
    shell("question", "create", "site", "--open", "--epsilon", 4, "-o", "q.json")
    shell("privatize", "q.json", "a.txt", "-o", "r.bin")
    assert "some.txt is empty; list the answers to count" in shell.fails(*estimate)


def test_half_a_surrogate_pair_is_named_with_its_place(shell):
    """Text that UTF-8 cannot encode is refused with file and line, in answers and in labels."""
    shell("question", "create", "site", "--open", "--epsilon", 4, "-o", "q.json")
    shell.write("a.ndjson", '{"it": "a"}\n{"it": "\\ud800"}\n')
    assert "a.ndjson:2: the text has half of a surrogate pair" in shell.fails(
        "privatize", "q.json", "a.ndjson", "--column", "it", "-o", "x"
    )
    shell.write("l.json", r'["a", "\ud800"]')
    message = shell.fails("question", "create", "q", "--labels", "l.json", "--epsilon", 1)
    assert "l.json:2:" in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"it\ra\rb\r"),
        ("a.ndjson", b"1" * 5000),
        ("a.ndjson", b"[" * 100_000),
        ("a.ndjson", b"null"),
        ("a.ndjson", b'{"it": \n'),
    ],
)
def test_errors_give_no_advice_to_programmers(shell, name, content):
    """Nothing of Python is in what is said about a file."""
    question_of(shell, ["a", "b"])
    shell.write(name, content)
    message = shell.fails("privatize", "q.json", name, "-o", "x")
    assert f"{name}:1: expected" in message
    for word in ("universal", "sys.", "None", "recursion", "new-line"):
        assert word not in message


@pytest.mark.parametrize("content", [b"1" * 5000, b'{"a": 1', b"\xff", b"[" * 100_000])
def test_broken_questions_give_no_advice_to_programmers(shell, content):
    """A question file that is no JSON is described in words about the file."""
    shell.write("q.json", content)
    message = shell.fails("question", "show", "q.json")
    assert message.startswith("deniable: q.json: expected JSON, got ")
    for word in ("codec", "sys.", "recursion", "char "):
        assert word not in message


def test_an_empty_tally_is_named(shell):
    """Estimates from nothing are refused with the name of the file."""
    question_of(shell, ["a", "b"])
    shell.write("none.txt", "")
    shell("privatize", "q.json", "none.txt", "-o", "r.bin")
    shell("tally", "q.json", "r.bin", "-o", "t.bin")
    for name in ("r.bin", "t.bin"):
        assert f"{name}: there are no reports" in shell.fails("estimate", "q.json", name)
