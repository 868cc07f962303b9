"""Work that is sent to executors, and errors that come back in plain words.

What Spark pickles must not need deniable to be unpickled: a worker without it, or with another
version of it, would fail with a traceback about modules. So a closure travels that refers to
nothing of ours by name, looks for the package itself, and only then unpickles its arguments.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable.errors import DeniableError
from deniable.optional import load
from deniable.question import Question
from deniable.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_MARK = "deniable on the executor"
_MESSAGE = re.compile(rf"{_MARK} [^\n]+")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_PYTHONS = re.compile(
    r"Python in worker has different version: (\S+) than that in driver: ([\d.]+)"
)


def send(function: str, question: Question, *names: str, **options: object) -> Work:
    """Return a generator of ``deniable.spark.partitions`` as something that Spark can send."""
    arguments, wanted, mark = pickle.dumps((question, names, options)), __version__, _MARK

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib  # noqa: PLC0415 - the closure brings nothing along
        import pickle  # noqa: PLC0415
        import socket  # noqa: PLC0415

        host = socket.gethostname()
        remedy = f"run there: pip install 'deniable[spark]=={wanted}'"
        try:
            found = importlib.import_module("deniable").__version__
            partitions = importlib.import_module("deniable.spark.partitions")
            threads = importlib.import_module("deniable.kernels.parallel")
            context = importlib.import_module("pyspark").TaskContext.get()
        except ImportError as error:
            raise RuntimeError(
                f"{mark} {host}: expected deniable {wanted} and what it needs on every executor, "
                f"got {error}; {remedy}"
            ) from None
        if found != wanted:
            raise RuntimeError(
                f"{mark} {host}: expected the driver's version {wanted}, got {found}; {remedy}"
            )
        # Spark runs as many workers as there are cores: each is due the cores of its task only.
        threads.set_threads(context.cpus() if context else None)
        question, names, options = pickle.loads(arguments)
        try:
            yield from getattr(partitions, function)(batches, question, *names, **options)
        except ValueError as error:
            raise RuntimeError(f"{mark} {host}: {error}") from error

    return work


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what workers said of themselves into errors of ours, out of Spark's tracebacks."""
    errors = load("pyspark.errors", "spark")
    try:
        yield
    except errors.PySparkException as error:
        found = _plain(str(error))
        if found is None:
            raise
        raise found from error


def _plain(said: str) -> DeniableError | None:
    """Return what a worker, ours or Spark's own, said in so many words."""
    if ours := _MESSAGE.search(said):
        return DeniableError(ours[0], value=None)
    if pythons := _PYTHONS.search(said):
        return DeniableError.expected(
            f"Python {pythons[2]} on every executor, as on the driver",
            pythons[1],
            "set PYSPARK_PYTHON to an interpreter of that version there",
            came=pythons[1],
        )
    if missing := _MISSING.search(said):
        return DeniableError.expected(
            f"{missing[1]} on every executor",
            missing[1],
            f"install 'deniable[spark]=={__version__}' there, and set PYSPARK_PYTHON to the "
            "interpreter that has it",
            came="no such module",
        )
    return None
