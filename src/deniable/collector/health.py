"""Health: whether submissions are being stored, judged by the last write; a change is one log line.

A store that fails for a while is tried again. A corrupt one stops the collector, whoever met it
first. All of this happens on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic

from deniable.collector.stores.base import KINDS, StoreBroken, StoreError, StoreUnavailable

Probe = Callable[[], Awaitable[None]]
"""Writes something meaningless; whoever runs it reports a failure here."""
_log = logging.getLogger("deniable.collector")
_FRESH = 2.0
"""For how many seconds a write is evidence that the next one will succeed."""
_PATIENCE = 3.0
"""How many seconds a write may take before the store counts as not answering."""
_CALM = 1.5
"""How many seconds must pass without a failure before the trouble is over: a disk that is almost
full takes some writes and not others."""


class Health:
    """What is known about the store: all well, trouble that may pass, or broken for good."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self.trouble: StoreError | None = None
        """Why nothing is stored at the moment."""
        self.broken: StoreBroken | None = None
        """Why the collector must stop, if it must."""
        self.leaving = False
        """Whether the collector was asked to shut down."""
        self.on_broken: Callable[[], object] = int
        """Called once, when the store can no longer be trusted."""
        self._wrote = self._failed = self._since = -_CALM
        self._probe: asyncio.Task[None] | None = None

    def wrote(self) -> None:
        self._wrote = now = monotonic()
        if self.trouble is not None and not self.broken and now - self._failed >= _CALM:
            self.trouble = None
            _log.warning("reports are stored again, after %.0f seconds", now - self._since)

    def failed(self, error: Exception) -> None:
        if not isinstance(error, StoreError) or self.broken:
            return
        self.errors[error.kind] += 1
        if isinstance(error, StoreBroken):
            self._stop(error)
            return
        self._failed = monotonic()
        if self.trouble is None:
            self._since = self._failed
            _log.error("no reports are stored: %s: %s", error.reason, error)
        self.trouble = error

    def met(self, error: Exception) -> None:
        """Note an error of a reader: only corruption says anything about storing."""
        if isinstance(error, StoreBroken):
            self.failed(error)
        elif isinstance(error, StoreError):
            self.errors[error.kind] += 1

    def leave(self) -> None:
        self.leaving = True

    def _stop(self, error: StoreBroken) -> None:
        self.trouble = self.broken = error
        _log.critical("the collector stops: %s: %s", error.reason, error)
        self.on_broken()

    async def check(self, probe: Probe) -> StoreError | None:
        """Return what is wrong; if nothing was written lately, try to write."""
        if not self.broken and monotonic() - self._wrote > _FRESH:
            if self._probe is None or self._probe.done():
                self._probe = asyncio.create_task(self._try(probe))
            done, _ = await asyncio.wait({self._probe}, timeout=_PATIENCE)
            if not done and monotonic() - self._wrote > _PATIENCE:
                self.failed(
                    StoreUnavailable(f"a write takes more than {_PATIENCE:g} seconds", kind="busy")
                )
        return self.trouble

    async def _try(self, probe: Probe) -> None:
        with suppress(Exception):
            await probe()
            self.wrote()

    async def watch(self, probe: Probe) -> None:
        """Keep checking, so that a change is noticed even if nobody sends or asks."""
        while not self.broken:
            await self.check(probe)
            await asyncio.sleep(1.0 if self.trouble else _FRESH)
