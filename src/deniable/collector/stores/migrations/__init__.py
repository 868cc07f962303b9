"""Schema migrations: numbered files of SQL, forward only, each in one transaction.

The migrations *are* the schema: a new store runs all of them. A released file never changes.
"""

from importlib.resources import files
from typing import NamedTuple

from deniable.collector.stores.records import StoreBroken


class Migration(NamedTuple):
    """One step of the schema, to ``version``."""

    version: int
    name: str
    script: str


def migrations(dialect: str) -> list[Migration]:
    """Return the migrations of ``sqlite`` or ``postgres``, in order."""
    return sorted(
        Migration(int(file.name.split("_")[0]), file.name, file.read_text(encoding="utf-8"))
        for file in files(__package__).joinpath(dialect).iterdir()
        if file.name.endswith(".sql")
    )


def pending(dialect: str, version: int) -> list[Migration]:
    """Return what brings a store of ``version`` up to date, refusing one of a later release."""
    known = migrations(dialect)
    if version > known[-1].version:
        raise StoreBroken(
            f"the store has schema version {version}, and this release knows only versions up to "
            f"{known[-1].version}; upgrade deniable, or restore the copy that was kept when the "
            "store was upgraded",
            value=version,
        )
    return [migration for migration in known if migration.version > version]
