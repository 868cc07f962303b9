"""Texts to discover: real lists, made-up ones, and sets that are hard on purpose.

Each is a list of texts with the share of each and a public code that was learned elsewhere: the
English one from another list, those of addresses and signatures from other examples of their kind.
"""

import csv
import lzma
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable import Code

DATA = Path(__file__).parents[3] / "shared" / "data"
"""Where the real data sets are; docs/reproduction.md says where they come from."""
LETTERS = list("abcdefghijklmnopqrstuvwxyz")

Rng = np.random.Generator
Shares = npt.NDArray[np.float64]


class Texts(NamedTuple):
    """Texts with their shares, and the code by which they are discovered."""

    texts: list[str]
    shares: Shares
    code: Code
    payload: int = 5


def zipf(size: int, slope: float = 1.05) -> Shares:
    """Return the shares of Zipf's law."""
    shares = 1 / np.arange(1, size + 1) ** slope
    return np.asarray(shares / shares.sum())


def even(size: int) -> Shares:
    """Return equal shares."""
    return np.full(size, 1 / size)


def listed(name: str, encoding: str = "utf-8") -> tuple[list[str], Shares]:
    """Return the words of a list with their shares."""
    with lzma.open(DATA / name, "rt", encoding=encoding) as stream:
        rows = [line.split() for line in stream]
    counts = np.array([float(count) for _, count in rows])
    return [word for word, _ in rows], counts / counts.sum()


@lru_cache(maxsize=1)
def words() -> tuple[list[str], Shares]:
    """Return words of subtitles, which are to be found."""
    return listed("words-opensubtitles2018-en-50k.txt.xz")


@lru_cache(maxsize=1)
def vocabulary() -> list[str]:
    """Return frequent words of another list."""
    return listed("words-symspell-en-82k.txt.xz", "utf-8-sig")[0][:5000]


def signatures(size: int, seed: int) -> list[str]:
    """Return signatures of errors, most of which begin alike."""
    rng, found = np.random.default_rng(seed), dict[str, None]()
    kinds = (
        "TypeError: Cannot read properties of undefined (reading '{}')",
        "ReferenceError: {} is not defined", "TypeError: {} is not a function",
        "RangeError: Maximum call stack size exceeded in {}", "SyntaxError: Unexpected token {}",
        "NetworkError: failed to fetch /api/{}", "Error: timeout of 5000ms exceeded at {}",
    )  # fmt: skip
    files = ("app.js", "main.js", "vendor.js", "index.js")
    while len(found) < size:
        kind = kinds[rng.choice(7, p=[0.6, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])]
        name = "xyzabcuvwk"[rng.integers(10)] + str(rng.integers(1000))
        place = f"{files[rng.integers(4)]}:{rng.integers(1, 5000)}"
        found[f"{kind.format(name)} at {place}"] = None
    return list(found)


def addresses(size: int, seed: int) -> list[str]:
    """Return addresses of pages on a few hosts."""
    rng, found, words = np.random.default_rng(seed), dict[str, None](), vocabulary()
    hosts = (
        "https://www.example.com/", "https://www.example.com/news/",
        "https://www.example.com/shop/item/", "https://example.org/wiki/",
    )  # fmt: skip
    while len(found) < size:
        host = hosts[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])]
        path = "/".join(words[rng.integers(len(words))] for _ in range(rng.integers(1, 3)))
        found[host + path] = None
    return list(found)


@lru_cache(maxsize=8)
def code(name: str) -> Code:
    """Return the public code of a kind of texts."""
    made: dict[str, Callable[[], Code]] = {
        "english": lambda: Code.preset("english"),
        "digits": lambda: Code.preset("digits"),
        "sku": lambda: Code.learn(f"sku-{i:05d}" for i in range(0, 100_000, 7)),
        "signatures": lambda: Code.learn(signatures(5000, 99)),
        "urls": lambda: Code.learn(addresses(5000, 98)),
    }
    return made[name]()


def beginning(start: str, size: int, rng: Rng) -> list[str]:
    """Return texts that begin alike and have three more letters."""
    found = dict[str, None]()
    while len(found) < size:
        found[start + "".join(rng.choice(LETTERS, 3))] = None
    return sorted(found)


def of_size(english: Code, size: int, count: int, rng: Rng) -> list[str]:
    """Return texts whose code has so many bits."""
    letters, found = list("etaoinshrdlucmfwypvbgk"), dict[str, None]()
    while len(found) < count:
        text = "".join(rng.choice(letters, max(1, int(size / 4.2) + rng.integers(-1, 2))))
        if english.bits(text)[1] == size:
            found[text] = None
    return list(found)


def _chinese(rng: Rng) -> list[str]:
    found = dict[str, None]()
    while len(found) < 2000:
        found["".join(chr(0x4E00 + int(x)) for x in rng.integers(0, 3000, 2))] = None
    return list(found)


def _kosarak() -> tuple[list[str], Shares]:
    counts = np.bincount(np.load(DATA / "kosarak-one-per-user.npz")["item"])
    pages = np.flatnonzero(counts)
    return [str(page) for page in pages], counts[pages] / counts.sum()


def _surnames() -> tuple[list[str], Shares]:
    with lzma.open(DATA / "surnames-us-census-2010.csv.xz", "rt") as stream:
        rows = list(csv.reader(stream))[1:]
    counts = np.array([float(row[1]) for row in rows])
    return [row[0].lower() for row in rows], counts / counts.sum()


ORDINARY = ("words", "kosarak", "signatures", "urls")
HARD = (
    "inter300", "inter100", "internat300", "sku300", "uniform300", "UPPER", "chinese", "one90",
    "uniform1000", "unique", "uuid",
)  # fmt: skip


def _seed(rng: Rng) -> int:
    """Return a seed for made-up lists, none of those that codes were learned from."""
    return 100 + int(rng.integers(1 << 30))


def texts(name: str, rng: Rng) -> Texts:
    """Return a set by its name; hard ones are drawn anew."""
    english = code("english")
    kinds: dict[str, Callable[[], Texts]] = {
        "words": lambda: Texts(*words(), english),
        "surnames": lambda: Texts(*_surnames(), english),
        "kosarak": lambda: Texts(*_kosarak(), code("digits")),
        "signatures": lambda: Texts(
            signatures(30_000, _seed(rng)), zipf(30_000), code("signatures")
        ),
        "urls": lambda: Texts(addresses(30_000, _seed(rng)), zipf(30_000), code("urls"), 6),
        "urls5": lambda: Texts(addresses(30_000, _seed(rng)), zipf(30_000), code("urls"), 5),
        "inter300": lambda: Texts(beginning("inter", 300, rng), even(300), english),
        "inter100": lambda: Texts(beginning("inter", 100, rng), even(100), english),
        "internat300": lambda: Texts(beginning("internat", 300, rng), even(300), english),
        "sku300": lambda: Texts(
            [f"sku-{x:05d}" for x in rng.choice(100_000, 300, replace=False)],
            even(300),
            code("sku"),
        ),
        "UPPER": lambda: Texts([word.upper() for word in words()[0]], words()[1], english),
        "chinese": lambda: Texts(_chinese(rng), zipf(2000, 1.0), english),
        "uniform300": lambda: Texts(vocabulary()[200:500], even(300), english),
        "uniform1000": lambda: Texts(vocabulary()[:1000], even(1000), english),
        "one90": lambda: Texts(
            ["zzzqx", *words()[0]], np.concatenate([[0.9], 0.1 * words()[1]]), english
        ),
        "uuid": lambda: Texts(
            [rng.bytes(16).hex() for _ in range(100_000)], even(100_000), english
        ),
        "unique": lambda: Texts(
            ["".join(rng.choice(LETTERS, 7)) + str(i) for i in range(100_000)],
            even(100_000),
            english,
        ),
    }
    return kinds[name]()
