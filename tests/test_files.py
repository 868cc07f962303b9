"""Report and tally files as anyone may write them: public functions, odd streams, hostile bytes."""

import gzip
import io
import random
import tracemalloc
import zlib
from hashlib import sha256

import numpy as np
import pytest

from deniable import DE, OUE, SHE, Question, Tally
from deniable.documents import decompressed
from deniable.errors import DeniableError, InvalidDocument, InvalidReport
from deniable.files import (
    describe,
    read_any,
    read_raw_reports,
    read_reports,
    read_tally,
    write_reports,
    write_tally,
)
from tests.fuzz import mutate

FRUIT = Question("fruit", ("kiwi", "fig", "plum"), DE(1.0, 3))
OTHER = Question("fruit", ("kiwi", "fig", "plum"), DE(2.0, 3))
WIDE = Question("wide", tuple(map(str, range(1000))), OUE(1.0, 1000))


def privatized(question=FRUIT, count=300):
    """Return reports, the same every time."""
    labels = question.labels
    return question.privatize([labels[i % 3] for i in range(count)], np.random.default_rng(1))


def file_of(question=FRUIT, count=300):
    """Return the bytes of a report file."""
    stream = io.BytesIO()
    write_reports(stream, question, [privatized(question, count)])
    return stream.getvalue()


def assemble(question, blocks):
    """Return a report file made of the given blocks, every checksum right."""
    start = file_of(question, 0)[: -4 - 8 - 32]
    body, size = start, question.protocol.report_dtype.itemsize
    for data in blocks:
        framed = len(data).to_bytes(4, "little") + data
        body += framed + zlib.crc32(framed).to_bytes(4, "little")
    count = sum(map(len, blocks)) // size
    body += bytes(4) + count.to_bytes(8, "little")
    return body + sha256(body).digest()


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time and cannot seek, as a pipe does."""

    def __init__(self, data):
        self.data = data

    def read(self, size=-1):
        count = min(7, len(self.data)) if size < 0 else min(7, size)
        part, self.data = self.data[:count], self.data[count:]
        return part


def test_reports_pass_through_a_stream_that_trickles():
    """A reader asks again until it has all bytes of a block."""
    found = list(read_reports(Trickle(file_of()), FRUIT))
    assert b"".join(batch.tobytes() for batch in found) == privatized().tobytes()


def test_a_file_tells_what_it_is():
    """Reports come back as batches, a tally as a tally, from the same function."""
    batches = read_any(io.BytesIO(file_of()), FRUIT)
    tally = FRUIT.tally(batches)
    stream = io.BytesIO()
    write_tally(stream, tally)
    stream.seek(0)
    found = read_any(stream, FRUIT)
    assert isinstance(found, Tally)
    assert found == tally


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b"id,fruit\n1,kiwi\n", "probably CSV"),
        (b"id\tfruit\n1\tkiwi\n", "probably TSV"),
        (b"kiwi\nfig\n", "got text"),
        ("Zürich\n".encode() * 1000, "got text"),
        (FRUIT.to_json().encode(), "a question file"),
        (b'{"a": 1}', "JSON"),
        (gzip.compress(b"x"), "gzip"),
        (b"PAR1....", "Parquet"),
        (b"PK\x03\x04....", "zip"),
        (bytes(range(256)) * 20, "binary data that begin with 00 01 02"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_what_is_no_file_of_ours_is_named(data, words):
    """An error says what the file seems to be, and its name."""
    with pytest.raises(
        InvalidDocument, match=r"^some\.bin: expected a report file or a tally"
    ) as e:
        read_any(io.BytesIO(data), FRUIT, name="some.bin")
    assert words in str(e.value)


def test_a_character_cut_in_two_is_still_text():
    """The beginning of a text may end within a character."""
    assert describe("ü".encode() * 5 + b"\xc3")[0] == "text"


def test_files_of_another_question_are_refused():
    """Both digests are named, for reports and for tallies."""
    stream = io.BytesIO()
    write_tally(stream, FRUIT.tally(privatized()))
    for data in (file_of(), stream.getvalue()):
        with pytest.raises(InvalidDocument) as error:
            list(read_any(io.BytesIO(data), OTHER, name="f"))
        assert FRUIT.digest in str(error.value)
        assert OTHER.digest in str(error.value)


def test_readers_refuse_the_other_kind():
    """A report file is no tally file, and the other way round."""
    stream = io.BytesIO()
    write_tally(stream, FRUIT.tally(privatized()))
    with pytest.raises(InvalidDocument, match="a report file"):
        list(read_reports(io.BytesIO(stream.getvalue()), FRUIT))
    with pytest.raises(InvalidDocument, match="a tally file"):
        read_tally(io.BytesIO(file_of()), FRUIT)


@pytest.mark.parametrize(
    "batch",
    [
        np.zeros(3, dtype=np.uint16),
        np.zeros((3, 2), dtype=np.uint8),
        np.uint8(3).reshape(()),
        b"\0\1",
        [0, 1],
    ],
    ids=["dtype", "shape", "scalar", "bytes", "list"],
)
def test_only_reports_of_the_question_are_written(batch):
    """What is no array of the question's reports is refused by the writer."""
    with pytest.raises(InvalidReport, match="expected an array of"):
        write_reports(io.BytesIO(), FRUIT, [batch])


def test_reports_of_several_numbers_are_written():
    """A histogram report is a row, and an array without a row of that width is refused."""
    question = Question("h", ("a", "b"), SHE(1.0, 2))
    reports = question.privatize(["a", "b", "a"])
    stream = io.BytesIO()
    assert write_reports(stream, question, [reports]) == 3
    with pytest.raises(InvalidReport):
        write_reports(io.BytesIO(), question, [reports[0]])


def test_short_blocks_are_refused():
    """Only the last block may be shorter than a full one, so that none is worth an attack."""
    size = WIDE.protocol.report_dtype.itemsize
    full = (1 << 20) // size * size
    data = b"\0" * full
    assert sum(map(len, read_reports(io.BytesIO(assemble(WIDE, [data, data[:size]])), WIDE))) > 8000
    for blocks in ([data[:size], data], [data[:size], data[:size]], [data[:-size], data[:size]]):
        with pytest.raises(InvalidDocument, match="block 1 has "):
            list(read_reports(io.BytesIO(assemble(WIDE, blocks)), WIDE))


def test_blocks_longer_than_full_are_refused_before_they_are_read():
    """A length of gigabytes is refused for what it says."""
    start = file_of(FRUIT, 0)[:-44]
    for length in (1 << 31, (1 << 20) + 1):
        data = start + length.to_bytes(4, "little")
        with pytest.raises(InvalidDocument, match="more than 1048576"):
            list(read_reports(io.BytesIO(data), FRUIT))


def test_raw_reports_are_read():
    """Reports that stand one after the other come back, in batches of at most a mebibyte."""
    data = privatized(WIDE, 20_000).tobytes()
    found = list(read_raw_reports(Trickle(data[: 125 * 30]), WIDE))
    assert b"".join(batch.tobytes() for batch in found) == data[: 125 * 30]
    found = list(read_raw_reports(io.BytesIO(data), WIDE))
    assert max(batch.nbytes for batch in found) <= 1 << 20
    assert sum(map(len, found)) == 20_000
    assert list(read_raw_reports(io.BytesIO(b""), WIDE)) == []


@pytest.mark.parametrize(
    ("question", "data", "words"),
    [
        (WIDE, bytes(126), "1 bytes after 1 of them"),
        (FRUIT, b"\0\1\2\3", "f: "),
        (FRUIT, file_of(), "a report file"),
    ],
)
def test_raw_bytes_that_are_no_reports_are_refused(question, data, words):
    """Half a report, a value that does not exist, or a file with a header."""
    with pytest.raises(InvalidReport) as error:
        list(read_raw_reports(io.BytesIO(data), question, name="f"))
    assert words in str(error.value)


@pytest.mark.parametrize("wrap", [io.BytesIO, Trickle], ids=["file", "pipe"])
def test_gzip_is_decompressed(wrap):
    """One member or several; what is no gzip passes as it is."""
    data = file_of() * 50
    for packed in (gzip.compress(data), gzip.compress(data[:100]) + gzip.compress(data[100:]),
                   data, b"\x1f", b""):  # fmt: skip
        expected = data if len(packed) > 1 else packed
        assert decompressed(wrap(packed)).read() == expected


def test_broken_gzip_is_refused():
    """Cut short at any place, or altered, it is no file."""
    packed = gzip.compress(file_of())
    for end in range(2, len(packed)):
        with pytest.raises(InvalidDocument, match=r"^g\.gz: the gzip data was"):
            decompressed(io.BytesIO(packed[:end]), name="g.gz").read()
    altered = bytearray(packed)
    altered[-6] ^= 1
    for data in (bytes(altered), packed + b"more"):
        with pytest.raises(InvalidDocument, match="altered"):
            decompressed(io.BytesIO(data)).read()


def test_a_gzip_bomb_takes_no_memory():
    """A hundred megabytes of zeros are refused, or read, with a few megabytes at a time."""
    packed = gzip.compress(bytes(100 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(DeniableError):
            read_any(decompressed(io.BytesIO(packed)), FRUIT)
        count = sum(map(len, read_raw_reports(decompressed(io.BytesIO(packed)), FRUIT)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 100 << 20
    assert peak < 16 << 20


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_are_refused_or_whole(seed):
    """Whatever becomes of a file, compressed or not: no other error, and no other reports."""
    draw, whole = random.Random(seed), privatized().tobytes()
    tally = FRUIT.tally(privatized()).to_bytes()
    for data in (file_of(), gzip.compress(file_of()), tally):
        for _ in range(500):
            altered = mutate(data, draw)
            try:
                found = read_any(decompressed(io.BytesIO(altered)), FRUIT)
                found = found if isinstance(found, Tally) else list(found)
            except DeniableError:
                continue
            if isinstance(found, Tally):
                assert found.to_bytes() == tally
            else:
                assert b"".join(batch.tobytes() for batch in found) == whole
