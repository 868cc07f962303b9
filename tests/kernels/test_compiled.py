import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deniable.kernels import bits, jit
from deniable.kernels.jit import frozen

numba = pytest.importorskip("numba")
caching = pytest.importorskip("numba.core.caching")
pytestmark = pytest.mark.numba


def test_planes_are_flushed_before_they_overflow():
    """All ones, more of them than sixteen bit planes can hold, are all counted."""
    rows = np.full((70_000, 600), 255, np.uint8)
    counts = np.zeros(4800, np.int64)
    bits._add_bits(rows, counts)
    assert set(counts.tolist()) == {70_000}


@pytest.mark.parametrize("width", [1, 13, 700])
def test_chunks_of_rows_lose_no_bit(monkeypatch, width):
    """Rows counted in small chunks give the counts of one chunk."""
    rows = np.random.default_rng(0).integers(0, 256, (5000, width), dtype=np.uint8)
    monkeypatch.setattr(jit, "_setting", True)
    whole = bits.count_bits(rows, 8 * width)
    monkeypatch.setattr(bits, "COMPILED_CHUNK", 1000)
    monkeypatch.setattr(bits, "LEAST_ROWS", 100)
    assert bits.count_bits(rows, 8 * width).tolist() == whole.tolist()


def test_chunks_of_values_lose_none(monkeypatch):
    """Values counted in small chunks give the counts of one chunk."""
    values = np.random.default_rng(0).integers(0, 60, 10_000, dtype=np.uint8)
    monkeypatch.setattr(jit, "_setting", True)
    whole = bits.count_values(values, 50)
    monkeypatch.setattr(bits, "VALUES_CHUNK", 100)
    chunked = bits.count_values(values, 50)
    assert (chunked[0].tolist(), chunked[1]) == (whole[0].tolist(), whole[1])


def test_kernels_compile_once_for_all_kinds_of_arrays():
    """Read-only, strided and plain inputs meet the same machine code."""
    codes = np.arange(90, dtype=np.uint64)
    kernel = jit.kernel(lambda x: x.sum())
    assert kernel(frozen(codes)) == kernel(frozen(codes[::-1])) == codes.sum()
    assert len(kernel.compiled.signatures) == 1


def test_kernels_call_each_other():
    """A kernel that calls another is compiled with it, whichever is called first."""
    rows = np.random.default_rng(3).integers(0, 2**64, (2, 8), dtype=np.uint64)
    tripled = jit.kernel(_triple)
    assert tripled(14) == 42
    assert bits._add_bitwise.compiled is not bits._add_bitwise.function
    sums = bits._add_bitwise(*(np.uint64(x) for x in rows[0, :3]))
    assert sums[0] == rows[0, 0] ^ rows[0, 1] ^ rows[0, 2]


@jit.kernel
def _twice(number):
    return number + number


def _triple(number):
    return _twice(number) + number


def test_a_read_only_installation_compiles_in_memory(monkeypatch):
    """Where Numba finds no place for its cache, a kernel still compiles and runs."""
    njit = numba.njit
    asked = []

    def refuse_cache(*function, cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*function, cache=False, **options)

    monkeypatch.setattr(numba, "njit", refuse_cache)
    twice = jit.kernel(lambda x: 2 * x)
    assert twice(21) == 42
    assert asked[:2] == [True, False]


def test_kernel_without_a_place_for_its_cache_still_compiles():
    """A function that Numba cannot cache on disk is compiled in memory, at its first call."""
    namespace = {}
    exec(compile("def twice(x):\n    return 2 * x", "<nowhere>", "exec"), namespace)
    twice = jit.kernel(namespace["twice"])
    assert not twice.compiled.signatures
    assert twice(21) == 42
    assert twice.compiled.signatures


def test_a_full_disk_costs_only_time(monkeypatch):
    """Machine code that the cache's disk has no room for is used all the same."""

    def fail(*_):
        attempts.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    attempts = []
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", fail)
    thrice = jit.kernel(lambda x: 3 * x)
    assert thrice(14) == 42
    assert attempts


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "Input/output error"), EOFError()])
def test_a_cache_that_cannot_be_read_is_compiled_again(monkeypatch, failure):
    """A damaged cache, or a disk that fails, is no obstacle."""

    def fail(*_):
        attempts.append(1)
        raise failure

    attempts = []
    monkeypatch.setattr(caching.IndexDataCacheFile, "load", fail)
    increase = jit.kernel(lambda x: x + 7)
    assert increase(35) == 42
    assert attempts


def test_decorating_compiles_nothing():
    """A kernel costs nothing before it is called."""
    assert "compiled" not in vars(jit.kernel(lambda x: x + 1))


TINY = """
from deniable.kernels.jit import kernel
@kernel
def twice(number):
    return number + number
"""
SLOWLY = """
import time, tiny
from numba.core.caching import IndexDataCacheFile as Index
load = Index._load_index
def slow(self):
    found = load(self)
    time.sleep(1)
    return found
Index._load_index = slow
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks of files are those of Unix")
def test_processes_that_compile_at_once_keep_both(tmp_path):
    """Each that saves a kernel for a type of its own leaves its machine code in its own place."""
    (tmp_path / "tiny.py").write_text(TINY)
    path = os.pathsep.join([str(tmp_path), str(Path(jit.__file__).parents[2])])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    at_once = [
        subprocess.Popen([sys.executable, "-c", f"{SLOWLY}\ntiny.twice({number})"], env=environment)
        for number in ("3", "1.5", "2j")
    ]
    assert [process.wait() for process in at_once] == [0, 0, 0]
    values = "[tiny.twice(n) for n in (3, 1.5, 2j)]"
    script = f"import tiny; print({values}, tiny.twice.compiled.stats.cache_hits)"
    found = subprocess.check_output([sys.executable, "-c", script], env=environment, text=True)
    shown, hits = found.split("] ")
    assert shown == "[6, 3.0, 4j"
    assert hits.count("): 1") == 3
