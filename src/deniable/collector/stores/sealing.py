"""When days are sealed and opened again: plain functions of days, the same for every store."""

from __future__ import annotations

from datetime import date

from deniable.collector.stores.records import Window

_LARGEST_STEP = 2
"""By how many days the clock may move between two runs before it is not trusted any more."""
_EPOCH = date(1970, 1, 1).toordinal()


def jumped(last_run: int, today: int) -> bool:
    """Tell whether the clock moved too far since days were last sealed."""
    return abs(today - last_run) > _LARGEST_STEP


def next_sealed(sealed_through: int, today: int, window: int) -> int:
    """Return through which day all days are sealed; the clock alone never takes that back."""
    return max(sealed_through, today - window - 1)


def reopened(sealed_through: int, forgotten_through: int, today: int, window: int) -> int:
    """Return through which day days stay sealed when those with all their ids are opened again."""
    return min(sealed_through, max(forgotten_through, today - window - 1))


def open_window(sealed_through: int, last_run: int, today: int, window: int) -> Window:
    """Return the days that take reports, those not sealed, up to tomorrow.

    The alarm says that the clock has jumped, or that the window is not around today, which it is
    while today and, if the window reaches so far, yesterday are open.
    """
    alarm = None
    if sealed_through >= today - min(window, 1):
        alarm = (
            f"days through {_written(sealed_through)} are sealed and take no reports, and it is "
            f"{_written(today)} by the store's clock; correct the clock if it is wrong, or run "
            "`deniable store reopen` if it is right now and was wrong before"
        )
    elif jumped(last_run, today):
        alarm = (
            f"the clock moved by {today - last_run} days since days were last sealed, so no more "
            "are; correct the clock, or run `deniable store fold --trust-clock` if it is right"
        )
    return Window(sealed_through + 1, today + 1, alarm)


def _written(day: int) -> str:
    return date.fromordinal(day + _EPOCH).isoformat()
