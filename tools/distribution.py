"""``python -m tools.distribution``: the archives of a release, what is in them, and who says so.

``build`` makes the wheel, the archive of the source and that of npm from the commit that is checked
out, an SBOM and checksums. All bytes depend on that commit and the locks alone: neither on the
umask, the path or the clock, nor on files that were not committed. ``audit`` asks whether what the
package needs has known vulnerabilities, and which licences it has. What cannot be known is a
failure that names it.

It needs the environment of requirements/release.txt, not the package itself.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).resolve().parents[1]
OURSELVES = "deniable (pyproject.toml)"
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "LGPL-3.0-only",
    "LLVM-exception", "MIT", "MIT-CMU", "PSF-2.0", "Zlib",
}  # fmt: skip
"""Licences that let anybody use the package as its own licence does. The LGPL is psycopg's, which
comes with an extra, is not changed, and can be replaced."""

AUDITED = ("dev.txt", "docs.txt", "spark.txt", "spark-build.txt", "release.txt")
"""The locks in which vulnerabilities are looked for; runtime, test and server are parts of dev.

Only peers.txt is left out: old packages that benchmarks compare with, which nothing of ours loads.
"""

_NAMED = {
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
_PROBE = """
import json, sys
from importlib.metadata import PackageNotFoundError, metadata
found = {}
for name in sys.argv[1:]:
    try:
        said = metadata(name)
    except PackageNotFoundError:
        continue
    kinds = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or ()
             if line.startswith("License :: OSI")]
    short = [line for line in [said.get("License") or ""] if line and "\\n" not in line]
    found[name] = [said["License-Expression"]] if said["License-Expression"] else short or kinds
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Locked:
    """One package of a lock, with what demands it."""

    name: str
    version: str
    marker: str
    demanded_by: tuple[str, ...]


def read_lock(text: str) -> list[Locked]:
    """Return the packages of a lock as ``uv pip compile`` writes it."""
    found = []
    for block in re.split(r"\n(?=[\w])", text):
        head = re.match(r"([\w.-]+)==([^\s;]+)(?: ; (.*?))?(?: \\)?\n", block)
        if head is None:
            continue
        via = re.findall(r"^    # +(?:via )?(\S.*)$", block, re.MULTILINE)
        demanded = tuple(name for name in via if name != "via")
        found.append(Locked(head[1], head[2], head[3] or "", demanded))
    return found


def brought_by(names: Iterable[str], packages: Sequence[Locked]) -> list[Locked]:
    """Return the packages of these names, and all that they demand."""
    found = set(names)
    while more := {one.name for one in packages if found & {*one.demanded_by}} - found:
        found |= more
    return [one for one in packages if one.name in found]


def shipped() -> list[Locked]:
    """Return what the package and its extras bring, but for Spark's."""
    lock = read_lock((ROOT / "requirements/dev.txt").read_text(encoding="utf-8"))
    return brought_by([OURSELVES], lock)


def licences(python: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SPDX expression of each package that is installed beside a Python."""
    command = [str(python), "-c", _PROBE, *names]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {
        name: " OR ".join(sorted({_NAMED.get(line, line) for line in lines}))
        for name, lines in said.items()
        if lines
    }


def refused(found: Mapping[str, str], packages: Iterable[Locked]) -> list[str]:
    """Return a sentence for each package whose licence is unknown or is not among ``ALLOWED``.

    Packages for other systems are not installed here, so their licences cannot be known.
    """
    wrong = []
    for one in packages:
        expression = found.get(one.name)
        if expression is None:
            where = f" (only where {one.marker})" if one.marker else ""
            wrong.append(f"{one.name} {one.version}{where}: its licence is not known")
        elif strange := set(re.split(r"\W*\b(?:AND|OR|WITH)\b\W*", expression)) - ALLOWED:
            wrong.append(f"{one.name} {one.version}: {', '.join(sorted(strange))} is not allowed")
    return wrong


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bill(version: str, moment: int, packages: Sequence[Locked], found: Mapping[str, str],
         archives: Iterable[Path]) -> dict[str, object]:  # fmt: skip
    """Return a CycloneDX bill of materials of a release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = re.findall(r"^[\w-]+", "\n".join(project["dependencies"]), re.MULTILINE)
    core = {one.name for one in brought_by(direct, packages)}
    reference = {one.name: f"pkg:pypi/{one.name}@{one.version}" for one in packages}
    ours = f"pkg:pypi/deniable@{version}"
    components: list[dict[str, object]] = [
        {
            "type": "file",
            "bom-ref": path.name,
            "name": path.name,
            "hashes": [
                {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
            ],
        }
        for path in sorted(archives)
    ]
    for one in packages:
        component: dict[str, object] = {
            "type": "library",
            "bom-ref": reference[one.name],
            "name": one.name,
            "version": one.version,
            "scope": "required" if one.name in core else "optional",
            "purl": reference[one.name],
        }
        if expression := found.get(one.name):
            component["licenses"] = [{"expression": expression}]
        if one.marker:
            component["properties"] = [{"name": "deniable:marker", "value": one.marker}]
        components.append(component)
    parents = {OURSELVES: ours} | reference
    edges: dict[str, list[str]] = {place: [] for place in parents.values()}
    for one in packages:
        for parent in one.demanded_by:
            if parent in parents:
                edges[parents[parent]].append(reference[one.name])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'{ours}@{moment}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(moment, UTC).isoformat(),
            "component": {
                "type": "library",
                "bom-ref": ours,
                "name": "deniable",
                "version": version,
                "purl": ours,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": place, "dependsOn": sorted(below)} for place, below in sorted(edges.items())
        ],
    }


def validate(text: str) -> None:
    """Raise ValueError unless a text is a CycloneDX document."""
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 - only in the release environment
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415 - the same

    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(f"expected a CycloneDX document: {error}")


def _run(*command: str | Path, cwd: Path, **settings: str) -> None:
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=os.environ | settings, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def _git(*arguments: str) -> bytes:
    command = ["git", "-c", "safe.directory=*", *arguments]  # whoever owns the checkout
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout


def repacked(archive: bytes, moment: int) -> bytes:
    """Return an archive of npm with the modes and times that every build has."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as before,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda found: found.name):
            info = tarfile.TarInfo(member.name)
            info.size, info.mode, info.mtime = member.size, 0o644, moment
            after.addfile(info, before.extractfile(member))
    return gzip.compress(packed.getvalue(), mtime=moment)


def build(output: Path, environment: Path) -> None:
    """Write the archives of the commit that is checked out, their bill and their checksums."""
    if changed := _git("status", "--porcelain").decode().strip():
        print(f"Not in the archives, since it is not committed:\n{changed}", file=sys.stderr)
    moment = int(_git("log", "-1", "--format=%ct"))
    output.mkdir(parents=True, exist_ok=True)
    for path in output.iterdir():
        path.unlink()
    with tempfile.TemporaryDirectory(prefix="dn-dist-") as top:
        source = Path(top) / "deniable"
        with tarfile.open(fileobj=io.BytesIO(_git("archive", "HEAD"))) as archive:
            archive.extractall(source, filter="data")
        said = (source / "src/deniable/version.py").read_text(encoding="utf-8")
        version = re.findall(r'"(.+)"', said)[-1]
        _run(sys.executable, "-m", "hatchling", "build", "--directory", output, cwd=source,
             SOURCE_DATE_EPOCH=str(moment))  # fmt: skip
        client = source / "clients" / "js"
        (client / "node_modules").symlink_to(ROOT / "clients" / "js" / "node_modules")
        search = f"{environment.parent}{os.pathsep}{os.environ['PATH']}"
        _run("npm", "run", "package", "--", "--pack-destination", output, cwd=client, PATH=search)
    for path in output.glob("*.tgz"):
        path.write_bytes(repacked(path.read_bytes(), moment))
    archives = [*output.iterdir()]
    packages = shipped()
    found = licences(environment, [one.name for one in packages])
    text = json.dumps(bill(version, moment, packages, found, archives), indent=1) + "\n"
    validate(text)
    (output / f"deniable-{version}.cdx.json").write_text(text, encoding="utf-8")
    sums = [f"{_sum(path)}  {path.name}"
            for path in sorted(output.iterdir())]  # fmt: skip
    (output / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    for path in output.iterdir():
        path.chmod(0o644)
    archives = [path for path in archives if path.suffix == ".whl" or "tar" in path.name]
    _run(sys.executable, "-m", "twine", "check", "--strict", *archives, cwd=output)
    print("\n".join(sums))


def pip_findings(name: str, said: str, trouble: str) -> list[str]:
    """Return what pip-audit holds against a lock, and which packages of it could not be audited."""
    try:
        packages = json.loads(said)["dependencies"]
    except ValueError:
        return [f"{name} could not be audited: {trouble.strip()[-600:] or 'no answer'}"]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    wrong = [
        f"{name}: {one['name']} {one['version']} has {each['id']}; mended in: "
        f"{', '.join(each['fix_versions']) or 'no version yet'}"
        for one in packages
        for each in one.get("vulns", ())
    ]
    if unknown:
        wrong.append(
            f"{name}: {len(unknown)} of {len(packages)} packages could not be audited, since the "
            f"service could not be reached or does not know them: {', '.join(unknown)}"
        )
    return wrong


def npm_findings(said: str) -> list[str]:
    """Return what npm holds against its lock, or that this could not be audited."""
    name = "package-lock.json"
    try:
        answer = json.loads(said)
    except ValueError:
        answer = {}
    if "vulnerabilities" not in answer:
        return [f"{name} could not be audited: {answer.get('message', 'npm said nothing')}"]
    return [
        f"{name}: {package} has a vulnerability ({found['severity']}); npm audit says more"
        for package, found in answer["vulnerabilities"].items()
    ]


def audit(environment: Path) -> int:
    """Print what is wrong with what the package needs, and return how much it is."""
    packages = shipped()
    wrong = refused(licences(environment, [one.name for one in packages]), packages)
    allowed = f"all {len(packages)} packages have licences that are allowed"
    print(f"{len(wrong)} of {len(packages)} packages: see below" if wrong else allowed)
    for name in AUDITED:
        asked = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--format",
             "json", "--progress-spinner", "off", "--requirement", ROOT / "requirements" / name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        wrong += pip_findings(name, asked.stdout, asked.stderr)
    npm = shutil.which("npm", path=f"{environment.parent}{os.pathsep}{os.environ['PATH']}")
    command = [npm or "false", "audit", "--audit=true", "--json"]
    asked = subprocess.run(command, cwd=ROOT / "clients" / "js", capture_output=True, text=True,
                           check=False)  # fmt: skip
    wrong += npm_findings(asked.stdout)
    print("\n".join(wrong) or "No known vulnerability")
    return len(wrong)


def main() -> None:
    """Build the archives, or audit what they need."""
    parser = argparse.ArgumentParser(prog="python -m tools.distribution", description=__doc__)
    parser.add_argument("command", choices=["build", "audit"])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--environment", type=Path, default=ROOT / ".venv/bin/python",
                        help="the Python that has requirements/dev.txt")  # fmt: skip
    args = parser.parse_args()
    environment = args.environment.absolute()
    if args.command == "audit":
        sys.exit(min(1, audit(environment)))
    build(args.output.absolute(), environment)


if __name__ == "__main__":
    main()
