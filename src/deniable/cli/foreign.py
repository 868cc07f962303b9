"""Protocols of others: a class named as ``module:Class``, imported and made."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import numpy as np

from deniable.auditing.probe import Privatizer
from deniable.cli.group import InputError
from deniable.errors import DeniableError
from deniable.protocols import discover


def is_foreign(text: str) -> bool:
    """Tell whether a name is one of a module and a class, and not a protocol with settings.

    >>> is_foreign("mine:Noise"), is_foreign("LH:g=4"), is_foreign("OUE")
    (True, False, False)
    """
    module, colon, name = text.partition(":")
    known = {each.lower() for each in discover()} | {"grr", "auto"}
    return bool(colon) and "=" not in name and module.lower() not in known


def load_foreign(text: str, epsilon: float | None, domain_size: int | None) -> Privatizer:
    """Import what ``text`` names, make it, and check that it is something to audit."""
    module, _, name = text.partition(":")
    found = _find(module, name)
    given = {"epsilon": epsilon, "domain_size": domain_size}
    made = _make(text, found, given) if isinstance(found, type) else found
    missing = [part for part in ("privatize", "epsilon") if not hasattr(made, part)]
    if missing or not isinstance(made, Privatizer):
        raise InputError(
            f"expected {text} to have privatize(values, rng=None) and epsilon, got no "
            f"{' and no '.join(missing)}; see docs/audit.md for what an audit needs"
        )
    _check_number(f"epsilon of {text} as a positive number", made.epsilon, least=0.0)
    size = getattr(made, "domain_size", None)
    if size is not None:
        wanted = f"domain_size of {text} as a whole number from 2 on, or none for fingerprints"
        _check_number(wanted, size, least=1.0)
    return made


def _find(module: str, name: str) -> object:
    with _current_directory():
        try:
            loaded = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise InputError(f"{module} cannot be imported: {error}") from error
            raise InputError(
                f"expected a module {module!r}, got none; run the command in its directory, or "
                "install it"
            ) from error
        except Exception as error:
            raise InputError(
                f"{module} cannot be imported: {type(error).__name__}: {error}"
            ) from error
    if not hasattr(loaded, name):
        near = get_close_matches(name, dir(loaded), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "check its name"
        raise InputError(f"expected a class {name!r} in {module}, got none; {hint}")
    found: object = getattr(loaded, name)
    return found


@contextmanager
def _current_directory() -> Iterator[None]:
    """Let modules of the current directory be imported, as ``python -m`` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _make(text: str, kind: type, given: dict[str, float | None]) -> object:
    """Call the class with those of the options that it takes."""
    try:
        parameters = inspect.signature(kind).parameters
    except (TypeError, ValueError):
        parameters = inspect.signature(lambda epsilon, domain_size: None).parameters
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name, value in given.items():
        option, taken = f"--{name.replace('_', '-')}", name in parameters or any_name
        if value is not None and not taken:
            raise InputError(f"expected no {option} for {text}, which takes none; leave it out")
        needed = name in parameters and parameters[name].default is inspect.Parameter.empty
        if value is None and needed:
            raise InputError(f"expected {option} for {text}, got none; give it a number")
    arguments = {name: value for name, value in given.items() if value is not None}
    try:
        made: object = kind(**arguments)
    except DeniableError:
        raise
    except Exception as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise InputError(
            f"{text} cannot be made with ({shown}): {type(error).__name__}: {error}"
        ) from error
    return made


def _check_number(wanted: str, number: object, *, least: float) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float | np.number):
        raise InputError(f"expected the {wanted}, got {number!r}")
    if not float(number) > least:
        raise InputError(f"expected the {wanted}, got {number!r}")
