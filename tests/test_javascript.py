"""The browser's client, run by Node: its own tests, its types, and the law of its reports."""

import json
import shutil
import subprocess
from collections import Counter

import pytest

from deniable.policy import BROWSERS, BUILDS
from deniable.protocols import discover
from tests import components
from tests.browser import hostile
from tests.browser.law import ROOT, follows, specifications

pytestmark = pytest.mark.node

CLIENT = ROOT / "clients" / "js"
BUILT = ROOT / "src" / "deniable" / "collector" / "pages" / "static" / "deniable.js"
TOOLS = components.TOOLS
TESTS = sorted(path.name for path in CLIENT.glob("test/*.test.js"))
SPECIFICATIONS = specifications()


@pytest.fixture(scope="module")
def node():
    """Return the path of Node."""
    return components.node()


def run(*command):
    """Run a command in the client's folder and return what it wrote."""
    found = subprocess.run(command, cwd=CLIENT, capture_output=True, timeout=240, check=False)
    said = (found.stdout + found.stderr).decode(errors="replace")
    assert found.returncode == 0, said[-5000:]
    return found.stdout


@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_the_client_pass(node, name):
    """Every test file of the client passes under Node, on the source and on the built file."""
    run(node, "--test", f"test/{name}")


def test_the_client_builds_below_any_path(node, tmp_path):
    """A folder with a space and a letter beyond ASCII in its name builds the same file."""
    copy = tmp_path / "my projéct" / "clients" / "js"
    shutil.copytree(CLIENT, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (copy / "node_modules").symlink_to(TOOLS.parent.resolve())
    run(node, str(copy / "build.mjs"))
    assert (copy / "dist" / "deniable.js").read_bytes() == BUILT.read_bytes()


def test_the_types_hold(node):
    """The source passes TypeScript's strict checks, and so do the scripts of the page to try it."""
    run(node, str(TOOLS / "tsc"), "--noEmit")
    run(node, str(TOOLS / "tsc"), "-p", "pages.json")


def test_hostile_questions_are_answered_or_refused_as_python_does():
    """Of a thousand questions that were made to hurt none hangs, and the verdicts are Python's."""
    cases = hostile.make()
    assert hostile.wrong(cases, hostile.in_node(cases)) == []
    answered = Counter(case["build"] for case in cases)
    assert answered[""] > 50
    assert min(answered[build] for build in BUILDS) >= 3


def test_every_protocol_of_the_client_is_sampled():
    """Every protocol that the client speaks is drawn from below."""
    drawn = {specification["name"] for specification in SPECIFICATIONS.values()}
    assert drawn == set(BROWSERS) & set(discover())


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_reports_follow_the_law(node, name):
    """100,000 reports from WebCrypto support values with the probabilities p* and q*."""
    specification = SPECIFICATIONS[name]

    def draw(value, count):
        return run(node, "test/sample.mjs", json.dumps(specification), str(value), str(count))

    assert follows(specification, draw)


def test_a_biased_generator_is_noticed(node):
    """The test has power: reports of a value that is 3 % too rare do not follow the law."""
    specification = SPECIFICATIONS["DE"]

    def draw(value, count):
        arguments = json.dumps(specification), str(value), str(count)
        data = bytearray(run(node, "test/sample.mjs", *arguments))
        for i in [i for i, y in enumerate(data) if y == value][:1000]:
            data[i] = (value + 1) % specification["domain_size"]
        return bytes(data)

    assert not follows(specification, draw)
