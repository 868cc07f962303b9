"""Any file of ours: a report file or a tally file, told apart by its first bytes."""

from __future__ import annotations

from collections.abc import Iterator

from deniable import tally
from deniable.errors import InvalidDocument
from deniable.files import reports, tallies
from deniable.files.recognition import describe
from deniable.files.streams import Readable, read_fully
from deniable.mechanism import Reports
from deniable.question import Question
from deniable.tally import Tally

_LOOKED_AT = 4096


def read_any(
    stream: Readable, question: Question, *, name: str = "the file"
) -> Iterator[Reports] | Tally:
    """Return the tally in a tally file, or the batches of a report file as ``read_reports`` does.

    Any other file is refused with what it seems to be.
    """
    start = read_fully(stream, len(reports.MAGIC))
    if start == reports.MAGIC:
        return reports.read_after_magic(stream, question, name)
    if start == tally.MAGIC:
        return tallies.read_after_magic(stream, question, name)
    came, remedy = describe(start + read_fully(stream, _LOOKED_AT))
    raise InvalidDocument(
        f"{name}: expected a report file or a tally file, got {came}; {remedy}", value=name
    )
