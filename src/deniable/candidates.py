"""Candidates: which values are estimated, and the fingerprints that stand for texts."""

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TypeAlias

import numpy as np

from deniable.documents import encodes
from deniable.errors import InvalidParameter
from deniable.estimates import Estimates
from deniable.validation import check_values

FINGERPRINTS = 1 << 64
"""How many fingerprints there are."""

Candidates: TypeAlias = Sequence[str] | Sequence[int] | np.typing.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The values to estimate: all of a closed domain, some of it, or fingerprints with labels."""

    keys: np.typing.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    """The fingerprints of an open domain; none for a closed one, of which all are worked out."""
    labels: tuple[str, ...] | None = None
    rows: np.typing.NDArray[np.int64] | None = None

    def of(self, estimates: Estimates) -> Estimates:
        """Return the estimates of the chosen values alone, under their labels."""
        if self.rows is not None:
            # As if only these had been asked for: the threshold is theirs.
            return replace(estimates.take(self.rows), tested=None)
        return estimates if self.labels is None else replace(estimates, labels=self.labels)


def choose_some(candidates: Candidates, domain_size: int) -> Chosen:
    rows = check_values(_check_listed(candidates), domain_size)
    _check_distinct(rows)
    return Chosen(rows=rows.astype(np.int64))


def choose_open(candidates: Candidates | None) -> Chosen:
    if candidates is None:
        raise InvalidParameter(
            "name the candidates: where any text is an answer, only those are counted"
        )
    listed = _check_listed(candidates)
    # Arrays of numbers are fingerprints, and arrays of anything else are lists of labels.
    if isinstance(listed, np.ndarray) and (listed.ndim != 1 or listed.dtype.kind in "iufcb"):
        keys, labels = check_values(listed, FINGERPRINTS), None
    else:
        for candidate in listed:
            if not isinstance(candidate, str):
                wanted = "candidates as labels, or as an array of fingerprints"
                raise InvalidParameter.expected(wanted, candidate)
        labels = tuple(map(str, listed))
        keys = fingerprints(labels)
    if len(keys) == 0:
        raise InvalidParameter("the list of candidates is empty; name at least one")
    _check_distinct(keys)
    return Chosen(keys, labels)


def _check_listed(candidates: Candidates) -> Candidates:
    if isinstance(candidates, str | bytes) or not (
        isinstance(candidates, Iterable) and isinstance(candidates, Sized)
    ):
        raise InvalidParameter.expected(
            "a list of candidates", candidates, "pass a list, also of one"
        )
    return candidates


def _check_distinct(keys: np.typing.NDArray[np.uint64]) -> None:
    if len(np.unique(keys)) != len(keys):
        raise InvalidParameter("some candidates are repeated; name each once", value=len(keys))


def fingerprint(label: str) -> int:
    """Return the 64-bit fingerprint of a label: the first eight bytes of its SHA-256.

    The label is encoded as UTF-8 and the bytes are read as a little-endian integer; this is the
    same on every machine and in every version.

    >>> hex(fingerprint("kiwi"))
    '0x...'
    """
    if not isinstance(label, str):
        raise InvalidParameter(
            f"expected a label as a string, got {type(label).__name__}; pass str(label)",
            value=type(label),
        )
    if not encodes(label):  # devices come by here: the error must not hold the label
        raise InvalidParameter(
            "the label has half of a surrogate pair, which UTF-8 cannot encode; write the "
            "character itself"
        )
    return int.from_bytes(sha256(label.encode()).digest()[:8], "little")


def fingerprints(labels: Iterable[str]) -> np.typing.NDArray[np.uint64]:
    """Return the fingerprints of many labels as an array."""
    return np.array([fingerprint(label) for label in labels], dtype=np.uint64)
