"""Report files: what ``privatize`` writes and ``tally`` reads, byte by byte in docs/formats.md.

    magic  version  header length  header  CRC-32  |  blocks of reports  |  0  count  SHA-256

The header names the question by its digest. A block is its length, the reports and a CRC-32, so
that a reader keeps one block in memory and stops at the first altered one. A block of length zero
ends the file, and with it the number of reports and the SHA-256 of everything before: a file
without them was not written to its end.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO
from zlib import crc32

from deniable.documents import canonical_json, parse_json
from deniable.errors import InvalidDocument, InvalidReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deniable.mechanism import Reports
    from deniable.question import Question

MAGIC = b"dnbrprts"
VERSION = 1
_BLOCK_BYTES = 1 << 20
_LARGEST_HEADER = 1 << 12


def write_reports(
    stream: BinaryIO,
    question: Question,
    batches: Iterable[Reports],
    advance: Callable[[int], object] = lambda count: None,
) -> int:
    """Write a report file and return the number of reports; ``advance`` is told as they go."""
    digest, count = sha256(), 0

    def write(data: bytes) -> None:
        digest.update(data)
        stream.write(data)

    def write_block(data: bytes) -> None:
        framed = len(data).to_bytes(4, "little") + data
        write(framed + crc32(framed).to_bytes(4, "little"))

    start = _start(question)
    write(start + crc32(start).to_bytes(4, "little"))
    full, pending = _block_bytes(question), bytearray()
    for batch in batches:
        pending += batch.tobytes()
        count += len(batch)
        advance(count)
        whole = len(pending) - len(pending) % full
        for offset in range(0, whole, full):
            write_block(bytes(pending[offset : offset + full]))
        del pending[:whole]
    if pending:
        write_block(bytes(pending))
    write(bytes(4) + count.to_bytes(8, "little"))
    stream.write(digest.digest())
    return count


def read_reports(stream: BinaryIO, question: Question, name: str) -> Iterator[Reports]:
    """Yield the reports of a file block by block, or say what is wrong with it.

    The stream stands after the magic. What was yielded is only to be trusted once the iterator has
    ended: the last check is at the end of the file. ``name`` is what errors call the file.
    """
    reader = _Reader(stream, name)
    _read_start(reader, question)
    count, block, size = 0, 0, question.protocol.report_dtype.itemsize
    while length := int.from_bytes(framed := reader.read(4), "little"):
        block += 1
        if length > _block_bytes(question) or length % size:
            raise reader.wrong(f"a block {block} of whole {size}-byte reports", f"{length} bytes")
        data = reader.read(length)
        if int.from_bytes(reader.read(4), "little") != crc32(data, crc32(framed)):
            raise reader.wrong(f"a block {block} whose checksum holds", "an altered one")
        try:
            reports = question.parse(data, None)
        except InvalidReport as error:
            raise InvalidReport(f"{name}: {error} (in block {block})", value=error.value) from error
        count += len(reports)
        yield reports
    claimed = int.from_bytes(reader.read(8), "little")
    if claimed != count:
        raise reader.wrong(f"{claimed} reports", f"{count}")
    found = reader.digest.digest()
    if reader.read(32) != found:
        raise reader.wrong("a file whose checksum holds", "an altered one")
    if stream.read(1):
        raise reader.wrong("nothing after the checksum", "more bytes")


class _Reader:
    """A stream that is hashed as it is read."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.digest = sha256(MAGIC)

    def read(self, count: int) -> bytes:
        """Return exactly ``count`` bytes."""
        data = self.stream.read(count)
        if len(data) < count:
            raise self.wrong("more bytes", "a file cut short")
        self.digest.update(data)
        return data

    def wrong(self, expected: str, came: str) -> InvalidDocument:
        """Return the error that says so."""
        return InvalidDocument(
            f"{self.name}: expected {expected}, got {came}; copy the file again, or write it anew",
            value=self.name,
        )


def _start(question: Question) -> bytes:
    size = question.protocol.report_dtype.itemsize
    header = canonical_json({"question": question.digest, "report_bytes": size})
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
        raise reader.wrong(f"a header of at most {_LARGEST_HEADER} bytes", f"{length}")
    header = reader.read(length)
    if int.from_bytes(reader.read(4), "little") != crc32(start + header):
        raise reader.wrong("a header whose checksum holds", "an altered one")
    if start + header == _start(question):
        return
    document = parse_json(header)
    digest = document.get("question") if isinstance(document, dict) else None
    raise InvalidDocument(
        f"{reader.name}: expected reports on the question {question.digest}, got reports on "
        f"{digest}; use the question file that they were made with",
        value=digest,
    )


def _block_bytes(question: Question) -> int:
    """Return the size of a full block: as many reports as fit into a mebibyte, or one."""
    size = question.protocol.report_dtype.itemsize
    return max(_BLOCK_BYTES // size, 1) * size
