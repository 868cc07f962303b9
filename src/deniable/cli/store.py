"""``deniable store``: back up, check or fold a collector's store."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.cli.display import counted
from deniable.cli.group import Command, InputError, Lazy, LazyGroup
from deniable.cli.options import FILE
from deniable.cli.settings import with_store
from deniable.collector import mathematics
from deniable.collector.days import write_day
from deniable.collector.settings import MIB, Settings
from deniable.collector.stores import Store


@click.group(
    cls=LazyGroup,
    lazy={
        "backup": Lazy("store", "Write a consistent copy."),
        "check": Lazy("store", "Look for anything wrong."),
        "fold": Lazy("store", "Seal old days and add up what waits."),
    },
    examples=["deniable store backup copy.db", "deniable store check"],
)
def store() -> None:
    """Back up, check or fold a collector's store; the collector may run meanwhile."""


@click.command(cls=Command, examples=["deniable store backup copy.db --store deniable.db"])
@click.argument("target", type=FILE)
@with_store
def backup(store: Store, settings: Settings, target: Path) -> None:
    """Write a consistent copy of a SQLite store to TARGET; of PostgreSQL use pg_dump."""
    del settings
    store.backup(target)
    click.echo(f"{target}: {target.stat().st_size:,} bytes", err=True)


@click.command(cls=Command, examples=["deniable store check --store deniable.db"])
@with_store
def check(store: Store, settings: Settings) -> None:
    """Look for anything wrong with the store, and say what is open."""
    wrong = list(store.check())
    for said in wrong:
        click.echo(said)
    window = store.window()
    click.echo(f"days from {write_day(window.first)} to {write_day(window.last)} take reports")
    if window.alarm:
        click.echo(window.alarm)
    for asked in store.all_asked():
        n, _ = store.standing(asked.digest, 0, 1 << 40)
        click.echo(f"{asked.digest} {asked.state.value}: {counted(n, 'report')}")
    if wrong:
        raise InputError(f"{settings.store}: {counted(len(wrong), 'thing')} wrong; see above")


@click.command(cls=Command, examples=["deniable store fold --store deniable.db"])
@click.option("--trust-clock", is_flag=True, help="Seal days although the clock has jumped.")
@with_store
def fold(store: Store, settings: Settings, *, trust_clock: bool) -> None:
    """Seal old days, add all waiting reports to tallies, and remove what is not needed."""
    window = store.seal(trust_clock=trust_clock)
    documents = {asked.digest: asked.document for asked in store.all_asked()}
    folded = 0
    while pile := store.pile(1, 2 * MIB):
        tally, n = mathematics.fold(documents[pile.question], pile.tally, pile.reports)
        folded += pile.n if store.fold(pile, tally, n) else 0
    while store.sweep(2000, settings.retention or None):
        pass
    click.echo(f"{counted(folded, 'report')} folded", err=True)
    if window.alarm:
        raise InputError(f"{settings.store}: {window.alarm}")
