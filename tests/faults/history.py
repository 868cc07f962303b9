"""What clients saw: one entry for each id, recorded and not judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum


class Seen(Enum):
    """What a client knows about a submission."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass
class History:
    """What became of each submission, as far as its client can tell.

    Once acknowledged stays acknowledged; once unknown, a later refusal does not make it known.
    """

    seen: dict[bytes, Seen] = field(default_factory=dict)
    reports: dict[bytes, bytes] = field(default_factory=dict)
    acknowledgements: int = 0
    complaints: list[str] = field(default_factory=list)

    def record(self, id: bytes, reports: bytes, outcome: Seen) -> None:
        """Note what one attempt showed."""
        before = self.seen.get(id)
        self.reports[id] = reports
        if outcome is Seen.ACKNOWLEDGED:
            self.acknowledgements += 1
        elif before is Seen.ACKNOWLEDGED:
            if outcome is Seen.REFUSED:
                self.complaints.append(f"{id.hex()} was acknowledged, and refused later")
            return
        if before is Seen.UNKNOWN and outcome is Seen.REFUSED:
            return
        self.seen[id] = outcome

    def those(self, outcome: Seen) -> Iterable[bytes]:
        """Return the ids that ended in one way."""
        return [id for id, seen in self.seen.items() if seen is outcome]


@dataclass(frozen=True)
class Kept:
    """What a store has in the end: a fingerprint for each id, and how many reports it counts."""

    fingerprints: dict[bytes, int]
    counted: int
