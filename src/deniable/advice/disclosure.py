"""What reports reveal about one person: a change of odds [def:dlp], and whether a value changed."""

import math
from dataclasses import dataclass

import numpy as np

from deniable.protocol import Protocol
from deniable.protocols.basic_rappor import BasicRAPPOR
from deniable.validation import check_epsilon, check_positive

Floats = np.typing.NDArray[np.float64]
Counts = np.typing.NDArray[np.int64]

_CELLS = 1 << 20
"""How many bits of people are simulated at once."""


def reveals(protocol: Protocol, times: int | None = None) -> str:
    """Say how much answering reveals, once and for ever.

    ``times`` is how often the device of a person takes part, if a question is asked in rounds.

    >>> from deniable import DE, BasicRAPPOR
    >>> print(reveals(BasicRAPPOR(32, 0.5, 0.75, 0.25)))
    epsilon = 1.02 by one report, 2.2 by answering for ever, as long as the answer stays the same
    >>> print(reveals(DE(1.0, 4)))
    epsilon = 1 by one report, and as much again by each further one
    >>> print(reveals(DE(1.0, 4), 3))
    epsilon = 1 by one report, and 3 in all: a person answers 3 times at most
    """
    one = f"epsilon = {protocol.epsilon:.3g} by one report"
    if protocol.memoises:
        total = f"{protocol.total_epsilon:.3g}"
        return f"{one}, {total} by answering for ever, as long as the answer stays the same"
    if times is not None:
        often = "once" if times == 1 else f"{times} times"
        total = f"{times * protocol.total_epsilon:.3g}"
        return f"{one}, and {total} in all: a person answers {often} at most"
    return f"{one}, and as much again by each further one"


def meaning(epsilon: float, *, forever: float | None = None) -> str:
    """Say what epsilon means for one person, in words.

    ``forever`` is what any number of reports reveals, where the protocol memoises.

    >>> print(meaning(1.0).partition(":")[0])
    One report changes the odds of any guess about a person's answer by a factor of at most 2.72
    """
    power = math.exp(check_epsilon(epsilon))
    even, rare = power / (1 + power), power / (99 + power)
    more = (
        "Several reports of one person multiply their factors."
        if forever is None
        else "Any number of reports of one person, as long as the answer stays the same, change "
        f"them by a factor of at most {_factor(forever)}."
    )
    return (
        "One report changes the odds of any guess about a person's answer by a factor of at most "
        f"{_factor(epsilon)}: a guess held for 50 % likely becomes at least "
        f"{_percent(1 / (1 + power), even, up=False)} and at most "
        f"{surest(epsilon)} likely, one held for 1 % likely at most "
        f"{_percent(rare, 99 / (99 + power))}. {more}"
    )


def surest(epsilon: float) -> str:
    """Return how likely a guess that was held for 50 % likely can become at most.

    >>> surest(2.0)
    '89 %'
    """
    power = math.exp(check_epsilon(epsilon))
    return _percent(power / (1 + power), 1 / (1 + power))


def _factor(epsilon: float) -> str:
    """Return e^epsilon, rounded up: it is what no report exceeds."""
    power = math.exp(check_epsilon(epsilon))
    size = math.floor(math.log10(power))
    power = _outward(power, 2 - size if power < 1000 else 0 if power < 1e9 else 1 - size, up=True)
    return f"{power:.3g}" if power < 1000 else f"{power:,.0f}" if power < 1e9 else f"{power:.1e}"


def _outward(number: float, digits: int, *, up: bool) -> float:
    """Round a number up or down, unless only the error of floating point is beyond the digits."""
    scaled = number * 10.0**digits
    slack = 1e-12 * scaled
    return (math.ceil(scaled - slack) if up else math.floor(scaled + slack)) / 10.0**digits


def _percent(share: float, rest: float, *, up: bool = True) -> str:
    """Return a share, rounded up or down, with the digits that tell it and the rest from 0."""
    distance = min(share, rest)
    if distance < 1e-8:
        return "practically 0 %" if share < rest else "practically 100 %"
    near_half = abs(share - rest) < 0.1
    digits = max(0, 1 - math.floor(math.log10(100 * distance))) + near_half
    return f"{_outward(100 * share, digits, up=up):.{digits}f} %"


@dataclass(frozen=True)
class Linkability:
    """The advantage of the best test for a change, with the standard error of the simulation."""

    advantage: float
    std_error: float


def linkability(
    protocol: BasicRAPPOR,
    reports: tuple[int, int] = (1, 1),
    *,
    known: bool = False,
    samples: int = 100_000,
    seed: int = 0,
) -> Linkability:
    """Return with what advantage reports before and after tell a changed value from the same one.

    Reports of one person share the permanent response while the value stays. No test tells better
    than that of Bayes whether it did: its advantage is the probability of saying "stayed" when it
    stayed, less that of saying so when it changed, the distance in total variation between the two
    laws. It has no closed form and is averaged over simulated reports: of the absolute tanh of half
    the logarithm of the ratio.

    ``reports`` are how many are seen before and after. With ``known`` the observer knows the first
    value and what it would have changed to, else all values are as likely.
    """
    before, after = (check_positive("the number of reports", number) for number in reports)
    bits, rng = _Bits(protocol, before, after), np.random.default_rng(seed)
    people = max(1, check_positive("samples", samples) // 2)
    most = max(1, _CELLS // protocol.domain_size)
    found: list[Floats] = []
    for start in range(0, people, most):
        size = min(most, people - start)
        for stayed in (True, False):
            seen = bits.draw(size, rng, stayed=stayed, known=known)
            ratio = bits.known(*seen) if known else bits.unknown(*seen)
            found.append(np.abs(np.tanh(ratio / 2)))
    every = np.concatenate(found)
    return Linkability(float(every.mean()), float(every.std() / math.sqrt(len(every))))


class _Bits:
    """The laws of the ones of one bit among the reports before and after.

    Bits are independent given the values, so that the likelihoods are products over bits of small
    sums over the permanent bit.
    """

    def __init__(self, protocol: BasicRAPPOR, before: int, after: int) -> None:
        self.d, self.numbers = protocol.domain_size, (before, after)
        self.kept, self.flipped = map(float, protocol._weights.shares)
        self.p, self.q = map(float, protocol._instant.shares)
        ones = [self._given(number) for number in self.numbers]
        # By whether the bit is that of the value: with one permanent bit for all, or with two.
        chances = np.array([[1 - self.flipped, self.flipped], [1 - self.kept, self.kept]])
        self.same = np.einsum("tb,bx,by->txy", chances, *ones)
        self.first, self.second = (chances @ law for law in ones)

    def _given(self, number: int) -> Floats:
        """Return the chances of each number of ones among the reports, by the permanent bit."""
        k = np.arange(number + 1)
        ways = np.array([math.comb(number, int(i)) for i in k], dtype=np.float64)
        return np.array([ways * c**k * (1 - c) ** (number - k) for c in (self.q, self.p)])

    def draw(
        self, size: int, rng: "np.random.Generator", *, stayed: bool, known: bool
    ) -> tuple[Counts, Counts]:
        """Return the ones of each bit before and after, for people whose value stayed or not."""
        first = np.zeros(size, np.int64) if known else rng.integers(0, self.d, size)
        step = 1 if known else rng.integers(1, self.d, size)
        second = first if stayed else (first + step) % self.d
        old = self._permanent(first, rng)
        new = old if stayed else self._permanent(second, rng)
        before, after = self.numbers
        return rng.binomial(before, old), rng.binomial(after, new)

    def _permanent(self, values: Counts, rng: "np.random.Generator") -> Floats:
        """Return with what chance each bit is reported as one, by a permanent bit for each."""
        true = np.arange(self.d) == values[:, None]
        chances = np.where(true, self.kept, self.flipped)
        return np.where(rng.random(chances.shape) < chances, self.p, self.q)

    def known(self, x: Counts, y: Counts) -> Floats:
        """Return the logarithms of the ratio of the likelihoods, of value 0 and a change to 1."""
        holds, comes = np.zeros((2, self.d), dtype=np.int64)
        holds[0] = comes[1] = 1
        stayed = _log(self.same[holds, x, y])
        changed = _log(self.first[holds, x]) + _log(self.second[comes, y])
        return np.asarray(stayed.sum(axis=1) - changed.sum(axis=1))

    def unknown(self, x: Counts, y: Counts) -> Floats:
        """Return the same where all values, and all changes, are as likely as others."""
        base = _log(self.same[0, x, y]).sum(axis=1)
        base -= (_log(self.first[0, x]) + _log(self.second[0, y])).sum(axis=1)
        once = _ratio(self.same[:, x, y])
        before, after = _ratio(self.first[:, x]), _ratio(self.second[:, y])
        pairs = before.sum(axis=1) * after.sum(axis=1) - (before * after).sum(axis=1)
        return np.asarray(base + _log(once.mean(axis=1)) - _log(pairs / (self.d * (self.d - 1))))


def _log(chances: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(chances)


def _ratio(chances: Floats) -> Floats:
    """Return how much likelier the true bit makes what was seen; 1 where neither is possible."""
    other, true = chances
    return np.asarray(np.divide(true, other, out=np.ones_like(true), where=other > 0))
