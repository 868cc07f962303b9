"""Connections with limits: how many there are, and time and bytes for each.

uvicorn has none of these. Each connection has a deadline for what it is doing; the server looks at
all of them once a second and aborts those that are past it. What a client sends ahead is parsed
when it is its turn, and no more of it is read from the network.
Addresses are counted in memory while their connections are open. They are never written down.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from ipaddress import IPv6Address
from time import monotonic
from typing import ClassVar

from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from deniable.collector.problems import CORS, InvalidRequest, render
from deniable.collector.settings import Settings

FULL, ADDRESS, LATE = "full", "address", "late"
REASONS = (FULL, ADDRESS, LATE)
"""Why connections are dropped: others need the room, one address has too many, time is over."""
SMALL = 32 * 1024
"""Bytes that anybody may have in memory: the largest head of a request, the largest report."""
_GRACE = 0.5
"""For how many seconds an idle connection is left alone when room is needed."""


class Peer:
    """The connections of one address: their number, and those that may be dropped."""

    __slots__ = ("address", "count", "resting", "silent")

    def __init__(self, address: str) -> None:
        self.address, self.count = address, 0
        self.silent: dict[Connection, None] = {}
        """Those that have not finished a request yet, the oldest first."""
        self.resting: dict[Connection, None] = {}
        """Those that were answered and have asked nothing since, the oldest first."""

    def idle(self, now: float) -> "Connection | None":
        """Return the connection that would be missed least."""
        for guests in (self.silent, self.resting):
            for guest in guests:
                if now - guest.since >= _GRACE:
                    return guest
                break  # the first one is the oldest
        return None


class Crowd:
    """All connections. New ones take the place of idle ones; ``each`` of 0 limits no address."""

    def __init__(self, most: int, each: int = 0) -> None:
        self._most, self._each = most, each
        self._all, self._peers = Peer(""), dict[str, Peer]()
        self.dropped: Counter[str] = Counter(dict.fromkeys(REASONS, 0))

    @property
    def count(self) -> int:
        return self._all.count

    @property
    def full(self) -> bool:
        return self._all.count >= self._most

    def has_room(self) -> bool:
        """Tell whether one more may come, perhaps in place of an idle one."""
        return not self.full or self._all.idle(monotonic()) is not None

    def admit(self, address: str) -> Peer | None:
        """Admit a connection from an address; None if the address has its share already."""
        key = _network(address)
        peer = self._peers.get(key)
        if peer is None:
            peer = self._peers[key] = Peer(key)
        elif self._each and peer.count >= self._each and not self._drop_idle(peer, ADDRESS):
            self.dropped[ADDRESS] += 1
            return None
        if self.full:
            self._drop_idle(self._all, FULL)
        peer.count += 1
        self._all.count += 1
        self._peers[key] = peer  # again: the connection that made room may have been the only one
        return peer

    def _drop_idle(self, peer: Peer, reason: str) -> bool:
        guest = peer.idle(monotonic())
        if guest is None:
            return False
        self.drop(guest, reason)
        return True

    def drop(self, guest: "Connection", reason: str) -> None:
        self.dropped[reason] += 1
        guest.drop()

    def leave(self, peer: Peer) -> None:
        """Forget a connection that is gone; the last one takes the address with it."""
        peer.count -= 1
        self._all.count -= 1
        if not peer.count:
            self._peers.pop(peer.address, None)

    def enter(self, guest: "Connection") -> None:
        self._all.silent[guest] = guest.peer.silent[guest] = None

    def rest(self, guest: "Connection") -> None:
        self._all.resting[guest] = guest.peer.resting[guest] = None

    def wake(self, guest: "Connection") -> None:
        """Note that a connection sends a request, or is gone."""
        peer = guest.peer
        if guest in peer.resting:
            del self._all.resting[guest], peer.resting[guest]
        elif guest in peer.silent:
            del self._all.silent[guest], peer.silent[guest]


class Held:
    """Bytes that are in memory because of senders."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0

    def refuses(self, own: int) -> bool:
        """Tell whether a sender of this many bytes must wait: the large ones before the small."""
        return self.taken > (self.most if own > SMALL else 2 * self.most)


def _network(address: str) -> str:
    """Return what counts as one address: of IPv6 the 64 bits that one subscriber has.

    >>> _network("192.0.2.1"), _network("2001:db8::1"), _network("::ffff:192.0.2.1")
    ('192.0.2.1', '20010db800000000', '192.0.2.1')
    """
    if ":" not in address:
        return address
    found = IPv6Address(address.partition("%")[0])
    return str(found.ipv4_mapped) if found.ipv4_mapped else found.packed[:8].hex()


_END = b"\r\n\r\n"
"""What ends the headers of a request."""
_TURNS = 8
"""How many requests that were sent ahead begin at once: others come first."""
_UNREAD = 16 * 1024
"""Once a client leaves this many bytes unread, nothing more is written for it."""
_ANSWER_SECONDS = 120
_IDLE_SECONDS = 8
_SLOW_SECONDS = 1.0
"""After how long a client that sends or reads slowly makes room for others, if there is none."""


class Turns:
    """Requests that were sent ahead take turns, so that nobody is served first for sending many."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def wait(self, begin: Callable[[], None]) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
        self._waiting.append(begin)

    def _next(self) -> None:
        for _ in range(min(_TURNS, len(self._waiting))):
            self._waiting.popleft()()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._next)


class Flow(FlowControl):
    """Reading and writing that pause; reading does not go on while there is something to parse."""

    full = False

    def resume_reading(self) -> None:
        if not self.full:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    limits: ClassVar[Settings] = Settings()
    crowd: ClassVar[Crowd] = Crowd(1)
    held: ClassVar[Held] = Held(1)
    turns: ClassVar[Turns] = Turns()
    flow: Flow
    peer: Peer
    since: float
    """When it began to do what it does."""
    _running: RequestResponseCycle | None = None
    _in_body = False
    _gone = False
    _ahead = b""
    """What was read and is not parsed yet, from ``_at`` on."""
    _at = 0
    _kept = 0
    """How many bytes are in memory because of this connection."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, object], peer: Peer
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.peer = peer
        self._await_head(self.limits.header_seconds)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        super().connection_made(transport)
        transport.set_write_buffer_limits(_UNREAD)
        self.flow = Flow(transport)
        self.since = monotonic()
        self.crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._running is not None:  # which need not be the request that came last
            self._running.disconnected = True
        super().connection_lost(exc)
        self._leave()
        self._release()
        self._ahead = b""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def drop(self) -> None:
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        if not self._gone:
            self._gone = True
            self.crowd.wake(self)
            self.crowd.leave(self.peer)

    def is_slow(self, now: float) -> bool:
        """Tell whether the client keeps the collector waiting, with its body or its reading."""
        return now - self.since > _SLOW_SECONDS and (self._in_body or self.flow.write_paused)

    def data_received(self, data: bytes) -> None:
        if self._ahead or self._busy() or len(data) > SMALL or data.count(_END) > 1:
            self._ahead = self._ahead[self._at :] + data
            self._at = 0
            self._parse()
        else:
            self._feed(data)
        if self.cycle is None or not self.cycle.response_complete or self._ahead:
            self._kept += len(data)
            self.held.taken += len(data)
            if self._kept > SMALL and self.held.refuses(0):
                self.crowd.drop(self, FULL)

    def _busy(self) -> bool:
        """Tell whether a request is here as a whole and is not answered yet."""
        return not self._in_body and self.cycle is not None and not self.cycle.response_complete

    def _parse(self) -> None:
        """Parse what was read up to the end of the next request; the rest waits for its turn."""
        while self._at < len(self._ahead) and not self._busy():
            if self.transport.is_closing():
                self._ahead, self._at = b"", 0
                return
            end = self._ahead.find(_END, self._at) + len(_END)
            if end < len(_END):
                end = len(self._ahead)
            piece, self._at = self._ahead[self._at : end], end
            self._feed(piece)
        if self._at >= len(self._ahead):
            self._ahead, self._at = b"", 0
        was_full, self.flow.full = self.flow.full, bool(self._ahead)
        if self._ahead:
            self.flow.pause_reading()
        elif was_full and not self._in_body:  # whoever takes a body goes on reading by itself
            self.flow.resume_reading()

    def _feed(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
            if self._head > SMALL + len(data):
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head(self.limits.header_seconds)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self.since = monotonic()
        self.deadline = self.since + self.limits.body_seconds
        self.crowd.wake(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self.deadline = monotonic() + _ANSWER_SECONDS
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self._in_body:  # else the rest of a refused body still comes
            self._await_head(_IDLE_SECONDS)
        super().on_response_complete()
        waiting = sum(len(cycle.body) for cycle, _ in self.pipeline)
        self._release(len(self._ahead) - self._at + waiting)
        if self._ahead:
            self.turns.wait(self._parse)
        elif self.cycle.response_complete and not self._in_body and not self._gone:
            self.since = monotonic()
            self.crowd.rest(self)

    def _release(self, still: int = 0) -> None:
        """Account for bytes that are gone, but for those that are still there."""
        self.held.taken += still - self._kept
        self._kept = still

    def _await_head(self, seconds: float) -> None:
        self._in_head, self._head = True, 0
        self.deadline = monotonic() + seconds

    def send_400_response(self, msg: str) -> None:
        status, headers, body = render(InvalidRequest("this is no HTTP request"))
        lines = [b"HTTP/1.1 %d Bad Request" % status]
        lines += [name + b": " + value for name, value in [*headers, *CORS]]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", body]))
        self.transport.close()


def limited(settings: Settings, crowd: Crowd, held: Held) -> type[Connection]:
    """Return connections with the limits of the settings, which share crowd and bytes."""
    shared = {"limits": settings, "crowd": crowd, "held": held, "turns": Turns()}
    return type("LimitedConnection", (Connection,), shared)
