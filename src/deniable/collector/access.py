"""Access control: roles, tokens, sessions, login links that work once, and the audit log.

A secret has 256 random bits and is shown once; the store has only its SHA-256. A login link opens a
form, and only the form's POST uses it up, since previewers follow links.
"""

import logging
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from hmac import compare_digest

from starlette.requests import HTTPConnection

from deniable.collector.problems import Forbidden, Refusal, Unauthorized
from deniable.collector.stores import Store, records
from deniable.collector.worker import Readers, Writer
from deniable.errors import InvalidParameter, brief

COOKIE = "deniable_session"
TOKEN, SESSION, LOGIN = "token", "session", "login"
LOGIN_SECONDS = 600
SESSION_SECONDS = 7 * 86400
_DAY = 86400
_FRESH, _MOST = 2.0, 1024
_LONGEST_NAME = 100
SAFE = ("GET", "HEAD", "OPTIONS")
_audit = logging.getLogger("deniable.audit")


class Role(Enum):
    """What a route demands, and what a token grants."""

    PUBLIC = "public"
    RELAY = "relay"
    VIEWER = "viewer"
    ADMIN = "admin"

    def grants(self, demanded: "Role") -> bool:
        return self is Role.ADMIN or demanded in (self, Role.PUBLIC)


TOKEN_ROLES = (Role.VIEWER, Role.RELAY, Role.ADMIN)


@dataclass(frozen=True)
class Holder:
    """Who makes a request: the role and name of a token or a session."""

    role: Role
    name: str
    kind: str = TOKEN

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def hashed(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()


def create(
    store: Store, kind: str, role: Role, *, name: str | None = None, seconds: int | None = None
) -> str | None:
    """Store a new key and return its secret; None if the name is taken.

    A name can stand in a line of a list or a log.
    """
    if name is not None and (
        not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable() or name != name.strip()
    ):
        raise InvalidParameter(
            f"expected a name of 1 to {_LONGEST_NAME} characters in one line, without control "
            f"characters and without spaces around it, got {brief(name)}",
            value=name,
        )
    secret = f"dn_{secrets.token_urlsafe(32)}"
    expires = None if seconds is None else int(time.time()) + seconds
    key = records.Key(hashed(secret), kind, role.value, name or secrets.token_hex(8), expires)
    return secret if store.keep(key) else None


def use_login(store: Store, secret: str) -> str | None:
    """Turn a login link into a session, once; None if it is used up or too old."""
    for kind in (LOGIN, SESSION):
        for key in store.keys(kind):
            if expired(key):
                store.drop(key.hash)
    found = store.key(hashed(secret))
    if found is None or found.kind != LOGIN or store.drop(found.hash) is None:
        return None
    return create(store, SESSION, Role(found.role), seconds=SESSION_SECONDS)


def revoke(store: Store, kind: str, name: str) -> records.Key | None:
    """Remove the key of that name and return it; None if there is none."""
    found = next((key for key in store.keys(kind) if key.name == name), None)
    return None if found is None else store.drop(found.hash)


def expired(key: records.Key) -> bool:
    return key.expires is not None and key.expires < time.time()


def listed(keys: Iterable[records.Key], holder: "Holder | None") -> list[dict[str, object]]:
    """Return what a list says of each key that has not expired: never the secret."""
    mine = holder and (holder.kind, holder.name)
    return [
        {
            "name": key.name,
            "role": key.role,
            "until": None if key.expires is None else records.write_day(key.expires // _DAY),
            "last_used": None if key.last_used is None else records.write_day(key.last_used),
            "yours": mine == (key.kind, key.name),
        }
        for key in keys
        if not expired(key)
    ]


class Access:
    """Finds who makes a request; what it found is remembered for a moment."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer
        self._known: dict[bytes, tuple[float, records.Key | None]] = {}

    async def demand(self, connection: HTTPConnection, role: Role) -> Holder | None:
        """Return who makes a request, or refuse it; a public route asks nobody."""
        if role is Role.PUBLIC:
            return None
        holder = await self.bearer(connection.headers.get("authorization"))
        if holder is None:
            holder = await self._find(connection.cookies.get(COOKIE, ""), SESSION)
            if holder is not None and connection.scope["method"] not in SAFE:
                check_origin(connection)
        if holder is None:
            raise Unauthorized("log in, or send a token")
        if not holder.role.grants(role):
            raise Forbidden(f"this needs the role {role.value}; you have {holder.role.value}")
        return holder

    async def bearer(self, header: str | None) -> Holder | None:
        """Return the holder of the token in an Authorization header; None if there is no header."""
        if header is None:
            return None
        scheme, _, secret = header.partition(" ")
        holder = await self._find(secret.strip(), TOKEN) if scheme.lower() == "bearer" else None
        if holder is None:
            raise Unauthorized("the token is unknown or has expired; make a new one")
        return holder

    async def _find(self, secret: str, kind: str) -> Holder | None:
        if not secret:
            return None
        hash, now = hashed(secret), time.monotonic()
        at, key = self._known.get(hash, (-_FRESH, None))
        if now - at >= _FRESH:
            try:
                key = await self._readers.run(lambda store: store.key(hash))
            except records.StoreError:  # who was known may still ask what is wrong, by /metrics
                if key is None:
                    raise
                now = at
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[hash] = now, key
        if key is None or key.kind != kind or expired(key) or not compare_digest(key.hash, hash):
            return None
        if time.time() >= ((key.last_used or 0) + 1) * _DAY:
            self._known[hash] = now, replace(key, last_used=records.today())
            with suppress(
                Refusal, records.StoreError
            ):  # a store that cannot note it refuses no key
                await self._writer.run(lambda store: store.use(hash, records.today()))
        return Holder(Role(key.role), key.name, key.kind)

    def forget(self) -> None:
        self._known.clear()


def check_origin(connection: HTTPConnection) -> None:
    """Refuse a form that another site sent with the visitor's cookie."""
    site = connection.headers.get("sec-fetch-site")
    origin = connection.headers.get("origin")
    if site is not None:
        same = site in ("same-origin", "none")
    else:
        same = origin is not None and origin.partition("://")[2] == connection.headers.get("host")
    if not same:
        raise Forbidden(
            "cross-site form refused",
            page="The form came from another site: open the page here and send it again.",
        )


def audit(who: str, what: str, status: int) -> None:
    """Note what somebody did with the rights of an operator; never a secret."""
    fields = {"who": who, "what": what, "status": status}
    _audit.info("%s: %s: %d", who, what, status, extra={"fields": fields})
