"""Files that pages load: style, scripts and the client, each under the hash of its content.

A file of another content has another address, so that browsers keep what they have for good. The
client is also at ``/deniable.js``, for pages of other sites.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256, sha384
from importlib.resources import files

from starlette.responses import Response

from deniable.collector.operations import Call
from deniable.collector.problems import NotFound
from deniable.presentation import page

CLIENT = "deniable.js"
_FOREVER = "public, max-age=31536000, immutable"
_AN_HOUR = "public, max-age=3600"
_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """One file, its media type, and the hashes of its content."""

    name: str
    data: bytes

    @property
    def kind(self) -> str:
        """The media type."""
        return _KINDS[self.name.rpartition(".")[2]]

    @property
    def address(self) -> str:
        """Where it is served, for as long as its content is this."""
        return f"/static/{sha256(self.data).hexdigest()[:12]}/{self.name}"

    @property
    def integrity(self) -> str:
        """What a tag of another site demands of the content."""
        return f"sha384-{b64encode(sha384(self.data).digest()).decode()}"


@cache
def assets() -> dict[str, Asset]:
    """Return all files by name; the sheet of the tables comes from where the tables are made."""
    directory = files(__package__) / "static"
    found = {
        item.name: Asset(item.name, item.read_bytes())
        for item in directory.iterdir()
        if item.name.rpartition(".")[2] in _KINDS
    }
    return {**found, "table.css": Asset("table.css", page.STYLE.encode())}


def address(name: str) -> str:
    """Return where a file is served."""
    return assets()[name].address


async def serve(call: Call) -> Response:
    """Return a file; under another hash than its own there is none."""
    call.query()
    name, hash = call.request.path_params["name"], call.request.path_params["hash"]
    found = assets().get(name)
    if found is None or found.address.split("/")[2] != hash:
        raise NotFound("expected a file of this version, got another; load the page again")
    return Response(found.data, headers={"content-type": found.kind, "cache-control": _FOREVER})


async def client(call: Call) -> Response:
    """Return the browser client, for the pages of other sites."""
    call.query()
    found = assets()[CLIENT]
    return Response(found.data, headers={"content-type": found.kind, "cache-control": _AN_HOUR})
