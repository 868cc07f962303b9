"""``deniable store``: back up, restore, check and tidy a collector's store."""

from pathlib import Path

import click

from deniable.cli.group import Command, InputError, Lazy, LazyGroup
from deniable.cli.options import FILE, output_option
from deniable.cli.outputs import STDIO, refuse_terminal, write_atomically
from deniable.cli.settings import with_settings, with_store
from deniable.collector import maintenance
from deniable.collector.settings import Settings
from deniable.collector.stores import file_of, is_postgres
from deniable.collector.stores import restore as put_back
from deniable.collector.stores import vacuum as write_anew
from deniable.collector.stores.records import Slice, Window, write_day
from deniable.collector.stores.store import Store
from deniable.presentation.view import counted


@click.group(
    cls=LazyGroup,
    lazy={
        "backup": Lazy("store", "Write a consistent copy."),
        "restore": Lazy("store", "Replace the store with a copy."),
        "check": Lazy("store", "Read everything, and say what is wrong."),
        "fold": Lazy("store", "Seal old days and add up what waits."),
        "reopen": Lazy("store", "Reopen the days that a wrong clock has sealed."),
        "vacuum": Lazy("store", "Give back the free space in the file."),
        "export": Lazy("store", "Write everything about a question to a file."),
    },
    examples=["deniable store backup copy.db", "deniable store check"],
)
def store() -> None:
    """Back up, restore, check or tidy a collector's store.

    The collector may run meanwhile, except for restore and vacuum, which refuse.
    """


@click.command(cls=Command, examples=["deniable store backup copy.db --store deniable.db"])
@click.argument("target", type=FILE)
@with_store
def backup(store: Store, _: Settings, target: Path) -> None:
    """Write a consistent copy of a SQLite store to TARGET; for PostgreSQL use pg_dump.

    TARGET appears only when the whole copy is on the disk and was read back.
    """
    store.backup(target)
    click.echo(f"{target}: {target.stat().st_size:,} bytes", err=True)


@click.command(cls=Command, examples=["deniable store restore copy.db --store deniable.db"])
@click.argument("copy", type=FILE)
@with_settings
def restore(settings: Settings, copy: Path) -> None:
    """Replace the store with COPY, which `store backup` wrote.

    Refuses while anybody has the store open. The old file is kept as STORE.replaced, and the rest
    of the old store, its log too, is removed.
    """
    kept = put_back(settings.store, copy)
    click.echo(f"{settings.store}: restored from {copy}", err=True)
    if kept is not None:
        click.echo(f"{kept}: the old store; delete it when you no longer need it", err=True)


@click.command(cls=Command, examples=["deniable store check --store deniable.db"])
@with_store
def check(store: Store, settings: Settings) -> None:
    """Read every question, tally and report, and say what is wrong and what is open."""
    wrong = list(maintenance.check(store))
    for said in wrong:
        click.echo(said)
    window = store.window()
    click.echo(_shown(window))
    if window.alarm:
        click.echo(window.alarm)
    for asked in store.all_asked():
        n = store.standing(Slice(asked.digest)).n
        click.echo(f"{asked.digest} {asked.state.value}: {counted(n, 'report')}")
    if wrong:
        raise InputError(f"{settings.store}: {counted(len(wrong), 'error')}; see above")


def _shown(window: Window) -> str:
    if window.first > window.last:
        return f"no reports are accepted before {write_day(window.first)}"
    return f"reports are accepted for {write_day(window.first)} to {write_day(window.last)}"


@click.command(cls=Command, examples=["deniable store fold --store deniable.db"])
@click.option("--trust-clock", is_flag=True, help="Seal days although the clock has jumped.")
@with_store
def fold(store: Store, settings: Settings, *, trust_clock: bool) -> None:
    """Seal old days, add all waiting reports to tallies, and remove what is no longer needed."""
    window = store.seal(trust_clock=trust_clock)
    folded = maintenance.fold_all(store)
    while store.sweep(2000, settings.retention or None):
        pass
    store.erase()
    click.echo(f"{counted(folded, 'report')} folded", err=True)
    if aside := store.aside():
        click.echo(f"{counted(len(aside), 'row')} set aside: see deniable store check", err=True)
    if window.alarm:
        raise InputError(f"{settings.store}: {window.alarm}")


@click.command(cls=Command, examples=["deniable store reopen --store deniable.db"])
@with_store
def reopen(store: Store, settings: Settings) -> None:
    """Reopen the days that were sealed because the clock was wrong; correct the clock first.

    A day stays sealed once ids of it, or of a later day, were removed: a submission that was
    counted could no longer be told from a new one. Nothing is ever counted twice.
    """
    window = store.reopen()
    click.echo(_shown(window))
    if window.alarm:
        raise InputError(
            f"{settings.store}: today stays sealed, since ids of days until "
            f"{write_day(window.first - 1)} were removed; reports are accepted from "
            f"{write_day(window.first)} on"
        )


@click.command(cls=Command, examples=["deniable store vacuum --store deniable.db"])
@with_settings
def vacuum(settings: Settings) -> None:
    """Rewrite a SQLite store without its free space, and give that back.

    Refuses while anybody has the store open. Needs as much free space as the store has content.
    """
    path = file_of(settings.store)
    before = 0 if is_postgres(settings.store) else path.stat().st_size
    write_anew(settings.store)
    click.echo(f"{path}: {before:,} bytes before, {path.stat().st_size:,} now", err=True)


@click.command(cls=Command, examples=["deniable store export 50d049cc… -o fruit.zip"])
@click.argument("digest", metavar="DIGEST")
@output_option
@with_store
def export(store: Store, settings: Settings, digest: str, *, output: Path) -> None:
    """Write everything about the question DIGEST to a ZIP file.

    The file has the question, its settings, excluded sources and a tally for each day and source,
    which `deniable estimate` reads. Reports that wait are in the tallies.
    """
    refuse_terminal(output)
    asked = store.asked(digest)
    if asked is None:
        raise InputError(f"{settings.store} has no question with the digest {digest!r}")
    write_atomically(output, maintenance.pack(maintenance.gather(store, asked)))
    if str(output) != STDIO:
        click.echo(f"{output}: {output.stat().st_size:,} bytes", err=True)
