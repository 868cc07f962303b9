"""Where results go: a terminal, or a file that appears whole or not at all; progress on stderr."""

import errno
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from deniable.documents import synchronise
from deniable.optional import load
from deniable.policy import refusal
from deniable.presentation.exports import MOST_ROWS, Presentable
from deniable.presentation.text import Line, Span, fitted, one_line, printable, table_lines, wrapped
from deniable.presentation.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


STDIO = "-"
FORMATS = ("table", "csv", "tsv", "json", "parquet", "html")
_SUFFIXES = {"": "table", ".txt": "table", ".csv": "csv", ".tsv": "tsv", ".json": "json",
             ".parquet": "parquet", ".pq": "parquet", ".html": "html", ".htm": "html"}  # fmt: skip
_PLOTS = (".png", ".svg", ".pdf")
_TOP = 25
"""How many rows a table has by default."""
_ASCII = str.maketrans({"█": "#", "▒": "-", "│": "|", "┊": ":", "✓": "*", "·": ".", "…": "~"})
_STYLES = {"head": "bold", "dim": "dim", "yes": "bold green", "no": "dim", "solid": "cyan",
           "shade": "blue", "tick": "bold yellow", "zero": "dim"}  # fmt: skip

Advance = Callable[[float], None]
"""Shows how much of some work is done."""
Column = tuple[str, ...]
Rows = TypeVar("Rows", bound=Presentable)


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when all of it is on the disk.

    The bytes go to a temporary file in the same directory, which is synchronised and renamed at
    the end. After any error it is removed, and what was there before stays. - is standard output.
    """
    if str(path) == STDIO:
        yield cast("BinaryIO", sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    # The file that a link points to is replaced, not the link.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        code = errno.ENOTDIR if target.parent.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(path.parent))
    if target.exists() and not target.is_file():
        with _named(path), target.open("wb") as stream:  # a device or a pipe
            yield stream
        return
    with _named(path, "nothing was written under that name"):
        temporary = NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)  # noqa: SIM115 - renamed below
        try:
            with temporary:
                yield cast("BinaryIO", temporary)
                temporary.flush()
                os.fsync(temporary.fileno())
            mask = os.umask(0)  # without which the permissions of a temporary file are narrower
            os.umask(mask)
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask
            os.chmod(temporary.name, mode)
            os.replace(temporary.name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary.name)
            raise
    with suppress(OSError):  # a system that cannot open directories has no need to
        synchronise(target.parent)


@contextmanager
def _named(path: Path, *notes: str) -> Iterator[None]:
    """Let errors name the file that the user named, and not the temporary one."""
    try:
        yield
    except OSError as error:
        start = f".{Path(os.path.realpath(path)).name}."
        own = error.filename is None or Path(str(error.filename)).name.startswith(start)
        if own and not isinstance(error, BrokenPipeError):
            error.filename = str(path)
            for note in notes:
                error.add_note(note)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    with open_output(path) as stream:
        stream.write(data)


def warn(message: str) -> None:
    """Say on stderr, in one line, what is not an error but probably a mistake."""
    click.echo(f"deniable: warning: {' '.join(message.split())}", err=True)


def warn_of_refusal(total: float) -> None:
    """Warn of a question that reveals more in all than devices allow, however little at once."""
    if said := refusal(total):
        warn(said[:1].lower() + said[1:].removesuffix("."))


def announce(path: Path, said: str) -> None:
    """Say on stderr what a file now holds; standard output speaks for itself."""
    if str(path) != STDIO:
        click.echo(f"{path}: {said}", err=True)


def print_json(document: object, *, indent: int | None = 2, ascii: bool = True) -> None:
    click.echo(json.dumps(document, indent=indent, ensure_ascii=ascii))


def sum_up(path: Path, said: str, as_json: bool, **facts: object) -> None:
    """Say what a file of reports or a tally now holds, or print it as JSON."""
    if as_json:
        print_json({**facts, "output": str(path)}, indent=None)
    else:
        announce(path, said)


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path], *, force: bool) -> None:
    """Refuse outputs that are inputs or each other, and those that exist unless ``force``."""
    for position, path in enumerate(outputs):
        if str(path) == STDIO:
            continue
        if any(_same(path, other) for other in inputs):
            raise click.UsageError(f"{path} is also an input; name another file for the output")
        if any(_same(path, other) for other in outputs[:position]):
            raise click.UsageError(f"{path} is the name of two outputs; name another file for one")
        check_replaceable(path, force=force)


def check_replaceable(path: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless ``force``, and one that may not be written at all."""
    if not path.is_file():  # nothing is lost in a device or a pipe
        return
    if not force:
        raise click.UsageError(f"{path} exists already; name another file, or pass --force")
    # Root bypasses permission checks, but a file without write permission says what is meant.
    if not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def check_binary(output: Path, as_json: bool) -> None:
    """Refuse to write bytes to a terminal, or where a summary goes."""
    if as_json and str(output) == STDIO:
        raise click.UsageError("--json prints to standard output; name a file with -o")
    refuse_terminal(output)


def check_plot(path: Path | None) -> None:
    """Refuse a plot in a format that cannot be drawn, before any work is done."""
    if path is not None and path.suffix.lower() not in _PLOTS:
        raise click.UsageError(f"a plot is written as .png, .svg or .pdf, not as {path.name!r}")


def write_plot(figure: "Figure", path: Path, metadata: dict[str, str] | None = None) -> None:
    kind = path.suffix.lower().removeprefix(".")
    with open_output(path) as stream:
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)


def _same(path: Path, other: Path) -> bool:
    """Tell whether two names are of one file: the same path, or links to it."""
    if path.exists() and not path.is_file():
        return False  # a device or a pipe may be both
    try:
        return path.resolve() == other.resolve() or path.samefile(other)
    except OSError:
        return False


def refuse_terminal(path: Path) -> None:
    if str(path) == STDIO and _is_terminal():
        raise click.UsageError("the output is binary; name a file with -o, or pipe it on")


def _is_terminal() -> bool:
    return sys.stdout.isatty()


@dataclass(frozen=True)
class Export:
    """How a command writes its rows: the options that ``export_options`` reads."""

    form: str
    output: Path
    top: int | None
    significant: bool
    level: float
    alpha: float
    plot: Path | None

    def write(self, found: Presentable) -> None:
        if self.plot is not None:
            self._draw(self.plot, found)
        findings, whole = found.findings(), found
        found = self.chosen(found)
        if self.form == "table" and str(self.output) == STDIO:
            console, view = open_console(), found.view(level=self.level, alpha=self.alpha)
            if findings and console.is_terminal:  # elsewhere rows are read by programs
                say(console, " ".join(findings), "bold")
            print_line(console, (Span(printable(view.heading), "head"),))
            if view.source is not None:
                print_line(console, (Span(printable(view.source), "dim"),))
            if console.is_terminal:
                for line in fitted(whole.overview(), console.width):
                    print_line(console, (Span(line),))
            print_rows(console, view)
        else:
            write_atomically(self.output, self._encoded(found))

    def chosen(self, found: Rows) -> Rows:
        if self.significant:
            found = found.only_significant(self.alpha)
        return found.shown(self._most) if self.form == "table" or self.top is not None else found

    @property
    def _most(self) -> int | None:
        return _TOP if self.top is None else self.top or None

    def _draw(self, path: Path, found: Presentable) -> None:
        """Draw the largest rows, and say on stderr what could not be drawn."""
        load("matplotlib.figure", "plot")
        from deniable.presentation import figure  # noqa: PLC0415 - needs the extra

        view = found.shown(self._most).view(level=self.level, alpha=self.alpha)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            picture = figure.draw(view, found.caption())
        for text in dict.fromkeys(str(each.message) for each in caught):
            warn(text)
        kind = path.suffix.lower().removeprefix(".")
        write_plot(picture, path, dict(figure.metadata(view, kind)))

    def _encoded(self, shown: Presentable) -> bytes:
        level, alpha = self.level, self.alpha
        match self.form:
            case "parquet":
                return shown.to_parquet(level=level, alpha=alpha)
            case "html":
                most = MOST_ROWS if self.top is None else None
                return shown.to_html(level=level, alpha=alpha, top=most).encode()
            case "table":
                return f"{shown.table(None, level=level, alpha=alpha)}\n".encode()
            case "json":
                return shown.to_json(level=level, alpha=alpha).encode()
        delimiter = "\t" if self.form == "tsv" else ","
        return shown.to_csv(level=level, alpha=alpha, delimiter=delimiter).encode()


def choose_form(form: str | None, as_json: bool, output: Path) -> str:
    """Return the format that the options or the name of the output say, or refuse it early."""
    suffix = output.suffix.lower()
    if as_json or form is not None:
        chosen = "json" if as_json else form or ""
    elif str(output) == STDIO:
        chosen = "table"
    elif suffix in _PLOTS:
        raise click.UsageError(f"{output} is the name of a figure; draw it with --plot {output}")
    elif suffix in _SUFFIXES:
        chosen = _SUFFIXES[suffix]
    else:
        known = ", ".join(filter(None, _SUFFIXES))
        raise click.UsageError(
            f"expected an output whose name ends with {known}, got {str(output)!r}; rename it, or "
            "choose with --format what to write"
        )
    if chosen == "parquet":
        refuse_terminal(output)
    return chosen


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """End as every other output does when its reader is gone."""
        self.quiet = True
        raise BrokenPipeError(errno.EPIPE, "the reader of the output is gone")


def open_console() -> Console:
    return _Output(highlight=False, emoji=False, markup=False)


@contextmanager
def show_progress(description: str, total: float | None) -> Iterator[Advance]:
    """Show a progress bar on stderr while work goes on, and nothing if that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda completed: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %" if total else "{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        yield lambda completed: progress.update(task, completed=completed)


def shorten(text: str) -> str:
    """Return a label in quotes, cut when it is long."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}… ({len(text):,} characters)"


def title(name: str) -> str:
    """Return the name of a question in quotes as it is read; ``shorten`` tells all characters."""
    return f"'{one_line(name, 60)}'"


def say(console: Console, text: str, style: str = "", indent: str = "") -> None:
    """Print sentences, wrapped at the width of the terminal, the first of them in a style."""
    for place, sentence in enumerate(text.split("\n")):
        for line in wrapped(sentence, console.width, indent) or [""]:
            console.print(fit(console, Text(line, "" if place else style)), soft_wrap=True)


def print_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print one fact on a line, wrapped on a terminal; a digest, to be copied, never is."""
    width = max(len(name) for name, _ in facts) + 2
    for name, text in facts:
        folded = console.is_terminal and name != "digest"
        lines = (
            wrapped(text, max(console.width - width, 20))
            if folded
            else [text.replace("\u00a0", " ")]
        )
        fact = Text.assemble((name.ljust(width), "bold"), f"\n{'':{width}}".join(lines))
        console.print(fit(console, fact), soft_wrap=True)


def width_of(columns: Sequence[Column]) -> int:
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def print_columns(
    console: Console,
    columns: Sequence[Column],
    *,
    spared: Sequence[str] = (),
    left: Sequence[str] = (),
) -> None:
    """Print columns, each a heading and its cells, and leave out those of ``spared`` until all fit.

    Cells are never cut. All columns but the first and those of ``left`` hold numbers.
    """
    left_out: list[str] = []
    for head in spared:
        if width_of(columns) > console.width:
            columns = [column for column in columns if column[0] != head]
            left_out.append(head)
    padded = []
    for position, column in enumerate(columns):
        align = str.ljust if position == 0 or column[0] in left else str.rjust
        padded.append([align(cell, max(map(len, column))) for cell in column])
    for number, cells in enumerate(zip(*padded, strict=True)):
        line = Text("  ".join(cells).rstrip(), style="" if number else "bold")
        console.print(fit(console, line), soft_wrap=True)
    if left_out:
        say(console, f"Not shown at this width: {', '.join(left_out)}.")


def print_rows(console: Console, view: View) -> None:
    """Print headings, rows and legend; off a terminal nothing is cut, on one it is made to fit."""
    width = console.width if console.is_terminal else None
    encoding = console.encoding if console.options.ascii_only else "utf-8"
    for line in table_lines(view, width, encoding):
        print_line(console, line)


def print_line(console: Console, line: Line) -> None:
    """Print one line in colours, beyond the width of the terminal if need be."""
    text = Text.assemble(*((span.text, _STYLES.get(span.part, "")) for span in line))
    text.rstrip()
    console.print(fit(console, text), soft_wrap=True)


def fit(console: Console, text: Text) -> Text:
    """Return text that the console's encoding can write: what it lacks is replaced or escaped."""
    if console.options.ascii_only:
        plain = text.plain.translate(_ASCII)
        text.plain = plain.encode(console.encoding, "backslashreplace").decode(console.encoding)
    return text
