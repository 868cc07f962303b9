"""The click stream that the evaluation is about: how often each page was visited.

The paper takes Kosarak, 8 million clicks on 41,270 pages of a Hungarian news site, published by
the FIMI repository: one session on each line, the pages as numbers from 1. Without a copy of it the
tools take a population of that size that follows Zipf's law, and every result says so.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidDocument, InvalidParameter

DOMAIN_SIZE = 41_270
PEOPLE = 8_019_015
"""The clicks of the complete file, of which the paper says "around 8 million"."""

_MOST_BYTES = 1 << 30
_MOST_CLICKS = 1 << 30
_BLOCK = 1 << 24
_ALLOWED = np.zeros(256, dtype=np.bool_)
_ALLOWED[list(b"0123456789 \t\r\n")] = True


@dataclass(frozen=True, eq=False)
class Clicks:
    """How often each page was visited, and what data that is."""

    label: str
    counts: npt.NDArray[np.int64]
    synthetic: bool = False

    def __post_init__(self) -> None:
        self.counts.setflags(write=False)

    @property
    def domain_size(self) -> int:
        """How many pages there are, visited or not."""
        return len(self.counts)

    @cached_property
    def n(self) -> int:
        """How many clicks there are; each is one person's answer."""
        return int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        """The beginning of the SHA-256 of the counts."""
        return sha256(self.counts.astype("<i8").tobytes()).hexdigest()[:16]

    def repeated(self, times: int) -> Clicks:
        """Return the same clicks, each counted ``times`` times.

        >>> Clicks("three", np.array([1, 2])).repeated(10).n
        30
        """
        if times < 1 or times * self.n > _MOST_CLICKS:
            raise InvalidParameter(
                f"expected to count each click at least once and at most {_MOST_CLICKS} clicks in "
                f"all, got {times} times {self.n}",
                value=times,
            )
        label = self.label if times == 1 else f"{self.label}, each click counted {times} times"
        return Clicks(label, self.counts * times, self.synthetic)


def synthetic_clicks(shrink: int = 1) -> Clicks:
    """Return a stand-in for Kosarak: as many clicks on as many pages, by Zipf's law.

    The exponent 1 gives about as many frequent pages as Kosarak has.

    >>> synthetic_clicks().n, synthetic_clicks().domain_size
    (8019015, 41270)
    """
    n, d = PEOPLE // shrink, max(DOMAIN_SIZE // shrink, 50)
    exact = n * zipf_shares(d, 1.0)
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
    return Clicks("a synthetic stand-in for Kosarak, not the real data", counts, synthetic=True)


def zipf_shares(domain_size: int, exponent: float) -> npt.NDArray[np.float64]:
    """Return shares that fall as the rank to the power of -``exponent``.

    >>> zipf_shares(2, 1.0).round(2)
    array([0.67, 0.33])
    """
    weights = np.arange(1, domain_size + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def parse_clicks(data: bytes, label: str, domain_size: int = DOMAIN_SIZE) -> Clicks:
    """Read a file of clicks, whatever its form: FIMI text, plain or compressed, or ``.npz``.

    FIMI text numbers pages from 1; the array ``item`` of an ``.npz`` file from 0.
    """
    if data[:4] == b"PK\x03\x04":
        return Clicks(label, _count_items(data, domain_size))
    return Clicks(label, _count_text(decompress(data), domain_size))


def decompress(data: bytes) -> bytes:
    """Return the contents of gzip or xz data, told by their first bytes; others as they are."""
    openers: dict[bytes, Callable[[io.BytesIO], io.BufferedIOBase]] = {
        b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
        b"\xfd7zXZ\x00": lzma.LZMAFile,
    }
    opener = next((make for magic, make in openers.items() if data.startswith(magic)), None)
    if opener is None:
        return data
    try:
        with opener(io.BytesIO(data)) as stream:
            plain = stream.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InvalidDocument(
            f"expected a compressed file that is whole, got {error}; copy it again", value=len(data)
        ) from error
    if len(plain) > _MOST_BYTES:
        raise InvalidDocument(
            f"the file has more than {_MOST_BYTES} bytes once decompressed", value=len(plain)
        )
    return plain


def _count_text(data: bytes, domain_size: int) -> npt.NDArray[np.int64]:
    wrong = np.flatnonzero(~_ALLOWED[np.frombuffer(data, dtype=np.uint8)])
    if len(wrong):
        position = int(wrong[0])
        line, found = _line(data, position), data[position : position + 1]
        raise InvalidDocument(
            f"expected page numbers with spaces between them, got {found!r} on line {line}; "
            "give a FIMI .dat file",
            value=position,
        )
    counts = np.zeros(domain_size + 1, dtype=np.int64)
    start = 0
    while start < len(data):
        stop = _end_of_line(data, start + _BLOCK)
        text = data[start:stop].decode().strip()
        # An empty text would be read as one number.
        pages = np.fromstring(text or "1", dtype=np.int64, sep=" ")[: len(text)]
        if len(pages) and not (pages.min() >= 1 and pages.max() <= domain_size):
            raise _outside(data, start, domain_size)
        counts += np.bincount(pages, minlength=domain_size + 1)
        start = stop
    return _check_total(counts[1:])


def _end_of_line(data: bytes, position: int) -> int:
    found = data.find(b"\n", position)
    return len(data) if found < 0 else found + 1


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _outside(data: bytes, start: int, domain_size: int) -> InvalidDocument:
    first = _line(data, start)
    line, page = next(
        (line, int(page[:20]))
        for line, text in enumerate(data[start:].splitlines(), start=first)
        for page in text.split()
        if not 1 <= int(page[:20]) <= domain_size
    )
    return InvalidDocument(
        f"expected pages from 1 to {domain_size}, got {page} on line {line}; "
        "give a file with the pages of Kosarak",
        value=page,
    )


def _count_items(data: bytes, domain_size: int) -> npt.NDArray[np.int64]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            items = arrays["item"]
    except (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidDocument(
            f"expected an .npz file with the array item, got {error}; copy it again",
            value=len(data),
        ) from error
    if items.ndim != 1 or items.dtype.kind not in "iu":
        raise InvalidDocument(
            f"expected item as a list of whole numbers, got {items.dtype} of shape {items.shape}",
            value=items.shape,
        )
    if len(items) and not (items.min() >= 0 and items.max() < domain_size):
        raise InvalidDocument(
            f"expected items from 0 to {domain_size - 1}, got {items.min()} to {items.max()}; "
            "give a file with the pages of Kosarak, numbered from 0",
            value=int(items.max()),
        )
    return _check_total(np.bincount(items.astype(np.int64), minlength=domain_size))


def _check_total(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if not counts.any():
        raise InvalidDocument("the file has no clicks; check it", value=0)
    return counts.astype(np.int64)
