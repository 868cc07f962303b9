"""The compiled twins of the functions beside this package, in modules of the same names.

A module of this package imports Numba, and so is itself imported only where
`deniable.kernels.compilation.pays` says so. What a kernel is given is frozen and contiguous
first, because Numba compiles once more for every other kind of array.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)


def frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return a view, or a contiguous copy, that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
