"""One language for both databases: their schema, and the transactions in which all verbs run.

Statements are written once, as PostgreSQL understands them but with ``?`` for a value. The few
words that a database spells differently are replaced when a statement is first used.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from importlib.resources import files
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from deniable.collector.stores.records import StoreBroken, StoreCorrupt, Window, write_day

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_LARGEST_STEP = 2
"""How many days the clock may move between two runs and still be trusted."""
AnyDatabase = TypeVar("AnyDatabase", bound="Database")


class Cursor(Protocol):
    """What a statement returns."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Dialect(dict[str, str]):
    """How one database spells statements: each is looked up here, and translated once.

    ``array`` turns some values into the one value of ``= ANY(?)``.
    """

    def __init__(
        self, words: Mapping[str, str], array: Callable[[Iterable[object]], object]
    ) -> None:
        super().__init__()
        self._words, self.array = words, array

    def __missing__(self, text: str) -> str:
        spelled = text
        for word, own in self._words.items():
            spelled = spelled.replace(word, own)
        self[text] = spelled
        return spelled


SQLITE = Dialect(
    {
        " FOR SHARE": "",  # a transaction that writes holds the whole file
        " FOR UPDATE": "",
        "= ANY(?)": "IN (SELECT value FROM json_each(?))",
        "IS NOT DISTINCT FROM": "IS",
    },
    lambda values: json.dumps([*values]),
)
POSTGRES = Dialect(
    # No column that is compared so can be NULL there, and only "=" uses an index.
    {"%": "%%", "?": "%s", "IS NOT DISTINCT FROM": "="},
    lambda values: [*values],
)


class Transaction:
    """What a verb does its work with."""

    __slots__ = ("_execute", "dialect")

    def __init__(self, dialect: Dialect, execute: Callable[[str, Sequence[Any]], Cursor]) -> None:
        self.dialect, self._execute = dialect, execute

    def execute(self, text: str, values: Sequence[object] = ()) -> Cursor:
        return self._execute(self.dialect[text], values)


class Horizon(NamedTuple):
    """Which days are sealed, when that was last looked at, which ids are forgotten, and the day."""

    sealed_through: int
    last_run: int
    forgotten_through: int
    today: int

    @property
    def jumped(self) -> bool:
        """Whether the clock moved too far since days were last sealed."""
        return abs(self.today - self.last_run) > _LARGEST_STEP

    def window(self, window: int) -> Window:
        """Return the days that take reports, those not sealed, up to tomorrow.

        There is an alarm if the clock has jumped, or if today is sealed, or yesterday although the
        window reaches back so far.
        """
        alarm = None
        if self.sealed_through >= self.today - min(window, 1):
            alarm = (
                f"the days up to {write_day(self.sealed_through)} are sealed and take no reports, "
                f"but by the store's clock it is {write_day(self.today)}; if the clock is wrong, "
                "correct it; if it was wrong and is right now, run `deniable store reopen`"
            )
        elif self.jumped:
            alarm = (
                f"the clock moved by {self.today - self.last_run} days since days were last "
                "sealed, so no more are sealed; if the clock is wrong, correct it; if it is right, "
                "run `deniable store fold --trust-clock`"
            )
        return Window(self.sealed_through + 1, self.today + 1, alarm)


class Database(ABC):
    """What each database does in its own way; everything else is built on it."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """Run a transaction that sees one moment."""

    @abstractmethod
    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run a transaction that is on the disk when this returns.

        It is run again where another one stood in its way.
        """

    @abstractmethod
    def horizon(self, transaction: Transaction, hold: str = "") -> Horizon:
        """Return what is sealed and which day it is by the clock that counts."""

    @abstractmethod
    def corrupt(self, said: str) -> StoreCorrupt:
        """Return the error that says what is damaged, and what to do about it."""


def reading(
    verb: Callable[Concatenate[AnyDatabase, Transaction, Parameters], Result],
) -> Callable[Concatenate[AnyDatabase, Parameters], Result]:
    """Give a verb a transaction that sees one moment."""

    @wraps(verb)
    def run(self: AnyDatabase, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with self.reading() as transaction:
            return verb(self, transaction, *args, **kwargs)

    return run


def writing(
    verb: Callable[Concatenate[AnyDatabase, Transaction, Parameters], Result],
) -> Callable[Concatenate[AnyDatabase, Parameters], Result]:
    """Give a verb a transaction that is on the disk when the verb returns."""

    @wraps(verb)
    def run(self: AnyDatabase, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return self.write(lambda transaction: verb(self, transaction, *args, **kwargs))

    return run


class Migration(NamedTuple):
    """One step of the schema, to ``version``."""

    version: int
    name: str
    script: str


def migrations(dialect: str) -> list[Migration]:
    """Return the migrations of ``sqlite`` or ``postgres``, in order.

    They *are* the schema: a new store runs all of them, each in one transaction. A released file
    never changes.
    """
    return sorted(
        Migration(int(file.name.split("_")[0]), file.name, file.read_text(encoding="utf-8"))
        for file in files(__package__).joinpath("migrations", dialect).iterdir()
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
