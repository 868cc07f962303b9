"""One language for both databases, and the transactions in which every verb of a store runs.

Statements are written once, as PostgreSQL understands them but with ``?`` for a value. The few
words that a database spells differently are replaced when a statement is first used.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from deniable.collector.stores.base import StoreCorrupt

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
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
