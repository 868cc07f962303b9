"""The sum of report files and tally files: what ``tally`` writes and ``estimate`` starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import click
import numpy as np

from deniable.cli.display import Advance, counted, show_progress
from deniable.cli.streams import name_of, open_input, open_raw, warn
from deniable.files import Readable, read_any, read_raw_reports
from deniable.mechanism import Reports
from deniable.question import Question
from deniable.tally import Accumulator, Tally

_GATHERED_BYTES = 1 << 23


def collect(question: Question, files: Sequence[Path], *, raw: bool = False) -> Tally:
    """Return the tally of all reports in report files and tally files.

    With ``raw`` the files hold reports and nothing else. Files of the same content are all counted,
    with a warning.
    """
    size = sum(path.stat().st_size for path in files if path.is_file())
    total, seen, done = question.accumulator(), dict[bytes, str](), 0
    with show_progress("Tallying", size or None) as advance:
        for path in files:
            with _open(path, raw=raw) as opened:
                stream, name = _Watched(opened, advance, done), name_of(path)
                (_add_raw if raw else _add)(total, stream, question, name)
            done = stream.done
            first = seen.setdefault(stream.digest.digest(), name)
            if first != name:
                warn(f"{name} has the same content as {first}; every report in it counts twice")
    return total.tally()


def _add(total: Accumulator, stream: Readable, question: Question, name: str) -> None:
    contents = read_any(stream, question, name=name)
    if isinstance(contents, Tally):
        total.merge(contents)
    else:
        for batch in _gathered(contents):
            total.add(batch)


def _add_raw(total: Accumulator, stream: Readable, question: Question, name: str) -> None:
    before = total.n
    for batch in _gathered(read_raw_reports(stream, question, name=name)):
        total.add(batch)
    size = counted(question.protocol.report_dtype.itemsize, "byte")
    click.echo(f"{name}: {counted(total.n - before, 'report')} of {size}", err=True)


def _gathered(batches: Iterator[Reports]) -> Iterator[Reports]:
    """Yield larger batches: what one costs beside its reports grows with the size of a tally."""
    waiting: list[Reports] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.nbytes for each in waiting) >= _GATHERED_BYTES:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


class _Watched:
    """A stream that is hashed and reported on as it is read."""

    def __init__(self, stream: Readable, advance: Advance, done: int) -> None:
        self.stream, self.advance, self.done = stream, advance, done
        self.digest = sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        data = self.stream.read(size)
        self.digest.update(data)
        self.done += len(data)
        self.advance(self.done)
        return data


@contextmanager
def _open(path: Path, *, raw: bool) -> Iterator[Readable]:
    """Open a file; reports without a header may begin as gzip does, so then its name decides."""
    with (open_raw if raw and path.suffix.lower() != ".gz" else open_input)(path) as stream:
        yield stream
