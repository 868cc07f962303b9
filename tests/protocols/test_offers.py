"""Protocols of other distributions: found by an entry point, loaded when they are asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.marks import shortened

MODULE = '''
"""A protocol that another distribution brings."""
from dataclasses import dataclass
from deniable.protocols.direct import DE

@dataclass(frozen=True)
class {name}(DE):
    """Direct encoding under another name."""
'''


def install(folder: Path, distribution: str, points: str, **modules: str) -> None:
    """Put a distribution into a folder as an installer leaves it: modules and metadata."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    metadata = folder / f"{distribution}-1.0.dist-info"
    metadata.mkdir()
    written = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(written)
    (metadata / "entry_points.txt").write_text(points)
    (metadata / "RECORD").write_text("".join(f"{module}.py,,\n" for module in modules))


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that finds the distributions of a folder."""
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a distribution that offers a protocol."""
    point = "[deniable.protocols]\nMirror = mirrors:Mirror\n"
    install(tmp_path, "mirrors", point, mirrors=MODULE.format(name="Mirror"))
    return tmp_path


def test_a_protocol_of_another_distribution_is_like_ours(folder: Path) -> None:
    """It is an attribute of the package, ranked by the advice, stored and read by its name."""
    script = """
import sys
import deniable
from deniable.advice.ranking import find_protocols
assert "mirrors" not in sys.modules  # until it is asked for
question = deniable.Question("fruit", ["kiwi", "fig"], deniable.Mirror(1.0, 2))
tally = question.tally(question.privatize(["kiwi", "fig", "fig"]))
print(question.to_json())
assert "Mirror" in [protocol.name for protocol in find_protocols(1.0, 2)]
assert deniable.Tally.from_bytes(tally.to_bytes()) == tally
"""
    made = run(folder, script)
    assert made.returncode == 0, made.stderr
    read = f"import deniable; print(deniable.Question.from_json({made.stdout!r}).protocol)"
    assert run(folder, read).stdout == "Mirror(epsilon=1.0, domain_size=2)\n"
    missing = run(folder.parent, read)
    assert "expected a protocol among AffineSelection, " in missing.stderr
    assert "got 'Mirror'" in missing.stderr


def test_the_command_line_knows_a_protocol_of_another_distribution(folder: Path) -> None:
    """Commands take its name, and the audit judges it as it judges ours."""
    command = "from deniable.cli import main; import sys; sys.argv[1:] = {!r}; main()"
    asked = ["audit", "Mirror", "--epsilon", "1", "--domain-size", "4", "--calls", "200"]
    audited = run(folder, command.format(asked))
    assert audited.returncode == 0, audited.stderr
    assert "Mirror" in audited.stdout
    install(folder, "broken", "[deniable.protocols]\nBad = nowhere:Bad\n")
    refused = run(folder, command.format(["audit", "Bad", "--epsilon", "1", "--domain-size", "4"]))
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("deniable: 'Bad' of the distribution broken")
    assert refused.stderr.count("Warning: 'Bad'") == 1


BROKEN = {
    "no protocol": ("[deniable.protocols]\nBad = bad:Bad\n", "Bad = 5", "is no subclass of"),
    "raises": ("[deniable.protocols]\nBad = bad:Bad\n", "raise OSError('no disk')", "no disk"),
    "exits": ("[deniable.protocols]\nBad = bad:Bad\n", "raise SystemExit(3)", "SystemExit"),
    "missing": ("[deniable.protocols]\nBad = nowhere:Bad\n", "", "No module named 'nowhere'"),
    "nothing": ("[deniable.protocols]\nBad = bad:Bad\n", "", "has no attribute 'Bad'"),
    "another name": (
        "[deniable.protocols]\nBad = bad:Good\n",
        MODULE.format(name="Good"),
        "is no subclass of",
    ),
}


@pytest.mark.parametrize("case", shortened(BROKEN, "more processes", keep=2))
def test_a_broken_offer_says_so_and_breaks_nothing_else(folder: Path, case: str) -> None:
    """The name of a broken offer is refused with the reason; all other protocols work."""
    points, text, reason = BROKEN[case]
    install(folder, "broken", points, bad=text)
    script = """
import warnings
import deniable
from deniable.protocols import discover
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert {"Mirror", "OLH"} <= set(discover())
print(said[0].message)
document = deniable.OLH(1.0, 5).specification() | {"name": "Bad"}
try:
    deniable.Protocol.from_specification(document)
except deniable.InvalidDocument as error:
    print(error)
"""
    found = run(folder, script)
    assert found.returncode == 0, found.stderr
    warned, refused = found.stdout.splitlines()
    assert warned == refused
    assert "'Bad'" in warned
    assert "broken" in warned
    assert reason in warned


def test_metadata_that_cannot_be_read_hides_nobody_else(folder: Path) -> None:
    """A distribution with a damaged list of entry points offers nothing, and others do."""
    install(folder, "damaged", "[deniable.protocols]\nthis is no entry point\n")
    script = "from deniable.protocols import discover; print('Mirror' in discover())"
    assert run(folder, script).stdout == "True\n"


def test_two_offers_of_one_name_are_refused(folder: Path) -> None:
    """Which of two protocols a document means is nothing to guess."""
    point = "[deniable.protocols]\nMirror = others:Mirror\n"
    install(folder, "others", point, others=MODULE.format(name="Mirror"))
    found = run(folder, "import deniable; deniable.Mirror")
    assert "is offered by several distributions: mirrors, others; uninstall" in found.stderr


def test_our_names_are_ours(folder: Path) -> None:
    """An offer by the name of a protocol of ours is never loaded."""
    text = MODULE.format(name="OLH") + "\nprint('loaded')"
    install(folder, "thief", "[deniable.protocols]\nOLH = thief:OLH\n", thief=text)
    script = "import deniable; from deniable.protocols import discover; print(discover()['OLH'])"
    assert run(folder, script).stdout == "<class 'deniable.protocols.hashing.OLH'>\n"
