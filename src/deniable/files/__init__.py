"""Report files and tally files, read and written as streams; byte by byte in docs/formats.md.

    with open("reports.bin", "wb") as stream:
        write_reports(stream, question, [question.privatize(answers)])
    with open("reports.bin", "rb") as stream:
        for batch in read_reports(stream, question, name="reports.bin"):
            ...

Whatever is read either is what was written or is refused with ``name`` in the error. A reader keeps
one block in memory, however large the file or what it decompresses to.
"""

from deniable.files.contents import describe, read_any, read_tally, write_tally
from deniable.files.reports import read_raw_reports, read_reports, write_reports
from deniable.files.streams import Readable, Writable, decompressed, read_fully

__all__ = [
    "Readable",
    "Writable",
    "decompressed",
    "describe",
    "read_any",
    "read_fully",
    "read_raw_reports",
    "read_reports",
    "read_tally",
    "write_reports",
    "write_tally",
]
