"""Files by what they hold: tally files, any file of ours, and what other files seem to be."""

from __future__ import annotations

from collections.abc import Iterator

from deniable.errors import DeniableError, InvalidDocument
from deniable.files import reports
from deniable.files.streams import Readable, Writable, read_fully
from deniable.mechanism import Reports
from deniable.memory import RAISE_IT, memory_budget
from deniable.question import Question
from deniable.tally import MAGIC, Tally

_LOOKED_AT = 4096
_KINDS = (
    (reports.MAGIC, "a report file", "give it where reports are read"),
    (MAGIC, "a tally file", "give it where tallies are read"),
    (b"\x1f\x8b", "gzip data", "decompress it once more"),
    (b"\xfd7zXZ\0", "xz data", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", "decompress it first"),
    (b"BZh", "bzip2 data", "decompress it first"),
    (b"PK\x03\x04", "a zip file, or a spreadsheet", "unpack it, or export it as CSV"),
    (b"PAR1", "a Parquet file", "turn its answers into reports with privatize first"),
    (b"\x89PNG", "a picture", "check the name of the file"),
    (b"%PDF", "a PDF file", "check the name of the file"),
)


def write_tally(stream: Writable, tally: Tally) -> None:
    stream.write(tally.to_bytes())


def read_tally(stream: Readable, question: Question, *, name: str = "the tally file") -> Tally:
    """Read a tally file, refusing one of another question; ``name`` is what errors call it."""
    start = read_fully(stream, len(MAGIC))
    if start != MAGIC:
        raise InvalidDocument(f"{name}: this is not a tally file; check the file", value=name)
    return _read_rest(stream, question, name)


def _read_rest(stream: Readable, question: Question, name: str) -> Tally:
    """Read a tally file whose first eight bytes have been read."""
    most = memory_budget()
    data = MAGIC + read_fully(stream, most)
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
    start = read_fully(stream, len(reports.MAGIC))
    if start == reports.MAGIC:
        return reports.read_after_magic(stream, question, name)
    if start == MAGIC:
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
