"""Work split into chunks, run by Python threads: the same results whatever their number."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from deniable.errors import InvalidParameter

ENVIRONMENT_VARIABLE = "DENIABLE_THREADS"

Result = TypeVar("Result")

_MOST = 10**9 - 1

_setting: int | None = None


def threads() -> int:
    """Return how many threads to use: `set_threads`, else DENIABLE_THREADS, else every core."""
    if _setting is not None:
        return _setting
    text = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if not text:
        if sys.version_info >= (3, 13):
            return os.process_cpu_count() or 1
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    # Python refuses to read a number of thousands of digits.
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if count < 1:
        raise InvalidParameter(
            f"{ENVIRONMENT_VARIABLE} must be a whole number of threads, from 1 to {_MOST}, not "
            f"{text[:20]!r}; unset it to use every core",
            value=text,
        )
    return count


def set_threads(count: int | None) -> None:
    """Fix the number of threads for this process, or with None return to the default."""
    global _setting  # noqa: PLW0603 - one setting per process is what this function is for
    if count is not None and not 1 <= count <= _MOST:
        raise InvalidParameter(
            f"the number of threads must be from 1 to {_MOST}, not "
            f"{'less' if count < 1 else 'more'}; pass None to return to the default",
            value=count,
        )
    _setting = count


def run_chunks(function: Callable[[int, int], Result], total: int, chunk: int) -> list[Result]:
    """Call function(start, stop) on consecutive ranges that cover range(total), in order."""
    return list(iterate_chunks(function, total, chunk))


def iterate_chunks(
    function: Callable[[int, int], Result], total: int, chunk: int
) -> Iterator[Result]:
    """Yield the results of `run_chunks` in order, never holding more than a few at a time.

    The pool lives only as long as the call: a persistent one would be broken in a forked child.
    """
    ranges = ((start, min(start + chunk, total)) for start in range(0, total, chunk))
    workers = min(threads(), -(-total // chunk))
    if workers <= 1:
        for start, stop in ranges:
            yield function(start, stop)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="deniable") as pool:
        try:
            for start, stop in ranges:
                pending.append(pool.submit(function, start, stop))
                # Two per worker keep all of them busy while the oldest result is consumed.
                if len(pending) >= 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
