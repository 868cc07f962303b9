import gzip
import io
import lzma

import numpy as np
import pytest

from deniable.errors import InvalidDocument, InvalidParameter
from tools.paper.clicks import (
    DOMAIN_SIZE,
    PEOPLE,
    Clicks,
    decompress,
    parse_clicks,
    synthetic_clicks,
    zipf_shares,
)

SESSIONS = b"1 2 3\n2\n\n3 2 \r\n41270\n"
COUNTS = {0: 1, 1: 3, 2: 2, 41269: 1}


def npz(**arrays) -> bytes:
    """Return the bytes of an .npz file."""
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        SESSIONS,
        SESSIONS.rstrip(),
        SESSIONS.replace(b"\n", b"\r\n"),
        gzip.compress(SESSIONS),
        lzma.compress(SESSIONS),
        npz(item=np.array([0, 1, 2, 1, 2, 1, 41269], dtype=np.uint16)),
        npz(item=np.array([0, 1, 2, 1, 2, 1, 41269]), other=np.zeros(3)),
    ],
    ids=["plain", "no-last-newline", "crlf", "gz", "xz", "npz", "npz-with-more"],
)
def test_every_form_gives_the_same_counts(data: bytes) -> None:
    """FIMI text numbers pages from 1 and .npz from 0; compression makes no difference."""
    clicks = parse_clicks(data, "a file")
    assert (clicks.n, clicks.domain_size, clicks.label) == (7, DOMAIN_SIZE, "a file")
    assert {int(i): int(clicks.counts[i]) for i in np.flatnonzero(clicks.counts)} == COUNTS


def test_long_files_are_read_in_blocks(monkeypatch) -> None:
    """Where a block ends changes nothing, and lines are numbered through all blocks."""
    monkeypatch.setattr("tools.paper.clicks._BLOCK", 5)
    assert parse_clicks(SESSIONS, "").n == 7
    with pytest.raises(InvalidDocument, match="got 41271 on line 4;"):
        parse_clicks(b"1 2 3\n2\n\n3 2 41271\n1\n", "")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1 2\n3 x\n", "got b'x' on line 2"),
        (b"1 -2\n", "got b'-' on line 1"),
        (b"1,2\n", "got b',' on line 1"),
        (b"1 2.5\n", r"got b'\.' on line 1"),
        ("1 \u00e9\n".encode(), "on line 1"),
        (b"1\n0\n", "got 0 on line 2"),
        (b"41271\n", "from 1 to 41270, got 41271 on line 1"),
        (b"1\n" + b"9" * 400 + b"\n", "on line 2"),
        (b"", "has no clicks"),
        (b" \n\n", "has no clicks"),
        (gzip.compress(SESSIONS)[:-9], "whole"),
        (gzip.compress(SESSIONS)[:-6] + b"\0" * 6, "whole"),
        (lzma.compress(SESSIONS)[:-20], "whole"),
        (b"\xfd7zXZ\x00" + b"nonsense", "whole"),
        (npz(items=np.array([1])), "array item"),
        (npz(item=np.array([1]))[:-30], "array item"),
        (npz(item=np.array([1.5])), "whole numbers, got float64"),
        (npz(item=np.array([[1]])), "whole numbers"),
        (npz(item=np.array([-1])), "got -1 to -1"),
        (npz(item=np.array([41270])), "0 to 41269"),
        (npz(item=np.array([], dtype=np.int64)), "has no clicks"),
        (npz(item=np.array([{}], dtype=object)), "array item"),
    ],
)
def test_malformed_files_are_refused(data: bytes, message: str) -> None:
    """The error says what was expected, what came, and where."""
    with pytest.raises(InvalidDocument, match=message):
        parse_clicks(data, "")


def test_what_decompresses_to_too_much_is_refused(monkeypatch) -> None:
    """A small file that unfolds to gigabytes stops at the limit."""
    monkeypatch.setattr("tools.paper.clicks._MOST_BYTES", 1000)
    assert len(decompress(gzip.compress(b"1" * 1000))) == 1000
    with pytest.raises(InvalidDocument, match="more than 1000 bytes"):
        decompress(gzip.compress(b"1" * 1001))


def test_repeating_counts_each_click_so_often() -> None:
    """The label tells; impossible factors are refused."""
    clicks = parse_clicks(SESSIONS, "a file")
    tenfold = clicks.repeated(10)
    assert tenfold.n == 70
    assert tenfold.label == "a file, each click counted 10 times"
    assert clicks.repeated(1).label == "a file"
    assert tenfold.digest != clicks.digest
    for times in (0, -1, 1 << 40):
        with pytest.raises(InvalidParameter):
            clicks.repeated(times)


def test_the_synthetic_stand_in_is_labelled_and_of_the_same_size() -> None:
    """It has Kosarak's clicks and pages, falls as Zipf's law, and says that it is not real."""
    clicks = synthetic_clicks()
    assert (clicks.n, clicks.domain_size) == (PEOPLE, DOMAIN_SIZE)
    assert clicks.synthetic
    assert "synthetic" in clicks.label
    assert (np.diff(clicks.counts) <= 0).all()
    assert clicks.counts[0] == pytest.approx(2 * clicks.counts[1], rel=1e-4)
    assert synthetic_clicks().digest == clicks.digest
    assert synthetic_clicks(1000).n == PEOPLE // 1000


def test_shares_add_up() -> None:
    """Zipf's shares are those of the ranks to a power."""
    shares = zipf_shares(1000, 1.1)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] / shares[9] == pytest.approx(10**1.1)


def test_counts_cannot_be_written_to() -> None:
    """Figures share one population."""
    clicks = Clicks("", np.array([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        clicks.counts[0] = 5


def test_the_real_files(shared_data) -> None:
    """The stand-in of the paper's size and the one-per-user file are what their page says."""
    data = (shared_data / "kosarak-first-100000.dat.xz").read_bytes()
    clicks = parse_clicks(data, "").repeated(10)
    assert (clicks.n, clicks.domain_size) == (8_019_470, 41_270)
    assert int((clicks.counts > 0).sum()) == 23_496
    users = parse_clicks((shared_data / "kosarak-one-per-user.npz").read_bytes(), "")
    assert users.n == 990_002
    assert users.counts[[5, 2, 10, 0]].tolist() == [155_945, 143_651, 68_555, 48_571]
