"""Tally files: ``Tally.to_bytes`` and ``Tally.from_bytes``, with the question checked."""

from __future__ import annotations

from deniable.errors import DeniableError, InvalidDocument
from deniable.files.streams import Readable, Writable, read_fully
from deniable.memory import RAISE_IT, memory_budget
from deniable.question import Question
from deniable.tally import MAGIC, Tally


def write_tally(stream: Writable, tally: Tally) -> None:
    """Write a tally file."""
    stream.write(tally.to_bytes())


def read_tally(stream: Readable, question: Question, *, name: str = "the tally file") -> Tally:
    """Read a tally file, refusing one of another question; ``name`` is what errors call it."""
    start = read_fully(stream, len(MAGIC))
    if start != MAGIC:
        raise InvalidDocument(
            f"{name}: expected a tally file, got something else; check the file", value=name
        )
    return read_after_magic(stream, question, name)


def read_after_magic(stream: Readable, question: Question, name: str) -> Tally:
    """Read a tally file whose first eight bytes have been read already."""
    most = memory_budget()
    data = MAGIC + read_fully(stream, most)
    if len(data) > most:
        raise InvalidDocument(
            f"{name}: expected a tally within the memory budget of {most:,} bytes, got a larger "
            f"one; where it is yours, {RAISE_IT}",
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
