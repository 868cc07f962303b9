"""Protocols of others, of which nothing is known but what they answer."""

import numpy as np
import pytest

from deniable import InvalidParameter, audit


class Randomized:
    """Randomised response with a generator of its own; ``keep`` is how often it is the truth."""

    def __init__(self, epsilon=1.0, domain_size=4, keep=None):
        self.epsilon, self.domain_size = epsilon, domain_size
        e = np.exp(epsilon)
        self.keep = (e - 1) / (e + domain_size - 1) if keep is None else keep

    def privatize(self, values):
        own = np.random.default_rng()
        drawn = own.integers(0, self.domain_size, len(values))
        kept = own.random(len(values)) < self.keep
        return np.where(kept, values, drawn).astype(np.uint8)


class TruthAlone(Randomized):
    def privatize(self, values):
        made = super().privatize(values)
        return np.asarray(values, dtype=np.uint8) if len(values) == 1 else made


class TruthFirst(Randomized):
    used = False

    def privatize(self, values):
        first, self.used = not self.used, True
        return np.asarray(values, dtype=np.uint8) if first else super().privatize(values)


class Words(Randomized):
    """Gives reports that are no array of fixed size."""

    def privatize(self, values):
        return np.array(["yes" if v else None for v in values], dtype=object)


def test_an_honest_stranger_is_measured_and_said_to_be() -> None:
    """Without words to replay nothing is proved, and the result says so."""
    found = audit(Randomized(), calls=1000, rng=np.random.default_rng(1))
    assert found.holds
    assert not found.exact
    assert not found.proved
    assert "random words" in found.detail
    assert 0.7 < found.epsilon <= 1
    assert found.resolution > 0.1


@pytest.mark.parametrize(
    "stranger",
    [Randomized(keep=0.9), TruthAlone(), TruthFirst()],
    ids=["spends more", "truth alone", "truth first"],
)
def test_a_dishonest_stranger_is_broken(stranger) -> None:
    """More epsilon than claimed, another law for one answer, another law at first."""
    # Each is off by more than thirty standard deviations of what decides.
    assert not audit(stranger, calls=1000, rng=np.random.default_rng(2)).holds


@pytest.mark.long("200,000 samples of 64 values")
def test_one_leaking_value_of_many_is_singled_out() -> None:
    """Values are screened before they are measured: one that leaks is found among 64."""

    class OneLeaks(Randomized):
        def privatize(self, values):
            made = super().privatize(values)
            return np.where(np.asarray(values) == 37, 37, made).astype(np.uint8)

    found = audit(OneLeaks(1.0, 64), calls=200, rng=np.random.default_rng(3))
    assert not found.holds
    assert 37 in found.witness


def test_reports_without_a_size_are_refused() -> None:
    """An audit needs arrays of bytes, and says what it got."""
    with pytest.raises(InvalidParameter, match="fixed size"):
        audit(Words(), calls=100)
