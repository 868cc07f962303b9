"""A memory of what was used last, limited in bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The values used last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """Return a value if it is still there."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value, dropping the oldest where that is too much."""
        _, before = self._kept.pop(key, (None, 0))
        self._kept[key] = value, size
        self._size += size - before
        while self._size > self._most and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._size -= gone
