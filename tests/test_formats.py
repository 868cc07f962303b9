"""What docs/formats.md tells other implementations is what this one does."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import (
    BLH,
    DE,
    LH,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    OpenLH,
    Protocol,
    RandomMatrixProjection,
    files,
)
from deniable.cli.answers import KINDS, LARGEST_FIELD, SUFFIXES
from deniable.protocols.histogram import laplace_weights

ROOT = Path(__file__).resolve().parents[1]


def narrow(largest: int) -> int:
    """Return the bytes of a narrow integer: the least of 1, 2, 4 and 8 that hold the largest."""
    return next(width for width in (1, 2, 4, 8) if largest < 256**width)


def hash_of(u: int, v: int, specification: dict) -> int:
    """Compute <u, v> from the specification of a linear family, by its documented rules."""
    g, field = specification["g"], specification["field"]
    p, k, modulus = (field[key] for key in ("characteristic", "degree", "modulus"))
    total = [0] * k
    for place in range(specification["digits"]):
        a, b = ([number // g**place % g // p**i % p for i in range(k)] for number in (u, v))
        product = [0] * (2 * k - 1)
        for i, j in np.ndindex(k, k):
            product[i + j] += a[i] * b[j]
        for top in range(2 * k - 2, k - 1, -1):
            for i, coefficient in enumerate(modulus):
                if i < k:
                    product[top - k + i] -= product[top] * coefficient
        total = [(x + y) % p for x, y in zip(total, product[:k], strict=True)]
    return sum(c * p**i for i, c in enumerate(total))


def noise_weights(specification: dict) -> list[int]:
    """Rebuild W[-J], ..., W[J + 16] of SHE by the five steps of the page."""
    s, reach = 1 << 128, specification["reach"]
    decay, half = (int(specification["weights"][key]) for key in ("decay", "half"))
    m = [s * (s - decay) // (s + decay)]
    for _ in range(reach):
        m.append(m[-1] * decay // s)
    w = {-j: max(1, m[j] >> 64) for j in range(reach)}
    w[-reach] = max(1, (m[reach] << 64) // (s - decay))
    w |= {16 + j: -(-w[-j] * half // s) for j in range(reach + 1)}
    w |= {i: max(1, m[i] >> 64) for i in range(1, 16)}
    lacking, moment = 2**64 - sum(w.values()), sum(y * weight for y, weight in w.items())
    moved = -moment - 7 * lacking
    w[8] += moved
    w[7] += lacking - moved
    return [w[y] for y in range(-reach, reach + 17)]


@pytest.mark.parametrize("epsilon", [0.02, 0.125, 1.0, 2.5, 8.0, 40.0, 80.0, 100.0])
def test_noise_of_she_is_rebuilt_from_its_specification(epsilon: float) -> None:
    """Integers alone give the same weights."""
    assert noise_weights(SHE(epsilon, 3).specification()) == list(laplace_weights(epsilon))


@pytest.mark.parametrize(
    ("protocol", "size"),
    [
        *((DE(9.0, d), narrow(d - 1)) for d in (2, 256, 257, 65_536, 65_537)),
        *((OUE(1.0, d), -(-d // 8)) for d in (8, 9)),
        *((SHE(e, 3), 3 * (2 if SHE(e, 3).specification()["reach"] + 16 < 32_768 else 4))
          for e in (0.02, 0.03, 0.034, 1.0)),
        *((BLH(1.0, d), narrow(2 ** (d.bit_length() + 1) - 1)) for d in (100, 200, 40_000)),
        (OLH(1.0, 41_270), narrow(4**9 - 1)),
        *((LH(1.0, 1000, g), 16 + narrow(g - 1)) for g in (6, 300)),
        *((OpenLH(1.0, g), 24 + narrow(g - 1)) for g in (256, 257, 65_537)),
        *((RAPPOR(epsilon=4.0, bits=20, cohorts=c), narrow(c - 1) + 3) for c in (1, 256, 257)),
        *((RandomMatrixProjection(1.0, 9, rows=r), narrow(2 * r - 1)) for r in (128, 129, 1 << 32)),
    ],
    ids=repr,
)  # fmt: skip
def test_reports_have_the_documented_width(protocol: Protocol, size: int) -> None:
    """The bytes of a report follow from the specification."""
    assert protocol.report_bits == 8 * size


def test_both_widths_of_she_occur() -> None:
    """A small epsilon has noise that two bytes do not hold."""
    assert SHE(0.02, 3).report_dtype.base == np.dtype("<i4")
    assert SHE(1.0, 3).report_dtype.base == np.dtype("<i2")


@pytest.mark.parametrize("name", ["OLH", "BLH", "LH"])
def test_linear_reports_follow_from_the_field(name: str) -> None:
    """Vectors come out of the documented arithmetic of elements, digits and offsets."""
    replayed = 0
    for group in json.loads((ROOT / "vectors" / f"{name}.json").read_text(encoding="utf-8"))[
        "vectors"
    ]:
        specification = group["protocol"]
        if specification["family"] != "linear":
            continue
        g = specification["g"]
        p, q = (int(specification["weights"][key]) for key in "pq")
        for case in group["cases"]:
            words = np.frombuffer(bytes.fromhex(case["random"]), "<u8").tolist()
            if len(words) > 2:
                continue  # one was redrawn
            u = words[0] // (2**64 // g ** specification["digits"])
            offset = 0 if words[1] < p else 1 + (words[1] - p) // q
            y = (hash_of(u, int(case["value"]), specification) + offset) % g
            assert int.from_bytes(bytes.fromhex(case["report"]), "little") == u * g + y
            replayed += 1
    assert replayed > 20


def test_tally_of_projection_counts_its_codes() -> None:
    """The table has a cell for each report code, dense or sparse."""
    for rows, expected in ((2, b"d\0\1\0\0\1\2"), (1000, b"s\1\1\2\3\1\2")):
        protocol = RandomMatrixProjection(1.0, 9, rows=rows)
        reports = np.array([3, 2, 3], dtype=protocol.report_dtype)
        assert protocol.tally(reports).to_bytes()[:-32].endswith(expected)


def test_tally_of_rappor_counts_reports_then_bits() -> None:
    """Each cohort has its number of reports, then the ones of each of its bits."""
    protocol = RAPPOR(epsilon=4.0, bits=3, cohorts=2)
    tally = protocol.tally(protocol.parse(bytes([1, 0b101, 1, 0b001, 0, 0b010]), 3))
    counts = np.frombuffer(tally.to_bytes()[:-32][-64:], "<i8")
    assert counts.tolist() == [1, 0, 1, 0, 2, 2, 0, 1]


def test_counts_of_she_are_sixteenths() -> None:
    """A tally of SHE holds the sums of what reports hold."""
    protocol = SHE(1.0, 2)
    reports = np.array([[16, -5], [-40, 20]], dtype="<i2")
    tally = protocol.tally(reports)
    assert np.frombuffer(tally.to_bytes()[:-32][-16:], "<i8").tolist() == [-24, 15]
    assert protocol.estimate(tally).counts.tolist() == [-24 / 16, 15 / 16]


def test_limits_are_the_documented_ones() -> None:
    """The sizes of header, block and line, and the kinds of files, stand on the page."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert f"longer than {files._LARGEST_HEADER} bytes" in page
    assert f"fit into {files._BLOCK_BYTES:,} bytes" in page
    assert f"A line has at most {LARGEST_FIELD:,} bytes" in page
    assert all(f"`{suffix}`" in page for suffix in SUFFIXES)
    assert all(kind in page for kind in KINDS)
