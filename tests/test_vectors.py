"""The test vectors in ``vectors/``, replayed as an implementation in another language would."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import Code, Discovery
from deniable.candidates import fingerprint
from deniable.errors import InvalidReport
from deniable.protocol import Protocol
from deniable.protocols import discover
from deniable.randomness import WORD, Replayed
from tools.vectors.reports import make_vectors, render

DIRECTORY = Path(__file__).parent.parent / "vectors"
OTHERS = {"choices", "codes", "delivery", "fingerprint", "policy", "questions", "turns"}
NAMES = sorted({path.stem for path in DIRECTORY.glob("*.json")} - OTHERS)


def read(name):
    """Return the vectors in a committed file."""
    document = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    assert (document["format"], document["version"]) == ("deniable-vectors", 1)
    return document["vectors"]


def test_the_files_are_what_the_command_writes():
    """The committed files equal what ``make vectors`` writes now, and none is missing or left."""
    made = {name: render(document) for name, document in make_vectors().items()}
    kept = {path.stem: path.read_text(encoding="utf-8") for path in DIRECTORY.glob("*.json")}
    assert sorted(kept) == sorted(made), "run make vectors"
    assert [name for name in made if made[name] != kept[name]] == [], "run make vectors"


def test_every_protocol_has_vectors():
    """Every protocol that is found has a file of its own."""
    assert set(discover()) <= set(NAMES)


def test_the_files_stay_small():
    """All files together stay below a megabyte."""
    assert sum(path.stat().st_size for path in DIRECTORY.glob("*.json")) < 1_000_000


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_make_the_same_report(name):
    """Given the value and the random bytes of a case, the report comes out byte for byte."""
    for vector in read(name):
        protocol = Protocol.from_specification(vector["protocol"])
        assert protocol.report_dtype.itemsize == vector["report_bytes"]
        assert protocol.words.count == vector["words"]
        for case in vector["cases"]:
            source = Replayed(bytes.fromhex(case["random"]))
            value = protocol.numbered(np.array([int(case["value"])], dtype=np.uint64))
            assert value.ndim == 1 or value[0].tolist() == case["row"], case["why"]
            report = protocol.privatize(value, source)
            assert report.tobytes().hex() == case["report"], case["why"]
            assert source.position == len(case["random"]) // 2, case["why"]
            assert protocol.parse(bytes.fromhex(case["report"])).tobytes() == report.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_parse_draws_the_line_where_the_vectors_do(name):
    """``parse`` takes what is listed as accepted and refuses what is listed as malformed."""
    for vector in read(name):
        protocol = Protocol.from_specification(vector["protocol"])
        for case in vector["accepted"]:
            protocol.parse(bytes.fromhex(case["report"]), None)
        assert vector["malformed"]
        for case in vector["malformed"]:
            with pytest.raises(InvalidReport):
                protocol.parse(bytes.fromhex(case["report"]), None)


@pytest.mark.parametrize("name", NAMES)
def test_the_edges_are_covered(name):
    """Each protocol has cases with the smallest and largest word, and each with limits a redraw."""
    for vector in read(name):
        protocol = Protocol.from_specification(vector["protocol"])
        words = {
            int.from_bytes(bytes.fromhex(case["random"])[i : i + 8], "little")
            for case in vector["cases"]
            for i in range(0, len(case["random"]) // 2, 8)
        }
        assert {0, WORD - 1} <= words
        longest = max(len(case["random"]) // 16 for case in vector["cases"])
        assert longest == protocol.words.count + (2 if protocol.words.limits else 0)
        weights = vector["protocol"].get("weights", {})
        for weight in (int(weights[key]) for key in ("p", "q") if key in weights):
            assert {weight - 1, weight} <= words


def test_fingerprints():
    """The fingerprints of labels of all kinds come out as listed."""
    vectors = read("fingerprint")
    assert len(vectors) > 10
    for vector in vectors:
        assert str(fingerprint(vector["label"])) == vector["fingerprint"]


def test_codes():
    """Texts of all kinds have the bits, values and cells that are listed."""
    for vector in read("codes"):
        code = Code.from_document(vector["code"])
        protocols = [Discovery(1.0, **layout) for layout in vector["layouts"]]
        for case in vector["cases"]:
            text = bytes.fromhex(case["text"]).decode("utf-16-be", "surrogatepass")
            assert code.bits(text) == (int(case["bits"], 16), case["size"])
            assert [str(word) for word in code.value(text)] == case["value"]
            rows = code.values([text])
            assert [p.layout.cells(rows)[0].tolist() for p in protocols] == case["cells"]
