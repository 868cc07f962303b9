"""The larger instances that have test vectors beside the small ones of ``examples``."""

from deniable.protocol import Protocol
from deniable.protocols.affine import AffineSelection
from deniable.protocols.direct import DE
from deniable.protocols.hashing import BLH, LH, OLH, OpenLH
from deniable.protocols.histogram import SHE, THE
from deniable.protocols.rappor import RAPPOR
from deniable.protocols.subset import SubsetSelection
from deniable.protocols.unary import OUE, SUE, UE
from deniable.protocols.views import Views

LARGER: tuple[Protocol, ...] = (
    AffineSelection(3.0, 1000, 1009, 1, 48),
    AffineSelection(4.0, 41_270, 223, 2, 4),
    AffineSelection(2.0, 10**6, 25, 5, 3),
    *(AffineSelection(epsilon, d) for epsilon, d in (
        (1.0, 2), (2.0, 100), (1.0, 41_270), (6.0, 10**6), (10.0, 161_979)
    )),
    AffineSelection(2.0, 300, 8, 3, 3),
    AffineSelection(2.0, 700, 27, 2, 5),
    BLH(2.0, 300),
    BLH(1.0, 41_270),
    DE(4.0, 2),
    DE(1.0, 256),
    DE(4.0, 300),
    DE(3.0, 41_270),
    DE(8.0, 1 << 20),
    *(LH(2.0, 1000, g) for g in (2, 3, 8, 9)),
    LH(3.0, 5000, 25),
    LH(4.0, 41_270, 53),
    LH(2.0, 41_270, 10),
    LH(6.0, 100, 300),
    OLH(2.0, 27),
    OLH(1.0, 41_270),
    OLH(4.0, 41_270),
    OLH(2.0, 162_252),
    OUE(2.0, 27),
    OUE(1.0, 64),
    OpenLH(3.0),
    OpenLH(6.0),
    RAPPOR(epsilon=4.0),
    RAPPOR(f=0.5, bits=20, cohorts=10),
    SHE(0.125, 3),
    SHE(1.0, 9),
    SHE(8.0, 2),
    SUE(2.0, 27),
    SUE(1.0, 64),
    *(SubsetSelection(epsilon, d) for epsilon, d in (
        (1.0, 2), (1.0, 12), (1.0, 16), (0.5, 24), (1.0, 40), (0.1, 67)
    )),
    SubsetSelection(6.0, 1000, 3),
    SubsetSelection(1.0, 12, 7),
    THE(1.0, 10, theta=1.0),
    THE(4.0, 27),
    UE(p=0.75, q=0.25, domain_size=8),
    UE(p=0.5, q=0.1, domain_size=13),
    Views(1.0, (100,), ((0,),)),
)  # fmt: skip


def instances(kind: type[Protocol]) -> list[Protocol]:
    """Return the instances of a protocol that have vectors: first the small, then the larger.

    A protocol may name larger ones itself, as ``further_examples``.
    """
    own: list[Protocol] = getattr(kind, "further_examples", list)()
    larger = [each for each in LARGER if type(each) is kind]
    return list(dict.fromkeys([*kind.examples(), *own, *larger]))
