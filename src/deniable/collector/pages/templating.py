"""What pages are made of: templates, tables, and the files that they load.

Templates place what they are given; what is shown and how it is rounded is decided before, in
``presentation`` and by the pages. Everything is escaped, nothing undefined.

Files are served under the hash of their content, so that browsers keep what they have for good.
Tags of other sites name a client by its address and its hash, and stay where they were pasted. So
every client that was ever released goes on being served: ``static/clients`` has them, with a list
of their hashes. ``/deniable.js``, which the tags of version 0.2.0 name, is that version's for ever.
"""

import json
from base64 import b64encode
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256, sha384
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from starlette.responses import HTMLResponse, Response

from deniable.collector.problems import NotFound
from deniable.collector.requests import Call
from deniable.policy import BUILDS
from deniable.presentation.html import STYLE

CLIENT = "deniable.js"
BUILT = {"": CLIENT} | {kind: f"deniable-{kind}.js" for kind in BUILDS}
"""The file of the client for each kind of answers that has one of its own, and for all others."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
UNCACHED = {"cache-control": "no-store"}
_FIRST = "0.2.0"
"""The version whose tags name the client without its hash."""
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
        return _KINDS[self.name.rpartition(".")[2]]

    @property
    def hash(self) -> str:
        """What tells its content from any other in an address."""
        return sha256(self.data).hexdigest()[:12]

    @property
    def address(self) -> str:
        return f"/static/{self.hash}/{self.name}"

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
    return {**found, "table.css": Asset("table.css", STYLE.encode())}


@cache
def released() -> dict[str, Asset]:
    directory = files(__package__) / "static" / "clients"
    versions: list[str] = json.loads((directory / "manifest.json").read_bytes())
    return {
        version: Asset(CLIENT, (directory / f"{version}.js").read_bytes()) for version in versions
    }


def client_for(kind: str) -> Asset:
    """Return the client for a kind of answers, under the name that all clients are served by."""
    return replace(assets()[BUILT.get(kind, CLIENT)], name=CLIENT)


def client_address(kind: str = "") -> str:
    return f"/client/{client_for(kind).hash}/{CLIENT}"


def address(name: str) -> str:
    return assets()[name].address


async def serve(call: Call) -> Response:
    """Return a file; under another hash than its own there is none."""
    call.query()
    name, hash = call.request.path_params["name"], call.request.path_params["hash"]
    found = assets().get(name)
    if found is None or found.hash != hash:
        raise NotFound("this file belongs to another version; load the page again")
    return _response(found, _FOREVER)


async def client(call: Call) -> Response:
    """Return a browser client by its hash: the present one, or that of an earlier release."""
    call.query()
    hash = call.request.path_params["hash"]
    known = {each.hash: each for each in (*released().values(), *map(client_for, BUILT))}
    if hash not in known:
        raise NotFound("no released client has this hash; paste the tag of the question again")
    return _response(known[hash], _FOREVER)


async def first_client(call: Call) -> Response:
    """Return the client of version 0.2.0, whose hash stands in tags that name no other."""
    call.query()
    return _response(released()[_FIRST], _AN_HOUR)


def _response(asset: Asset, caching: str) -> Response:
    return Response(asset.data, headers={"content-type": asset.kind, "cache-control": caching})


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["asset"] = address
    return found


@cache
def template(name: str) -> Template:
    """Return a template; everything in it is escaped, and nothing may be undefined."""
    return _environment().get_template(name)


def page(name: str, status: int = 200, /, **context: object) -> HTMLResponse:
    return HTMLResponse(template(name).render(context), status, UNCACHED)
