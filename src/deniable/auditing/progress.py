"""How far an audit has come, told to whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable


class Progress:
    """Adds up the shares of the work that are done, and tells the listener."""

    def __init__(self, listener: Callable[[float], None] | None) -> None:
        self._listener = listener
        self._done = 0.0

    def advance(self, share: float) -> None:
        """Say that another share of the whole, 1, is done."""
        self._done = min(1.0, self._done + share)
        if self._listener is not None:
            self._listener(self._done)
