"""Local hashing: the protocols, and the two hash families they are made with."""

from deniable.candidates import fingerprint, fingerprints
from deniable.protocols.hashing.local import BLH, LH, OLH, OpenLH

__all__ = ["BLH", "LH", "OLH", "OpenLH", "fingerprint", "fingerprints"]
