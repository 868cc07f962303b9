"""The doors for what others wrote: exact counts, limits before work, a ceiling on the device."""

import io
import json
import tracemalloc
from hashlib import sha256

import numpy as np
import pytest

from deniable import (
    DE,
    OLH,
    OUE,
    RAPPOR,
    BasicRAPPOR,
    Closed,
    DeniableError,
    InvalidDocument,
    InvalidParameter,
    InvalidReport,
    Open,
    OpenLH,
    Protocol,
    Question,
    RandomMatrixProjection,
    Tally,
    memory_budget,
    set_memory_budget,
)
from deniable.documents import canonical_json
from deniable.files import read_tally
from deniable.protocols import discover
from deniable.protocols.sets import Sets
from deniable.statistics import Table
from deniable.tally import MAGIC

FRUIT = Question("fruit", ("kiwi", "fig", "plum"), DE(3.0, 3))


def test_a_server_asks_for_exactly_one_report() -> None:
    """A million votes in one request are refused, and any number is taken only when asked for."""
    with pytest.raises(InvalidReport, match="count=None"):
        DE(3.0, 3).parse(b"\0" * 10**6)
    with pytest.raises(InvalidReport, match="2 bytes"):
        DE(3.0, 3).parse(b"\0" * 3, count=2)
    assert len(DE(3.0, 3).parse(b"\0")) == 1
    assert len(DE(3.0, 3).parse(b"\0" * 3, count=3)) == 3
    assert len(FRUIT.parse(b"\0" * 1000, count=None)) == 1000
    assert len(DE(3.0, 3).parse(b"", count=0)) == 0
    for wrong in (-1, 1.5, "1", True):
        with pytest.raises(InvalidParameter, match="count"):
            DE(3.0, 3).parse(b"\0", count=wrong)


def signed(document: dict[str, object]) -> bytes:
    """Return a question's JSON with the digest that it should have."""
    digest = sha256(canonical_json(document)).hexdigest()
    return json.dumps({**document, "digest": digest}).encode()


def test_documents_have_a_limit_before_they_are_read() -> None:
    """Too long a document is refused by its length alone."""
    text = FRUIT.to_json()
    with pytest.raises(InvalidDocument, match="more than 100"):
        Question.from_json(text, most_bytes=100)
    assert Question.from_json(text, most_bytes=len(text.encode())) == FRUIT
    with pytest.raises(InvalidDocument, match="more than 67,108,864"):
        Question.from_json(b" " * (1 << 26) + b" ")


@pytest.mark.parametrize("place", ["stray", "labels", "protocol", "name"])
def test_structure_is_checked_before_anything_is_digested(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Floats without end in the wrong place are refused before they get a canonical form."""
    document = json.loads(FRUIT.to_json())
    floats = [1.5e-300] * 2000
    if place == "protocol":
        document["protocol"]["more"] = floats
    else:
        document[place] = floats

    def refused(_: object) -> bytes:
        raise AssertionError("canonical form of a document that is no question")

    monkeypatch.setattr("deniable.question.canonical_json", refused)
    with pytest.raises(InvalidDocument):
        Question.from_json(json.dumps(document))


def test_a_device_has_a_ceiling_of_its_own() -> None:
    """What reveals more than the device allows is refused, though an analyst can read it."""
    loud = Question("fruit", ("kiwi", "fig"), DE(9.0, 2))
    assert Question.from_json(loud.to_json()) == loud
    with pytest.raises(InvalidDocument, match="the ceiling of 5"):
        Question.load(loud.to_json())
    assert Question.load(loud.to_json(), ceiling=9) == loud
    assert Question.load(FRUIT.to_json()) == FRUIT
    with pytest.raises(InvalidParameter, match="epsilon"):
        Question.load(FRUIT.to_json(), ceiling=-1)


def test_the_ceiling_bounds_what_any_number_of_reports_reveals() -> None:
    """One report of a memoising protocol may be quiet while all of them are not."""
    protocol = BasicRAPPOR(2, f=0.1, p=0.6, q=0.4)
    assert protocol.epsilon < 2
    assert protocol.epsilon_forever > 5
    question = Question("fruit", ("kiwi", "fig"), protocol)
    with pytest.raises(InvalidDocument, match="than the ceiling"):
        Question.load(question.to_json())
    assert Question.load(question.to_json(), ceiling=6) == question


def test_a_device_answers_the_question_that_was_named() -> None:
    """A document with another digest is refused."""
    assert Question.load(FRUIT.to_json(), digest=FRUIT.digest) == FRUIT
    other = Question("vegetables", ("leek", "kale"), DE(1.0, 2))
    with pytest.raises(InvalidDocument, match="named"):
        Question.load(other.to_json(), digest=FRUIT.digest)


def test_a_path_is_no_document() -> None:
    """Whoever passes the name of a file is told so."""
    with pytest.raises(InvalidDocument, match="open it by its name"):
        Question.from_json("city.json")


@pytest.mark.parametrize("protocol", [OLH(1.0, 50), RandomMatrixProjection(1.0, 5, rows=1000)])
def test_zero_counts_have_no_place_in_a_sparse_table(protocol) -> None:
    """A table that lists a cell with nothing in it is not the one form of its content."""
    tally = protocol.tally(protocol.privatize([1, 2, 3], np.random.default_rng(1)))
    cells, counts = tally.statistic.hits()
    size = tally.statistic.size
    spare = next(i for i in range(size) if i not in set(cells.tolist()))
    order = np.argsort(np.append(cells, np.uint64(spare)))
    padded = Table(size, np.append(cells, np.uint64(spare))[order], np.append(counts, 0)[order])
    body = Tally(protocol, 3, padded).to_bytes()[:-32]
    with pytest.raises(InvalidDocument):
        Tally.from_bytes(body + sha256(body).digest())


def test_reports_in_a_tally_are_refused_as_a_document() -> None:
    """A hash value that no client can have sent makes the tally a bad document, not a report."""
    protocol = OpenLH(1.0, 4)
    body = bytearray(protocol.tally(protocol.privatize([1], np.random.default_rng(1))).to_bytes())
    body[-33] = 200
    with pytest.raises(InvalidDocument):
        Tally.from_bytes(bytes(body[:-32]) + sha256(body[:-32]).digest())


@pytest.mark.parametrize("domain_size", [2**25, 2**31 - 1])
def test_an_estimate_states_its_memory_before_it_takes_it(domain_size: int) -> None:
    """A few hundred bytes cannot make the analyst allocate gigabytes, unless told to."""
    protocol = OLH(1.0, domain_size)
    data = protocol.tally(protocol.privatize([1, 2, 3])).to_bytes()
    assert len(data) < 400
    tally = Tally.from_bytes(data)
    tracemalloc.start()
    with pytest.raises(DeniableError, match="set_memory_budget"):
        protocol.estimate(tally)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_the_budget_is_raised_by_name() -> None:
    """With a larger budget the same estimate is made, and with a smaller one a small one is not."""
    protocol = OUE(1.0, 1000)
    tally = protocol.tally(protocol.privatize([1, 2, 3]))
    try:
        set_memory_budget(10_000)
        with pytest.raises(InvalidParameter, match="10,000 bytes"):
            protocol.estimate(tally)
        set_memory_budget(100_000)
        assert len(protocol.estimate(tally)) == 1000
    finally:
        set_memory_budget(None)
    assert memory_budget() == 2 << 30
    for wrong in (0, -1, 1.5, "1", True):
        with pytest.raises(InvalidParameter, match="budget"):
            set_memory_budget(wrong)


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 2 << 30), ("500M", 500 << 20), (" 8 GiB ", 8 << 30), ("1t", 1 << 40), ("070000", 70_000)],
)
def test_the_environment_raises_the_budget(
    monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    """DENIABLE_MEMORY is the budget of whoever does not write Python, and a call wins over it."""
    monkeypatch.setenv("DENIABLE_MEMORY", text)
    assert memory_budget() == size
    try:
        set_memory_budget(77)
        assert memory_budget() == 77
    finally:
        set_memory_budget(None)
    assert memory_budget() == size


@pytest.mark.parametrize("text", ["0", "-1", "1.5G", "8X", "G", "¹", "9" * 5000])
def test_a_wrong_budget_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A DENIABLE_MEMORY that is no size is refused by its own words, and not taken for another."""
    monkeypatch.setenv("DENIABLE_MEMORY", text)
    with pytest.raises(InvalidParameter, match="DENIABLE_MEMORY must be a number of bytes"):
        memory_budget()


def test_a_dense_tally_is_read_in_little_memory() -> None:
    """Reading takes at most 16 bytes for each byte that came, beyond 64 MiB."""
    protocol = OLH(4.0, 100_000)
    counts = np.zeros(protocol._family.cells, dtype=np.int64)
    counts[::2] = 1
    n = int(counts.sum())
    data = Tally(protocol, n, Table.from_dense(counts)).to_bytes()
    del counts
    tracemalloc.start()
    assert Tally.from_bytes(data).n == n
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 16 * len(data) + (1 << 20)


def test_a_client_is_bound_to_its_question() -> None:
    """Two questions with the same settings share no permanent noise; none lacks a context."""
    secret = bytes(range(32))
    labels = tuple(map(str, range(64)))
    protocol = BasicRAPPOR(64, f=0.5)
    first, second = (Question(name, labels, protocol) for name in ("one", "two"))
    mine, theirs = first.client(secret), second.client(secret)
    assert mine.privatize(["7"]).tobytes() == mine.privatize(["7"]).tobytes()
    assert mine.privatize(["7"]).tobytes() != theirs.privatize(["7"]).tobytes()
    bound = protocol.client(secret, context=first.digest)
    assert mine.privatize(["7"]).tobytes() == bound.privatize([7]).tobytes()
    with pytest.raises(TypeError, match="context"):
        protocol.client(secret)
    with pytest.raises(InvalidParameter, match="answer once"):
        FRUIT.client(secret)


def test_devices_without_a_context_keep_their_permanent_responses() -> None:
    """The empty context gives what version 0.1.0 gave without one."""
    client = BasicRAPPOR(16, f=0.5).client(b"sixteen bytes or more", context="")
    assert client.privatize([3]).tobytes().hex() == "9420"


def _sizable() -> list[Protocol]:
    """Return every protocol that has a usual form with 20,000 answers, and the open ones."""
    found = []
    for kind in discover().values():
        try:
            if issubclass(kind, Sets):
                made = kind.usual(1.0, 20_000, 4)
            else:
                made = kind.usual(1.0, 20_000) if issubclass(kind, Closed) else None
        except InvalidParameter:  # some are for few answers only
            made = None
        found.append(made or kind.examples()[0])
    rows = RandomMatrixProjection(1.0, 20_000, rows=10**6)
    return [*found, RAPPOR(2.0), RAPPOR(2.0, cohorts=256), BasicRAPPOR(20_000, f=0.5), rows]


@pytest.mark.parametrize("protocol", _sizable(), ids=str)
def test_every_estimate_keeps_to_what_it_states(protocol: Protocol) -> None:
    """With one byte less it is refused; else it takes no more, and 16 times the tally it reads."""
    some = protocol.numbered(np.array([0, 1, 0], dtype=np.uint64))
    tally = protocol.tally(protocol.privatize(some, np.random.default_rng(1)))
    keys = np.arange(1500, dtype=np.uint64) if isinstance(protocol, Open) else None
    stated = protocol._estimate_bytes(protocol._choose(keys))
    try:
        set_memory_budget(stated - 1)
        with pytest.raises(InvalidParameter, match=f"{stated:,}"):
            protocol.estimate(tally, keys)
        set_memory_budget(stated)
        protocol.estimate(tally, keys)
        tracemalloc.start()
        protocol.estimate(tally, keys)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        set_memory_budget(None)
    assert peak <= stated + 16 * len(tally.to_bytes()) + (4 << 20)


def test_a_tally_file_without_end_is_refused() -> None:
    """What is larger than the budget is not read to its end, whatever it is."""

    class Endless(io.RawIOBase):
        """A tally file of zeros without end, of which it counts how many were read."""

        taken = 0

        def read(self, size: int = -1, /) -> bytes:
            start = b"" if self.taken else MAGIC
            self.taken += size
            return start + bytes(size - len(start))

    stream = Endless()
    set_memory_budget(1 << 22)
    try:
        with pytest.raises(InvalidDocument, match="4,194,304 bytes"):
            read_tally(stream, FRUIT, name="zeros.bin")
    finally:
        set_memory_budget(None)
    assert stream.taken <= 1 << 23
