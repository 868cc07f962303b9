"""Count what people do without learning what any one of them did.

Frequency estimation under local differential privacy, after Wang, Blocki, Li and Jha, "Optimizing
Locally Differentially Private Protocols" (USENIX Security 2017).

Names are loaded when they are first used, so that a command line's help waits for nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from deniable.version import __version__ as __version__

if TYPE_CHECKING:
    from deniable.advice import meaning, plan, recommend
    from deniable.auditing import Audit, audit
    from deniable.comparison import Comparison, compare
    from deniable.errors import (
        DeniableError,
        IncompatibleTally,
        InvalidDocument,
        InvalidParameter,
        InvalidReport,
        OutOfDomain,
    )
    from deniable.estimates import Estimates
    from deniable.kernels.parallel import set_threads, threads
    from deniable.protocol import Parameters, Protocol, Tally
    from deniable.protocols.basic_rappor import BasicRAPPOR
    from deniable.protocols.direct import DE, GRR
    from deniable.protocols.hashing import BLH, LH, OLH, OpenLH, fingerprint, fingerprints
    from deniable.protocols.histogram import SHE, THE
    from deniable.protocols.projection import RandomMatrixProjection
    from deniable.protocols.rappor import RAPPOR
    from deniable.protocols.unary import OUE, SUE, UE
    from deniable.question import Question

_HOMES = {
    "deniable.advice": ("meaning", "plan", "recommend"),
    "deniable.auditing": ("Audit", "audit"),
    "deniable.comparison": ("Comparison", "compare"),
    "deniable.errors": (
        "DeniableError",
        "IncompatibleTally",
        "InvalidDocument",
        "InvalidParameter",
        "InvalidReport",
        "OutOfDomain",
    ),
    "deniable.estimates": ("Estimates",),
    "deniable.kernels.parallel": ("set_threads", "threads"),
    "deniable.protocol": ("Parameters", "Protocol", "Tally"),
    "deniable.protocols.basic_rappor": ("BasicRAPPOR",),
    "deniable.protocols.direct": ("DE", "GRR"),
    "deniable.protocols.hashing": ("BLH", "LH", "OLH", "OpenLH", "fingerprint", "fingerprints"),
    "deniable.protocols.histogram": ("SHE", "THE"),
    "deniable.protocols.projection": ("RandomMatrixProjection",),
    "deniable.protocols.rappor": ("RAPPOR",),
    "deniable.protocols.unary": ("OUE", "SUE", "UE"),
    "deniable.question": ("Question",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BLH",
    "DE",
    "GRR",
    "LH",
    "OLH",
    "OUE",
    "RAPPOR",
    "SHE",
    "SUE",
    "THE",
    "UE",
    "Audit",
    "BasicRAPPOR",
    "Comparison",
    "DeniableError",
    "Estimates",
    "IncompatibleTally",
    "InvalidDocument",
    "InvalidParameter",
    "InvalidReport",
    "OpenLH",
    "OutOfDomain",
    "Parameters",
    "Protocol",
    "Question",
    "RandomMatrixProjection",
    "Tally",
    "audit",
    "compare",
    "fingerprint",
    "fingerprints",
    "meaning",
    "plan",
    "recommend",
    "set_threads",
    "threads",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    import_module("deniable.protocols")  # a tally or a question may be of any of them
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
