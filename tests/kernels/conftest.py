"""A kernel is tested in NumPy alone and, where Numba is installed, compiled as well."""

import pytest

from deniable.kernels import compilation, parallel

WAYS = ["numpy", "compiled"] if compilation.available() else ["numpy"]

# What is particular to compiled code is no test where nothing can be compiled.
collect_ignore = [] if compilation.available() else ["test_compiled.py"]


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    """Do the work of a module's tests in one way, whatever its size, and then in the other."""
    compilation.set_compiled(request.param == "compiled")
    yield request.param
    compilation.set_compiled(None)


@pytest.fixture(autouse=True)
def default_threads():
    """Leave each test with the default number of threads."""
    yield
    parallel.set_threads(None)
