"""The archives of a release: two builds are equal, and each works where nothing else is.

These run by ``make test-dist``, in an environment that has no deniable.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.components import ABSENT_HISTORY
from tools.distribution import (
    ROOT,
    Locked,
    licences,
    npm_findings,
    pip_findings,
    read_lock,
    refused,
    shipped,
    validate,
)

pytestmark = pytest.mark.long("builds and installs archives")

ENVIRONMENT = Path(os.environ.get("DENIABLE_ENVIRONMENT", ROOT / ".venv/bin/python")).absolute()
HERE = Path(__file__).parent


def build(output: Path, mask: int, **settings: str) -> dict[str, bytes]:
    """Build the archives under a umask, and return their bytes by name."""
    command = [sys.executable, "-m", "tools.distribution", "build", "--output", output,
               "--environment", ENVIRONMENT]  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT, umask=mask, env=os.environ | settings, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name: path.read_bytes() for path in output.iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the archives of this commit are."""
    if not (ROOT / ".git").exists():
        pytest.skip(ABSENT_HISTORY)
    found = tmp_path_factory.mktemp("dist")
    build(found, 0o022)
    return found


def test_two_builds_are_equal(folder: Path, tmp_path: Path) -> None:
    """Another umask, time zone, language and place change no byte."""
    place = tmp_path / "my projéct"
    place.mkdir()
    settings = {"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "TMPDIR": str(place)}
    again = build(tmp_path / "dist", 0o077, **settings)
    assert again == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(again) == 5


def test_the_sums_are_those_of_the_archives(folder: Path) -> None:
    """SHA256SUMS has every other file."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    found = dict(reversed(line.split("  ")) for line in lines)
    assert found.keys() == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    for name, said in found.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == said


def test_the_bill_names_all_that_an_installation_brings(folder: Path) -> None:
    """It is CycloneDX, has what the extras need and not what the tests need."""
    (path,) = folder.glob("*.cdx.json")
    validate(path.read_text())
    bill = json.loads(path.read_text())
    scopes = {one["name"]: one.get("scope") for one in bill["components"]}
    assert scopes["numpy"] == scopes["markdown-it-py"] == "required"
    assert scopes["psycopg"] == scopes["starlette"] == "optional"
    assert not {"pytest", "mypy", "deniable"} & scopes.keys()
    assert all(one.get("licenses") for one in bill["components"] if one["type"] == "library")
    references = {one["bom-ref"] for one in bill["components"]}
    assert all(references >= {*one["dependsOn"]} for one in bill["dependencies"])


def test_a_bill_that_is_none_is_refused() -> None:
    """The validator knows what a component must have."""
    with pytest.raises(ValueError, match="CycloneDX"):
        validate('{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{}]}')


def test_licences_are_known_and_allowed() -> None:
    """Each package that the extras bring has a licence of the list; others are named."""
    packages = shipped()
    found = licences(ENVIRONMENT, [one.name for one in packages])
    assert refused(found, packages) == []
    strange = [Locked("a", "1", "", ()), Locked("b", "2", "sys_platform == 'win32'", ())]
    assert refused({"a": "MIT OR AGPL-3.0-only"}, strange) == [
        "a 1: AGPL-3.0-only is not allowed",
        "b 2 (only where sys_platform == 'win32'): its licence is not known",
    ]


def test_an_audit_names_what_it_could_not_ask() -> None:
    """A vulnerability, packages that a service does not know, and no service are all failures."""
    known = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}
    packages = [known, {"name": "b", "skip_reason": "not found"}, {"name": "c", "skip_reason": ""}]
    assert pip_findings("dev.txt", json.dumps({"dependencies": packages}), "") == [
        "dev.txt: a 1 has PYSEC-1; mended in: 2",
        "dev.txt: 2 of 3 packages could not be audited, since the service could not be reached or "
        "does not know them: b, c",
    ]
    sound = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
    assert pip_findings("dev.txt", json.dumps(sound), "") == []
    assert pip_findings("dev.txt", "", "no route\n") == ["dev.txt could not be audited: no route"]
    refusal = json.dumps({"message": "405 Method Not Allowed", "statusCode": 405})
    start = "package-lock.json could not be audited: "
    assert npm_findings(refusal) == [f"{start}405 Method Not Allowed"]
    assert npm_findings("") == [f"{start}npm said nothing"]
    assert npm_findings('{"vulnerabilities": {}}') == []
    found = npm_findings('{"vulnerabilities": {"esbuild": {"severity": "high"}}}')
    assert found == ["package-lock.json: esbuild has a vulnerability (high); npm audit says more"]


def test_locks_are_read_with_what_demands_each_package() -> None:
    """A package has its version, its marker and its parents."""
    text = (
        "# made\nb==2 ; x < '3' \\\n    --hash=sha256:00\n    # via\n    #   a\n    #   c\nd==1\n"
    )
    assert read_lock(text) == [Locked("b", "2", "x < '3'", ("a", "c")), Locked("d", "1", "", ())]


@pytest.fixture(params=["whl", "tar.gz"])
def installed(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Iterator[Path]:
    """Install an archive in a new environment, beside the runtime lock; return its commands."""
    (archive,) = folder.glob(f"*.{request.param}")
    subprocess.run([ENVIRONMENT, "-m", "venv", tmp_path / "venv"], check=True)
    commands = tmp_path / "venv" / "bin"
    pip = [commands / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    lock = ROOT / "requirements" / "runtime.txt"
    subprocess.run([*pip, "--no-compile", "--require-hashes", "-r", lock], check=True)
    alone = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, *alone, f"{archive}[server,fast]"], check=True)
    yield commands
    shutil.rmtree(tmp_path / "venv")


def test_an_installation_works(installed: Path, tmp_path: Path) -> None:
    """The demo, a collector, reports and an estimate, by what the archive brought."""
    work = tmp_path / "somewhere else"
    work.mkdir()
    environment = {"PATH": f"{installed}:/usr/bin:/bin", "HOME": str(work), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["python", HERE / "smoke.py"], executable=installed / "python", cwd=work, env=environment,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(installed.parent) in done.stdout.splitlines()[0]


def test_the_package_of_npm_works(folder: Path, tmp_path: Path) -> None:
    """Node imports it by its name, and it makes the reports of the vectors."""
    (archive,) = folder.glob("*.tgz")
    path = {"PATH": f"{ENVIRONMENT.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    (tmp_path / "package.json").write_text('{"name": "site", "type": "module", "private": true}')
    npm = ["npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", archive]
    subprocess.run(npm, cwd=tmp_path, env=path, check=True, capture_output=True)
    shutil.copy(ROOT / "clients/js/test/replay.js", tmp_path)
    (tmp_path / "smoke.js").write_text(
        'import { readFileSync } from "node:fs";\n'
        'import * as single from "deniable";\n'
        'import * as choices from "deniable/choices";\n'
        'import * as discover from "deniable/discover";\n'
        'import { replay } from "./replay.js";\n'
        'if (!choices.parse || !discover.parse || !single.connect) throw new Error("no client");\n'
        'const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));\n'
        'const { cases, wrong } = await replay(single.parse, "OLH", vectors);\n'
        "console.log(cases, wrong.length);\n"
    )
    node = ["node", "smoke.js", ROOT / "vectors" / "OLH.json"]
    done = subprocess.run(node, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cases, wrong = map(int, done.stdout.split())
    assert cases > 10
    assert wrong == 0
