"""Report files and tally files, read and written as streams; byte by byte in docs/formats.md.

    with open("reports.bin", "wb") as stream:
        write_reports(stream, question, [question.privatize(answers)])
    with open("reports.bin", "rb") as stream:
        for batch in read_reports(stream, question, name="reports.bin"):
            ...

Whatever is read either is what was written or is refused with ``name`` in the error. A reader keeps
one block in memory, however large the file or what it decompresses to. A report file has the
reports of many people on one question, in blocks that are checked one by one:

    magic  version  header length  header  CRC-32  |  blocks of reports  |  0  count  SHA-256

The header names the question by its digest. A block is its length, the reports and a CRC-32, so
that a reader stops at the first altered one. A block of length zero ends the file, and with it the
number of reports and the SHA-256 of everything before: a file without them was not written to its
end.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import repeat
from zlib import crc32

from deniable import tally as tallies
from deniable.documents import Readable, Writable, canonical_json, parse_json, read_fully
from deniable.errors import DeniableError, InvalidDocument, InvalidReport
from deniable.mechanism import Reports
from deniable.memory import RAISE_IT, memory_budget
from deniable.question import Question
from deniable.tally import Tally
from deniable.validation import check_reports

MAGIC = b"dnbrprts"
VERSION = 1
_BLOCK_BYTES, _LARGEST_HEADER, _LOOKED_AT = 1 << 20, 1 << 12, 4096
_KINDS = (
    (MAGIC, "a report file", "give it where reports are read"),
    (tallies.MAGIC, "a tally file", "give it where tallies are read"),
    (b"\x1f\x8b", "gzip data", "decompress it once more"),
    (b"\xfd7zXZ\0", "xz data", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", "decompress it first"),
    (b"BZh", "bzip2 data", "decompress it first"),
    (b"PK\x03\x04", "a zip file, or a spreadsheet", "unpack it, or export it as CSV"),
    (b"PAR1", "a Parquet file", "turn its answers into reports with privatize first"),
    (b"\x89PNG", "a picture", "check the name of the file"),
    (b"%PDF", "a PDF file", "check the name of the file"),
)


def write_reports(
    stream: Writable,
    question: Question,
    batches: Iterable[Reports],
    *,
    cells: int | Iterable[bytes] | None = None,
) -> int:
    """Write a report file and return the number of reports; how they are batched does not matter.

    Of a question with segments ``cells`` is the cell of all reports, or has the cells of each
    batch, a byte for each report; without it segments are not stated.

    >>> from io import BytesIO
    >>> from deniable import DE, Question
    >>> fruit, stream = Question("fruit", ("kiwi", "fig"), DE(1.0, 2)), BytesIO()
    >>> write_reports(stream, fruit, [fruit.privatize(["kiwi", "fig"]), fruit.privatize(["fig"])])
    3
    >>> _ = stream.seek(0)
    >>> sum(len(batch) for batch in read_reports(stream, fruit))
    3
    """
    digest, count, kind = sha256(), 0, question.protocol
    cells = question.segments.cells if cells is None else cells
    stated: Iterator[int | bytes] = repeat(cells) if isinstance(cells, int) else iter(cells)

    def write(data: bytes) -> None:
        digest.update(data)
        stream.write(data)

    def write_block(data: bytes) -> None:
        framed = len(data).to_bytes(4, "little") + data
        write(framed + crc32(framed).to_bytes(4, "little"))

    start = _start(question)
    write(start + crc32(start).to_bytes(4, "little"))
    full, pending = block_bytes(question), bytearray()
    for batch in batches:
        reports = check_reports(batch, kind.report_dtype, kind.name).tobytes()
        pending += question.segments.join(next(stated), reports, kind.report_dtype.itemsize)
        count += len(batch)
        whole = len(pending) - len(pending) % full
        for offset in range(0, whole, full):
            write_block(bytes(pending[offset : offset + full]))
        del pending[:whole]
    if pending:
        write_block(bytes(pending))
    write(bytes(4) + count.to_bytes(8, "little"))
    stream.write(digest.digest())
    return count


def read_reports(
    stream: Readable, question: Question, *, name: str = "the report file"
) -> Iterator[Reports]:
    """Yield the reports of a file block by block, or say what is wrong with it.

    Of a question with segments these are the reports of all of them; ``read_segments`` tells them
    apart. What was yielded is only to be trusted once the iterator has ended: the last check is at
    the end of the file. ``name`` is what errors call the file.
    """
    for _, reports in read_segments(stream, question, name=name):
        yield reports


def read_segments(
    stream: Readable, question: Question, *, name: str = "the report file"
) -> Iterator[tuple[bytes, Reports]]:
    """Yield what ``read_reports`` does, each batch after the cells of its reports, one byte each.

    Of a question without segments there are no cells.
    """
    reader = _Reader(stream, name)
    if reader.read(len(MAGIC)) != MAGIC:
        raise reader.wrong("this is not a report file")
    yield from read_after_magic(stream, question, name)


def read_after_magic(
    stream: Readable, question: Question, name: str
) -> Iterator[tuple[bytes, Reports]]:
    """Yield cells and reports of a file whose first eight bytes have been read already."""
    reader = _Reader(stream, name)
    reader.digest.update(MAGIC)
    _read_start(reader, question)
    count, block, size = 0, 0, record_bytes(question)
    full = length = block_bytes(question)
    while following := int.from_bytes(framed := reader.read(4), "little"):
        block += 1
        if length < full:
            raise reader.wrong(f"block {block - 1} has {length} bytes of reports, not {full}")
        length = following
        if length > full or length % size:
            raise reader.wrong(
                f"block {block} has {length} bytes, which is more than {full} or not a multiple of "
                f"{size}, the size of a report"
            )
        data = reader.read(length)
        if int.from_bytes(reader.read(4), "little") != crc32(data, crc32(framed)):
            raise reader.wrong(f"block {block} was altered: its checksum differs")
        count += length // size
        yield _parse(data, question, name, f"in block {block}")
    claimed = int.from_bytes(reader.read(8), "little")
    if claimed != count:
        raise reader.wrong(f"the file has {count} reports and says {claimed}")
    found = reader.digest.digest()
    if reader.read(32) != found:
        raise reader.wrong("the file was altered: its checksum differs")
    if stream.read(1):
        raise reader.wrong("more bytes follow the checksum")


def read_raw_reports(
    stream: Readable, question: Question, *, name: str = "the file"
) -> Iterator[Reports]:
    """Yield reports that stand one after the other with nothing around them.

    Such bytes name no question and have no checksum: that they are whole, and answer this
    question, is for the caller to know.
    """
    count, size, full = 0, record_bytes(question), block_bytes(question)
    while data := read_fully(stream, full):
        if count == 0 and data.startswith(MAGIC):
            said = "this is a report file, which has a header; read it as one"
            raise InvalidReport(f"{name}: {said}", value=name)
        if len(data) % size:
            raise InvalidReport(
                f"{name}: expected whole reports of {size} bytes, got {len(data) % size} bytes "
                f"after {count + len(data) // size} of them; check that they answer this question",
                value=len(data),
            )
        yield _parse(data, question, name, f"after {count} reports that are sound")[1]
        count += len(data) // size


def block_bytes(question: Question) -> int:
    """Return the size of a full block: as many reports as fit into a mebibyte, or one."""
    size = record_bytes(question)
    return max(_BLOCK_BYTES // size, 1) * size


def record_bytes(question: Question) -> int:
    """Return the size of a report, with the byte of its segment where there are segments."""
    return question.segments.width + question.protocol.report_dtype.itemsize


class _Reader:
    """A stream that is hashed as it is read."""

    def __init__(self, stream: Readable, name: str) -> None:
        self.stream, self.name = stream, name
        self.digest = sha256()

    def read(self, count: int) -> bytes:
        data = read_fully(self.stream, count)
        if len(data) < count:
            raise self.wrong("the file was cut short")
        self.digest.update(data)
        return data

    def wrong(self, said: str) -> InvalidDocument:
        return InvalidDocument(
            f"{self.name}: {said}; copy the file again, or write it anew", value=self.name
        )


def _parse(data: bytes, question: Question, name: str, place: str) -> tuple[bytes, Reports]:
    try:
        cells, reports = question.segments.split(data, question.protocol.report_dtype.itemsize)
        return cells, question.parse(reports, None)
    except InvalidReport as error:
        raise InvalidReport(f"{name}: {error} ({place})", value=error.value) from error


def _start(question: Question) -> bytes:
    size = question.protocol.report_dtype.itemsize
    cells = {"cells": question.segments.cells} if question.segments else {}
    header = canonical_json({**cells, "question": question.digest, "report_bytes": size})
    return MAGIC + VERSION.to_bytes(4, "little") + len(header).to_bytes(4, "little") + header


def _read_start(reader: _Reader, question: Question) -> None:
    """Read everything before the first block; the magic has been read already."""
    start = MAGIC + reader.read(8)
    version = int.from_bytes(start[8:12], "little")
    if version != VERSION:
        raise InvalidDocument(
            f"{reader.name}: expected a report file of version {VERSION}, got {version}; "
            "upgrade deniable, or copy the file again",
            value=version,
        )
    length = int.from_bytes(start[12:], "little")
    if length > _LARGEST_HEADER:
        raise reader.wrong(f"the header has {length} bytes, more than {_LARGEST_HEADER}")
    header = reader.read(length)
    if int.from_bytes(reader.read(4), "little") != crc32(start + header):
        raise reader.wrong("the header was altered: its checksum differs")
    if start + header == _start(question):
        return
    document = parse_json(header)
    digest = document.get("question") if isinstance(document, dict) else None
    raise InvalidDocument(
        f"{reader.name}: expected reports on the question {question.digest}, got reports on "
        f"{digest}; use the question file that they were made with",
        value=digest,
    )


def write_tally(stream: Writable, tally: Tally) -> None:
    stream.write(tally.to_bytes())


def read_tally(stream: Readable, question: Question, *, name: str = "the tally file") -> Tally:
    """Read a tally file, refusing one of another question; ``name`` is what errors call it."""
    start = read_fully(stream, len(tallies.MAGIC))
    if start != tallies.MAGIC:
        raise InvalidDocument(f"{name}: this is not a tally file; check the file", value=name)
    return _read_rest(stream, question, name)


def _read_rest(stream: Readable, question: Question, name: str) -> Tally:
    """Read a tally file whose first eight bytes have been read."""
    most = memory_budget()
    data = tallies.MAGIC + read_fully(stream, most)
    if len(data) > most:
        raise InvalidDocument(
            f"{name}: this tally is larger than the memory budget of {most:,} bytes; where it is "
            f"yours, {RAISE_IT}",
            value=name,
        )
    try:
        found = Tally.from_bytes(data)
    except DeniableError as error:
        raise type(error)(f"{name}: {error}", value=error.value) from error
    if found.question != question.digest:
        raise InvalidDocument(
            f"{name}: expected a tally of the question {question.digest}, got one of "
            f"{found.question or 'no question'}; use the question file that it was made with",
            value=found.question,
        )
    return found


def read_any(
    stream: Readable, question: Question, *, name: str = "the file"
) -> Iterator[Reports] | Tally:
    """Return the tally in a tally file, or the batches of a report file as ``read_reports`` does.

    Any other file is refused with what it seems to be.
    """
    found = read_contents(stream, question, name=name)
    return found if isinstance(found, Tally) else (reports for _, reports in found)


def read_contents(
    stream: Readable, question: Question, *, name: str = "the file"
) -> Iterator[tuple[bytes, Reports]] | Tally:
    """Return what ``read_any`` does, but the batches of a report file as of ``read_segments``."""
    start = read_fully(stream, len(MAGIC))
    if start == MAGIC:
        return read_after_magic(stream, question, name)
    if start == tallies.MAGIC:
        return _read_rest(stream, question, name)
    came, remedy = describe(start + read_fully(stream, _LOOKED_AT))
    raise InvalidDocument(
        f"{name}: expected a report file or a tally file, got {came}; {remedy}", value=name
    )


def describe(start: bytes) -> tuple[str, str]:
    """Return what the first bytes of a file show it to be, and what to do about it.

    >>> describe(b"{}")[0]
    'JSON'
    """
    if not start:
        return "an empty file", "write it anew: something stopped before its first byte"
    for magic, kind, remedy in _KINDS:
        if start.startswith(magic):
            return kind, remedy
    try:
        text = start.decode()
    except UnicodeDecodeError as error:
        # The last character may be cut in two where the beginning of the file ends.
        if error.start < len(start) - 3:
            return f"binary data that begin with {start[:8].hex(' ')}", "check the file"
        text = start[: error.start].decode()
    return _describe_text(text.removeprefix("\ufeff"))


def _describe_text(text: str) -> tuple[str, str]:
    shown = text.lstrip()
    if shown.startswith("{") and '"deniable-question"' in shown:
        return "a question file", "give it as the question"
    if shown.startswith(("{", "[")):
        return "JSON", "check the name of the file"
    if "\0" in text:
        return f"binary data that begin with {text.encode()[:8].hex(' ')}", "check the file"
    first, second, *_ = f"{text}\n\n".split("\n")
    mark = next((m for m in ",;\t" if m in first and first.count(m) == second.count(m)), "")
    kind = {"": "text", "\t": "text, probably TSV"}.get(mark, "text, probably CSV")
    return kind, "turn its answers into reports with privatize first"
