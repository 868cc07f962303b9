"""The finished parts of experiments, kept so that nothing is computed twice.

Where they are kept is the caller's: any mapping from a name to bytes will do, a dictionary or a
directory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from time import perf_counter
from typing import cast

from tools.paper.experiment import Row


@dataclass
class Store:
    """Parts by key: each is computed at most once for the same settings.

    A part's name is a digest of its key and of the settings, the code among them; those of other
    settings are left alone and never read. With ``fresh`` what an earlier run kept is not read.
    """

    kept: MutableMapping[str, bytes]
    settings: dict[str, object]
    fresh: bool = False
    memory: dict[str, Row] = field(default_factory=dict, init=False)
    asked: dict[str, float] = field(default_factory=dict, init=False)
    """What the parts took that were asked for, when they were computed."""
    waited: float = field(default=0.0, init=False)
    """What they took now."""

    def keep(self, key: str, compute: Callable[[], Row]) -> Row:
        """Return the part that was kept, or compute and keep it."""
        start = perf_counter()
        kept = self.memory.get(key) or (None if self.fresh else self.read(key))
        if kept is None:
            outcome = compute()
            kept = {"seconds": perf_counter() - start, "outcome": outcome}
            self.write(key, kept)
        self.memory[key], self.asked[key] = kept, float(str(kept["seconds"]))
        self.waited += perf_counter() - start
        return cast("Row", kept["outcome"])

    def read(self, key: str) -> Row | None:
        """Return what was kept under a key, or None where it is missing, foreign or broken."""
        try:
            document = json.loads(self.kept[self._name(key)])
        except (KeyError, ValueError):
            return None
        if not isinstance(document, dict) or document.get("key") != self._named(key):
            return None
        return document if {"seconds", "outcome"} <= set(document) else None

    def write(self, key: str, kept: Row) -> None:
        """Keep something under a key."""
        text = json.dumps({"key": self._named(key), **kept}, indent=1)
        self.kept[self._name(key)] = text.encode()

    def _named(self, key: str) -> dict[str, object]:
        return {**self.settings, "part": key}

    def _name(self, key: str) -> str:
        digest = sha256(json.dumps(self._named(key), sort_keys=True).encode()).hexdigest()
        return f"{digest[:32]}.json"
