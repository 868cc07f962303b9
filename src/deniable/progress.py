"""Progress of long computations, for callers that want to show it.

Long computations call ``tell``; a command line that shows progress wraps the call::

    with progress.listening(bar.update):
        estimates = question.estimate(tally, candidates)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have ``listener(done, total)`` called as the work in this context goes on."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(done: int, total: int) -> None:
    """Say how many steps of how many are done."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)
