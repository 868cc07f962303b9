import numba
import pytest

from deniable.kernels import compilation


def test_a_read_only_installation_compiles_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Numba finds no place for its cache, a kernel still compiles and runs."""
    njit = numba.njit
    asked = []

    def refuse_cache(*function, cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*function, cache=False, **options)

    monkeypatch.setattr(numba, "njit", refuse_cache)
    twice = compilation.kernel(lambda x: 2 * x)
    assert twice(21) == 42
    assert asked[:2] == [True, False]


def test_decorating_compiles_nothing() -> None:
    """A kernel costs nothing before it is called."""
    assert compilation.kernel(lambda x: x + 1).signatures == []
