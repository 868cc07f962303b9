"""``make test-image``: build the image of deploy/Containerfile, and see it fall ill with its disk.

It needs root, mmdebstrap, buildah, podman and a loop device, so it stands apart from the suite. The
base is made of Debian's own packages. The store lies on an ext4 file system of its own, which the
kernel turns read-only in the middle of work, as it does when a disk fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "ca-certificates,libstdc++6,python3,python3-venv"
IMAGE, BASE, NAME, PORT = "localhost/deniable", "localhost/deniable-base", "deniable-test", "18000"
CERTIFICATES = "/etc/ssl/certs"
USER = 65532


def run(*command: str | Path) -> str:
    """Run a command, and return what it printed."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def build(storage: str, release: str) -> None:
    """Make a base of Debian's packages, and the image on top of it."""
    buildah = ("buildah", "--storage-driver", storage)
    with tempfile.TemporaryDirectory(prefix="dn-image-") as folder:
        base = Path(folder) / "base.tar"
        run("mmdebstrap", "--variant=essential", f"--include={PACKAGES}", release, base)
        container = run(*buildah, "from", "scratch")
        run(*buildah, "add", container, base, "/")
        run(*buildah, "commit", "--rm", container, BASE)
    digest = run(*buildah, "images", "--digests", "--format", "{{.Digest}}", BASE)
    # pip trusts whom this machine trusts, which matters behind a proxy.
    run(*buildah, "build", "--isolation", "chroot", "--format", "docker", "--network", "host",
        "--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro", "--build-arg", f"BASE={BASE}@{digest}",
        "--file", ROOT / "deploy" / "Containerfile", "--tag", IMAGE, ROOT)  # fmt: skip


def try_out(storage: str, runtime: str, folder: Path) -> None:
    """Run the image on a disk that fails."""
    podman = ["podman", "--storage-driver", storage, "--cgroup-manager", "cgroupfs"]
    podman += ["--runtime", runtime] if runtime else []
    disk, place = folder / "disk", folder / "store"
    place.mkdir()
    with disk.open("wb") as file:
        file.truncate(64 << 20)
    run("mkfs.ext4", "-q", disk)
    run("mount", "-o", "loop,errors=remount-ro", disk, place)
    try:
        os.chown(place, USER, USER)
        limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"]
        settings = ["--env", f"DENIABLE_PORT={PORT}", "--env", "DENIABLE_HOST=127.0.0.1"]
        run(*podman, "run", "--detach", "--name", NAME, "--network", "host", "--read-only",
            "--cap-drop", "all", "--security-opt", "no-new-privileges", *limits, *settings,
            "--volume", f"{place}:/var/lib/deniable", IMAGE)  # fmt: skip
        for _ in range(120):
            try:
                with urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=10):
                    break
            except (URLError, OSError):
                time.sleep(0.5)
        health = [*podman, "healthcheck", "run", NAME]
        assert subprocess.run(health, check=False).returncode == 0, run(*podman, "logs", NAME)
        said = run(*podman, "exec", NAME, "python", "-c",
                   "import os; print(os.getuid(), os.access('/opt', os.W_OK))")  # fmt: skip
        assert said == f"{USER} False", said
        device = Path(run("findmnt", "--noheadings", "--output", "SOURCE", place)).name
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")
        time.sleep(70)  # beyond the start period, in which failures do not count
        for _ in range(3):
            subprocess.run(health, check=False, capture_output=True)
        status = run(*podman, "inspect", NAME, "--format", "{{.State.Health.Status}}")
        assert status == "unhealthy", status
        run(*podman, "stop", "--time", "20", NAME)
        code = run(*podman, "inspect", NAME, "--format", "{{.State.ExitCode}}")
        assert code == "0", code
    finally:
        subprocess.run([*podman, "rm", "--force", NAME], check=False, capture_output=True)
        run("umount", place)


def main() -> None:
    """Build and try the image."""
    parser = argparse.ArgumentParser(prog="python -m tests.artifacts.image", description=__doc__)
    parser.add_argument("--storage-driver", default="overlay", help="vfs works everywhere, slowly")
    # crun, podman's own, starts nothing where both versions of cgroups are in use.
    runtime = "runc" if shutil.which("runc") else ""
    parser.add_argument("--runtime", default=runtime, help="runc where there is one, else podman's")
    parser.add_argument("--release", default="bookworm", help="the release of Debian for the base")
    parser.add_argument("--built", action="store_true", help="take the image of the last run")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("make test-image mounts a disk: run it as root")
    if not args.built:
        build(args.storage_driver, args.release)
    with tempfile.TemporaryDirectory(prefix="dn-image-") as folder:
        try_out(args.storage_driver, args.runtime, Path(folder))
    print("healthy while it stores, unhealthy on a read-only disk, and it ends with status 0")


if __name__ == "__main__":
    main()
