"""Basic RAPPOR: unary encoding whose noise is drawn once for each value, then once more a report.

Encode   v -> B0, the d-bit vector with only bit v set                        [sec:basic_rappor]
Perturb  permanently, once for each value: B1[i] = B0[i] with probability 1 - f/2, else its
         complement; then for each report: B2[i] = 1 with probability p where B1[i] = 1, else q
Support  {i : B2[i] = 1}, hence p* = (1 - f/2) p + (f/2) q and q* = (f/2) p + (1 - f/2) q
Privacy  one report: ln(p* (1 - q*) / ((1 - p*) q*)); infinitely many of one value:
         2 ln((1 - f/2) / (f/2)), what B1 gives away. Without p and q the report is B1 and both
         are the same: symmetric unary encoding
         (docs/proofs.md#permanent-noise)

A person who answers once may use ``privatize``, which draws both steps afresh for each value, as if
each came from another person. A person who answers again needs a client. It derives B1 from a
secret that never leaves the device, so that B1 is the same each time although nothing is stored.

What a client does not hide is *that* the value changed, or stayed. Reports of one person share B1,
which works as a pseudonym: without p and q two reports of one value are equal, and those of two
values are so with probability (1 - 2ab)^(d-2) (2ab)^2, a = 1 - f/2 and b = f/2: 1.95e-4 for
d = 16 and f = 1/2, a ratio of 5,120 where twice epsilon, 2 ln 9, would allow 81. With p = 3/4,
q = 1/4 and d = 64 the best test tells a change from none with an advantage of 0.58 by one report
before and one after, and of 0.996 by five and five (``advice.linkability``). ``epsilon_forever``
bounds what any number of reports reveal about *one* value, and nothing else: sequences of different
values have no such bound. Let people answer once.

Random bytes: d words for B1, where bit i is set when word i is below the weight of 1 - f/2 (i = v)
or f/2 (i != v); then, given p and q, d words for B2, where bit i is set when word d + i is below
the weight of p (B1[i] = 1) or q. A client's first d words are the little-endian 64-bit words of
HMAC-SHA256(secret, D || v || j), j = 0, 1, ..., with v and j as 8 little-endian bytes and D the
SHA-256 of the JSON {"context":...,"domain_size":d,"q":"weight of f/2"}. Reports are packed as in
``deniable.protocols.unary``.
"""

import hmac
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import ClassVar, Self

import numpy as np

from deniable import randomness
from deniable.candidates import Chosen
from deniable.documents import canonical_json
from deniable.errors import InvalidParameter, brief
from deniable.estimates import Estimates
from deniable.kernels.bits import perturb_bits
from deniable.law import RepeatedLaw
from deniable.mechanism import Reports, Values
from deniable.protocol import Client, Memoising, Parameters
from deniable.protocols.unary import _Unary
from deniable.randomness import WORD, Integers, Source, Weights, Words
from deniable.tally import Tally
from deniable.validation import check_domain_size, check_epsilon, check_positive, check_probability

SHORTEST_SECRET = 16


@dataclass(frozen=True)
class BasicRAPPOR(_Unary, Memoising):
    """Basic RAPPOR; without ``p`` and ``q`` only the permanent step, which is SUE.

    >>> protocol = BasicRAPPOR(domain_size=32, f=0.5, p=0.75, q=0.25)
    >>> round(protocol.epsilon, 3), round(protocol.epsilon_forever, 3)  # ln 9 is 2.197
    (1.022, 2.197)
    >>> client = protocol.client(b"sixteen bytes or more", context="the question's digest")
    >>> client.privatize([3, 3]).shape
    (2, 4)
    """

    usual_settings: ClassVar[dict[str, object]] = {"f": 0.5, "p": 0.75, "q": 0.25}

    domain_size: int
    f: float
    p: float | None = None
    q: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain_size", check_domain_size(self.domain_size))
        object.__setattr__(self, "f", check_probability("f", self.f))
        self._check_weights()
        if (self.p is None) != (self.q is None):
            raise InvalidParameter(
                f"expected both p and q or neither, got {brief(self.p)} and {brief(self.q)}; "
                "0.75 and 0.25 are usual",
                value=(self.p, self.q),
            )
        if self.p is not None:
            object.__setattr__(self, "p", check_probability("p", self.p))
            object.__setattr__(self, "q", check_probability("q", self.q))
            if not self._instant.q < self._instant.p:
                raise InvalidParameter(
                    f"expected q below p, got p = {self.p!r} and q = {self.q!r}; "
                    "a one must stay likelier than a zero",
                    value=(self.p, self.q),
                )

    @classmethod
    def from_epsilon(
        cls, epsilon: float, domain_size: int, *, p: float | None = None, q: float | None = None
    ) -> "BasicRAPPOR":
        """Return the protocol that spends ``epsilon`` on any number of reports of one value."""
        return cls(domain_size, permanent_f(check_epsilon(epsilon), 1), p, q)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(5, 0.5), cls(9, 0.25), cls(3, 0.5, 0.75, 0.25), cls(2, 0.3, 0.9, 0.2)]

    @cached_property
    def _weights(self) -> Weights:
        return permanent_weights(self.f)

    @cached_property
    def _instant(self) -> Weights:
        """The weights of p and q, or of 1 and 0 where every report is the permanent response."""
        if self.p is None or self.q is None:
            return Weights(WORD, 0)
        return Weights(math.floor(Fraction(self.p) * WORD), math.ceil(Fraction(self.q) * WORD))

    @cached_property
    def parameters(self) -> Parameters:
        (a, b), (p, q) = self._weights.shares, self._instant.shares
        return Parameters(a * p + b * q, b * p + a * q)

    @cached_property
    def worst_ratio(self) -> Fraction:
        p, q = self.parameters.exact_p, self.parameters.exact_q
        return p * (1 - q) / ((1 - p) * q)

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report, for f, p and q before they are rounded to weights."""
        # Rounding lowers p and raises q and f, and the ratio grows with p and falls with q and f.
        return self.epsilon_after(1)

    @cached_property
    def epsilon_forever(self) -> float:
        """The privacy loss of infinitely many reports of one value: 2 ln((1 - f/2) / (f/2))."""
        return permanent_epsilon(self.f, 1)

    def epsilon_after(self, reports: int) -> float:
        """Return the privacy loss of this many reports of one value by one client."""
        reports = check_positive("the number of reports", reports)
        if self.p is None or self.q is None:
            return self.epsilon_forever
        b, p, q = Fraction(self.f) / 2, Fraction(self.p), Fraction(self.q)
        ones, zeros = (p**reports, q**reports), ((1 - q) ** reports, (1 - p) ** reports)
        # The worst are all ones where B0 is one and all zeros where it is zero.
        ratios = (((1 - b) * s + b * t) / (b * s + (1 - b) * t) for s, t in (ones, zeros))
        return min(randomness.log_above(math.prod(ratios, start=Fraction(1))), self.epsilon_forever)

    @cached_property
    def words(self) -> Words:
        return Words(self.domain_size if self.p is None else 2 * self.domain_size)

    def _details(self) -> dict[str, object]:
        weights = {"p": str(self._weights.p), "q": str(self._weights.q)}
        if self.p is not None:
            weights |= {"instant_p": str(self._instant.p), "instant_q": str(self._instant.q)}
        return {"weights": weights}

    def _perturb(self, values: Integers, words: Integers) -> Reports:
        permanent = super()._perturb(values, words[:, : self.domain_size])
        return self._instantly(permanent, words[:, self.domain_size :])

    def _instantly(self, permanent: Reports, words: Integers) -> Reports:
        if self.p is None:
            return permanent
        bits = np.unpackbits(permanent, axis=1, count=self.domain_size, bitorder="little")
        p, q = self._instant.p, self._instant.q
        weights = bits * np.uint64(p - q) + np.uint64(q)
        return np.packbits(words < weights, axis=1, bitorder="little")

    def _privatize_bulk(self, values: Integers, source: Source) -> Reports:
        if self.p is None:
            return super()._privatize_bulk(values, source)
        first, second, third = source.split(3)
        anywhere = np.zeros(len(values), dtype=np.int64)
        p, q = self._instant.p, self._instant.q
        permanent = super()._privatize_bulk(values, first)
        likely = perturb_bits(anywhere, p, p, self.domain_size, second)
        unlikely = perturb_bits(anywhere, q, q, self.domain_size, third)
        return np.asarray((permanent & likely) | (~permanent & unlikely))

    def _repeated(self, tally: Tally, chosen: Chosen, people: int) -> Estimates:
        """Count people who sent n / people reports each on average, with errors that say so.

        Reports of one person share the permanent response, so they do not average it out: the
        variance of a person's reports grows with the square of their number (``RepeatedLaw``). In R
        rounds nobody sent more than R of the n reports, so the squares add up to at most n R, as
        for n / R people who answer in every round.
        """
        law = RepeatedLaw(people, tally.n, self._weights.shares[1], *self._instant.shares)
        counts = law.counts(self._support(tally.statistic, chosen).astype(np.float64))
        errors = np.sqrt(law.variance.at(np.clip(counts, 0.0, people)))
        return Estimates(counts, errors, people, math.sqrt(law.variance.none), law=law)

    def client(self, secret: bytes, *, context: str) -> "PermanentClient":
        """Return a client that answers consistently for as long as it keeps ``secret``.

        ``context`` separates questions that share a secret, which would otherwise share their
        permanent noise: ``Question.client`` takes the question's digest. Devices that answered
        before there was a context keep their permanent responses with the empty one.
        """
        return PermanentClient(self, secret, context)


@dataclass(frozen=True)
class PermanentClient(Client):
    """One person's device: a secret from which the permanent responses follow.

    The secret is made once, for example by ``secrets.token_bytes(32)``, and never leaves the
    device: anyone who has it can undo the permanent noise. Privacy over many reports rests on
    HMAC-SHA256 being a pseudo-random function.
    """

    protocol: BasicRAPPOR
    secret: bytes = field(repr=False)
    context: str

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) < SHORTEST_SECRET:
            raise InvalidParameter(
                f"a secret must be at least {SHORTEST_SECRET} bytes long; make one with "
                "secrets.token_bytes(32)"
            )
        if not isinstance(self.context, str):
            raise InvalidParameter(
                f"expected the context as a string, got {self.context!r:.80}", value=self.context
            )

    def permanent(self, value: int) -> Reports:
        """Return the permanent response to a value, packed as a report; not to be sent itself."""
        checked = self.protocol._check_values([value])
        return _Unary._perturb(self.protocol, checked, self._words(int(checked[0]))[None, :])

    def privatize(
        self, values: Values, rng: "np.random.Generator | Source | None" = None
    ) -> Reports:
        checked, source = self.protocol._check_values(values), randomness.open_source(rng)
        distinct, where = np.unique(checked, return_inverse=True)
        empty = np.empty((0, self.protocol.report_dtype.shape[0]), dtype=np.uint8)
        rows = np.concatenate([empty, *(self.permanent(int(v)) for v in distinct)])
        words = Words(self.protocol.words.count - self.protocol.domain_size)
        return self.protocol._instantly(rows[where], words.draw(source, len(checked)))

    def _words(self, value: int) -> Integers:
        """Return the words of the permanent response: HMAC-SHA256 in counter mode."""
        d = self.protocol.domain_size
        document = {"context": self.context, "domain_size": d, "q": str(self.protocol._weights.q)}
        keyed = hmac.new(self.secret, sha256(canonical_json(document)).digest(), "sha256")
        keyed.update(value.to_bytes(8, "little"))
        blocks = []
        for counter in range(math.ceil(d / 4)):
            block = keyed.copy()
            block.update(counter.to_bytes(8, "little"))
            blocks.append(block.digest())
        return np.frombuffer(b"".join(blocks), dtype="<u8")[:d].astype(np.uint64)


def permanent_weights(f: float) -> Weights:
    """Return the weights of 1 - f/2, rounded down, and f/2, rounded up; they add up to 2^64."""
    q = math.ceil(Fraction(f) / 2 * WORD)
    return Weights(WORD - q, q)


def permanent_epsilon(f: float, hashes: int) -> float:
    """Return 2 hashes ln((1 - f/2) / (f/2)), rounded up."""
    return randomness.log_above((2 / Fraction(f) - 1) ** (2 * hashes))


def permanent_f(epsilon: float, hashes: int) -> float:
    """Return the smallest float f that spends at most ``epsilon``: 2 / (e^(eps / 2 hashes) + 1)."""
    low, _ = randomness.exponential_bounds(Fraction(epsilon) / (2 * hashes))
    exact = 2 / (low + 1)
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, 1.0)
