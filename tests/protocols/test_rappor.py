"""Basic RAPPOR's memoised clients, and RAPPOR's filters and their decoding."""

import hmac
import lzma
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from deniable import RAPPOR, BasicRAPPOR, DeniableError, InvalidParameter, InvalidReport, Tally
from deniable.progress import listening
from deniable.statistics import Counts
from tools.paper.trials import simulate_tally

LONG = pytest.mark.long("simulated surveys")

WORD = 1 << 64


def mix(z: int) -> int:
    """Return the finaliser of SplitMix64, in plain integers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def word(seed: int, index: int) -> int:
    """Return the word of a seed at an index, in plain integers."""
    return mix((mix(seed) + (index + 1) * 0x9E3779B97F4A7C15) % WORD)


def naive_filter(protocol: RAPPOR, value: int, cohort: int) -> set[int]:
    """Return the bits that a value sets, by the documented formula."""
    m = protocol.hashes
    return {(word(value, cohort * m + j) >> 32) * protocol.bits >> 32 for j in range(m)}


def test_permanent_bits_are_the_documented_hmac() -> None:
    """Another implementation finds the same bits from the module's description alone."""
    protocol = BasicRAPPOR(11, 0.25, 0.75, 0.25)
    secret, context, value = b"0123456789abcdef", "a question", 4
    q = WORD // 8
    assert protocol.specification()["weights"]["q"] == str(q)
    digest = sha256(f'{{"context":"{context}","domain_size":11,"q":"{q}"}}'.encode()).digest()
    stream = b"".join(
        hmac.digest(secret, digest + value.to_bytes(8, "little") + j.to_bytes(8, "little"), sha256)
        for j in range(3)
    )
    words = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(11)]
    bits = [w < (WORD - q if i == value else q) for i, w in enumerate(words)]
    expected = sum(bit << i for i, bit in enumerate(bits)).to_bytes(2, "little")
    assert protocol.client(secret, context=context).permanent(value).tobytes() == expected


def test_averaging_is_ruinous_without_memoisation_and_bounded_with_it() -> None:
    """Three thousand fresh responses give the value away; a client's are one permanent response."""
    protocol = BasicRAPPOR(2, 0.5, 0.75, 0.25)
    trials, reports = 200, 3_000
    right = {"fresh": 0.0, "client": 0.0}
    for trial in range(trials):
        rng, value = np.random.default_rng(trial), trial % 2
        client = protocol.client(trial.to_bytes(16, "little"), context="")
        values = np.full(reports, value)
        for name, source in (("fresh", protocol), ("client", client)):
            drawn = source.privatize(values, rng)
            means = np.unpackbits(drawn, axis=1, count=2, bitorder="little").mean(axis=0)
            guess = np.sign(means[1] - means[0]) if abs(means[1] - means[0]) > 0.1 else 0
            right[name] += 0.5 if guess == 0 else float((guess > 0) == value)
            if name == "fresh" and guess == 0:
                # Fresh responses differ by gap = 0.25 in expectation: never a tie.
                pytest.fail("the attack has no power")
    assert right["fresh"] == trials
    # Seeing the permanent bits themselves: both right 9/16, both wrong 1/16, a coin otherwise.
    assert right["client"] / trials < 0.75 + 4 * np.sqrt(0.75 * 0.25 / trials)
    assert right["client"] / trials > 0.75 - 4 * np.sqrt(0.75 * 0.25 / trials)


def test_clients_reports_are_tallied_without_bias() -> None:
    """Many clients that report once each are estimated as the combined law says."""
    protocol = BasicRAPPOR(4, 0.25, 0.75, 0.25)
    held = np.array([700, 200, 100, 0])

    def client_of(number: int):
        return protocol.client(number.to_bytes(16, "little"), context="")

    reports = [
        protocol.client(i.to_bytes(16, "little"), context="").privatize(
            [v], np.random.default_rng(i)
        )
        for i, v in enumerate(np.repeat(np.arange(4), held))
    ]
    found = protocol.estimate(protocol.tally(reports))
    assert np.all(np.abs(found.counts - held) < 5 * found.std_errors)


@pytest.mark.parametrize("bits", [2, 20, 128])
def test_filters_are_the_documented_hashes(bits: int) -> None:
    """One by one and in bulk, noise aside, a report has the bits that the formula names."""
    protocol = RAPPOR(epsilon=99.0, bits=bits, hashes=2, cohorts=3)
    for count in (50, 70_000):
        values = np.random.default_rng(1).integers(0, WORD, count, dtype=np.uint64)
        reports = protocol.privatize(values, np.random.default_rng(2))
        assert set(reports["cohort"]) == {0, 1, 2}
        for value, report in zip(values[:50], reports[:50], strict=True):
            ones = np.flatnonzero(np.unpackbits(report["bits"], bitorder="little"))
            assert set(ones) == naive_filter(protocol, int(value), int(report["cohort"]))


def test_malformed_reports_are_refused() -> None:
    """A cohort that does not exist, a bit past the filter and a wrong length do not enter."""
    protocol = RAPPOR(epsilon=1.0, bits=13, cohorts=5)
    good = protocol.privatize([1]).tobytes()
    assert len(good) == 3
    for wrong in (b"\x05" + good[1:], good[:2] + bytes([good[2] | 0x20]), good[:2], good + b"\0"):
        with pytest.raises(InvalidReport):
            protocol.parse(wrong)


def test_impossible_tallies_are_refused() -> None:
    """Cohorts that do not add up to n, or have more ones than reports, are no tally."""
    protocol = RAPPOR(epsilon=1.0, bits=8, cohorts=2)
    tally = protocol.tally(protocol.privatize(np.zeros(10, dtype=np.uint64)))
    assert Tally.from_bytes(tally.to_bytes()) == tally
    table = tally.statistic.values.reshape(2, 9)
    for cell, change in (((0, 0), 1), ((0, 0), -1), ((1, 3), table[1, 0] - table[1, 3] + 1)):
        altered = table.copy()
        altered[cell] += change
        wrong = Tally(protocol, 10, Counts(altered.ravel()))
        with pytest.raises(DeniableError):
            Tally.from_bytes(wrong.to_bytes())


def test_bulk_tally_equals_that_of_parts() -> None:
    """The kernel and the small path count alike, in any grouping."""
    protocol = RAPPOR(epsilon=2.0, bits=100, cohorts=7)
    values = np.random.default_rng(3).integers(0, 9, 100_000, dtype=np.uint64)
    reports = protocol.privatize(values, np.random.default_rng(4))
    whole = protocol.tally(reports)
    assert whole == protocol.tally(np.array_split(reports, 30))
    assert whole == protocol.tally(reports[:123]) + protocol.tally(reports[123:])


def test_selection_finds_the_frequent_among_many_candidates() -> None:
    """With ten candidates for each equation the frequent come out, all others as noise around 0."""
    protocol = RAPPOR(epsilon=4.0, bits=64, cohorts=8)
    held = np.zeros(5120, dtype=np.int64)
    held[::512] = np.linspace(20_000, 60_000, 10)
    tally = simulate_tally(protocol, held, np.random.default_rng(5))
    steps: list[tuple[int, int]] = []
    with listening(lambda done, total: steps.append((done, total))):
        found = protocol.estimate(tally, np.arange(5120, dtype=np.uint64))
    assert found.significant()[::512].all()
    assert found.significant().sum() <= 12
    others = (found.counts / found.std_errors)[held == 0]
    assert abs(others.mean()) < 0.1
    assert 0.95 < others.std() < 1.05
    errors = (found.counts - held)[::512]
    assert np.all(np.abs(errors) < 5 * found.std_errors[::512])
    assert np.all(np.isfinite(found.std_errors))
    assert np.all(found.std_errors > 0.5 * found.null_std_error)
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    again = protocol.estimate(tally, np.arange(5120, dtype=np.uint64))
    assert again == found


def test_nothing_is_selected_from_noise() -> None:
    """Candidates that nobody holds come out as noise when no other answer is there either."""
    protocol = RAPPOR(epsilon=2.0, bits=32, cohorts=4)
    held = np.full(2000, 5)
    tally = simulate_tally(
        protocol, held, np.random.default_rng(6), np.arange(2000, 4000).astype("u8")
    )
    found = protocol.estimate(tally, np.arange(2000, dtype=np.uint64))
    assert not found.significant().any()
    ratios = found.counts / found.std_errors
    assert abs(ratios.mean()) < 0.1
    assert 0.9 < ratios.std() < 1.1


@pytest.mark.parametrize(
    ("protocol", "n", "candidates", "runs"),
    [
        (RAPPOR(epsilon=2.0), 2000, 32, 60),
        pytest.param(RAPPOR(epsilon=2.0), 2000, 32, 1700, marks=LONG),
        pytest.param(RAPPOR(epsilon=6.0, cohorts=8), 100_000, 32, 1700, marks=LONG),
        pytest.param(RAPPOR(epsilon=4.0, cohorts=8), 200_000, 3000, 20, marks=LONG),
    ],
    ids=["few reports, briefly", "few reports", "large epsilon", "a selection"],
)
def test_intervals_cover_the_truth(protocol, n, candidates, runs) -> None:
    """Of frequent answers and of others 94 to 96 % are covered, and hardly any is false."""
    rng = np.random.default_rng(19)
    held = np.zeros(candidates, dtype=np.int64)
    held[:8] = n * np.array([0.25, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.03])
    held[8:20] = (n - held.sum()) // 12
    hits, false = [], 0
    for _ in range(runs):
        keys = rng.integers(0, WORD, candidates, dtype=np.uint64)
        found = protocol.estimate(simulate_tally(protocol, held, rng, keys), keys)
        lower, upper = found.interval()
        hits.append((lower <= held) & (held <= upper))
        false += int(np.any(found.significant() & (held == 0)))
    covered = np.array(hits)
    others = covered[:, 8:].mean()
    assert abs(others - 0.95) <= max(0.01, 4 * np.sqrt(0.05 * 0.95 / (24 * runs)))
    frequent = covered[:, :8].mean()
    assert abs(frequent - 0.95) <= max(0.01, 4 * np.sqrt(0.05 * 0.95 / (8 * runs)))
    assert false <= 0.05 * runs + 4 * np.sqrt(0.05 * runs)


@LONG
@pytest.mark.parametrize(("named", "n"), [(10, 100_000), (0, 100_000), (0, 20_000)])
def test_frequent_answers_that_are_not_named_make_few_others_significant(named, n) -> None:
    """Collisions with ten or twenty unnamed answers seldom pass for answers that nobody gave."""
    protocol, rng = RAPPOR(epsilon=4.0), np.random.default_rng(23)
    shares = 1 / np.arange(1, 21)
    held = np.concatenate([rng.multinomial(n, shares / shares.sum()), np.zeros(500, dtype=int)])
    false, found, runs = 0, 0, 30
    for _ in range(runs):
        keys = rng.integers(0, WORD, len(held), dtype=np.uint64)
        tally = simulate_tally(protocol, held, rng, keys)
        candidates = np.r_[np.arange(2 * named)[::2], 20:520]
        significant = protocol.estimate(tally, keys[candidates]).significant()
        false += bool(significant[named:].any())
        found += int(significant[:named].sum())
    assert false <= 0.3 * runs
    assert found >= 0.5 * named * runs


def test_candidates_with_the_same_filter_are_said_to_be_unknown() -> None:
    """What the equations cannot tell apart has no smaller error than everybody."""
    protocol = RAPPOR(epsilon=4.0, bits=64, hashes=1, cohorts=1)
    places = protocol.positions(np.arange(200, dtype=np.uint64), np.zeros(200, dtype=np.uint64))
    place, times = Counter(places[:, 0].tolist()).most_common(1)[0]
    assert times > 1
    twins = np.flatnonzero(places[:, 0] == place)[:2].astype(np.uint64)
    other = np.flatnonzero(places[:, 0] != place)[:1].astype(np.uint64)
    keys = np.concatenate([twins, other])
    tally = simulate_tally(protocol, [4000, 1000, 2000], np.random.default_rng(7), keys)
    found = protocol.estimate(tally, keys)
    assert np.all(found.std_errors[:2] == tally.n)
    assert abs(found.counts[2] - 2000) < 5 * found.std_errors[2] < 2000
    assert abs(found.counts[:2].sum() - 5000) < 5 * found.std_errors[2]


def test_cohorts_without_reports_are_left_out() -> None:
    """Three reports in sixteen cohorts give estimates, however wide."""
    protocol = RAPPOR(epsilon=4.0)
    found = protocol.estimate(protocol.tally(protocol.privatize([1, 1, 1])), ["a", "b"])
    assert np.all(np.isfinite(found.counts))
    assert np.all(found.std_errors <= 3)


def test_repeated_candidates_are_refused() -> None:
    """Each candidate is named once, as a label or as a fingerprint."""
    protocol = RAPPOR(epsilon=4.0)
    tally = protocol.tally(protocol.privatize([1, 2]))
    for repeated in (["a", "a"], np.array([1, 1], dtype=np.uint64)):
        with pytest.raises(InvalidParameter, match="once"):
            protocol.estimate(tally, repeated)


def test_missing_scikit_learn_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed the error says how to get it."""
    protocol = RAPPOR(epsilon=4.0, bits=8, cohorts=1)
    tally = simulate_tally(protocol, [1000] * 9, np.random.default_rng(8))
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(DeniableError, match=r"deniable\[rappor\]"):
        protocol.estimate(tally, np.arange(9, dtype=np.uint64))


@pytest.mark.long("a large data set")
def test_kosarak_decodes_in_bounded_time_between_blh_and_olh(shared_data: Path) -> None:
    """41,270 candidates in 16 cohorts: more true positives than BLH's 37, fewer than OLH's 200.

    Few of the significant are held by hardly anyone, and the intervals hold for rare and frequent.
    """
    held = np.zeros(41_270, dtype=np.int64)
    with lzma.open(shared_data / "kosarak-first-100000.dat.xz", "rt") as lines:
        for line in lines:
            np.add.at(held, [int(item) - 1 for item in line.split()], 10)
    protocol = RAPPOR(epsilon=4.0, cohorts=16)
    tally = simulate_tally(protocol, held, np.random.default_rng(9))
    found = protocol.estimate(tally, np.arange(41_270, dtype=np.uint64))
    above = held > found.threshold()
    assert above.sum() == 63
    assert 45 <= ((found.counts > found.threshold()) & above).sum() <= 63
    significant = found.significant()
    assert significant.sum() >= 30
    assert np.sum(significant & (held < found.threshold() / 3)) <= 1
    lower, upper = found.interval()
    covered = (lower <= held) & (held <= upper)
    assert covered[held < 1000].mean() == pytest.approx(0.95, abs=0.01)
    assert covered[held > 9000].mean() > 0.88
