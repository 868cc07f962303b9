"""The walk-through of CONTRIBUTING works as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long("runs the suite in a copy of the project")

ROOT = Path(__file__).resolve().parents[1]
RATINGS = ROOT / "tests" / "walkthrough" / "ratings.py"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with the files of the walk-through in the places it names."""
    folder = tmp_path_factory.mktemp("checkout")
    for part in ("src", "tests", "tools"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"a complete `([^`]+\.py)`.*?```python\n(.*?)```", text, re.DOTALL)
    assert [name.split("/")[0] for name, _ in files] == ["src", "tests"]
    walkthrough = ROOT / "tests" / "walkthrough"
    for path, place in (("square_wave.py", "src/deniable"), ("test_square_wave.py", "tests")):
        assert f"`tests/walkthrough/{path}`" in text
        content = (walkthrough / path).read_text(encoding="utf-8")
        files.append((f"{place}/protocols/{path}", content))
    for name, content in files:
        assert not (folder / name).exists()
        (folder / name).write_text(content, encoding="utf-8")
    shutil.copy(RATINGS, folder / "src" / "deniable" / "answers")
    return folder


def run(checkout: Path, *arguments: str) -> str:
    """Run a module of the copy and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "src"), "COLUMNS": "100"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def passed(checkout: Path, *arguments: str) -> int:
    """Run some tests of the copy and return how many passed."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    printed = run(checkout, "pytest", *options, *arguments)
    return int(re.search(r"(\d+) passed", printed).group(1))


def test_an_audit_proves_the_example(checkout: Path) -> None:
    """The audit finds the protocol by its name and enumerates its law."""
    printed = run(checkout, "deniable.cli", "audit", "HadamardResponse", "--epsilon", "1")
    assert "holds: epsilon is exactly 1" in printed


@pytest.mark.parametrize("name", ["Hadamard", "SquareWave"])
def test_the_example_protocols_pass_the_conformance_suite(checkout: Path, name: str) -> None:
    """Both protocols are discovered, and have every property that they promise."""
    assert passed(checkout, "tests/test_conformance.py", "-k", name) >= 60


def test_the_example_test_passes(checkout: Path) -> None:
    """The test printed beside it is a complete file, and passes."""
    assert passed(checkout, "tests/protocols/test_hadamard.py") == 2


def test_a_protocol_without_a_known_error_goes_through_everything(checkout: Path) -> None:
    """Advice, results, exports, commands and collector say what is not known; nothing raises."""
    assert passed(checkout, "tests/protocols/test_square_wave.py") == 10


@pytest.mark.parametrize("domain_size", ["100", "1000", "41270"])
def test_advice_lists_the_example_at_any_size(checkout: Path, domain_size: str) -> None:
    """The protocol is ranked with the others, also where the domain is large."""
    size = ["--epsilon", "1", "--domain-size", domain_size]
    assert "HadamardResponse" in run(checkout, "deniable.cli", "recommend", *size)


def test_a_question_can_use_the_example(checkout: Path) -> None:
    """A question of a thousand labels is asked, answered and counted with it."""
    (checkout / "labels.txt").write_text("".join(f"label {i}\n" for i in range(1000)))
    (checkout / "answers.txt").write_text("label 7\n" * 2000)
    labels = ["--labels", "labels.txt", "--epsilon", "2", "--protocol", "HadamardResponse"]
    run(checkout, "deniable.cli", "question", "create", "many", *labels, "-o", "many.json")
    run(checkout, "deniable.cli", "privatize", "many.json", "answers.txt", "-o", "reports.bin")
    run(checkout, "deniable.cli", "tally", "many.json", "reports.bin", "-o", "tally.bin")
    assert "label 7" in run(checkout, "deniable.cli", "estimate", "many.json", "tally.bin")


def test_the_example_has_vectors(checkout: Path) -> None:
    """Test vectors are made of the example without further code."""
    run(checkout, "tools", "vectors", "vectors")
    assert (checkout / "vectors" / "HadamardResponse.json").exists()


def test_the_kind_of_answers_is_the_one_of_the_example() -> None:
    """What is printed of the example is what its file has."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"its kind:\n\n```python\n(.*?)```", text, re.DOTALL)
    assert printed in RATINGS.read_text(encoding="utf-8")


def test_a_kind_of_answers_is_one_file(checkout: Path) -> None:
    """With its file in place, a question of the kind is asked, answered, counted and audited."""
    script = (
        "import deniable\n"
        "from deniable.answers.ratings import Ratings\n"
        "asked = deniable.Question('stars', Ratings(('price', 'taste'), 3), epsilon=3.0)\n"
        "asked.to_json('stars.json')\n"
        "print(deniable.audit(asked.protocol, calls=64))\n"
    )
    (checkout / "ask.py").write_text(script, encoding="utf-8")
    (checkout / "stars.txt").write_text("[1, 3]\n" * 500, encoding="utf-8")
    assert "holds: epsilon is exactly 3" in run(checkout, "ask")
    run(checkout, "deniable.cli", "privatize", "stars.json", "stars.txt", "-o", "stars.bin")
    printed = run(checkout, "deniable.cli", "estimate", "stars.json", "stars.bin")
    assert printed.index("taste: 3") < printed.index("taste: 1")


def test_a_protocol_of_rows_passes_the_conformance_suite(checkout: Path) -> None:
    """The example's protocol, put among the others, has every property, and vectors."""
    head, kind, protocol = RATINGS.read_text(encoding="utf-8").split("@dataclass(frozen=True)\n")
    alone = re.sub(r"from deniable\.answers.*\n", "", head) + "@dataclass(frozen=True)\n" + protocol
    place = checkout / "src" / "deniable" / "protocols" / "rating_by_lot.py"
    place.write_text(alone, encoding="utf-8")
    found = (
        "from deniable.protocols.rating_by_lot import RatingByLot\n\n\n@dataclass(frozen=True)\n"
    )
    (checkout / "src" / "deniable" / "answers" / "ratings.py").write_text(head + found + kind)
    assert passed(checkout, "tests/test_conformance.py", "-k", "RatingByLot") >= 40
    run(checkout, "tools", "vectors", "vectors", "--force")
    assert passed(checkout, "tests/test_vectors.py", "-k", "RatingByLot") == 3
