"""The rota: people are asked again and again, each in one round out of many.

A question with a ``Repeat`` goes through ``rounds`` rounds of ``every`` days, ``times`` times over.
A device has a *phase*, a number below ``rounds`` that it draws once from a secret of its own. Its
turn c is round c * rounds + phase, at the full epsilon of the protocol, and there are no others: so
a person is asked ``times`` times in all, whatever the server, the clock or the network does, and
all that a person's reports reveal together is at most ``times`` times epsilon
(docs/proofs.md#rounds).

A turn that was missed is lost. A device never forgets the last turn that it took, and only
takes later ones, so that a clock that is set back never makes it answer twice.

Phase   w // floor(2^64 / rounds), where w is the first little-endian word below
        rounds * floor(2^64 / rounds) among the first eight bytes of
        HMAC-SHA256(secret, digest of the question (32 bytes) | 2 | j (8 bytes)), j = 0, 1, ...
Arm     the same with 3 in the place of 2, and the number of arms in that of rounds

Days and rounds are those of UTC. ``vectors/turns.json`` has examples.
"""

import hmac
from dataclasses import dataclass, fields
from datetime import date, timedelta
from itertools import count
from typing import Literal

from deniable.errors import InvalidDocument, InvalidParameter, brief
from deniable.randomness import WORD
from deniable.validation import check_whole

LONGEST_ROUND, MOST_ROUNDS, MOST_TIMES = 91, 520, 100
"""The most days of a round, rounds in which everybody is asked once, and turns of a person."""
SECRET_BYTES = 32
_FIRST_START = date(1970, 1, 1)
_PHASE, _ARM = b"\2", b"\3"

Standing = int | Literal["already", "not-now", "finished"]
"""How a device stands on a day: the number of the turn that it may take, or why it has none."""


@dataclass(frozen=True)
class Repeat:
    """When a question is asked again: rounds of ``every`` days from ``start`` on.

    >>> weekly = Repeat("2026-11-16", every=7, rounds=26)
    >>> weekly.round_of(date(2026, 12, 1)), str(weekly)
    (2, 'each person in one of 26 rounds of 7 days from 2026-11-16 on, then never again')
    """

    start: str
    every: int
    rounds: int
    times: int = 1

    def __post_init__(self) -> None:
        given: object = self.start
        object.__setattr__(self, "start", given.isoformat() if type(given) is date else given)
        for name, least, most in (
            ("every", 1, LONGEST_ROUND),
            ("rounds", 2, MOST_ROUNDS),
            ("times", 1, MOST_TIMES),
        ):
            number = check_whole(f"{name} of a repeat", getattr(self, name), least, most)
            object.__setattr__(self, name, number)
        if self.first_day < _FIRST_START or self._days > (date.max - self.first_day).days:
            raise InvalidParameter.expected(
                f"rounds between {_FIRST_START} and {date.max}",
                self.start,
                "begin today, and repeat fewer times",
                came=f"{self._days:,} days from {self.start} on",
            )

    @staticmethod
    def of(given: object, protocol: str, *, memoises: bool) -> "Repeat | None":
        """Return the repeat of a question, or say why it has none with this protocol."""
        if given is None:
            return None
        if not isinstance(given, Repeat):
            example = 'such as Repeat("2026-11-16", every=7, rounds=26)'
            raise InvalidParameter.expected("repeat as a Repeat", given, example)
        if memoises:
            raise InvalidParameter(
                f"{protocol} memoises, for people who answer in every round, and the rounds of "
                "repeat are for people who answer in one of them; leave repeat out, or take "
                "another protocol",
                value=protocol,
            )
        return given

    def __str__(self) -> str:
        often = "then never again" if self.times == 1 else f"{self.times} times in all"
        days = "1 day" if self.every == 1 else f"{self.every} days"
        return f"each person in one of {self.rounds} rounds of {days} from {self.start} on, {often}"

    @property
    def first_day(self) -> date:
        return read_start(self.start)

    @property
    def total_rounds(self) -> int:
        """How many rounds there are in all, after which the question is finished for everybody."""
        return self.rounds * self.times

    @property
    def _days(self) -> int:
        return self.every * self.total_rounds

    def round_of(self, day: date) -> int:
        """Return the number of the round of a day, from 0; below it before the start."""
        return (day - self.first_day).days // self.every

    def days_of(self, number: int) -> tuple[date, date]:
        """Return the first and the last day of a round."""
        check_whole("the round", number, 0, self.total_rounds - 1, "count them from 0")
        first = self.first_day + timedelta(days=number * self.every)
        return first, first + timedelta(days=self.every - 1)

    def stands(self, phase: int, last: int, day: date) -> Standing:
        """Tell what a device may do on a day, after it took the turn ``last``, or -1 for none."""
        now = self.round_of(day)
        turn = max(last + 1, -((phase - now) // self.rounds))
        if turn < self.times and now == turn * self.rounds + phase:
            return turn
        if last >= 0 and now == last * self.rounds + phase:
            return "already"
        return "not-now" if turn < self.times else "finished"

    def document(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @staticmethod
    def from_document(document: object) -> "Repeat | None":
        """Return the repeat that a document describes, None for a question that is asked once."""
        if document is None:
            return None
        names = {f.name for f in fields(Repeat)}
        if not isinstance(document, dict) or set(document) != names:
            raise InvalidDocument(
                f"expected repeat as null or an object with {', '.join(sorted(names))}, got "
                f"{brief(document)}; check the file, or upgrade deniable"
            )
        if not isinstance(document["start"], str):
            raise _no_day(document["start"])
        return Repeat(**document)


def read_start(text: object) -> date:
    """Return the day that a text names in the one form that all clients read."""
    try:
        found = date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        found = None
    if found is None or found.isoformat() != text:
        raise _no_day(text)
    return found


def _no_day(came: object) -> InvalidParameter:
    return InvalidParameter.expected("start as a day such as 2026-11-16", came)


def phase_of(secret: bytes, digest: str, rounds: int) -> int:
    """Return the round, below ``rounds``, in which the device with this secret answers."""
    return _drawn(secret, digest, _PHASE, rounds)


def arm_of(secret: bytes, digest: str, arms: int) -> int:
    """Return the arm of an experiment, below ``arms``, of the device with this secret."""
    return _drawn(secret, digest, _ARM, arms)


def _drawn(secret: bytes, digest: str, purpose: bytes, size: int) -> int:
    """Draw one of ``size`` numbers, always the same one, that only the secret can foretell."""
    step = WORD // size
    for attempt in count():
        message = bytes.fromhex(digest) + purpose + attempt.to_bytes(8, "little")
        word = int.from_bytes(hmac.digest(secret, message, "sha256")[:8], "little")
        if word < size * step:
            return word // step
    raise AssertionError  # pragma: no cover - the count has no end
