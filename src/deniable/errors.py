"""The errors that deniable raises, all of them a ``DeniableError``.

Each is also a ``ValueError``. Its message says what was wrong and what to do, and ``value`` is the
offending value. Answers and values that are to be privatized are the exception: the error names
their position, in words and as ``value``. It never holds them, nor is it chained to an error that
does. Errors leave a device in logs; answers must not.
"""

from functools import partial
from typing import Self

_LONGEST = 80


class DeniableError(Exception):
    """The base of all errors of this package; ``value`` is the offending value."""

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value

    @classmethod
    def expected(cls, what: str, got: object, remedy: str = "", *, came: str | None = None) -> Self:
        """Compose an error from what was expected, what came and what to do.

        ``came`` says in words what came, where ``got`` itself would not tell.

        >>> str(InvalidParameter.expected("a fruit", "brick", "eat something else"))
        "expected a fruit, got 'brick'; eat something else"
        """
        shown = brief(got) if came is None else came
        return cls(f"expected {what}, got {shown}{remedy and '; '}{remedy}", value=got)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep ``value`` when the error crosses a process boundary."""
        return partial(type(self), value=self.value), (str(self),)


class InvalidParameter(DeniableError, ValueError):
    """A parameter that no protocol, plan or question can have."""


class OutOfDomain(DeniableError, ValueError):
    """An answer that is not one of the question's answers."""


class InvalidReport(DeniableError, ValueError):
    """Bytes or arrays that no client of the protocol can have sent."""


class InvalidDocument(DeniableError, ValueError):
    """A question, tally or report file that is foreign, cut short or altered."""


class IncompatibleTally(DeniableError, ValueError):
    """A tally that belongs to another protocol or question."""


def brief(value: object) -> str:
    """Return what came as an error shows it: in one short line, however long it is.

    >>> brief("kiwi"), brief(10**10_000)
    ("'kiwi'", 'an integer of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write so many digits
        return f"an {'integer' if isinstance(value, int) else 'object'} of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
