"""When days are sealed: plain functions of three days, the same for every store."""

from __future__ import annotations

from deniable.collector.stores.store import Window

_LARGEST_STEP = 2
"""By how many days the clock may move between two runs before it is not trusted any more."""


def open_window(sealed_through: int, last_run: int, today: int) -> Window:
    """Return the days that take reports: those not sealed, up to tomorrow."""
    alarm = None
    if abs(today - last_run) > _LARGEST_STEP:
        alarm = (
            f"the clock moved by {today - last_run} days since days were last sealed, so no more "
            "are; correct the clock, or run `deniable store fold --trust-clock` if it is right"
        )
    return Window(sealed_through + 1, today + 1, alarm)


def next_horizon(
    sealed_through: int, last_run: int, today: int, window: int, *, trust_clock: bool
) -> Window:
    """Return the window after sealing; a sealed day stays sealed whatever the clock says."""
    before = open_window(sealed_through, last_run, today)
    if before.alarm and not trust_clock:
        return before
    return Window(max(sealed_through + 1, today - window), today + 1)
