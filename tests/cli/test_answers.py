"""Answers in bulk: pieces, lines, compression and columns, with line numbers that stay exact."""

import gzip
import json
import random
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.cli.answers import Source, read_answers
from deniable.cli.group import InputError


@pytest.fixture
def small_pieces(monkeypatch):
    """Have files read a few bytes at a time, so that every boundary falls somewhere."""
    monkeypatch.setattr("deniable.cli.answers._CHUNK", 11)


def flat(batches):
    """Return all answers with their lines, and the error that ended them, if one did."""
    found, iterator = [], iter(batches)
    try:
        for batch in iterator:
            found += zip(batch.answers, batch.lines, strict=True)
    except InputError as error:
        return found, str(error)
    return found, None


@pytest.mark.usefixtures("small_pieces")
def test_lines_across_pieces_keep_their_numbers(tmp_path):
    """Answers shorter and longer than a piece, both line ends, and no end at the last line."""
    draw = random.Random(1)
    answers = ["x" * draw.randrange(40) + draw.choice(["", "ü", "東京"]) for _ in range(500)]
    ends = [draw.choice(["\n", "\r\n"]) for _ in answers]
    for last in ("", "kiwi", "kiwi\r"):
        text = "".join(map(str.__add__, answers, ends)) + last
        (tmp_path / "a.txt").write_bytes(text.encode())
        found, error = flat(read_answers(Source(tmp_path / "a.txt")))
        expected = [*answers, *(["kiwi"] if last else [])]
        assert error is None
        assert found == list(zip(expected, range(1, len(expected) + 1), strict=True))


@pytest.mark.parametrize("line", [1, 2, 77, 500])
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_byte_that_is_no_text_is_named(tmp_path, monkeypatch, name, line):
    """Its line and place are exact wherever pieces end, and all answers before it are yielded."""
    rows = [b"it", *(b"kiwi" for _ in range(500))]
    rows[line] = b"ki\xffwi"
    (tmp_path / name).write_bytes(b"\n".join(rows) + b"\n")
    for size in (7, 64, 1 << 20):
        monkeypatch.setattr("deniable.cli.answers._CHUNK", size)
        found, error = flat(read_answers(Source(tmp_path / name)))
        assert f"{name}:{line + 1}: expected UTF-8, got the byte 0xff at position 3" in error
        assert len(found) == line - (name == "a.csv")


FIELDS = st.text(st.sampled_from('ab ü",\r\n\0;'), max_size=4)


@given(
    st.lists(st.lists(FIELDS, min_size=2, max_size=2), max_size=12),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(3, 40),
)
def test_rows_are_the_same_wherever_pieces_end(rows, quoted, end, size):
    """Quotes, line breaks in fields, blank lines and ragged rows: the same answers and errors."""
    text = "id,it" + end
    for row in rows:
        cells = ['"' + cell.replace('"', '""') + '"' for cell in row] if quoted else row
        text += ",".join(cells) + end
    found = []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "a.csv"
        path.write_bytes(text.encode())
        for each in (size, 1 << 20):
            patch.setattr("deniable.cli.answers._CHUNK", each)
            found.append(flat(read_answers(Source(path, "it"))))
    assert found[0] == found[1]


@pytest.mark.parametrize("width", [1, 3])
def test_every_column_is_read(tmp_path, width):
    """Rows have the lines that they stand on, whatever the column."""
    names = ["a", "b", "c"][:width]
    rows = [[f"{name}{i}ü" for name in names] for i in range(10_000)]
    text = "".join(",".join(row) + "\r\n" for row in [names, *rows])
    (tmp_path / "a.csv").write_text(text, encoding="utf-8", newline="")
    for place, name in enumerate(names):
        found, error = flat(read_answers(Source(tmp_path / "a.csv", name)))
        assert error is None
        assert found == [(row[place], i) for i, row in enumerate(rows, start=2)]


def test_the_first_of_several_errors_is_the_one_reported(shell):
    """An unknown answer on line 3 comes before broken text on line 9, in every kind of file."""
    shell("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 1, "-o", "q.json")
    lines = [b"a", b"b", b"mango", *[b"a"] * 5]
    shell.write("a.txt", b"\n".join([*lines, b"\xff"]))
    shell.write("a.csv", b"\n".join([b"it", *lines[:5], b'"a', b"b"]))
    shell.write("r.csv", b"\n".join([b"it", *lines[:5], b"a,b"]))
    shell.write("a.ndjson", b"\n".join([*(b'"%s"' % line for line in lines), b"{"]))
    for name, line in (("a.txt", 3), ("a.csv", 4), ("r.csv", 4), ("a.ndjson", 3)):
        assert f"{name}:{line}: the answer is none of" in shell.fails(
            "privatize", "q.json", name, "-o", "x"
        )


def test_compressed_answers_and_labels(shell):
    """What ends in .gz is what it was before, and says so by its name."""
    shell.write("l.txt.gz", gzip.compress(b"a\nb\n"))
    shell("question", "create", "q", "--labels", "l.txt.gz", "--epsilon", 8, "-o", "q.json")
    shell.write("l.json.gz", gzip.compress(b'["a", "b"]'))
    shell("question", "create", "q", "--labels", "l.json.gz", "--epsilon", 8, "-o", "q2.json")
    assert shell.read("q.json") == shell.read("q2.json")
    shell.write("a.csv.gz", gzip.compress(b"id,it\n" + b"1,a\n" * 70))
    shell.write("a.ndjson.gz", gzip.compress(b'"a"\n' * 70))
    shell.write("a.gz", gzip.compress(b"a\n" * 70))
    shell.write("odd.txt", gzip.compress(b"a\n" * 70))
    for name, column in (("a.csv.gz", ["--column", "it"]), ("a.ndjson.gz", []), ("a.gz", []),
                         ("odd.txt", [])):  # fmt: skip
        made = shell("privatize", "q.json", name, *column, "-o", "r.bin", "--json")
        assert json.loads(made.out)["reports"] == 70
    piped = shell("privatize", "q.json", "-", "-o", "r.bin", "--json", stdin=shell.read("a.gz"))
    assert json.loads(piped.out)["reports"] == 70
    shell.write("cut.csv.gz", shell.read("a.csv.gz")[:-9])
    message = shell.fails("privatize", "q.json", "cut.csv.gz", "--column", "it", "-o", "x")
    assert "cut.csv.gz: the gzip data was cut short" in message


def test_an_endless_line_is_refused_in_little_memory(shell, monkeypatch):
    """What decompresses to a line without end stops at the longest line that is allowed."""
    monkeypatch.setattr("deniable.cli.answers.LARGEST_FIELD", 1 << 22)
    shell("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 1, "-o", "q.json")
    shell.write("bomb.gz", gzip.compress(b"a\n" + bytes(64 << 20)))
    tracemalloc.start()
    try:
        message = shell.fails("privatize", "q.json", "bomb.gz", "-o", "x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "bomb.gz:2: this line has more than 4,194,304 bytes" in message
    assert peak < 32 << 20


def test_other_delimiters(shell):
    """A header that another character separates is noticed, and --delimiter names that."""
    shell("question", "create", "q", "--label", "a", "--label", "b", "--epsilon", 8, "-o", "q.json")
    args = ["privatize", "q.json", "a.csv", "-o", "r.bin", "--json"]
    for mark, written in ((";", ";"), ("\t", "\\t"), ("|", "|"), ("\t", "tab")):
        shell.write("a.csv", f"id{mark}it\n" + f"1{mark}a\n" * 50)
        for column in ([], ["--column", "it"]):
            message = shell.fails(*args, *column, "--force")
            assert "a.csv:1: expected columns separated by ','" in message
            assert f"pass --delimiter {mark!r}" in message
        made = shell(*args, "--column", "it", "--delimiter", written)
        assert json.loads(made.out)["reports"] == 50
    shell.write("a.csv", "a;b\na\nb\n")
    assert json.loads(shell(*args, "--delimiter", ",").out)["reports"] == 2
    assert json.loads(shell(*args, "--column", "a;b").out)["reports"] == 2
    shell.write("a.tsv", "id\tit\n1\ta\n")
    shell("privatize", "q.json", "a.tsv", "--column", "it", "-o", "r.bin")
    shell.write("a.txt", "id;it\n1;a\n")
    shell("privatize", "q.json", "a.txt", "--column", "it", "--delimiter", ";", "-o", "r.bin")
    for wrong in ("", ";;", '"', "\n"):
        assert "one character" in shell.fails(*args, "--force", "--delimiter", wrong)
    shell.write("a.ndjson", '"a"\n')
    assert "--delimiter is about CSV" in shell.fails("privatize", "q.json", "a.ndjson",
                                                     "--delimiter", ";", "-o", "x")  # fmt: skip


@pytest.mark.long("two million answers")
def test_memory_does_not_grow_with_the_answers(shell):
    """Two million answers are privatized with the memory of a few pieces."""
    shell("question", "create", "q", "--label", "kiwi", "--label", "fig", "--epsilon", 1,
          "--protocol", "DE", "-o", "q.json")  # fmt: skip
    shell.write("a.txt", "kiwi\n" * 2_000_000)
    tracemalloc.start()
    try:
        shell("privatize", "q.json", "a.txt", "-o", "r.bin")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20
