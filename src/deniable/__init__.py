"""Count what people do without learning what any one of them did.

Frequency estimation under local differential privacy, after Wang, Blocki, Li and Jha, "Optimizing
Locally Differentially Private Protocols" (USENIX Security 2017).
"""

from deniable.audit import Audit, audit
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
from deniable.protocols.direct import DE, GRR
from deniable.protocols.hashing import BLH, LH, OLH, OpenLH, fingerprint, fingerprints
from deniable.protocols.histogram import SHE, THE
from deniable.protocols.unary import OUE, SUE, UE
from deniable.question import Question

__version__ = "0.1.0"

__all__ = [
    "BLH",
    "DE",
    "GRR",
    "LH",
    "OLH",
    "OUE",
    "SHE",
    "SUE",
    "THE",
    "UE",
    "Audit",
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
    "Tally",
    "audit",
    "fingerprint",
    "fingerprints",
    "set_threads",
    "threads",
]
