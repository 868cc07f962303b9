"""Question, report and tally files: what is altered, foreign or half-written is refused."""

import errno
import itertools
import json
import random

import numpy as np
import pytest

from deniable import DE, OLH, OUE, SHE, OpenLH, Question, Tally
from deniable.cli import outputs
from deniable.errors import DeniableError
from deniable.files import MAGIC, read_reports, write_reports
from deniable.question import Question as Reader

LABELS = tuple(f"label {i}" for i in range(20))
QUESTIONS = [
    Question("direct", LABELS, DE(1.0, 20)),
    Question("unary", LABELS, OUE(1.0, 20)),
    Question("hashed", LABELS, OLH(2.0, 20)),
    Question("histogram", LABELS, SHE(1.0, 20)),
    Question("open", None, OpenLH(2.0)),
]


def reports_of(question, count=300):
    """Return reports on a question, the same every time."""
    return question.privatize([LABELS[i % 20] for i in range(count)], rng=np.random.default_rng(1))


def written(question, path, batches):
    """Write a report file and return its bytes."""
    with path.open("wb") as stream:
        write_reports(stream, question, batches)
    return path.read_bytes()


def read_all(question, path):
    """Read a report file to its end, as the commands do."""
    with path.open("rb") as stream:
        return list(read_reports(stream, question, name=path.name))


def flips(data, count, seed):
    """Yield copies of some bytes with one bit turned."""
    draw = random.Random(seed)
    for _ in range(count):
        position, bit = draw.randrange(len(data)), draw.randrange(8)
        altered = bytearray(data)
        altered[position] ^= 1 << bit
        yield bytes(altered)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
def test_reports_come_back_as_they_were_written(question, tmp_path):
    """What is read equals what was written, whatever the batches were."""
    reports, path = reports_of(question), tmp_path / "r.bin"
    whole = written(question, path, [reports])
    assert b"".join(batch.tobytes() for batch in read_all(question, path)) == reports.tobytes()
    assert written(question, path, [reports[:7], reports[7:7], reports[7:]]) == whole


def test_a_report_file_without_reports_is_whole(tmp_path):
    """No answers make a file with no reports, which reads as such."""
    question, path = QUESTIONS[0], tmp_path / "r.bin"
    written(question, path, [])
    assert read_all(question, path) == []


def test_a_reader_keeps_one_block_at_a_time(tmp_path):
    """A file of many reports is read in batches of at most a mebibyte."""
    question, path = QUESTIONS[0], tmp_path / "r.bin"
    reports = np.zeros(3_000_000, dtype=np.uint8)
    written(question, path, [reports])
    sizes = [batch.nbytes for batch in read_all(question, path)]
    assert max(sizes) <= 1 << 20
    assert sum(sizes) == 3_000_000


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
def test_a_flipped_bit_in_a_report_file_is_detected(question, tmp_path):
    """Each of 1,000 flips of one bit, anywhere in the file, is refused."""
    path = tmp_path / "r.bin"
    data = written(question, path, [reports_of(question)])
    for altered in flips(data, 1000, seed=2):
        path.write_bytes(altered)
        if altered[:8] == MAGIC:
            with pytest.raises(DeniableError):
                read_all(question, path)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
def test_a_flipped_bit_in_a_tally_file_is_detected(question):
    """Each of 500 flips of one bit is refused."""
    data = question.tally(reports_of(question)).to_bytes()
    for altered in flips(data, 500, seed=3):
        with pytest.raises(DeniableError):
            Tally.from_bytes(altered)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
def test_a_flipped_bit_in_a_question_file_is_detected_or_harmless(question):
    """Each of 500 flips of one bit is refused, or leaves the same question."""
    data = question.to_json().encode()
    for altered in flips(data, 500, seed=4):
        try:
            found = Reader.from_json(altered)
        except DeniableError:
            continue
        assert found == question


@pytest.mark.parametrize("question", QUESTIONS[:3], ids=lambda q: q.name)
def test_a_file_cut_short_is_refused(question, tmp_path):
    """Every proper beginning of a report file and of a tally file is refused."""
    path, reports = tmp_path / "r.bin", reports_of(question, 20)
    data = written(question, path, [reports])
    for end in range(8, len(data)):
        path.write_bytes(data[:end])
        with pytest.raises(DeniableError):
            read_all(question, path)
    path.write_bytes(data + b"\0")
    with pytest.raises(DeniableError):
        read_all(question, path)
    tally = question.tally(reports).to_bytes()
    for end in range(len(tally)):
        with pytest.raises(DeniableError):
            Tally.from_bytes(tally[:end])


def test_files_of_another_question_are_refused_with_both_digests(fruit):
    """Reports and tallies of one question never count for another."""
    fruit("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--label", "plum",
          "--epsilon", 2, "--protocol", "DE", "-o", "other.json")  # fmt: skip
    digests = [json.loads(fruit.read(name))["digest"] for name in ("fruit.json", "other.json")]
    for name, command in itertools.product(("reports.bin", "tally.bin"), ("tally", "estimate")):
        message = fruit.fails(command, "other.json", name, "-o", "new")
        assert name in message
        assert all(digest in message for digest in digests)
    assert not fruit.path("new").exists()


def test_an_altered_file_writes_nothing(fruit):
    """A tally over a file whose last byte is wrong leaves no output, and names the file."""
    data = bytearray(fruit.read("reports.bin"))
    data[-1] ^= 1
    fruit.write("bad.bin", bytes(data))
    assert "bad.bin" in fruit.fails("tally", "fruit.json", "reports.bin", "bad.bin", "-o", "t.bin")
    assert not fruit.path("t.bin").exists()


def test_the_split_into_files_does_not_matter(shell):
    """Seven report files in any order and any grouping give the same tally byte for byte."""
    names = [f"name {i}" for i in range(300)]
    shell.write("names.txt", "\n".join(names) + "\n")
    draw = random.Random(5)
    people = [draw.choice(names[: draw.randrange(1, 300)]) for _ in range(2000)]
    for protocol in ("OLH", "OUE", "SHE", "LH:g=6"):
        shell("question", "create", "name", "--labels", "names.txt", "--epsilon", 2,
              "--protocol", protocol, "-o", "q.json")  # fmt: skip
        question = Question.from_json(shell.read("q.json"))
        reports = question.privatize(people)
        cuts = [0, *sorted(draw.sample(range(1, 2000), 6)), 2000]
        files = []
        for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
            written(question, shell.path(f"r{i}.bin"), [reports[start:stop]])
            files.append(f"r{i}.bin")
        written(question, shell.path("whole.bin"), [reports])
        shell("tally", "q.json", "whole.bin", "-o", "whole.tally")
        for turn in range(4):
            draw.shuffle(files)
            middle = draw.randrange(1, 6)
            shell("tally", "q.json", *files[:middle], "-o", "part.tally")
            mixed = [*files[middle:], "part.tally"]
            draw.shuffle(mixed)
            shell("tally", "q.json", *mixed, "-o", f"{turn}.tally")
            assert shell.read(f"{turn}.tally") == shell.read("whole.tally")
        tables = {
            shell("estimate", "q.json", *inputs, "--format", "csv").out
            for inputs in (files, ["whole.bin"], ["whole.tally"])
        }
        assert len(tables) == 1


class Full:
    """A stream on a disk that is full after some bytes."""

    def __init__(self, stream, room):
        self.stream, self.room = stream, room

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.stream.write(data)

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stream.close()


@pytest.mark.parametrize("room", [0, 100, 500])
def test_a_full_disk_leaves_no_partial_output(fruit, monkeypatch, room):
    """When a disk fills up, the old file stays, nothing is left over and the error says so."""
    fruit.write("out.bin", "what was there before")
    before = sorted(path.name for path in fruit.directory.iterdir())
    make = outputs.NamedTemporaryFile
    monkeypatch.setattr(outputs, "NamedTemporaryFile", lambda **kw: Full(make(**kw), room))
    message = fruit.fails("privatize", "fruit.json", "answers.txt", "-o", "out.bin", "--force")
    assert "No space left" in message
    assert "out.bin" in message
    assert fruit.read("out.bin") == b"what was there before"
    assert sorted(path.name for path in fruit.directory.iterdir()) == before


def test_a_bad_row_leaves_no_partial_output(fruit):
    """An error in the last answer leaves no report file."""
    fruit.write("bad.txt", fruit.read("answers.txt") + b"mango\n")
    fruit.fails("privatize", "fruit.json", "bad.txt", "-o", "new.bin")
    assert not fruit.path("new.bin").exists()
    assert not [p for p in fruit.directory.iterdir() if p.name.startswith(".")]


def test_output_keeps_links_and_permissions(fruit):
    """A file that is written again keeps its permissions, and a link goes on pointing to it."""
    fruit.write("real.bin", "old").chmod(0o640)
    fruit.path("link.bin").symlink_to("real.bin")
    fruit("privatize", "fruit.json", "answers.txt", "-o", "link.bin")
    assert fruit.path("link.bin").is_symlink()
    assert fruit.read("real.bin")[:8] == MAGIC
    assert fruit.path("real.bin").stat().st_mode & 0o777 == 0o640


def test_errors_name_the_file_that_was_asked_for(fruit, monkeypatch):
    """Not the temporary one, and a file in the place of a directory is called that."""

    def refuse(**where):
        name = f"{where['dir']}/{where['prefix']}wkjbl14"
        raise PermissionError(errno.EACCES, "Permission denied", name)

    privatize = ["privatize", "fruit.json", "answers.txt", "-o"]
    assert "answers.txt: Not a directory" in fruit.fails(*privatize, "answers.txt/x.bin")
    monkeypatch.setattr(outputs, "NamedTemporaryFile", refuse)
    assert fruit.fails(*privatize, "x.bin").startswith("deniable: x.bin: Permission denied;")
    fruit.path("link.bin").symlink_to("x.bin")
    assert fruit.fails(*privatize, "link.bin").startswith("deniable: link.bin: Permission denied;")


def test_an_input_that_vanishes_is_not_taken_for_the_output(fruit):
    """While a file is written, an error of another one keeps its name."""
    message = fruit.fails("privatize", "fruit.json", "gone.txt", "-o", "x.bin")
    assert message == "deniable: gone.txt: No such file or directory; check the path\n"
