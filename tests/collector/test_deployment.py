"""The files in deploy/: what they are for accepts them."""

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from deniable.collector.settings import Settings, read_settings
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


@pytest.fixture
def services() -> dict[str, dict]:
    """Return the services of the compose file, with what they share put in."""
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_collectors_are_where_the_proxy_looks(services: dict[str, dict]) -> None:
    """Their settings exist, and address, ports and certificates are those of nginx.conf."""
    proxy = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    known = {f"DENIABLE_{field.name.upper()}" for field in fields(Settings)}
    addresses = set()
    for name in ("one", "two"):
        given = services[name]["environment"]
        assert {setting.removesuffix("_FILE") for setting in given} <= known
        assert services[name]["network_mode"] == "service:proxy"
        assert f"server_name {given['DENIABLE_URL'].removeprefix('https://')};" in proxy
        addresses.add(f"{given['DENIABLE_HOST']}:{given['DENIABLE_PORT']}")
    assert addresses == {*re.findall(r"^    server (\S+) ", proxy, re.MULTILINE)}
    places = dict(volume.split(":")[:2] for volume in services["proxy"]["volumes"])
    assert (DEPLOY / "nginx.conf").name == Path(next(iter(places))).name
    assert f"ssl_certificate {places['./certificates']}/fullchain.pem;" in proxy


def test_settings_of_the_image_leave_room_for_those_of_a_service(
    services: dict[str, dict], tmp_path: Path
) -> None:
    """A collector reads what the image and the compose file set together."""
    secret = tmp_path / "store"
    secret.write_text("postgresql://deniable:word@database/deniable")
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^ENV (.*)", image, re.MULTILINE)
    of_image = dict(setting.split("=", 1) for setting in line.split())
    assert read_settings({}, of_image).host == "0.0.0.0"
    for name in ("one", "two"):
        given = {key: str(value) for key, value in services[name]["environment"].items()}
        found = of_image | given | {"DENIABLE_STORE_FILE": str(secret)}
        assert read_settings({}, found).store == secret.read_text()


def test_services_wait_only_for_what_has_a_health(services: dict[str, dict]) -> None:
    """Who is waited for until it is healthy has a check, in the file or by its image."""
    built = "HEALTHCHECK" in (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    for service in services.values():
        for name, wanted in service.get("depends_on", {}).items():
            checked = "healthcheck" in services[name] or (built and "build" in services[name])
            assert checked or wanted["condition"] == "service_started", name


def test_what_is_stored_and_what_is_run_is_named(services: dict[str, dict]) -> None:
    """The database lies in its volume for every version; images without a digest are refused."""
    database = services["database"]
    _, _, folder = database["volumes"][0].partition(":")
    assert Path(folder) in Path(database["environment"]["PGDATA"]).parents
    for name in ("database", "proxy"):
        assert re.fullmatch(r"\$\{[A-Z]+:\?.*digest\}", services[name]["image"])
    for name in ("one", "two"):
        assert "digest" in services[name]["build"]["args"]["BASE"]
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["all"]


@pytest.mark.postgres
@pytest.mark.long("restarts collectors behind a proxy")
@pytest.mark.parametrize("name", proxies.NAMES)
def test_a_rolling_restart_is_not_noticed(name: str, tmp_path: Path) -> None:
    """Clients that try once more see no 5xx; nothing is lost or counted twice."""
    need(name)
    found = rolling.restart(name, tmp_path, rounds=1, seed=7, crowd=40)
    assert found["passed"], found
