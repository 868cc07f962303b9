"""Who is connected: how many in all and at each address, and whose connection does nothing.

Addresses are counted in memory while their connections are open. They are never written down.
"""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address
from time import monotonic
from typing import Protocol

FULL, ADDRESS, LATE = "full", "address", "late"
REASONS = (FULL, ADDRESS, LATE)
"""Why connections are dropped: others need the room, one address has too many, time is over."""
SMALL = 32 * 1024
"""Bytes that anybody may have in memory: the largest head of a request, the largest report."""
_GRACE = 0.5
"""For how many seconds an idle connection is left alone when room is needed."""


class Guest(Protocol):
    """A connection as the crowd knows it."""

    peer: Peer
    since: float
    """When it began to do what it does."""

    def drop(self) -> None:
        """Cut the connection."""


class Peer:
    """The connections of one address: their number, and those that may be dropped."""

    __slots__ = ("address", "count", "resting", "silent")

    def __init__(self, address: str) -> None:
        self.address, self.count = address, 0
        self.silent: dict[Guest, None] = {}
        """Those that have not finished a request yet, the oldest first."""
        self.resting: dict[Guest, None] = {}
        """Those that were answered and have asked nothing since, the oldest first."""

    def idle(self, now: float) -> Guest | None:
        """Return the connection that is missed least."""
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
        """How many connections there are."""
        return self._all.count

    @property
    def full(self) -> bool:
        """Whether there are as many as may be."""
        return self._all.count >= self._most

    def has_room(self) -> bool:
        """Tell whether one more may come, perhaps in the place of an idle one."""
        return not self.full or self._all.idle(monotonic()) is not None

    def admit(self, address: str) -> Peer | None:
        """Take in a connection of an address; None if the address has its share already."""
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

    def drop(self, guest: Guest, reason: str) -> None:
        """Cut a connection, and say why."""
        self.dropped[reason] += 1
        guest.drop()

    def leave(self, peer: Peer) -> None:
        """Forget a connection that is gone; the last one takes the address with it."""
        peer.count -= 1
        self._all.count -= 1
        if not peer.count:
            self._peers.pop(peer.address, None)

    def enter(self, guest: Guest) -> None:
        """Note a connection that has not asked anything yet."""
        self._all.silent[guest] = guest.peer.silent[guest] = None

    def rest(self, guest: Guest) -> None:
        """Note a connection that was answered."""
        self._all.resting[guest] = guest.peer.resting[guest] = None

    def wake(self, guest: Guest) -> None:
        """Note a connection that asks something, or is gone."""
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
        """Tell whether a sender of so many bytes must wait: the large ones before the small."""
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
