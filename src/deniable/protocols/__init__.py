"""The protocols, one file or package per encoding family; every module here is found by itself."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from deniable.protocol import Protocol

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)


def discover() -> dict[str, type[Protocol]]:
    """Return every protocol by name, in alphabetical order.

    >>> "OLH" in discover()
    True
    """
    return {
        name: kind
        for name, kind in sorted(Protocol.registry.items())
        if kind.__module__.startswith(f"{__name__}.") and issubclass(kind, Protocol)
    }
