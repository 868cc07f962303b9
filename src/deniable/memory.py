"""How much memory an estimate may take: computed before it is allocated, and bounded by a budget.

A tally of a few hundred bytes can name two billion answers. The budget protects people who estimate
from other people's tallies. Those who do have that many answers raise it, in Python or, for the
command line and the collector, in the environment.
"""

import os
import re

from deniable.errors import InvalidParameter

DEFAULT = 1 << 31
ENVIRONMENT_VARIABLE = "DENIABLE_MEMORY"
RAISE_IT = f"raise it with deniable.set_memory_budget or {ENVIRONMENT_VARIABLE}=8G"

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# Twelve digits are enough for every machine; Python refuses to read thousands of them.
_SIZE = re.compile(r"(0*[1-9][0-9]{0,11})\s?([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)

_setting: int | None = None


def memory_budget() -> int:
    """Return how many bytes an estimate may take in this process.

    It is set by `set_memory_budget`, else by DENIABLE_MEMORY (such as 8G), else it is 2 GiB.
    """
    if _setting is not None:
        return _setting
    text = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if not text:
        return DEFAULT
    found = _SIZE.fullmatch(text)
    if found is None:
        raise InvalidParameter(
            f"{ENVIRONMENT_VARIABLE} must be a number of bytes, such as 8G or 500M, not "
            f"{text[:20]!r}; unset it for the default, 2G",
            value=text,
        )
    return int(found[1]) * _UNITS[found[2].upper()]


def set_memory_budget(size: int | None) -> None:
    """Set how many bytes estimates may take in this process; None restores the default.

    >>> set_memory_budget(8 << 30)
    >>> set_memory_budget(None)
    """
    global _setting  # noqa: PLW0603 - one setting for the process is what this function is for
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise InvalidParameter.expected(
            "a memory budget in bytes, a whole number of at least 1", size, "None is the default"
        )
    _setting = size


def reserve(needed: int, purpose: str) -> None:
    """Refuse work that takes more memory than the budget allows."""
    budget = memory_budget()
    if needed > budget:
        raise InvalidParameter(
            f"{purpose} takes about {needed:,} bytes, more than the memory budget of {budget:,} "
            f"bytes; if the tally is yours, {RAISE_IT}",
            value=needed,
        )
