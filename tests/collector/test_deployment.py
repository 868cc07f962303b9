"""The files in deploy/: what they are for accepts them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_EXPOSURE = 3.0
"""The most that systemd-analyze may find exposed, on its scale from 0 to 10."""


def run(tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a tool of the system, or skip the test where it is not installed."""
    path = shutil.which(tool, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{tool} is not installed")
    command = [path, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_unit_exposes_little() -> None:
    """The score of systemd-analyze is at most 3.0 of 10."""
    found = run("systemd-analyze", "security", "--offline=true", DEPLOY / "deniable.service")
    exposure = re.search(r"exposure level for \S+ ([0-9.]+)", found.stdout)
    assert exposure is not None, found.stderr
    assert float(exposure[1]) <= _EXPOSURE


def test_prometheus_accepts_the_alerts() -> None:
    """``promtool check rules`` finds no mistake."""
    found = run("promtool", "check", "rules", DEPLOY / "alerts.yml")
    assert found.returncode == 0, found.stderr


def test_nginx_accepts_its_file(tmp_path: Path) -> None:
    """``nginx -t`` accepts the file, with a certificate in the place of the real one."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
               "-nodes", "-days", "2", "-subj", "/CN=counts.example.org",
               "-keyout", key, "-out", certificate)  # fmt: skip
    assert made.returncode == 0, made.stderr
    server = (DEPLOY / "nginx.conf").read_text()
    folder = "/etc/letsencrypt/live/counts.example.org"
    server = server.replace(f"{folder}/fullchain.pem", f'"{certificate}"')
    server = server.replace(f"{folder}/privkey.pem", f'"{key}"')
    server = server.replace("/var/log/nginx/deniable.log", f'"{tmp_path}/error.log"')
    whole = tmp_path / "nginx.conf"
    whole.write_text(
        f'pid "{tmp_path}/nginx.pid";\nerror_log "{tmp_path}/start.log";\nevents {{}}\n'
        f"http {{\n{server}}}\n"
    )
    found = run("nginx", "-t", "-p", tmp_path, "-c", whole)
    assert found.returncode == 0, found.stderr


def test_caddy_accepts_its_file() -> None:
    """``caddy adapt`` reads the file without a warning."""
    found = run("caddy", "adapt", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile")
    assert found.returncode == 0, found.stderr
    assert "warn" not in found.stderr.lower()
