"""The proxies of deploy/, run with the files as they are but for names, ports and certificates."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.fault import free_port

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMES = ("nginx", "caddy")
_NAME = "counts.example.org"
_FOLDER = f"/etc/letsencrypt/live/{_NAME}"
_PORTS = ("127.0.0.1:8000", "127.0.0.1:8001")


def find(tool: str) -> str | None:
    """Return the path of a program of the system; some stand where only root looks."""
    return shutil.which(tool, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")


@dataclass(frozen=True)
class Proxy:
    """A proxy at work: its port, and what a client must trust."""

    port: int
    trust: ssl.SSLContext


def certify(folder: Path) -> tuple[Path, Path]:
    """Make a certificate that nobody has signed, and its key."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", f"/CN={_NAME}", "-addext", f"subjectAltName=DNS:{_NAME}",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def configured(name: str, folder: Path, port: int, collectors: Sequence[int]) -> list[str]:
    """Write the file of a proxy for a port and collectors; return the command that takes it."""
    certificate, key = certify(folder)
    program = find(name)
    assert program is not None
    text = (DEPLOY / {"nginx": "nginx.conf", "caddy": "Caddyfile"}[name]).read_text()
    for place, collector in zip(_PORTS, collectors, strict=True):
        assert place in text
        text = text.replace(place, f"127.0.0.1:{collector}")
    path = folder / f"{name}.conf"
    if name == "caddy":
        text = text.replace("{\n", "{\n\tadmin off\n\tauto_https off\n", 1)
        site = f'https://{_NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls "{certificate}" "{key}"'
        path.write_text(text.replace(f"{_NAME} {{", site))
        return [program, "run", "--adapter", "caddyfile", "--config", str(path)]
    text = text.replace(f"{_FOLDER}/fullchain.pem", f'"{certificate}"')
    text = text.replace(f"{_FOLDER}/privkey.pem", f'"{key}"').replace("443", f"127.0.0.1:{port}")
    text = text.replace("/var/log/nginx/deniable.log", f'"{folder}/error.log"')
    # Root's workers would be another user, who cannot read the folder of a test.
    user = "user root;\n" if os.geteuid() == 0 else ""
    path.write_text(
        f'{user}daemon off;\npid "{folder}/nginx.pid";\nerror_log "{folder}/start.log";\n'
        f'events {{}}\nhttp {{\nclient_body_temp_path "{folder}/body";\n'
        f'proxy_temp_path "{folder}/proxy";\nfastcgi_temp_path "{folder}/fastcgi";\n'
        f'uwsgi_temp_path "{folder}/uwsgi";\nscgi_temp_path "{folder}/scgi";\n{text}}}\n'
    )
    return [program, "-p", str(folder), "-e", str(folder / "start.log"), "-c", str(path)]


@contextmanager
def standing(name: str, folder: Path, collectors: Sequence[int]) -> Iterator[Proxy]:
    """Run a proxy in front of collectors."""
    folder.mkdir()
    port = free_port()
    command = configured(name, folder, port, collectors)
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    trust = ssl.create_default_context(cafile=folder / "certificate.pem")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | home)
    try:
        for _ in range(500):
            assert process.poll() is None, (folder / "log").read_text()
            try:
                ssl.get_server_certificate(("127.0.0.1", port), timeout=5)
            except OSError:
                time.sleep(0.02)
            else:
                break
        yield Proxy(port, trust)
    finally:
        process.terminate()
        process.wait(30)
