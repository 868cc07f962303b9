"""Settings: one dataclass, from which options, environment, file and documentation derive."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from deniable.cli.serve import serve
from deniable.collector.settings import Settings, read_settings, variable
from deniable.errors import InvalidParameter

DOCS = Path(__file__).parents[2] / "docs" / "collector.md"


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda found: found.name)
def test_every_setting_is_an_option_and_documented(setting) -> None:
    """Name, variable, default and help of each setting stand in the table of the documentation."""
    options = {option for parameter in serve.params for option in parameter.opts}
    assert f"--{setting.name.replace('_', '-')}" in options
    row = f"| `{setting.name}` | `{setting.default}` | {setting.metadata['help']} |"
    assert row in DOCS.read_text()


def test_an_option_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    """Each place overrides the next; an option that was not given overrides nothing."""
    file = tmp_path / "deniable.toml"
    file.write_text('port = 1\nwindow = 2\nhost = "file"\n')
    environment = {variable("window"): "3", variable("host"): "environment"}
    found = read_settings({"host": "option", "port": None}, environment, file)
    assert (found.port, found.window, found.host) == (1, 3, "option")
    assert found.minimum == Settings().minimum


@pytest.mark.parametrize(
    ("options", "environment", "text"),
    [
        ({"port": -1}, {}, ""),
        ({}, {"DENIABLE_PORT": "x"}, ""),
        ({}, {"DENIABLE_MINIMUM": "0"}, ""),
        ({}, {"DENIABLE_PORT": "9" * 5000}, ""),
        ({}, {}, "prot = 1"),
        ({}, {}, "port = true"),
        ({}, {}, "host = 1"),
        ({}, {}, "port ="),
    ],
)
def test_wrong_settings_are_refused(
    tmp_path: Path, options: dict[str, object], environment: dict[str, str], text: str
) -> None:
    """Unknown names and values out of range are errors, wherever they stand."""
    file = tmp_path / "deniable.toml"
    file.write_text(text)
    with pytest.raises(InvalidParameter, match=r"cannot be|unknown settings|is not TOML"):
        read_settings(options, environment, file)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("DENIABLE_STROE", "did you mean DENIABLE_STORE?"),
        ("DENIABLE_BODYLIMIT", "did you mean DENIABLE_BODY_LIMIT?"),
        ("DENIABLE_XYZZY_PLUGH", "remove it"),
    ],
)
def test_a_misspelt_variable_is_refused(name: str, said: str) -> None:
    """A setting that nobody reads is an error, which names the nearest one."""
    with pytest.raises(InvalidParameter, match=re.escape(said)):
        read_settings({}, {name: "1", "PATH": "/bin"})
    assert read_settings({}, {"DENIABLE_TOKEN": "dn_x"}) == Settings()


def test_a_setting_can_stand_in_a_file(tmp_path: Path) -> None:
    """A file that the environment names holds the value, and the end of its line is no part."""
    file = tmp_path / "store"
    file.write_text("postgresql://user:secret@host/name\n")
    environment = {"DENIABLE_STORE_FILE": str(file)}
    assert read_settings({}, environment).store == "postgresql://user:secret@host/name"
    assert read_settings({"store": "other.db"}, environment).store == "other.db"
    with pytest.raises(InvalidParameter, match="are set; keep the file"):
        read_settings({}, environment | {"DENIABLE_STORE": "other.db"})
    with pytest.raises(InvalidParameter, match="check its path"):
        read_settings({}, {"DENIABLE_STORE_FILE": str(tmp_path / "nowhere")})


def test_only_named_choices_are_taken() -> None:
    """A setting with choices takes no other value."""
    with pytest.raises(InvalidParameter, match=r"cannot be 'xml'.* text or json"):
        read_settings({"log_format": "xml"}, {})
