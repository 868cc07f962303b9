"""How far an audit has come, told in hundredths to whoever listens."""

from __future__ import annotations

from deniable.progress import tell


class Progress:
    """Adds up the shares of the work that are done."""

    def __init__(self) -> None:
        self._done = 0.0

    def advance(self, share: float) -> None:
        """Say that another share of the whole, 1, is done."""
        self._done = min(1.0, self._done + share)
        tell(round(100 * self._done), 100)
