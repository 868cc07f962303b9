"""What may be installed besides: the libraries of extras, and classes that others bring."""

from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


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
