"""``deniable reference``: docs/cli.md, written by the command line about itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from deniable.cli import cli
from deniable.cli.api import render
from deniable.cli.group import Command
from deniable.cli.options import output_option
from deniable.cli.outputs import write_atomically

_WIDTH = 96
_HEAD = """\
# The command line

Written by `deniable reference -o docs/cli.md --force` from the commands themselves. `-` stands for
standard input or output. A file that exists is replaced only with `--force`, and one that the
command reads, or that nobody may write, not even then. Inputs may be compressed with gzip.

An error is one line on stderr that names the file, the line and the remedy; the exit code is 0 when
all went well, 1 when an audit finds that a protocol spends more than it claims, 2 after an error,
130 when interrupted and 143 when terminated. A reader of the output that goes away, as `head`
does, is no error: the command ends quietly with 0.

`DENIABLE_THREADS` limits the threads, every core by default, and never changes a result.
`DENIABLE_MEMORY`, such as `8G`, is what one estimate may take; beyond 2 GiB it is refused without.

Commands, options, protocols and files complete in the shell. For bash put the first line into
`~/.bashrc`, for zsh the second into `~/.zshrc`; for fish run the third once.

```sh
eval "$(_DENIABLE_COMPLETE=bash_source deniable)"
eval "$(_DENIABLE_COMPLETE=zsh_source deniable)"
_DENIABLE_COMPLETE=fish_source deniable > ~/.config/fish/completions/deniable.fish
```
"""


@click.command(
    cls=Command,
    examples=[
        "deniable reference -o docs/cli.md --force",
        "deniable reference --python -o docs/api.md --force",
    ],
)
@output_option
@click.option("--python", "python", is_flag=True, help="The Python interface instead.")
def reference(output: Path, *, python: bool) -> None:
    """Write the reference of this command line, or of the Python interface, as Markdown."""
    write_atomically(output, (render() if python else make_reference()).encode())


def make_reference() -> str:
    """Return the help of every command as one page."""
    sections = [f"## {path}\n\n```text\n{text}\n```\n" for path, text in _helps(cli, "deniable")]
    return "\n".join([_HEAD, *sections])


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all commands below it, with the words that call them."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from walk(below, f"{path} {name}")


def _helps(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    for words, each in walk(command, path):
        context = click.Context(
            each, info_name=words, terminal_width=_WIDTH, help_option_names=["-h", "--help"]
        )
        yield words, each.get_help(context)
