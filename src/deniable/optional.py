"""Optional dependencies, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from deniable.errors import DeniableError


def load(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise DeniableError(
            f"expected {name} to be installed, got no such module; "
            f"install it with: pip install 'deniable[{extra}]'",
            value=name,
        ) from error
