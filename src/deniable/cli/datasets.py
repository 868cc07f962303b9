"""The data sets of the paper's evaluation: where they are published, and where they are kept."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from deniable.cli.group import InputError
from deniable.errors import DeniableError
from deniable.paper.clicks import Clicks, parse_clicks


@dataclass(frozen=True)
class Dataset:
    """A published file: where it is, what it is called here, and what it must contain."""

    url: str
    file: str
    blob: str
    """The id that git gives the decompressed file, as ``git hash-object`` prints it."""


DATASETS = {
    "kosarak": Dataset(
        "http://fimi.uantwerpen.be/data/kosarak.dat.gz",
        "kosarak.dat",
        "1633c5aa6070d384beab4b3a36e9fb8f173fab84",
    ),
}


def cache_directory() -> Path:
    """Return the directory of this user's cache for deniable, which need not exist."""
    home = Path.home()
    usual = {
        "darwin": home / "Library" / "Caches",
        "win32": Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"),
    }.get(sys.platform, home / ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or usual) / "deniable"


def cached_kosarak() -> Path | None:
    """Return the file that ``fetch`` put into the cache, if it did."""
    path = cache_directory() / DATASETS["kosarak"].file
    return path if path.is_file() else None


def read_clicks(path: Path, repeat: int = 1) -> Clicks:
    """Read the clicks in a file, each counted ``repeat`` times."""
    try:
        return parse_clicks(path.read_bytes(), path.name).repeated(repeat)
    except DeniableError as error:
        raise InputError(f"{path}: {error}") from error
