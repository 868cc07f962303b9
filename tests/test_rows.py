"""A kind of answers whose values are rows, brought by another package, goes all the way."""

import io
import json
import os
import pickle
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from deniable import InvalidDocument, InvalidParameter, OutOfDomain, Question, Tally, audit
from deniable.documents import canonical_json
from deniable.files import read_any, read_reports, write_reports, write_tally
from tests.marks import shortened
from tests.walkthrough.package import installed

ANSWERS = [[5, 3]] * 2000 + [[1, 3]] * 1000


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return the module of the kind, installed as a package."""
    folder = tmp_path_factory.mktemp("package")
    with installed(folder, "ratings", "Ratings", "RatingByLot") as module:
        yield module


@pytest.fixture(scope="module")
def stars(ratings: ModuleType) -> Question:
    """Return a question about two items."""
    return Question("stars", ratings.Ratings(("price", "taste"), 5), epsilon=2.0)


def test_rows_become_estimates_under_their_names(stars: Question) -> None:
    """The whole way: rows of integers, reports, tally, estimates of every item's stars."""
    assert stars.values([[5, 3], [1, 2]]).tolist() == [[4, 2], [0, 1]]
    tally = stars.tally(stars.privatize(ANSWERS, np.random.default_rng(1)))
    estimates = stars.estimate(tally)
    truth = dict.fromkeys(estimates.labels, 0) | {"price: 5": 2000, "price: 1": 1000}
    truth["taste: 3"] = 3000
    away = np.abs(estimates.counts - list(truth.values())) / estimates.std_errors
    assert away.max() < 5  # of ten normal counts one is so far with a chance of 6e-6; seeded
    assert stars.estimate(tally, ["taste: 3"]).counts[0] == estimates["taste: 3"].count


def test_rows_are_read_from_lists_arrays_and_json(stars: Question) -> None:
    """A person's answer is a list; a column may be an array, and a text is read as JSON."""
    expected = stars.values([[5, 3], [1, 2]]).tolist()
    for column in (np.array([[5, 3], [1, 2]]), ["[5, 3]", " [1,2]"], ([5, 3], "[1, 2]")):
        assert stars.values(column).tolist() == expected
    assert stars.values([]).shape == (0, 2)
    assert stars.privatize([]).shape == (0,)


@pytest.mark.parametrize(
    "answer",
    [
        [5],
        [5, 6],
        [0, 1],
        [5, 3, 1],
        [True, 1],
        [1.0, 1],
        "5, 3",
        "[5",
        "",
        None,
        7,
        {},
        "[5, 3] 1",
    ],
    ids=repr,
)
def test_what_is_no_row_is_refused_by_its_position(stars: Question, answer: object) -> None:
    """The error says where, what was wanted, and never the answer."""
    assert not stars.takes(answer)
    with pytest.raises(OutOfDomain, match=r"a list of 2 whole numbers.* position 1") as caught:
        stars.privatize([[5, 3], answer])
    assert caught.value.value == 1
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_document_is_version_2_and_reads_back(stars: Question) -> None:
    """All fields are there, and the digest never changes between versions."""
    document = json.loads(stars.to_json())
    assert list(document) == [
        "format", "version", "name", "answers", "protocol", "repeat", "segments", "digest",
    ]  # fmt: skip
    assert document["version"] == 2
    assert document["answers"] == {"kind": "ratings", "items": ["price", "taste"], "stars": 5}
    assert (document["repeat"], document["segments"]) == (None, [])
    assert Question.from_json(stars.to_json()) == stars
    assert pickle.loads(pickle.dumps(stars)) == stars
    assert stars.digest == "3a1b0c23ac4a7bf4ff5a7915d23c6fb5b2190fe7c271d3ba5005aea6eab698bd"


def test_another_process_finds_the_package_by_its_entry_points(
    stars: Question, tmp_path: Path
) -> None:
    """Who reads a question or a tally imports nothing; where the package is missing it says so."""
    script = "import deniable, sys; print(deniable.Question.from_json(sys.stdin.read()).labels[0])"

    def read(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script]
        return subprocess.run(
            command,
            env=environment,
            input=stars.to_json(),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    found = read(dict(os.environ))
    assert found.stdout == "price: 1\n", found.stderr
    stars.tally(stars.privatize([[5, 3]])).to_bytes(tmp_path / "tally.bin")
    script = f"import deniable; print(deniable.Tally.open({str(tmp_path / 'tally.bin')!r}).n)"
    assert read(dict(os.environ)).stdout == "1\n"
    script = "import deniable, sys; deniable.Question.from_json(sys.stdin.read())"
    missing = read({key: value for key, value in os.environ.items() if key != "PYTHONPATH"})
    assert "does not know answers of the kind 'ratings'; upgrade deniable, or" in missing.stderr


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"kind": "ratings", "items": ["a"]}, "with items, stars"),
        ({"kind": "ratings", "items": ["a"], "stars": 5, "more": 1}, "with items, stars"),
        ({"kind": "ratings", "items": ["a", "a"], "stars": 5}, "each label once"),
        ({"kind": "ratings", "items": ["a", "b"], "stars": "5"}, "stars as a whole number"),
        ({"kind": "ratings", "items": ["a", "b"], "stars": 4}, "25 of"),
        ({"kind": "ratings", "items": ["a"], "stars": 25}, "values of the type"),
    ],
)
def test_documents_that_do_not_fit_are_refused(stars: Question, answers: dict, said: str) -> None:
    """Fields are checked by the kind, and values against those of the protocol."""
    document = {**json.loads(stars.to_json()), "answers": answers}
    del document["digest"]
    digest = sha256(canonical_json(document)).hexdigest()
    with pytest.raises(InvalidDocument, match=said):
        Question.from_json(json.dumps({**document, "digest": digest}))


def test_a_protocol_of_other_values_is_refused(ratings: ModuleType) -> None:
    """Rows of two do not go through a protocol for rows of three."""
    with pytest.raises(InvalidParameter, match="RatingByLot with 125 of"):
        Question("stars", ratings.Ratings(("a", "b"), 5), ratings.RatingByLot(1.0, 3, 5))


def test_files_carry_rows(stars: Question) -> None:
    """Report files and tally files are written and read as for any question."""
    reports, stream = stars.privatize(ANSWERS), io.BytesIO()
    assert write_reports(stream, stars, [reports]) == len(ANSWERS)
    stream.seek(0)
    assert stars.tally(read_reports(stream, stars)) == stars.tally(reports)
    stream = io.BytesIO()
    write_tally(stream, stars.tally(reports))
    stream.seek(0)
    assert read_any(stream, stars) == stars.tally(reports)
    assert Tally.from_bytes(stars.tally(reports).to_bytes()).question == stars.digest


def test_an_audit_numbers_the_rows(ratings: ModuleType) -> None:
    """All rows of a small domain are enumerated; a lot that depends on the answer is caught."""
    found = audit(ratings.RatingByLot(1.0, 2, 3), calls=64, rng=np.random.default_rng(1))
    assert (found.exact, found.complete, found.holds) == (True, True, True)

    class _Peeking(ratings.RatingByLot):
        """Reports the first item more often where it has the fewest stars."""

        def _perturb(self, values, words):
            words = words.copy()
            words[values[:, 0] == 0, 0] //= np.uint64(2)
            return super()._perturb(values, words)

    assert not audit(_Peeking(1.0, 2, 3), calls=64, rng=np.random.default_rng(1)).holds


@pytest.mark.parametrize(
    "audited", shortened([False, True], "enumerates what is left of thirty items")
)
def test_there_may_be_more_rows_than_64_bits_can_number(ratings: ModuleType, audited: bool) -> None:
    """Thirty items are privatized, estimated and audited, though there are 5^30 rows."""
    many = Question("stars", ratings.Ratings(tuple(map(str, range(30))), 5), epsilon=2.0)
    rng = np.random.default_rng(1)
    tally = many.tally(many.privatize(rng.integers(1, 6, (2000, 30)), rng))
    assert len(many.estimate(tally)) == 150
    assert not audited or audit(many.protocol, calls=32, samples=1000, rng=rng).holds
