"""What some tests need beyond requirements/test.txt, by the mark that says so."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tests.stores.server import binaries

ABSENT_DATA = "the real data is not beside this checkout"
ABSENT_HISTORY = "the history is not in this checkout"
TOOLS = Path(__file__).resolve().parents[1] / "clients" / "js" / "node_modules" / ".bin"
_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)


def installed(*packages: str) -> bool:
    """Tell whether all these packages can be imported."""
    return all(find_spec(package) for package in packages)


def browser() -> str | None:
    """Return the path of Chromium: that of DENIABLE_BROWSER, or the first that is found."""
    return os.environ.get("DENIABLE_BROWSER") or next(
        filter(None, map(shutil.which, _BROWSERS)), None
    )


def node() -> str | None:
    """Return the path of Node: that of this environment, or else the system's."""
    own = Path(sys.executable).parent
    return shutil.which("node", path=f"{own}{os.pathsep}{os.environ.get('PATH', '')}")


_COMPONENTS: dict[str, tuple[str, Callable[[], object]]] = {
    "browser": ("Playwright and Chromium", lambda: installed("playwright") and browser()),
    "frames": ("pandas, Polars and pyarrow", lambda: installed("pandas", "polars", "pyarrow")),
    "node": ("Node and npm ci in clients/js", lambda: node() and (TOOLS / "esbuild").exists()),
    "numba": ("Numba", lambda: installed("numba")),
    "postgres": ("psycopg and PostgreSQL", lambda: installed("psycopg") and binaries()),
    "spark": ("pyspark", lambda: installed("pyspark")),
}


@lru_cache
def missing(mark: str) -> str | None:
    """Say what must be installed for tests with a mark; None where nothing is missing."""
    needed, found = _COMPONENTS.get(mark, ("", lambda: True))
    return None if found() else f"needs {needed}, as make test-all has"
