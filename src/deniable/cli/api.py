"""The Python interface as a page, made from the docstrings: what ``deniable reference`` writes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import deniable
from deniable.errors import DeniableError
from deniable.protocol import Protocol

_INTRODUCTION = """# Python

Every name of the package, from its docstrings; the examples in them are tests.
`deniable reference --python -o docs/api.md --force` writes this page.
"""
_GROUPS: tuple[tuple[str, Callable[[object], bool]], ...] = (
    ("Questions, tallies and estimates", inspect.isclass),
    ("Advice, audits and settings", inspect.isfunction),
)


def render() -> str:
    """Return the page."""
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
    parts.append("## Protocols\n\nAll of them are a `Protocol`, and have its methods.\n")
    parts += [_entry(name, item, methods=False) for name, item in protocols.items()]
    parts.append("## Errors\n")
    parts += [f"- `{name}`: {_summary(item)}" for name, item in errors.items()]
    return "\n".join(parts).rstrip() + "\n"


def _concrete(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, Protocol) and not inspect.isabstract(item)


def _error(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, DeniableError)


def _entry(name: str, item: object, *, methods: bool = True) -> str:
    lines = [f"### `{name}{_signature(item)}`\n", _prose(item), ""]
    if methods and inspect.isclass(item):
        lines += [f"- {line}" for line in _members(item)]
        lines += [""] if lines[-1] else []
    return "\n".join(lines)


def _members(kind: type) -> Iterator[str]:
    """Yield a line for each public method and property; of a kind of protocol, its own."""
    special = issubclass(kind, Protocol) and kind is not Protocol
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
