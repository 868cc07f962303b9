"""How much memory an estimate may take: stated before it is allocated, and bounded by a budget.

A tally of a few hundred bytes can name two billion answers. Whoever estimates from tallies of
others is protected by the budget; whoever really has so many answers raises it by name.
"""

from __future__ import annotations

from deniable.errors import InvalidParameter

DEFAULT = 1 << 31

_bytes = DEFAULT


def memory_budget() -> int:
    """Return how many bytes an estimate may take in this process."""
    return _bytes


def set_memory_budget(size: int | None) -> None:
    """Let estimates take so many bytes in this process, or with None the default, 2 GiB.

    >>> set_memory_budget(8 << 30)
    >>> set_memory_budget(None)
    """
    global _bytes  # noqa: PLW0603 - one setting for the process is what this function is for
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise InvalidParameter.expected(
            "a memory budget in bytes, a whole number of at least 1", size, "None is the default"
        )
    _bytes = DEFAULT if size is None else size


def spend(needed: int, purpose: str) -> None:
    """Refuse work that takes more memory than the budget allows."""
    if needed > _bytes:
        raise InvalidParameter.expected(
            f"{purpose} within the memory budget of {_bytes:,} bytes",
            needed,
            "where the tally is yours, raise it with deniable.set_memory_budget",
            came=f"one that takes about {needed:,}",
        )
