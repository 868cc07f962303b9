"""What is loaded when it is asked for: the libraries of extras, and classes by their names."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def load(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise DeniableError(
            f"{name} is not installed; install it with: pip install 'deniable[{extra}]'", value=name
        ) from error


@lru_cache(maxsize=8)
def offered(group: str) -> dict[str, list["EntryPoint"]]:
    """Return the entry points of a group that installed distributions have, by name.

    A distribution whose list cannot be read offers nothing, and hides nobody else's.
    """
    from importlib.metadata import distributions  # noqa: PLC0415 - slow to import, rarely needed

    found: dict[str, list[EntryPoint]] = {}
    for distribution in distributions():
        try:
            mine = list(distribution.entry_points.select(group=group))
        except Exception:  # whatever stands in a stranger's file
            continue
        for point in mine:
            others = found.setdefault(point.name, [])
            if point.value not in [other.value for other in others]:
                others.append(point)
    return found


def load_offered(group: str, name: str, kind: type) -> type[Any] | None:
    """Load the class that an installed distribution offers by name; None where none does.

    Raises DeniableError where it does not load, where it is no such class of that name, or where
    two distributions offer different ones.
    """
    points = offered(group).get(name)
    if not points:
        return None
    homes = ", ".join(sorted(point.dist.name if point.dist else point.value for point in points))
    if len(points) > 1:
        raise DeniableError(
            f"{name!r} is offered by several distributions: {homes}; uninstall all but one",
            value=name,
        )
    try:
        loaded: Any = points[0].load()
    except (Exception, SystemExit) as error:  # whatever a stranger's module does
        raise DeniableError(
            f"{name!r} of the distribution {homes} cannot be loaded: {type(error).__name__}: "
            f"{error}; upgrade or uninstall {homes}",
            value=name,
        ) from error
    fits = isinstance(loaded, type) and issubclass(loaded, kind)
    if not fits or loaded.__name__.lower() != name.lower():
        raise DeniableError(
            f"{points[0].value!r}, which {homes} offers as {name!r}, is no subclass of "
            f"{kind.__name__} of that name; correct the entry point",
            value=name,
        )
    return cast("type[Any]", loaded)


class Registry(dict[str, type[T]]):
    """Classes by the names that documents know them by, as far as they are loaded.

    ``group`` is the package of ours, whose classes are loaded when they are named, and the group of
    entry points by which installed distributions offer others.
    """

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group, self.homes = group, dict[str, str]()

    def expect(self, package: str, path: Iterable[str], homes: Mapping[str, str]) -> None:
        """Take the names of classes by the modules of a package that will define them.

        Modules that are missing in the table are loaded at once, which only costs time.
        """
        for home, names in homes.items():
            self.homes |= dict.fromkeys(names.split(), f"{package}.{home}")
        known = {home.partition(".")[0] for home in homes}
        for module in iter_modules(path):
            if module.name not in known:
                import_module(f"{package}.{module.name}")

    def register(self, name: str, kind: type[T]) -> None:
        """Take a class; raises TypeError where the name is another's."""
        known, mine = self.get(name), f"{kind.__module__}.{kind.__qualname__}"
        home = f"{self.homes.get(name, kind.__module__)}.{kind.__qualname__}"
        other = home if known is None else f"{known.__module__}.{known.__qualname__}"
        if mine != other:
            raise TypeError(
                f"{name!r} is already {other}; documents name classes, so rename one of them"
            )
        self[name] = kind

    def find(self, name: str, kind: type) -> type[T] | None:
        """Return the class of that name: ours, or a kind that a distribution offers, or None."""
        if name not in self:
            import_module(self.group)  # our own are in the package of the same name
        if name not in self and name in self.homes:
            import_module(self.homes[name])
        return self.get(name) or load_offered(self.group, name, kind)

    def names(self) -> list[str]:
        """Return all names but those of offers that nobody asked for, in alphabetical order."""
        return sorted({*self, *self.homes})
