"""Count what people do without learning what any one of them did.

Frequency estimation under local differential privacy, after Wang, Blocki, Li and Jha, "Optimizing
Locally Differentially Private Protocols" (USENIX Security 2017).

Names are loaded when they are first used, so that a command line's help waits for nothing.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from deniable.version import __version__

if TYPE_CHECKING:
    # Modules that are attributes too.
    from deniable import client, consistency, files, law, presentation, spark  # noqa: F401
    from deniable.advice import meaning, plan, plan_discovery, recommend
    from deniable.answers import Answers, Choice, Choices, Number, Record, Text
    from deniable.answers.forecast import plan_answers
    from deniable.auditing.audit import Audit, audit
    from deniable.candidates import fingerprint, fingerprints
    from deniable.comparison import Comparison, compare
    from deniable.discoveries import Discoveries
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
    from deniable.mechanism import Mechanism
    from deniable.memory import memory_budget, set_memory_budget
    from deniable.presentation.view import Provenance
    from deniable.protocol import Closed, Open, Parameters, Protocol, Pure
    from deniable.protocols.affine import AffineSelection
    from deniable.protocols.basic_rappor import BasicRAPPOR
    from deniable.protocols.direct import DE, GRR
    from deniable.protocols.discovery import Code, Discovery
    from deniable.protocols.hashing import BLH, LH, OLH, OpenLH
    from deniable.protocols.histogram import SHE, THE
    from deniable.protocols.levels import Levels
    from deniable.protocols.polynomial_selection import PolynomialSelection
    from deniable.protocols.projection import RandomMatrixProjection
    from deniable.protocols.rappor import RAPPOR
    from deniable.protocols.set_selection import SetSelection
    from deniable.protocols.subset import SubsetSelection
    from deniable.protocols.unary import OUE, SUE, UE
    from deniable.protocols.views import Views
    from deniable.question import Question
    from deniable.tally import Accumulator, Tally

_HOMES = {
    "deniable.advice": ("meaning", "plan", "plan_discovery", "recommend"),
    "deniable.answers": ("Answers", "Choice", "Choices", "Number", "Record", "Text"),
    "deniable.answers.forecast": ("plan_answers",),
    "deniable.auditing": ("Audit", "audit"),
    "deniable.comparison": ("Comparison", "compare"),
    "deniable.errors": (
        "DeniableError", "IncompatibleTally", "InvalidDocument", "InvalidParameter",
        "InvalidReport", "OutOfDomain",
    ),
    "deniable.memory": ("memory_budget", "set_memory_budget"),
    "deniable.candidates": ("fingerprint", "fingerprints"),
    "deniable.estimates": ("Estimates",),
    "deniable.kernels.parallel": ("set_threads", "threads"),
    "deniable.mechanism": ("Mechanism",),
    "deniable.presentation.view": ("Provenance",),
    "deniable.protocol": ("Closed", "Open", "Parameters", "Protocol", "Pure"),
    "deniable.protocols.direct": ("GRR",),
    "deniable.protocols.discovery": ("Code",),
    "deniable.discoveries": ("Discoveries",),
    "deniable.question": ("Question",),
    "deniable.tally": ("Accumulator", "Tally"),
}  # fmt: skip
"""Where names live; protocols are found by themselves."""
_MODULES = ("client", "consistency", "files", "law", "presentation", "spark")
"""What is used by the name of its module; loaded when it is, as ``deniable.files``."""
_FOR_AUTHORS = ("Answers", "Closed", "Mechanism", "Open", "Parameters", "Provenance", "Pure")
"""Names for who writes a protocol, which completion does not offer."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BLH", "DE", "GRR", "LH", "OLH", "OUE", "RAPPOR", "SHE", "SUE", "THE", "UE", "Accumulator",
    "AffineSelection", "Answers", "Audit", "BasicRAPPOR", "Choice", "Choices", "Closed", "Code",
    "Comparison", "DeniableError", "Discoveries", "Discovery", "Estimates", "IncompatibleTally",
    "InvalidDocument", "InvalidParameter", "InvalidReport", "Levels", "Mechanism", "Number",
    "Open", "OpenLH", "OutOfDomain", "Parameters", "PolynomialSelection", "Protocol",
    "Provenance", "Pure", "Question", "RandomMatrixProjection", "Record", "SetSelection",
    "SubsetSelection", "Tally", "Text", "Views", "__version__", "audit", "compare", "fingerprint",
    "fingerprints", "meaning", "memory_budget", "plan", "plan_answers", "plan_discovery",
    "recommend", "set_memory_budget", "set_threads", "threads",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name.startswith("_"):  # what Python itself looks for, such as __path__
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    if name in _MODULES:
        try:
            return _import_module(f"deniable.{name}")
        except _import_module("deniable.errors").DeniableError as error:
            # An extra is missing, and a shell that completes names asks for all of them.
            raise AttributeError(str(error)) from error
    home = _HOME_OF.get(name)
    if home is None and not name[0].isupper():  # no protocol; perhaps a module of ours
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    protocols = _import_module("deniable.protocols")  # a tally or a question may be of any of them
    value: object = None if home is None else getattr(_import_module(home), name)
    value = value or protocols.find(name)
    if value is None:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*(name for name in __all__ if name not in _FOR_AUTHORS), *_MODULES]
