"""The public data sets of the paper's evaluation: where they are published, fetched and kept.

``python -m tools fetch kosarak`` downloads one and checks it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from hashlib import sha1
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import click

from deniable.cli.group import InputError, command
from deniable.cli.outputs import Advance, check_replaceable, show_progress, write_atomically
from deniable.errors import DeniableError
from tools.paper.clicks import Clicks, decompress, parse_clicks

_BLOCK = 1 << 16
_LARGEST = 1 << 28
_TIMEOUT = 60.0


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


@command("python -m tools fetch kosarak")
@click.argument("name", type=click.Choice(list(DATASETS)))
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="The directory to put the file in. [default: the cache of this user, where "
              "`python -m tools reproduce` looks for it]")  # fmt: skip
@click.option("--url", metavar="URL", help="Download it from there. [default: the publisher]")
@click.option("--force", is_flag=True, help="Replace a file in DIR that differs.")
def fetch(name: str, *, output: Path | None, url: str | None, force: bool) -> None:
    """Download a data set, decompress it and check that it is the published one.

    NAME is kosarak: 8 million clicks on 41,270 pages of a news site, about 12 MB to download and
    32 MB on the disk. FIMI publishes it for research; no licence is stated. A file that differs
    from the published one in any bit is refused and leaves nothing behind.
    """
    dataset, directory = DATASETS[name], output or cache_directory()
    target = directory / dataset.file
    if target.exists() and blob_id(target.read_bytes()) == dataset.blob:
        click.echo(f"{target} is there already, and whole", err=True)
        return
    if output is not None:  # what is in the cache is nobody's work
        check_replaceable(target, force=force)
    content = decompress_download(download(url or dataset.url), url or dataset.url)
    found = blob_id(content)
    if found != dataset.blob:
        raise InputError(
            f"{url or dataset.url}: expected a file with the git blob id {dataset.blob}, got "
            f"{found} ({len(content):,} bytes); it is not the published one, try another --url"
        )
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content)
    click.echo(f"{target}: {len(content):,} bytes, checksum as published", err=True)


def download(url: str) -> bytes:
    """Return all that is at a URL, or say in one line why not."""
    if not url.lower().startswith(("http://", "https://")):
        raise InputError(f"expected a URL that begins with http:// or https://, got {url!r}")
    try:
        request = Request(url, headers={"User-Agent": "deniable"})
        with urlopen(request, timeout=_TIMEOUT) as opened:
            response = cast("HTTPResponse", opened)
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isascii() and length.isdigit() else None
            with show_progress(f"Downloading {url}", total) as advance:
                body = _read(response, advance)
    except HTTPError as error:
        error.close()
        raise InputError(
            f"{url} cannot be fetched: {error.code} {error.reason}; try another --url"
        ) from error
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise InputError(
            f"{url} cannot be fetched: {reason}; check the network and the URL"
        ) from error
    if len(body) > _LARGEST:
        raise InputError(f"{url}: the file has more than {_LARGEST:,} bytes; check the URL")
    if total is not None and len(body) < total:
        raise InputError(
            f"{url}: expected {total:,} bytes, got {len(body):,}; the download was cut short, "
            "try again"
        )
    return body


def _read(response: HTTPResponse, advance: Advance) -> bytes:
    blocks, size = [], 0
    while size <= _LARGEST and (block := response.read(_BLOCK)):
        blocks.append(block)
        size += len(block)
        advance(size)
    return b"".join(blocks)


def decompress_download(body: bytes, url: str) -> bytes:
    """Return the contents of a downloaded file."""
    try:
        return decompress(body)
    except DeniableError as error:
        raise InputError(f"{url}: {error}") from error


def blob_id(content: bytes) -> str:
    """Return the id that git gives a file.

    >>> blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
