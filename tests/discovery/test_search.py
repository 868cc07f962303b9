"""The search by itself: it finds what stands out, and ends whatever a tally holds."""

import time

import numpy as np
import pytest

from deniable import Code, Discovery
from deniable.kernels import jit
from deniable.protocols.discovery.automaton import automaton, endings
from deniable.protocols.discovery.cells import Layout
from deniable.protocols.discovery.search import CUT, search

ENGLISH = Code.preset("english")
LAYOUT = Discovery(4.0, bucket_bits=4, piece_bits=8, salt="0123456789abcdef").layout


def scores(layout: Layout, texts: dict[str, float], seed: int = 1) -> np.ndarray:
    """Return the scores of payload cells: noise, and texts that are so strong in each piece."""
    rng, m = np.random.default_rng(seed), layout.payload
    shape = (1 << layout.bucket_bits, m, 1 << layout.piece_bits)
    found = rng.normal(0, 1 / np.sqrt(m), shape).astype(np.float32)
    cells = layout.cells(ENGLISH.values(list(texts))).astype(np.int64)
    for row, strength in zip(cells, texts.values(), strict=True):
        for j in range(m):
            found[row[j] >> layout.piece_bits, j, row[j] & ((1 << layout.piece_bits) - 1)] += (
                strength
            )
    return found


def words_of(found) -> set[str | None]:
    """Return the whole texts that a search found."""
    return {
        ENGLISH.text(int(word) >> (64 - int(size)), int(size))
        for word, size in zip(found.words, found.sizes, strict=True)
        if size != CUT
    }


def test_strong_texts_are_found() -> None:
    """Short and long codes, those that begin alike among them, come out of the noise."""
    texts = {"a": 3.0, "kiwi": 3.0, "internet": 4.0, "interval": 4.0, "intercom": 20.0}
    result = search(scores(LAYOUT, texts), ENGLISH, LAYOUT)
    assert set(texts) <= words_of(result.found)


@pytest.mark.numba
def test_compiled_search_is_the_same() -> None:
    """With Numba the search finds the same codes with the same scores, to the bit."""
    noisy, found = scores(LAYOUT, {"kiwi": 3.0, "internet": 4.0, "interval": 9.0}), []
    for compiled in (False, True):
        jit.set_compiled(compiled)
        found.append(search(noisy, ENGLISH, LAYOUT))
    jit.set_compiled(None)
    assert found[0].complete == found[1].complete
    for plain, other in zip(found[0].found, found[1].found, strict=True):
        assert np.array_equal(plain, other)


def test_text_that_goes_on_is_cut() -> None:
    """A code that is longer than the payload is found as what fits of it."""
    result = search(scores(LAYOUT, {"x" * 30: 6.0}), ENGLISH, LAYOUT)
    cut = result.found.take(np.flatnonzero(result.found.sizes == CUT))
    bits, size = ENGLISH.bits("x" * 30)
    assert bits >> (size - LAYOUT.length) << (64 - LAYOUT.length) in cut.words.tolist()


def test_noise_makes_few_candidates() -> None:
    """Where nobody gave anything, about fifty candidates are left for check people to refuse."""
    result = search(scores(LAYOUT, {}), ENGLISH, LAYOUT)
    assert len(result.found.words) < 150


@pytest.mark.parametrize(("crowd", "complete"), [(60, True), (120, False)])
def test_a_bucket_with_many_strong_beginnings_is_searched_whole_or_said_not_to_be(
    crowd: int, complete: bool
) -> None:
    """Before the last round 4,000 strong beginnings of a bucket find room; 10,000 do not."""
    strong, rng = scores(LAYOUT, {}), np.random.default_rng(3)
    for j in (0, 1):
        strong[5, j, rng.choice(1 << LAYOUT.piece_bits, crowd, replace=False)] += 1.2
    assert search(strong, ENGLISH, LAYOUT).complete == complete


@pytest.mark.parametrize("height", [100.0, 3.0])
@pytest.mark.long("a full search")
def test_hostile_tallies_are_searched_in_bounded_time(height: float) -> None:
    """Cells that all stand out make the search reach its limits, say so, and end."""
    wild = scores(LAYOUT, {})
    wild += height * (np.random.default_rng(2).random(wild.shape) < 0.3)
    start = time.process_time()
    result = search(wild, ENGLISH, LAYOUT)
    # A full layout has 64 times as many buckets.
    assert time.process_time() - start < 8
    assert not result.complete
    assert np.count_nonzero(result.found.sizes != CUT) <= 64 << LAYOUT.bucket_bits


def test_automaton_reads_what_the_code_writes() -> None:
    """The bits of a text lead from the first state to the end, and not before."""
    machine = automaton(ENGLISH)
    for text in ("", "kiwi", "THE", "naïve"):
        bits, size = ENGLISH.bits(text)
        state = np.zeros(1, dtype=np.int32)
        for place in range(size - 1, -1, -1):
            assert state[0] != machine.end
            state = machine.step[state, bits >> place & 1]
        assert state[0] == machine.end


def test_endings_are_all_ways_to_the_end() -> None:
    """From each state, the ways to the end within a piece are those that a walk finds."""
    machine, ends = automaton(ENGLISH), endings(ENGLISH, 6)
    for state in range(0, machine.end, 97):
        wanted = set()
        for bits in range(1 << 6):
            places = np.array([state], dtype=np.int32)
            for size in range(1, 7):
                places = machine.step[places, bits >> (6 - size) & 1]
                if places[0] == machine.end:
                    wanted.add((bits >> (6 - size), size))
                    break
        part = slice(ends.starts[state], ends.starts[state + 1])
        pairs = zip(ends.bits[part].tolist(), ends.sizes[part].tolist(), strict=True)
        assert {(word >> (64 - size), size) for word, size in pairs} == wanted
