"""The protocols, one file per encoding family; every module here is found by itself.

Those that the table names are loaded when they are asked for. Installed distributions offer others
by an entry point of the group ``deniable.protocols``: its name is that of the class, its value says
where the class is.
"""

import warnings
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from deniable.errors import DeniableError
from deniable.optional import offered
from deniable.protocol import Protocol

_HOMES = {
    "affine": "AffineSelection",
    "basic_rappor": "BasicRAPPOR",
    "direct": "DE",
    "discovery.mechanism": "Discovery",
    "hashing": "BLH LH OLH OpenLH",
    "histogram": "SHE THE",
    "levels": "Levels",
    "linear": "",
    "parts": "",
    "polynomial_selection": "PolynomialSelection",
    "projection": "RandomMatrixProjection",
    "rappor": "RAPPOR",
    "regression": "",
    "set_selection": "SetSelection",
    "sets": "",
    "subset": "SubsetSelection",
    "unary": "OUE SUE UE",
    "views": "Views",
}
"""What each module defines, so that one which nobody names is not loaded."""
Protocol.registry.expect(__name__, __path__, _HOMES)


def discover(*, offers: bool = True) -> dict[str, type[Protocol]]:
    """Return every protocol by name, in alphabetical order.

    With ``offers`` those of other distributions are among them; one that cannot be loaded is left
    out, with a warning the first time.
    """
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    ours = {
        name: kind
        for name, kind in Protocol.registry.items()
        if kind.__module__.startswith(f"{__name__}.") and issubclass(kind, Protocol)
    }
    return dict(sorted({**(_offered_protocols() if offers else {}), **ours}.items()))


@lru_cache(maxsize=1)
def _offered_protocols() -> dict[str, type[Protocol]]:
    found: dict[str, type[Protocol]] = {}
    for name in offered(Protocol.registry.group):
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
