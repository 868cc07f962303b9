"""Compiled kernels: used where Numba is installed and there is enough work to pay for them.

Every function of this package works in NumPy alone. Some have a compiled twin below them that gives
the same result in a fraction of the time, once Numba has been imported and the kernel compiled or
read from its cache on disk, which takes a second or more. A process that decodes one survey in
30 ms must not wait for that; one that works through a billion reports must not do without. So each
kernel keeps an account of the time that NumPy has taken in its place, and is compiled when that
comes to about its price. At worst this is a few times slower than knowing the work in advance.
"""

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

if sys.platform != "win32":
    import fcntl

Function = TypeVar("Function", bound=Callable[..., object])
Number = TypeVar("Number", bound=np.generic)

FLOOR = 2e6
"""Work below two milliseconds is not counted, so that many small requests never compile."""
FIRST_PRICE = 600e6
"""How many nanoseconds the first kernel of a process must save, since it imports Numba.

About what it takes to import Numba and to read a kernel from its cache on disk. To compile one
takes two or three times as long, but once on a machine: not worth asking the disk beforehand.
"""
LATER_PRICE = 60e6
"""The same for further kernels."""

_setting: bool | None = None
_spent: dict[str, float] = {}
_compiled: set[str] = set()
_lock = RLock()


@lru_cache(maxsize=1)
def available() -> bool:
    """Tell whether Numba is installed, without importing it."""
    return find_spec("numba") is not None


def set_compiled(choice: bool | None) -> None:
    """Use compiled kernels always, never or, with None, where they pay."""
    global _setting  # noqa: PLW0603 - one setting per process is what this function is for
    _setting = choice


def pays(name: str, nanoseconds: float) -> bool:
    """Decide whether to use a compiled kernel for work that takes NumPy this long.

    Every call is entered in the kernel's account: after False, the caller uses NumPy.
    """
    if _setting is not None:
        return _setting and _importable()
    if name in _compiled:
        return True
    if nanoseconds < FLOOR or not available():
        return False
    # Two threads at once may lose one of two sums, which delays a kernel a little.
    _spent[name] = _spent.get(name, 0.0) + nanoseconds
    if _spent[name] < (LATER_PRICE if _compiled else FIRST_PRICE) or not _importable():
        return False
    _compiled.add(name)
    return True


@lru_cache(maxsize=1)
def _importable() -> bool:
    """Import Numba; one that is broken, or too old for this NumPy, counts as missing."""
    try:
        import_module("numba")
    except (ImportError, AttributeError, OSError):
        return False
    return True


def frozen(array: np.typing.NDArray[Number]) -> np.typing.NDArray[Number]:
    """Return a contiguous view or copy that cannot be written to.

    Numba compiles once more for every other kind of array.
    """
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def kernel(function: Function) -> Function:
    """Make a function compile to machine code the first time it is called, and not before.

    Kernels never use Numba's own threads, which do not survive a fork; they release the GIL and
    run over chunks in Python threads (`deniable.kernels.parallel`). Without Numba the function
    stays what it is.
    """
    return cast("Function", Kernel(function))


class Kernel:
    """A function and, from its first call on, its machine code."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: object) -> object:
        return self.compiled(*arguments)

    @cached_property
    def compiled(self) -> Any:
        """The machine code, as Numba calls it; the function itself where there is no Numba."""
        with _lock:
            if "compiled" in self.__dict__:  # by another thread, meanwhile
                return self.__dict__["compiled"]
            if not _importable():
                return self.function
            try:
                return self._compile(cache=True)
            except (RuntimeError, OSError):
                # Numba found no writable place for its cache: compile in memory.
                return self._compile(cache=False)

    def _compile(self, *, cache: bool) -> Any:
        import numba  # noqa: PLC0415 - loads only where kernels pay

        # Numba calls only its own functions: replace each kernel that this one calls by its code.
        code, names = self.function.__code__, dict(self.function.__globals__)
        for name in code.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].compiled
        own = FunctionType(code, names, closure=self.function.__closure__)
        own.__qualname__ = self.function.__qualname__
        njit: Any = numba.njit  # its type hints know nothing of _cache
        made = njit(own, nogil=True, boundscheck=False, error_model="numpy", cache=cache)
        if cache:
            made._cache = _Forgiving(made._cache)
        return made


class _Forgiving:
    """Numba's cache of one kernel on disk; when it fails, that costs time and nothing else.

    A disk may fill up, or lose its mount, at any time after the cache was found to be writable.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> object:
        return getattr(self._cache, name)

    def load_overload(self, signature: object, context: object) -> object:
        try:
            return self._cache.load_overload(signature, context)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, signature: object, code: object) -> None:
        try:
            with self._alone():
                self._cache.save_overload(signature, code)
        except OSError:
            return

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from saving meanwhile.

        Numba reads the index of a kernel, takes the first free file and writes both: of two at
        once, one would put its code where the index has that of the other.
        """
        if sys.platform == "win32":
            yield
            return
        with (Path(self._cache.cache_path) / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
