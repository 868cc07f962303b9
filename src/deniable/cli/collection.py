"""The sum of report files and tally files: what ``tally`` writes and ``estimate`` starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import click

from deniable.cli.display import Advance, counted, show_progress
from deniable.cli.streams import name_of, open_input, open_raw, warn
from deniable.files import Readable, read_any, read_raw_reports
from deniable.protocol import Tally
from deniable.question import Question


def collect(question: Question, files: Sequence[Path], *, raw: bool = False) -> Tally:
    """Return the tally of all reports in report files and tally files.

    With ``raw`` the files hold reports and nothing else. Files of the same content are all counted,
    with a warning.
    """
    size = sum(path.stat().st_size for path in files if path.is_file())
    total, seen, done = question.tally(iter(())), dict[bytes, str](), 0
    with show_progress("Tallying", size or None) as advance:
        for path in files:
            with _open(path, raw=raw) as opened:
                stream, name = _Watched(opened, advance, done), name_of(path)
                total += _sum(stream, question, name, raw=raw)
            done = stream.done
            first = seen.setdefault(stream.digest.digest(), name)
            if first != name:
                warn(f"{name} has the same content as {first}; every report in it counts twice")
    return total


def _sum(stream: Readable, question: Question, name: str, *, raw: bool) -> Tally:
    if raw:
        found = question.tally(read_raw_reports(stream, question, name=name))
        size = counted(question.protocol.report_dtype.itemsize, "byte")
        click.echo(f"{name}: {counted(found.n, 'report')} of {size}", err=True)
        return found
    contents = read_any(stream, question, name=name)
    return contents if isinstance(contents, Tally) else question.tally(contents)


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
