"""How kernels are compiled: on first use, serial, without the GIL, cached on disk if possible."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Make a function compile to machine code the first time it is called.

    Kernels never use Numba's own threads, which do not survive a fork; they release the GIL and
    run over chunks in Python threads (`deniable.kernels.parallel`).
    """
    try:
        return _compile(function, cache=True)
    except RuntimeError:
        # Numba found no writable place for its cache (a read-only install): compile in memory.
        return _compile(function, cache=False)


def _compile(function: Function, *, cache: bool) -> Function:
    compiled: object = numba.njit(
        function, nogil=True, boundscheck=False, error_model="numpy", cache=cache
    )
    # The dispatcher is called like the function that it compiles.
    return cast("Function", compiled)
