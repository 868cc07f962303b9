"""What an audit found, and how much of it is proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    ``exact`` tells whether ``epsilon`` was computed from enumerated laws, and ``complete`` whether
    these were the laws of all values and hash functions: then it is the privacy loss. Computed from
    some of them it is a lower bound, and from samples a lower bound that is wrong with probability
    of at most 1e-6. ``worst_ratio`` is exact or None; ``witness`` is the pair of values that are
    easiest to tell apart.

    ``proved`` and ``sampled`` say in sentences what each rests on, ``failures`` what makes the
    protocol BROKEN beside its epsilon: calls that differ where they must not. ``resolution`` is the
    smallest chance with which a single call of one of the values could have left the law and been
    seen with a probability of 99 %; what happens more rarely may have escaped.
    """

    epsilon: float
    claimed: float
    exact: bool
    worst_ratio: Fraction | None
    witness: tuple[int, int]
    detail: str
    complete: bool = False
    failures: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    sampled: tuple[str, ...] = ()
    resolution: float = 1.0

    @property
    def holds(self) -> bool:
        """Whether the protocol does what it claims, as far as the audit can tell."""
        return self.epsilon <= self.claimed and not self.failures

    def __str__(self) -> str:
        kind = "exactly" if self.complete else "at least"
        passed = "holds" if self.complete else "no violation found"
        verdict = passed if self.holds else "BROKEN"
        found, claimed = f"{self.epsilon:.12g}", f"{self.claimed:.12g}"
        first = f"{verdict}: epsilon is {kind} {found}, claimed {claimed} ({self.detail})"
        parts = (("failed", self.failures), ("proved", self.proved), ("sampled", self.sampled))
        lines = [f"  {name}: {text}" for name, texts in parts for text in texts]
        return "\n".join([first, *lines])
