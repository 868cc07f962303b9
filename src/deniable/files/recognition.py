"""What a file is that was taken for another, from its first bytes: for errors that help."""

from __future__ import annotations

from deniable import tally
from deniable.files import reports

_KINDS = (
    (reports.MAGIC, "a report file", "give it where reports are read"),
    (tally.MAGIC, "a tally file", "give it where tallies are read"),
    (b"\x1f\x8b", "gzip data", "decompress it once more"),
    (b"\xfd7zXZ\0", "xz data", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", "decompress it first"),
    (b"BZh", "bzip2 data", "decompress it first"),
    (b"PK\x03\x04", "a zip file, or a spreadsheet", "unpack it, or export it as CSV"),
    (b"PAR1", "a Parquet file", "turn its answers into reports with privatize first"),
    (b"\x89PNG", "a picture", "check the name of the file"),
    (b"%PDF", "a PDF file", "check the name of the file"),
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
    first, _, rest = text.partition("\n")
    second = rest.partition("\n")[0]
    for mark in (",", ";", "\t"):
        if mark in first and first.count(mark) == second.count(mark):
            kind = "TSV" if mark == "\t" else "CSV"
            return f"text, probably {kind}", "turn its answers into reports with privatize first"
    return "text", "turn answers into reports with privatize first"
