"""The files in deploy/: what they are for accepts them."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.faults import proxies, rolling

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_EXPOSURE = 3.0
"""The most that systemd-analyze may find exposed, on its scale from 0 to 10."""


def need(tool: str) -> str:
    """Return the path of a tool of the system, or skip the test where it is not installed."""
    path = proxies.find(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed")
    return path


def run(tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a tool of the system, or skip the test."""
    command = [need(tool), *map(str, arguments)]
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
    need("nginx")
    command = proxies.configured("nginx", tmp_path, 8443, [8000, 8001])
    found = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_caddy_accepts_its_file() -> None:
    """``caddy adapt`` reads the file without a warning."""
    found = run("caddy", "adapt", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile")
    assert found.returncode == 0, found.stderr
    assert "warn" not in found.stderr.lower()


@pytest.mark.postgres
@pytest.mark.long("restarts collectors behind a proxy")
@pytest.mark.parametrize("name", proxies.NAMES)
def test_a_rolling_restart_is_not_noticed(name: str, tmp_path: Path) -> None:
    """Clients that try once more see no 5xx; nothing is lost or counted twice."""
    need(name)
    found = rolling.restart(name, tmp_path, rounds=1, seed=7, crowd=40)
    assert found["passed"], found
