"""The protocols, one file per encoding family; every module here is found by itself.

Installed distributions offer others by an entry point of the group ``deniable.protocols``: its name
is that of the class, its value says where the class is. They are loaded when they are asked for.
"""

import warnings
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from deniable.errors import DeniableError
from deniable.optional import offered
from deniable.protocol import Protocol
from deniable.tally import ENTRY_POINTS

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)


def discover(*, offers: bool = True) -> dict[str, type[Protocol]]:
    """Return every protocol by name, in alphabetical order.

    With ``offers`` those of other distributions are among them; one that cannot be loaded is left
    out, with a warning the first time.
    """
    ours = {
        name: kind
        for name, kind in Protocol.registry.items()
        if kind.__module__.startswith(f"{__name__}.") and issubclass(kind, Protocol)
    }
    return dict(sorted({**(_offered_protocols() if offers else {}), **ours}.items()))


@lru_cache(maxsize=1)
def _offered_protocols() -> dict[str, type[Protocol]]:
    found: dict[str, type[Protocol]] = {}
    for name in offered(ENTRY_POINTS):
        try:
            kind = find(name)
        except DeniableError as error:
            warnings.warn(str(error), stacklevel=3)
        else:
            found |= {name: kind} if kind is not None else {}
    return found


def find(name: str) -> type[Protocol] | None:
    """Return the protocol of that name, ours or another distribution's, or None.

    Raises DeniableError where the offer of a distribution is broken.
    """
    kind = Protocol.named(name)
    return kind if kind is not None and issubclass(kind, Protocol) else None
