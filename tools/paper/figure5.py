"""Figure 5 [fig:rockyou]: true and false positives on Kosarak over the threshold, epsilon = 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tools.paper.experiment import Claim, Context, Row
from tools.paper.thresholds import listed, positives, threshold_figure, threshold_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "fig5"
TITLE = "Figure 5: true and false positives on Kosarak, epsilon = 4"
NOTES = ("a false positive has its estimate above the threshold but not its true count",)

EPSILON = 4.0


def rows(context: Context) -> list[Row]:
    """Return the positives of each protocol at each threshold."""
    return threshold_rows(context, (EPSILON,))


def figure(rows: Sequence[Row]) -> Figure:
    """Draw the two panels."""
    return threshold_figure(rows, TITLE)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Compare with what the paper reads off the figure."""
    true, false = (
        positives(rows, EPSILON, 5_000, f"{kind}_positives") for kind in ("true", "false")
    )
    high = positives(rows, EPSILON, 10_000, "true_positives")
    rappor = [name for name in true if name.startswith("RAP")]
    return [
        Claim("fig:rockyoutp", "at a given threshold OLH and BLH find about as many true positives",
              f"at 10,000: {listed(high)}", high["BLH"] > 0.8 * high["OLH"]),
        Claim("fig:rockyoutp", "RAPPOR finds slightly fewer, because of collisions",
              f"at 10,000: {listed(high)}; at 5,000: {listed(true)}",
              all(0.5 * high["OLH"] < high[name] < high["OLH"] for name in rappor)),
        Claim("fig:rockyoufp", "at 5,000 OLH produces tens of false positives, BLH thousands",
              f"at 5,000: {listed(false)}", false["OLH"] < 100 and false["BLH"] >= 1_000),
        Claim("fig:rockyou", "OLH produces the least false positives while generating the most "
              "true positives", f"at 5,000 true: {listed(true)}; false: {listed(false)}",
              all(true["OLH"] >= n for n in true.values())
              and all(false["OLH"] <= n for n in false.values())),
    ]  # fmt: skip
