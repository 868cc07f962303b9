"""The two reference pages: docs/cli.md from the commands, docs/api.md from the docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

import deniable
from deniable.answers.distribution import NumberEstimates
from deniable.answers.survey import RecordEstimates
from deniable.cli import cli
from deniable.cli.group import command
from deniable.cli.outputs import write_atomically
from deniable.client import Client
from deniable.division import divide
from deniable.errors import DeniableError
from deniable.experiment import compare_arms
from deniable.protocol import Protocol
from deniable.protocols.sets import SetEstimates

_WIDTH = 96
_HEAD = """\
# The command line

Every command with its options, written by `python -m tools reference` from the commands themselves.

`-` stands for standard input or output, and inputs may be compressed with gzip. An existing file is
replaced only with `--force`, and never if the command reads it or nobody may write it.

An error is one line on stderr that names the file, the line and the remedy. The exit code is 0 on
success, 1 if an audit finds that a protocol spends more than it claims or a collector stops because
its store is broken, 2 after any other error, 130 when interrupted and 143 when terminated. If the
reader of the output goes away, as `head` does, the command ends quietly with 0.

`DENIABLE_THREADS` limits the threads, one for each core by default, and never changes a result.
`DENIABLE_MEMORY`, such as `8G`, raises the 2 GiB beyond which an estimate is refused.

The shell completes commands, options, protocols and files. For bash put the first line into
`~/.bashrc`, for zsh the second into `~/.zshrc`; for fish run the third once.

```sh
eval "$(_DENIABLE_COMPLETE=bash_source deniable)"
eval "$(_DENIABLE_COMPLETE=zsh_source deniable)"
_DENIABLE_COMPLETE=fish_source deniable > ~/.config/fish/completions/deniable.fish
```
"""


_INTRODUCTION = """# Python

Every public name of the package, written by `python -m tools reference` from the docstrings, whose
examples are tests.
"""
_GROUPS: tuple[tuple[str, Callable[[object], bool]], ...] = (
    ("Questions, tallies and estimates", inspect.isclass),
    ("Advice, audits and settings", inspect.isfunction),
)
_RESULTS = (NumberEstimates, RecordEstimates, SetEstimates)


@command("python -m tools reference")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), default="docs",
              show_default=True, metavar="DIR", help="The directory to write to.")  # fmt: skip
def reference(output: Path) -> None:
    """Write the reference of the command line and of the Python interface."""
    for name, page in (("cli.md", make_reference()), ("api.md", make_python_reference())):
        write_atomically(output / name, page.encode())


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


def make_python_reference() -> str:
    """Return the page of the Python interface."""
    parts = [_INTRODUCTION]
    listed = {name: getattr(deniable, name) for name in deniable.__all__ if name != "__version__"}
    protocols = {n: x for n, x in listed.items() if _concrete(x)}
    errors = {
        n: x for n, x in listed.items() if inspect.isclass(x) and issubclass(x, DeniableError)
    }
    rest = {n: x for n, x in listed.items() if n not in protocols and n not in errors}
    for title, chosen in _GROUPS:
        parts.append(f"## {title}\n")
        parts += [_entry(name, item) for name, item in rest.items() if chosen(item)]
    parts.append("## Results of numbers, records and sets\n\nAll are `Estimates`, and have more.\n")
    parts += [_entry(kind.__name__, kind, own=True) for kind in _RESULTS]
    parts.append("## Groups and arms\n\nIn `deniable.division` and `deniable.experiment`.\n")
    parts += [_entry(each.__name__, each) for each in (divide, compare_arms)]
    parts.append("## The client\n")
    parts.append(_entry("Client", Client))
    parts.append("## Protocols\n\nAll of them are a `Protocol`, and have its methods.\n")
    parts += [_entry(name, item, methods=False) for name, item in protocols.items()]
    parts.append("## Errors\n")
    parts += [f"- `{name}`: {_summary(item)}" for name, item in errors.items()]
    return "\n".join(parts).rstrip() + "\n"


def _concrete(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, Protocol) and not inspect.isabstract(item)


def _entry(name: str, item: object, *, methods: bool = True, own: bool = False) -> str:
    """Return the section of an item; of a result that nobody makes by hand only its ``own``."""
    lines = [f"### {name}\n"]
    if not own and (signature := _signature(item)):
        lines.append(f"`{name}{signature}`\n")
    lines += [_prose(item), ""]
    if methods and inspect.isclass(item):
        lines += [f"- {line}" for line in _members(item, own=own)]
        lines += [""] if lines[-1] else []
    return "\n".join(lines)


def _members(kind: type, *, own: bool = False) -> Iterator[str]:
    """Yield a line for each public method and property; for a kind of protocol only its own."""
    special = own or (issubclass(kind, Protocol) and kind is not Protocol)
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if special and name not in vars(kind):
            continue
        if isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod) or (
            inspect.isfunction(member)
        ):
            yield f"`.{name}{_signature(member)}`: {_summary(member)}"
        elif hasattr(member, "__get__") or isinstance(member, property):
            yield f"`.{name}`: {_summary(member)}"


def _signature(item: object) -> str:
    """Return the signature in short: names and defaults, without annotations."""
    if not callable(item):
        return ""
    try:
        found = inspect.signature(item)
    except (TypeError, ValueError):
        return ""
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in found.parameters.items()
        if name != "self"
    ]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"<[^>]*>", "…", text)


def _prose(item: object) -> str:
    """Return a docstring as Markdown: its examples as code."""
    doc = (inspect.getdoc(item) or "").replace("``", "`")
    blocks = doc.split("\n\n")
    examples = [block for block in blocks if block.lstrip().startswith(">>>")]
    text = [block for block in blocks if block not in examples]
    code = [f"```pycon\n{chr(10).join(examples)}\n```"] if examples else []
    return "\n\n".join([*text, *code])


def _summary(item: object) -> str:
    first = (inspect.getdoc(item) or "").replace("``", "`").split("\n\n")[0]
    return " ".join(first.split())
