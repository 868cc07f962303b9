"""The tables and figures of the paper, one module each.

An experiment is a module with ``NAME``, ``TITLE``, ``NOTES`` (what differs from the paper and why),
``rows(context)``, which computes plain data, ``figure(rows)``, which draws it, and
``claims(rows)``, which sets it beside what the paper says. ``run`` does the first by name and
returns a ``Result``; nothing is read from disk or written to it here.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from deniable.errors import InvalidParameter
from tools.paper.clicks import Clicks, parse_clicks
from tools.paper.experiment import Claim, Context, Experiment, Result, Row

EXPERIMENTS: dict[str, str] = {
    "table1": "tools.paper.table1",
    "table2": "tools.paper.table2",
    "fig1": "tools.paper.figure1",
    "fig2": "tools.paper.figure2",
    "fig3": "tools.paper.figure3",
    "fig4": "tools.paper.figure4",
    "fig5": "tools.paper.figure5",
    "fig6": "tools.paper.figure6",
    "fig7": "tools.paper.figure7",
    "fig8": "tools.paper.figure8",
    "optimality": "tools.paper.optimality",
}
"""The module of each experiment by name; ``load`` imports it when it is wanted."""

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Clicks",
    "Context",
    "Experiment",
    "Result",
    "Row",
    "load",
    "parse_clicks",
    "run",
]


def load(name: str) -> Experiment:
    """Return the experiment of a name.

    >>> load("table2").TITLE
    'Table 2: numerical values of the analytical variance'
    """
    if name not in EXPERIMENTS:
        raise InvalidParameter(
            f"expected an experiment among {', '.join(EXPERIMENTS)}, got {name!r}", value=name
        )
    return cast("Experiment", import_module(EXPERIMENTS[name]))


def run(name: str, context: Context | None = None) -> Result:
    """Compute an experiment."""
    experiment = load(name)
    rows = experiment.rows(Context() if context is None else context)
    return Result(experiment.NAME, experiment.TITLE, tuple(rows), experiment.NOTES)
