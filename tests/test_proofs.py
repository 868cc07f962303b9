"""The inequalities of docs/proofs.md hold as fractions, at random parameters, and are cited."""

import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import deniable
from deniable import InvalidParameter, Protocol
from deniable.protocols import discover
from deniable.protocols.discovery.mechanism import Discovery
from deniable.protocols.histogram import UNIT, _ratios, _reach, laplace_weights
from deniable.protocols.levels import Levels
from deniable.protocols.parts import Lots
from deniable.protocols.sets import Cases
from deniable.randomness import WORD, Direct, Places, Uniform, exponential_bounds
from deniable.rota import Repeat
from tests.marks import shortened
from tests.pages import ROOT, text_of

Draw = Callable[[Random], Protocol]

PAGE = ROOT / "docs" / "proofs.md"
SECTIONS = {
    "direct-encoding": ("DE",),
    "unary-encoding": ("UE", "SUE", "OUE"),
    "histogram-encoding": ("SHE", "THE"),
    "local-hashing": ("BLH", "OLH", "LH", "OpenLH"),
    "random-matrix-projection": ("RandomMatrixProjection",),
    "subset-selection": ("SubsetSelection",),
    "affine-selection": ("AffineSelection",),
    "sets": ("SetSelection", "PolynomialSelection"),
    "levels": ("Levels",),
    "views": ("Views",),
    "discovery": ("Discovery",),
    "permanent-noise": ("BasicRAPPOR", "RAPPOR"),
}


def epsilon_of(rng: Random, least: float = 0.01, most: float = 40.0) -> float:
    """Draw an epsilon, small ones as often as large ones."""
    return float(least * (most / least) ** rng.random())


def size_of(rng: Random, most: int = 100_000) -> int:
    """Draw a number of answers, small ones as often as large ones."""
    return 2 + int((most - 1) ** rng.random()) - 1


def chance(rng: Random) -> float:
    """Draw a probability that is neither 0 nor 1."""
    return rng.uniform(0.001, 0.999)


def views_of(rng: Random) -> Protocol:
    """Draw a record and some tables of it."""
    radices = [rng.randint(2, 6) for _ in range(rng.randint(2, 4))]
    drawn = {tuple(sorted(rng.sample(range(len(radices)), rng.randint(1, 2)))) for _ in range(4)}
    return deniable.Views(epsilon_of(rng, 0.1, 8.0), radices, sorted(drawn))


def unary_of(rng: Random) -> Protocol:
    """Draw p and q."""
    q, p = sorted((chance(rng), chance(rng)))
    return deniable.UE(p, q, size_of(rng))


def rappor_of(rng: Random) -> Protocol:
    """Draw f, and in half of the cases p and q."""
    q, p = sorted((chance(rng), chance(rng)))
    instant = (p, q) if rng.random() < 0.5 else ()
    return deniable.BasicRAPPOR(size_of(rng), chance(rng), *instant)


def set_of(rng: Random) -> Protocol:
    """Draw a small number of items."""
    d = rng.randint(3, 60)
    return deniable.SetSelection(epsilon_of(rng, 0.1, 8.0), d, rng.randint(1, min(8, d - 1)))


def polynomial_of(rng: Random) -> Protocol:
    """Draw any number of items."""
    d = 3 + size_of(rng, 5000)
    most = rng.randint(1, min(16, d - 1))
    return deniable.PolynomialSelection(epsilon_of(rng, 0.1, 8.0), d, most)


DRAWS: dict[str, Draw] = {
    "DE": lambda rng: deniable.DE(epsilon_of(rng), size_of(rng)),
    "UE": unary_of,
    "SUE": lambda rng: deniable.SUE(epsilon_of(rng), size_of(rng)),
    "OUE": lambda rng: deniable.OUE(epsilon_of(rng), size_of(rng)),
    "SHE": lambda rng: deniable.SHE(epsilon_of(rng, 0.5, 100.0), size_of(rng)),
    "THE": lambda rng: deniable.THE(epsilon_of(rng), size_of(rng), rng.uniform(-0.5, 2.0)),
    "BLH": lambda rng: deniable.BLH(epsilon_of(rng), size_of(rng)),
    "OLH": lambda rng: deniable.OLH(epsilon_of(rng, 0.01, 10.0), size_of(rng)),
    "LH": lambda rng: deniable.LH(epsilon_of(rng), size_of(rng), rng.randint(2, 5000)),
    "OpenLH": lambda rng: deniable.OpenLH(epsilon_of(rng), rng.randint(2, 5000)),
    "RandomMatrixProjection": lambda rng: deniable.RandomMatrixProjection(
        epsilon_of(rng), size_of(rng), rng.randint(1, 10**9)
    ),
    "SubsetSelection": lambda rng: deniable.SubsetSelection(epsilon_of(rng), size_of(rng, 60)),
    "AffineSelection": lambda rng: deniable.AffineSelection(
        epsilon_of(rng, 0.05, 12.0), size_of(rng, 20_000)
    ),
    "SetSelection": set_of,
    "PolynomialSelection": polynomial_of,
    "Levels": lambda rng: Levels(epsilon_of(rng), size_of(rng, 60_000)),
    "Views": views_of,
    "Discovery": lambda rng: Discovery(
        epsilon_of(rng, 0.5, 8.0), rng.randint(1, 6), salt="5eed5eed5eed5eed"
    ),
    "BasicRAPPOR": rappor_of,
    "RAPPOR": lambda rng: deniable.RAPPOR(
        f=chance(rng),
        bits=rng.randint(1, 200),
        hashes=rng.randint(1, 6),
        cohorts=rng.randint(1, 99),
    ),
}


def small(rng: Random) -> float:
    """Draw an epsilon for an instance of which all reports are listed."""
    return epsilon_of(rng, 0.1, 2.0)


LISTED: dict[str, Draw] = {
    "SubsetSelection": lambda rng: deniable.SubsetSelection(small(rng), rng.randint(2, 7)),
    "AffineSelection": lambda rng: deniable.AffineSelection(small(rng), rng.randint(2, 7)),
    "SetSelection": lambda rng: deniable.SetSelection(
        small(rng), rng.randint(3, 6), rng.randint(1, 2)
    ),
    "PolynomialSelection": lambda rng: deniable.PolynomialSelection(
        small(rng), 3, rng.randint(1, 2), 5, rng.randint(1, 3)
    ),
    "Levels": lambda rng: Levels(small(rng), rng.randint(2, 9)),
    "Views": lambda rng: deniable.Views(
        small(rng), (rng.randint(2, 3), rng.randint(2, 4)), ((0,), (0, 1))
    ),
    "Discovery": lambda rng: Discovery(small(rng), 1, 1, rng.randint(1, 2), 2, "5eed5eed5eed5eed"),
}
"""Small instances of the protocols whose worst ratio takes an argument to see."""


def some(draw: Draw, count: int, seed: int) -> list[Protocol]:
    """Draw so many protocols; parameters that are refused are drawn again."""
    rng, found = Random(seed), list[Protocol]()
    for _ in range(20 * count):
        try:
            found.append(draw(rng))
        except InvalidParameter:
            continue
        if len(found) == count:
            return found
    raise AssertionError("most parameters are refused")


def test_every_protocol_has_a_proof_that_its_module_cites() -> None:
    """A section for each protocol, and its address in the docstring beside the code."""
    proved = {name: section for section, names in SECTIONS.items() for name in names}
    kinds = {name: kind for name, kind in discover().items() if "deniable." in kind.__module__}
    assert kinds.keys() == proved.keys() == DRAWS.keys()
    headings = re.findall(r"^## (.+)$", text_of(PAGE), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert SECTIONS.keys() <= anchors
    for name, kind in kinds.items():
        said = inspect.getdoc(inspect.getmodule(kind)) or ""
        assert f"docs/proofs.md#{proved[name]}" in said, name
    assert "docs/proofs.md#rounds" in (inspect.getdoc(inspect.getmodule(Repeat)) or "")


@pytest.mark.parametrize("seed", shortened(range(5), "more parameters"))
@pytest.mark.parametrize("name", DRAWS)
def test_the_worst_ratio_is_below_the_power_of_epsilon(name: str, seed: int) -> None:
    """The largest ratio of the weights that are executed is at most E, which is below e^epsilon."""
    for protocol in some(DRAWS[name], 6, seed):
        low, high = exponential_bounds(protocol.epsilon)
        # Where epsilon is computed from probabilities it is rounded up to a float.
        assert 1 < protocol.worst_ratio <= low < high, protocol
        assert protocol.realised_epsilon <= protocol.epsilon <= protocol.total_epsilon


@pytest.mark.parametrize("seed", shortened(range(2), "more parameters"))
@pytest.mark.parametrize("name", LISTED)
def test_the_code_has_the_worst_ratio_that_the_proof_bounds(name: str, seed: int) -> None:
    """The law of all reports, listed from what devices execute, has exactly the stated ratio."""
    (protocol,) = some(LISTED[name], 1, seed)
    found = deniable.audit(protocol, calls=100, rng=np.random.default_rng(seed))
    assert found.exact
    assert found.worst_ratio == protocol.worst_ratio <= exponential_bounds(protocol.epsilon)[0]


def test_a_number_of_two_steps_can_be_averaged() -> None:
    """The least number of levels: nobody is between two, so nobody is raised."""
    levels = Levels(1.0, 2)
    first, last = levels._weights.p, WORD - 1
    drawn = levels._perturb(
        words_at(0, 1, 0, 1), np.array([[0, 0]] * 2 + [[last, first]] * 2, "u8")
    )
    assert drawn.tolist() == [0, 1, 1, 0]


def words_at(*edges: int) -> np.ndarray:
    """Return these words as a device has them."""
    return np.array(edges, dtype=np.uint64)


@pytest.mark.parametrize("seed", range(40))
def test_weights_are_those_that_words_are_held_against(seed: int) -> None:
    """The first and last words of each place are where the proofs say, and rounding is directed."""
    rng = Random(seed)
    epsilon, size = epsilon_of(rng, most=30.0), size_of(rng, 3000)
    low, _ = exponential_bounds(epsilon)

    uniform = Uniform(size)
    k = rng.randrange(size)
    ends = words_at(k * uniform.step, (k + 1) * uniform.step - 1)
    assert uniform.of(ends).tolist() == [k, k]
    assert uniform.limits.get(0, WORD) == size * uniform.step

    direct = Direct.at(epsilon, size)
    assert direct.p <= low * direct.q
    assert direct.p + (size - 1) * direct.q == WORD
    first = direct.p + k * direct.q  # of the place k + 1
    zeros = np.zeros(4, dtype=np.uint64)
    ends = words_at(0, direct.p - 1, *(min(first + i, WORD - 1) for i in (0, direct.q - 1)))
    expected = [0, 0, *[min(k + 1, size - 1)] * 2]
    assert direct.perturb(zeros, ends).tolist() == expected

    kept = rng.randint(1, size - 1)
    places = Places.at(epsilon, size, kept)
    assert places.inside <= low * places.outside
    assert places.limit <= WORD
    edge, last = kept * places.inside, places.limit - 1
    ends = words_at(0, places.inside - 1, edge - 1, edge, edge + places.outside - 1, last)
    assert places.draw(ends).tolist() == [0, 0, kept - 1, kept, kept, size - 1]

    cases = Cases.at(epsilon, [rng.randint(1, 10**9) for _ in range(rng.randint(2, 9))])
    assert sum(cases.weights) == WORD
    before = [sum(cases.weights[:c]) for c in range(len(cases.weights))]
    drawn = [c for c, weight in enumerate(cases.weights) if weight]
    assert cases.draw(words_at(*(before[c] for c in drawn))).tolist() == drawn
    last_words = words_at(*(before[c] + cases.weights[c] - 1 for c in drawn))
    assert cases.draw(last_words).tolist() == drawn

    lots = Lots.near([rng.random() + 0.01 for _ in range(5)])
    assert sum(lots.weights) == WORD
    starts = [sum(lots.weights[:j]) for j in range(5)]
    assert lots.of(words_at(*starts)).tolist() == list(range(5))


@pytest.mark.parametrize("seed", range(8))
def test_the_noise_of_histograms_is_as_the_proof_says(seed: int) -> None:
    """All mirrored pairs, and what rounding adds to the weight of 7, are within their bounds."""
    epsilon = epsilon_of(Random(seed), 0.3, 100.0)
    weights, reach = laplace_weights(epsilon), _reach(epsilon)
    _, power = exponential_bounds(Fraction(epsilon) / 2)
    assert min(weights) > 0
    assert sum(weights) == WORD
    assert all(a <= power * b for a, b in zip(weights, reversed(weights), strict=True))
    assert sum((i - reach) * weight for i, weight in enumerate(weights)) == 0
    a = Fraction(_ratios(epsilon)[0], 1 << 128)
    added = abs(weights[reach + 7] - WORD * a**7 * (1 - a) / (1 + a))
    assert added <= 3 * (reach + UNIT) ** 2 + 2**19 / Fraction(epsilon)
    x = 1 / exponential_bounds(Fraction(epsilon) * 7 / 16)[0]
    assert added < (1 - x) * WORD * a**7 * (1 - a) / (1 + a) - 2


@pytest.mark.parametrize("seed", range(10))
def test_mixtures_stay_between_the_weights(seed: int) -> None:
    """Levels and thresholds: chances that depend on the answer, before or after the noise."""
    rng = Random(seed)
    levels = Levels(epsilon_of(rng, most=10.0), size_of(rng, 500))
    low, _ = exponential_bounds(levels.epsilon)
    last, k = levels.domain_size - 1, levels.codes
    chances = []
    for value in (rng.randrange(last + 1), rng.randrange(last + 1), last):
        level, rest = divmod(value * (k - 1), last)
        raised = Fraction(WORD * rest // last, WORD)
        p, q = levels._weights.shares
        mixed = [q] * k
        mixed[level] += (1 - raised) * (p - q)
        mixed[min(level + 1, k - 1)] += raised * (p - q)
        assert sum(mixed) == 1
        chances.append(mixed)
    pairs = [(one[y], other[y]) for one in chances for other in chances for y in range(k)]
    assert all(a <= low * b for a, b in pairs)


@pytest.mark.parametrize("seed", range(10))
def test_rounds_spend_each_turn_once(seed: int) -> None:
    """The ratios of all turns multiply, and stay below the power of what the question states."""
    rng = Random(seed)
    repeat = Repeat("2026-11-16", rng.randint(1, 91), rng.randint(2, 50), rng.randint(1, 20))
    protocol = deniable.DE(epsilon_of(rng, 0.01, 4.0), size_of(rng, 100))
    labels = [str(i) for i in range(protocol.domain_size)]
    question = deniable.Question("again", labels, protocol, repeat=repeat)
    exact = Fraction(protocol.epsilon) * repeat.times
    assert protocol.worst_ratio**repeat.times <= exponential_bounds(exact)[0]
    assert question.total_epsilon == float(exact)


def test_a_weight_that_is_rounded_the_wrong_way_is_noticed() -> None:
    """The check has power: one unit of 2^-64 more is above E."""
    rng = Random(1)
    for _ in range(50):
        epsilon, size = epsilon_of(rng, 0.1, 5.0), size_of(rng, 3000)
        low, _ = exponential_bounds(epsilon)
        q = Direct.at(epsilon, size).q - 1
        assert WORD - (size - 1) * q > low * q
        places = Places.at(epsilon, size, 1)
        assert places.inside + 1 > low * places.outside
