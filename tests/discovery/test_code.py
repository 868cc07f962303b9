"""The code of texts: nothing is lost, nothing is refused, and hostile codes do no harm."""

import time
import tracemalloc
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import Code, InvalidDocument, InvalidParameter
from deniable.protocols.discovery import books
from deniable.protocols.discovery.code import presets
from tests.marks import examples
from tests.naive.codes import bits_of

PAGES = [f"https://www.example.com/{kind}/{i}" for kind in ("news", "shop") for i in range(300)]
WORDS = Code.preset("english")
ADDRESSES = Code.learn(PAGES)
CODES = (WORDS, Code.preset("digits"), ADDRESSES)
TEXTS = ("", "hello", "THE", "naïve", "nai\u0308ve", "東京", "🥝", "\0", "a b", "12345", PAGES[7],
         PAGES[7] + "?q=ü", "x" * 3000)  # fmt: skip


@pytest.mark.parametrize("code", CODES, ids=repr)
def test_every_book_is_complete(code: Code) -> None:
    """The lengths of each book leave no sequence of bits without a symbol: Kraft's sum is 1."""
    for book in filter(None, code.books):
        assert sum(2 ** -int(digit, 16) for digit in book) == 1
        assert len(book) == code.size


@pytest.mark.parametrize("code", CODES, ids=repr)
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_code_is_the_one_that_is_specified(code: Code, text: str) -> None:
    """Bits are those of the slow twin, and read back to the text as it counts."""
    bits, size = code.bits(text)
    assert format(bits, f"0{size}b") == bits_of(code, text)
    assert code.text(bits, size) == code.clean(text)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=40), st.sampled_from(CODES))
def test_any_text_comes_back(text: str, code: Code) -> None:
    """Whatever people write has a code, which reads back to the same text in form C."""
    clean = normalize("NFC", text)
    assert code.text(*code.bits(text)) == clean.encode()[:1024].decode("utf-8", "ignore")


def test_random_texts_come_back() -> None:
    """Two thousand random texts, drawn from all of Unicode, are told apart by their codes."""
    rng = np.random.default_rng(1)
    points = rng.choice(np.r_[32:127, 160:0xD800, 0xE000:0x110000], (2000, 6))
    texts = {WORDS.clean("".join(map(chr, row))) for row in points}
    assert all(WORDS.text(*WORDS.bits(text)) == text for text in texts)
    assert len({WORDS.bits(text) for text in texts}) == len(texts)


def test_half_a_pair_is_replaced_and_a_long_text_is_cut() -> None:
    """No text is refused: half of a surrogate pair is U+FFFD, and 1,024 bytes count."""
    assert WORDS.clean("a\ud800b") == "a\ufffdb"
    assert WORDS.clean("\ud83e\udd5d") == "🥝"
    assert WORDS.bits("x" * 3000) == WORDS.bits("x" * 1024)
    assert WORDS.clean("ü" * 600) == "ü" * 512
    assert WORDS.clean("a" + "ü" * 600) == "a" + "ü" * 511


def test_folding_makes_letters_small() -> None:
    """A code with fold reads KIWI and kiwi alike, and one without does not."""
    folding = Code.learn(["kiwi", "fig"], fold="case")
    assert folding.bits("KIWI") == folding.bits("kiwi") == folding.bits("Kiwi")
    assert WORDS.bits("KIWI") != WORDS.bits("kiwi")


def test_lengths_are_the_best_within_the_limit() -> None:
    """Package-merge gives Huffman's lengths where they fit, and the best ones where they do not."""
    assert books.lengths(np.array([1.0, 1, 2, 3, 5, 8, 13])) == [6, 6, 5, 4, 3, 2, 1]
    assert books.lengths(np.array([1.0, 1, 2, 3, 5, 8, 13]), 4) == [4, 4, 3, 3, 3, 2, 2]
    weights = 0.5 ** np.arange(40.0)
    assert max(books.lengths(weights)) == 15
    assert books.complete(books.lengths(weights))


def test_frequent_texts_are_short() -> None:
    """A code learned from addresses takes few bits for addresses, and one for words many."""
    fresh = [f"https://www.example.com/news/{i}" for i in range(1000, 1100)]
    sizes = [[code.bits(text)[1] for text in fresh] for code in (ADDRESSES, WORDS)]
    assert 5 * np.median(sizes[0]) < np.median(sizes[1])


def test_presets_come_with_the_package() -> None:
    """The codes that are named in the documentation are there, and an unknown name says so."""
    assert presets() == ("digits", "english")
    with pytest.raises(InvalidParameter, match="digits, english"):
        Code.preset("klingon")


@pytest.mark.parametrize("code", CODES, ids=repr)
def test_code_survives_its_document(code: Code) -> None:
    """A code reads back equal from its JSON."""
    assert Code.from_json(code.to_json()) == code
    assert hash(Code.from_json(code.to_json())) == hash(code)


def _with(change: dict[str, object]) -> dict[str, object]:
    return {**Code.learn(["kiwi", "fig"], phrases=0).document(), **change}


SMALL = Code.learn(["kiwi", "fig"], phrases=0)
HOSTILE = {
    "Kraft above 1": _with({"books": ["1" * SMALL.size, *SMALL.books[1:]]}),
    "Kraft below 1": _with({"books": ["f" * SMALL.size, *SMALL.books[1:]]}),
    "length 0": _with({"books": ["0" + SMALL.books[0][1:], *SMALL.books[1:]]}),
    "missing symbols": _with({"books": [SMALL.books[0][:-1], *SMALL.books[1:]]}),
    "no book": _with({"books": []}),
    "no book without context": _with({"books": ["", *SMALL.books[1:]]}),
    "a million contexts": _with({"books": ["1"] * 10**6}),
    "a book of a million symbols": _with({"books": ["1" * 10**6]}),
    "a million phrases": _with({"phrases": ["6162"] * 10**6}),
    "a phrase of a million bytes": _with({"phrases": ["61" * 10**6]}),
    "phrases twice": _with({"phrases": ["6162", "6162"]}),
    "a phrase of one byte": _with({"phrases": ["61"]}),
    "bytes twice": _with({"alphabet": "6161"}),
    "bytes in disorder": _with({"alphabet": "6261"}),
    "capital digits": _with({"alphabet": SMALL.alphabet.hex().upper() + "6A"}),
    "no hexadecimal": _with({"alphabet": "xyz"}),
    "another fold": _with({"fold": "upper"}),
    "numbers": _with({"books": [1, 2]}),
    "a field too many": _with({"extra": 1}),
    "a list": [],
    "nothing": None,
}


@pytest.mark.parametrize("why", HOSTILE)
def test_hostile_codes_are_refused_within_limits(why: str) -> None:
    """What is no code is refused in a tenth of a second and a few megabytes."""
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises((InvalidDocument, InvalidParameter)):
            Code.from_document(HOSTILE[why])
        assert time.process_time() - start < 0.5
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_bad_examples_get_a_clear_error() -> None:
    """A code is learned from several texts with positive weights, and from nothing else."""
    for wrong in ([], "kiwi", [1], {"kiwi": 0.0}, {"kiwi": float("nan")}):
        with pytest.raises(InvalidParameter):
            Code.learn(wrong)
    for options in ({"fold": "upper"}, {"phrases": -1}, {"phrases": 10**6}):
        with pytest.raises(InvalidParameter):
            Code.learn(["kiwi"], **options)
