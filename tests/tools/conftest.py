"""The authors' command line, in a directory of its own."""

import pytest

from tests.cli.conftest import Shell
from tools.__main__ import tools


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return a command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return Shell(tmp_path, tools)
