"""The protocols, one file per encoding family; every module here is found by itself."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from deniable.protocol import Protocol

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def discover() -> dict[str, type[Protocol]]:
    """Return every protocol by name, in alphabetical order.

    >>> "OLH" in discover()
    True
    """
    return {
        name: kind
        for name, kind in sorted(Protocol.registry.items())
        if kind.__module__.startswith(f"{__name__}.")
    }
