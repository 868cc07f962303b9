"""Commands and groups that load when they run, and the one place that reports errors."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import augment_usage_errors
from click.shell_completion import CompletionItem

from deniable.errors import DeniableError

_WRONG, _INTERRUPTED, _TERMINATED = 2, 130, 143
_FORCE = "force"


class InputPath(click.Path):
    """The type of a parameter that names a file to read."""


class OutputPath(click.Path):
    """The type of a parameter that names a file to write."""


class InputError(click.ClickException):
    """Something wrong in what the user gave: a file, a line of it, an option."""

    exit_code = _WRONG


class Command(click.Command):
    """A command whose help ends with examples, which the tests run.

    A command that writes a file gets the option --force. Without it no file is replaced, and even
    with it no file that the command reads.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.writes = any(isinstance(param.type, OutputPath) for param in self.params)
        if self.writes:
            text = "Replace an output that exists."
            self.params.append(click.Option([f"--{_FORCE}"], is_flag=True, help=text))

    def invoke(self, ctx: click.Context) -> Any:
        """Check the names of files before any work is done, and run the command."""
        if self.writes:
            from deniable.cli.outputs import check_outputs  # noqa: PLC0415 - help needs no files

            outputs, inputs = self._paths(ctx, OutputPath), self._paths(ctx, InputPath)
            with augment_usage_errors(ctx):
                check_outputs(outputs, inputs, force=bool(ctx.params.pop(_FORCE)))
        return super().invoke(ctx)

    def _paths(self, ctx: click.Context, kind: type[click.Path]) -> list[Path]:
        given = [ctx.params.get(p.name or "") for p in self.params if isinstance(p.type, kind)]
        flat = [x for value in given for x in (value if isinstance(value, tuple) else (value,))]
        return [path for path in flat if isinstance(path, Path)]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


def command(*examples: str) -> Callable[[Callable[..., Any]], Command]:
    return click.command(cls=Command, examples=examples)


class Group(click.Group):
    """A group of commands, some of them ``lazy``: their modules are imported when they run.

    Of a lazy command the name of the module and a summary are known, which help prints.
    """

    package = "deniable.cli"
    command_class = Command

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, tuple[str, str]] | None = None,
        examples: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy, self.examples = lazy or {}, tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def summaries(self) -> dict[str, str]:
        """Return what each command does, by its name, without importing any."""
        known = {name: " ".join((each.help or "").partition("\n\n")[0].split())
                 for name, each in self.commands.items()}  # fmt: skip
        return known | {name: summary for name, (_, summary) in self.lazy.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"{self.package}.{self.lazy[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            near = get_close_matches(args[0], known, n=1)
            ctx.fail(f"no command {args[0]!r}{f'; did you mean {near[0]!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        known = self.summaries().items()
        found = [CompletionItem(n, help=text) for n, text in known if n.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries().items()))


class CommandLine(Group):
    """The outermost group: whatever goes wrong inside ends as one line on stderr."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and exit as docs/cli.md says."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # escape what the encoding of a stream lacks
                stream.reconfigure(errors="backslashreplace")
        try:
            with _termination():
                result = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "deniable"
            message = error.format_message().rstrip(".")
            _fail(f"{message}{' See' if message.endswith('?') else '; see'} {path} --help")
        except click.ClickException as error:
            _fail(error.format_message(), error.exit_code)
        except click.Abort:
            _fail("interrupted", _INTERRUPTED)
        except DeniableError as error:
            _fail(str(error))
        except OSError as error:
            if error.errno and not error.filename:
                _discard_output()  # what standard output refused once, it will refuse again
            _fail(describe(error))
        except MemoryError:
            _fail("out of memory; take fewer people, answers or bytes at a time")
        if not standalone_mode:
            return result
        sys.exit(result if isinstance(result, int) else 0)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _quiet_end():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _quiet_end():
            result = super().invoke(ctx)
            sys.stdout.flush()
        return result


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write a section of examples, one on a line and never wrapped: they are for copying."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def describe(error: OSError) -> str:
    """Return a system error in one line: the file, what happened, and a remedy."""
    remedies = {
        errno.ENOENT: "check the path",
        errno.EACCES: "check who may read and write it",
        errno.EISDIR: "give a file",
        errno.ENOTDIR: "give a directory there",
        errno.ENOSPC: "free some space",
    }
    notes = getattr(error, "__notes__", ())
    if not error.errno:  # a message without a code is complete, such as that of a network
        return "; ".join([str(error), *notes])
    remedy = remedies.get(error.errno, "check the file and the disk")
    where = error.filename or "standard output"  # everything else names its file
    return f"{where}: {'; '.join([error.strerror or str(error), remedy, *notes])}"


@contextmanager
def _termination() -> Iterator[None]:
    """Let a request to terminate unwind the stack, so that temporary files are removed."""

    def stop(number: int, frame: object) -> NoReturn:
        sys.exit(_TERMINATED)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # only the main thread may; elsewhere the process just ends
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _quiet_end() -> Iterator[None]:
    """End with 0 when the reader of the output goes away, as ``head`` does.

    Whether a reader leaves before or after the last byte is chance, so both end alike.
    """
    try:
        yield
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(0) from None


def _discard_output() -> None:
    """Send what is still in the buffers nowhere, even when the interpreter closes them."""
    with suppress(OSError, ValueError):  # a stream of a test has no descriptor
        descriptor = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _fail(message: str, code: int = _WRONG) -> NoReturn:
    click.echo(f"deniable: {' '.join(message.split())}", err=True)
    sys.exit(code)
