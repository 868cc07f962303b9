"""A kernel is tested in NumPy alone and, with Numba, compiled as well."""

import pytest

from deniable.kernels import jit, parallel


@pytest.fixture(scope="module", params=["numpy", pytest.param("compiled", marks=pytest.mark.numba)])
def way(request):
    """Do the work of a module's tests in one way, whatever its size, and then in the other."""
    jit.set_compiled(request.param == "compiled")
    yield request.param
    jit.set_compiled(None)


@pytest.fixture(autouse=True)
def default_threads():
    """Leave each test with the default number of threads."""
    yield
    parallel.set_threads(None)
