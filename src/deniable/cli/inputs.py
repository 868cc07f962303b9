"""What commands read besides answers: question files, reports and tallies, from files or pipes.

A name of ``-`` is standard input, and gzip is decompressed. Errors name the file.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

import click
import numpy as np

from deniable import Accumulator, Code, DeniableError, Question, Tally
from deniable.cli.group import InputError
from deniable.cli.outputs import STDIO, Advance, shorten, show_progress, warn
from deniable.documents import Readable, decompressed, read_file, read_fully
from deniable.files import describe, read_contents, read_raw_reports
from deniable.mechanism import Reports
from deniable.presentation.view import counted
from deniable.protocols.discovery.code import presets

_LARGEST_QUESTION = 1 << 28
_GATHERED_BYTES = 1 << 23


@contextmanager
def open_raw(path: Path) -> Iterator[BinaryIO]:
    if str(path) == STDIO:
        try:
            yield sys.stdin.buffer
        except OSError as error:
            error.filename = error.filename or name_of(path)
            raise
        return
    with path.open("rb") as stream:
        yield stream


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    with open_raw(path) as stream:
        yield decompressed(stream, name=name_of(path))


def check_stdin(*paths: Path | None) -> None:
    """Refuse to read standard input for two purposes, or one file twice."""
    seen: set[Path] = set()
    for path in paths:
        if path is None:
            continue
        if (found := path if str(path) == STDIO else path.resolve()) in seen:
            name = "standard input (-)" if str(path) == STDIO else path
            raise click.UsageError(f"{name} was given more than once")
        seen.add(found)


def name_of(path: Path) -> str:
    return "standard input" if str(path) == STDIO else str(path)


def suffix_of(path: Path) -> str:
    """Return the suffix of a file's name, not counting .gz, in lower case."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


class Watched:
    """A stream that is hashed as it is read; ``advance`` is told how many bytes are done."""

    def __init__(
        self,
        stream: Readable,
        hash: Callable[[bytes], object],
        advance: Advance | None = None,
        done: int = 0,
    ) -> None:
        self._stream, self._hash, self._advance, self.done = stream, hash, advance, done

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._hash(data)
        self.done += len(data)
        if self._advance is not None:
            self._advance(self.done)
        return data

    def seekable(self) -> bool:
        return False


class Digest:
    """The SHA-256 of an input's bytes: a file's at once, a pipe's when it has been read."""

    def __init__(self, path: Path) -> None:
        self.path, self._hash, self._known = path, sha256(), False
        self._again = sys.stdin.buffer.seekable() if str(path) == STDIO else path.is_file()
        if self._again:
            self.read()

    def read(self) -> None:
        """Read all of the input unless that was done; a file can be read again."""
        if self._known:
            return
        with open_raw(self.path) as stream:
            start = stream.tell() if self._again else 0
            while data := stream.read(1 << 20):
                self._hash.update(data)
            if self._again:
                stream.seek(start)
        self._known = True

    def watch(self, stream: BinaryIO) -> BinaryIO:
        """Return the stream, hashed as it is read unless the digest is known."""
        return stream if self._known else cast("BinaryIO", Watched(stream, self._hash.update))

    def __call__(self) -> str:
        return self._hash.hexdigest()


def read_question(path: Path) -> Question:
    with open_input(path) as stream:
        data = read_fully(stream, _LARGEST_QUESTION + 1)
    if len(data) > _LARGEST_QUESTION:
        raise InputError(f"{name_of(path)}: a question has at most {_LARGEST_QUESTION:,} bytes, "
                         "and this file has more; check the file")  # fmt: skip
    came, remedy = describe(data[:4096])
    if came not in {"a question file", "JSON", "text"}:
        raise InputError(f"{name_of(path)}: expected a question file, which is JSON, got {came}; "
                         f"{remedy}")  # fmt: skip
    try:
        return Question.from_json(data)
    except DeniableError as error:
        raise InputError(f"{name_of(path)}: {error}") from error


def read_code(name: str) -> Code:
    if name in presets():
        return Code.preset(name)
    path = Path(name)
    if not path.is_file():
        raise click.UsageError(
            f"--code takes {', '.join(presets())} or a file that deniable code learn wrote"
        )
    try:
        return Code.from_json(read_file(path))
    except DeniableError as error:
        raise InputError(f"{path}: {error}") from error


def check_repeats(question: Question, people: object, rounds: object) -> None:
    """Ask for people or rounds where people may have answered again, and nowhere else."""
    name, given = question.protocol.name, [each for each in (people, rounds) if each is not None]
    if len(given) > 1:
        raise click.UsageError("--people and --rounds say the same thing; give one of them")
    if given and not question.protocol.memoises:
        raise click.UsageError(
            f"--people and --rounds are for protocols whose people may answer again; reports of "
            f"{name} are independent, so leave them out"
        )
    if not given and question.protocol.memoises:
        raise click.UsageError(
            f"people may answer {shorten(question.name)} again ({name}), so its reports are not "
            "independent, and a file does not say when they came: give --rounds, the number of "
            "days with reports if a collector has them, or 1 if everybody answered once; or "
            "--people if you know how many there are"
        )


def read_tally(question: Question, files: Sequence[Path]) -> Tally:
    total = collect(question, files)
    if not total.n:
        names = ", ".join(name_of(path) for path in files)
        raise InputError(f"{names}: there are no reports to estimate from; collect some first")
    return total


def collect(
    question: Question,
    files: Sequence[Path],
    *,
    raw: bool = False,
    cells: Sequence[int] | None = None,
) -> Tally:
    """Return the tally of all reports in report files and tally files.

    With ``raw`` the files hold reports and nothing else; with ``cells`` only the reports of these
    segments count. Files of the same content are all counted, with a warning.
    """
    size = sum(path.stat().st_size for path in files if path.is_file())
    total, seen, done = question.accumulator(), dict[bytes, str](), 0
    with show_progress("Tallying", size or None) as advance:
        for path in files:
            name, digest = name_of(path), sha256()
            # Reports without a header may begin as gzip does, so then the name decides.
            bare = raw and path.suffix.lower() != ".gz"
            with (open_raw if bare else open_input)(path) as opened:
                stream = Watched(opened, digest.update, advance, done)
                if raw:
                    _add_raw(total, stream, question, name)
                else:
                    _add(total, stream, question, (name, cells))
            done = stream.done
            first = seen.setdefault(digest.digest(), name)
            if first != name:
                warn(f"{name} has the same content as {first}; every report in it counts twice")
    return total.tally()


def _add(
    total: Accumulator,
    stream: Readable,
    question: Question,
    named: tuple[str, Sequence[int] | None],
) -> None:
    name, cells = named
    contents = read_contents(stream, question, name=name)
    if isinstance(contents, Tally):
        if cells is not None:
            raise InputError(
                f"{name}: a tally does not say of which segments it is; sum up report files, or "
                "fetch the tally of a segment with `deniable pull --segment`"
            )
        total.merge(contents)
        return
    for batch in _gathered(_only_cells(contents, cells)):
        total.add(batch)


def _only_cells(
    contents: Iterator[tuple[bytes, Reports]], cells: Sequence[int] | None
) -> Iterator[Reports]:
    for found, reports in contents:
        mine = np.isin(np.frombuffer(found, np.uint8), cells) if cells is not None else ...
        yield reports[mine]


def _add_raw(total: Accumulator, stream: Readable, question: Question, name: str) -> None:
    before = total.n
    for batch in _gathered(read_raw_reports(stream, question, name=name)):
        total.add(batch)
    size = counted(question.protocol.report_dtype.itemsize, "byte")
    click.echo(f"{name}: {counted(total.n - before, 'report')} of {size}", err=True)


def _gathered(batches: Iterator[Reports]) -> Iterator[Reports]:
    """Yield larger batches: what each adds to the time grows with the size of the tally."""
    waiting: list[Reports] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.nbytes for each in waiting) >= _GATHERED_BYTES:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
