import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable.errors import InvalidParameter
from deniable.kernels import parallel


@pytest.fixture(autouse=True)
def default_threads(monkeypatch):
    """Start and leave each test with the default number of threads."""
    monkeypatch.delenv(parallel.ENVIRONMENT_VARIABLE, raising=False)
    parallel.set_threads(None)
    yield
    parallel.set_threads(None)


def test_default_is_every_available_core():
    """Without a setting there is one thread for each core that the process may use."""
    assert 1 <= parallel.threads() <= (os.cpu_count() or 1)


def test_environment_variable_sets_threads(monkeypatch):
    """DENIABLE_THREADS replaces the default, and an empty one means the default."""
    default = parallel.threads()
    monkeypatch.setenv("DENIABLE_THREADS", " 7 ")
    assert parallel.threads() == 7
    monkeypatch.setenv("DENIABLE_THREADS", "")
    assert parallel.threads() == default


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²", "1 2", "9" * 5000])
def test_wrong_environment_variable_is_refused(monkeypatch, text):
    """A DENIABLE_THREADS that is no positive whole number is refused by its own words."""
    monkeypatch.setenv("DENIABLE_THREADS", text)
    with pytest.raises(InvalidParameter, match="DENIABLE_THREADS") as caught:
        parallel.threads()
    assert caught.value.value == text


def test_setting_wins_over_environment(monkeypatch):
    """`set_threads` wins over the environment until it is set back to None."""
    monkeypatch.setenv("DENIABLE_THREADS", "3")
    parallel.set_threads(5)
    assert parallel.threads() == 5
    parallel.set_threads(None)
    assert parallel.threads() == 3


@pytest.mark.parametrize("count", [0, -2, -(10**5000), 10**5000], ids=range(4))
def test_wrong_setting_is_refused(count):
    """A number of threads below one is refused."""
    with pytest.raises(InvalidParameter, match="from 1 to"):
        parallel.set_threads(count)


@pytest.mark.parametrize("threads", [1, 2, 9])
@pytest.mark.parametrize(("total", "chunk"), [(0, 3), (1, 3), (3, 3), (10, 3), (100, 1)])
def test_chunks_cover_the_range_in_order(threads, total, chunk):
    """The chunks are consecutive, all but the last of one size, and their results in order."""
    parallel.set_threads(threads)
    expected = [(start, min(start + chunk, total)) for start in range(0, total, chunk)]
    assert parallel.run_chunks(lambda start, stop: (start, stop), total, chunk) == expected


@pytest.mark.parametrize("threads", [1, 4])
def test_exception_of_a_chunk_propagates(threads):
    """What a chunk raises reaches the caller."""
    parallel.set_threads(threads)

    def fail_at_five(start, stop):
        if start == 5:
            raise ZeroDivisionError("at five")

    with pytest.raises(ZeroDivisionError, match="at five"):
        parallel.run_chunks(fail_at_five, 50, 1)


def test_chunks_run_at_the_same_time():
    """Two threads are inside two chunks at once."""
    parallel.set_threads(2)
    barrier = threading.Barrier(2, timeout=3600)  # so that wrong code fails and does not hang
    assert sorted(parallel.run_chunks(lambda start, stop: barrier.wait(), 2, 1)) == [0, 1]


def test_few_results_are_held_at_a_time(monkeypatch):
    """Chunks are handed out only a few ahead of the results that were consumed."""
    parallel.set_threads(2)
    handed = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, start, stop):
            handed.append(start)
            return super().submit(function, start, stop)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Counting)
    results = parallel.iterate_chunks(lambda start, stop: start, 1000, 1)
    for consumed, result in enumerate(results):
        assert result == consumed
        assert len(handed) <= consumed + 4
    assert handed == list(range(1000))


def test_one_thread_uses_no_pool():
    """With one thread the chunks run in the caller's own thread."""
    parallel.set_threads(1)
    own = threading.get_ident()
    assert parallel.run_chunks(lambda start, stop: threading.get_ident(), 3, 1) == [own] * 3


def test_no_thread_outlives_a_call():
    """The pool is gone when the call returns, so that a fork never copies a broken one."""
    parallel.set_threads(3)
    before = set(threading.enumerate())
    parallel.run_chunks(lambda start, stop: None, 10, 1)
    assert set(threading.enumerate()) <= before
