"""Code: a public code of texts as bits, learned from public examples, which loses nothing.

A text is normalised: half of a surrogate pair becomes U+FFFD, with fold "case" all letters are
small, then Unicode's form C, UTF-8, and at most 1,024 bytes, cut between characters. Its bytes are
read as symbols, the longest phrase first, and each symbol is written by the book of the symbol
before it, or by the book without context where that has none; END closes the text. A byte that is
no symbol is written as ESC and its eight bits, and the symbol before the next one is ESC.

Symbols are numbered: the bytes of the alphabet in ascending order, END, ESC, the phrases. Books
stand in the order: without context, at the start, after each symbol but END. In documents a book is
one hexadecimal digit for each symbol, its length; an empty one is the book without context.

The value of a text is three words: the first 64 bits of its code, on the left; the scrambled rest,
0 if there is none, else x <- mix((x ^ block) + GAMMA) from x = 0 over the blocks of 64 bits that
follow, the last one filled with zeros; and the number of bits in all.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from unicodedata import normalize

import numpy as np

from deniable.documents import canonical_json, parse_json
from deniable.errors import InvalidDocument, InvalidParameter
from deniable.kernels.hashes import FIRST, GAMMA, SECOND
from deniable.protocols.discovery import books
from deniable.protocols.discovery.books import Book, Parser
from deniable.validation import check_number, check_whole

MOST_STATES = 1 << 15
"""How many states the automaton that reads a code may have."""
MOST_BYTES = 1 << 18
"""How large a code may be in a document."""
LONGEST_TEXT = 1024
"""How many bytes of a text count."""
_LITERAL = 255
_LONG, USUAL_PHRASES = 12, 300
"""From this mean length of the examples on phrases are learned, and how many at most."""
_ONES = (1 << 64) - 1
_FOLDS = ("none", "case")
_FIELDS = {"alphabet", "books", "fold", "phrases"}


@dataclass(frozen=True, repr=False)
class Code:
    """A public code of texts as bits: frequent texts are short, and every text has one.

    >>> code = Code.learn(["kiwi", "fig", "plum"], phrases=0)
    >>> code.text(*code.bits("fig")), code.text(*code.bits("東京"))
    ('fig', '東京')
    """

    alphabet: bytes
    phrases: tuple[bytes, ...]
    books: tuple[str, ...]
    fold: str = "none"

    def __post_init__(self) -> None:
        sound = (
            isinstance(self.alphabet, bytes)
            and list(self.alphabet) == sorted(set(self.alphabet))
            and isinstance(self.phrases, tuple)
            and isinstance(self.books, tuple)
            and len(self.phrases) <= books.MOST_PHRASES
            and len(self.books) == self.size + 1
            and self.fold in _FOLDS
        )
        if not sound or not self._sound_phrases() or not self._sound_books():
            raise InvalidParameter(
                "expected a code with ascending bytes, at most "
                f"{books.MOST_PHRASES} phrases of 2 to {books.LONGEST_PHRASE} bytes, and a book "
                "for each context whose lengths from 1 to 15 use all bits; learn it with Code.learn"
            )

    def _sound_phrases(self) -> bool:
        kinds = all(isinstance(phrase, bytes) for phrase in self.phrases)
        return kinds and (
            all(2 <= len(phrase) <= books.LONGEST_PHRASE for phrase in self.phrases)
            and len(set(self.phrases)) == len(self.phrases)
        )

    def _sound_books(self) -> bool:
        if not all(isinstance(book, str) and len(book) in (0, self.size) for book in self.books):
            return False
        own = [book for book in self.books if book]
        if not self.books[0] or len(own) * (self.size - 1) + _LITERAL > MOST_STATES:
            return False
        hexadecimal = all(set(book) <= set("123456789abcdef") for book in own)
        return hexadecimal and all(books.complete(int(d, 16) for d in book) for book in own)

    def __repr__(self) -> str:
        """Return a short line, however many books there are."""
        return f"<Code of {len(self.alphabet)} bytes and {len(self.phrases)} phrases>"

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return len(self.alphabet) + 2 + len(self.phrases)

    @classmethod
    def learn(
        cls,
        examples: Iterable[str] | Mapping[str, float],
        *,
        phrases: int | None = None,
        fold: str = "none",
    ) -> "Code":
        """Learn a code from public examples, such as a word list; never from people's answers.

        A mapping gives each example a weight. ``phrases`` is how many sequences of bytes may become
        symbols of their own: by default 300 for long texts such as addresses, none for words.
        """
        if fold not in _FOLDS:
            raise InvalidParameter.expected(f"fold as one of {', '.join(_FOLDS)}", fold)
        counts: dict[bytes, float] = {}
        for text, weight in _weighted(examples):
            data = clean(text, fold)
            counts[data] = counts.get(data, 0.0) + weight
        if not counts:
            raise InvalidParameter("there are no examples; give at least one public text")
        mean = sum(map(len, counts)) / len(counts)
        most = USUAL_PHRASES if mean >= _LONG else 0
        if phrases is not None:
            most = check_whole("phrases", phrases, 0, books.MOST_PHRASES)
        return cls(*books.learn(counts, most, MOST_STATES - _LITERAL), fold)

    @staticmethod
    def preset(name: str) -> "Code":
        """Return a code that comes with the package: "english" for words, "digits" for numbers."""
        if name not in presets():
            raise InvalidParameter.expected(
                f"the name of a code among {', '.join(presets())}", name, "or learn one"
            )
        return _read_preset(name)

    @staticmethod
    def from_document(document: object) -> "Code":
        """Read a code that somebody else wrote, refusing what is none or too large."""
        if not isinstance(document, dict) or set(document) != _FIELDS:
            raise InvalidDocument(
                f"expected a code with {', '.join(sorted(_FIELDS))}; learn it with Code.learn"
            )
        listed = [document["phrases"], document["books"]]
        texts = [document["alphabet"], document["fold"]]
        for items in listed:
            texts += items if isinstance(items, list) and len(items) <= MOST_STATES else [None]
        if not all(isinstance(text, str) for text in texts) or sum(map(len, texts)) > MOST_BYTES:
            raise InvalidDocument(
                f"expected a code made of texts, at most {MOST_BYTES:,} characters in all; learn "
                "it with Code.learn"
            )
        try:
            alphabet, *phrases = (bytes.fromhex(text) for text in (texts[0], *listed[0]))
            found = Code(alphabet, tuple(phrases), tuple(listed[1]), document["fold"])
        except ValueError as error:
            raise InvalidDocument(f"{error} (in the code)") from None
        if found.document() != document:
            raise InvalidDocument("expected bytes as small hexadecimal digits in the code")
        return found

    def document(self) -> dict[str, object]:
        return {
            "alphabet": self.alphabet.hex(),
            "books": list(self.books),
            "fold": self.fold,
            "phrases": [phrase.hex() for phrase in self.phrases],
        }

    def to_json(self) -> str:
        """Return the code as a file of its own, for ``from_json``."""
        return canonical_json(self.document()).decode() + "\n"

    @staticmethod
    def from_json(data: str | bytes) -> "Code":
        """Read a code from what ``to_json`` wrote."""
        text = data.encode("utf-8", "replace") if isinstance(data, str) else data
        return Code.from_document(parse_json(text, 2 * MOST_BYTES))

    @cached_property
    def _parser(self) -> Parser:
        return Parser(self.alphabet, self.phrases)

    @cached_property
    def tables(self) -> list[Book]:
        """The bits of each symbol by context: without one, at the start, after each symbol."""
        made = {b: books.canonical([int(d, 16) for d in b]) for b in set(self.books) if b}
        own = [made[book or self.books[0]] for book in self.books]
        end = len(self.alphabet)
        return [*own[: 2 + end], own[0], *own[2 + end :]]

    def clean(self, text: str) -> str:
        """Return a text as it is read: normalised, folded and cut."""
        return clean(text, self.fold).decode()

    def bits(self, text: str) -> tuple[int, int]:
        """Return the code of a text as one large number, and how many bits it has."""
        tables, end = self.tables, self._parser.end
        book, bits, size = tables[1], 0, 0
        for symbol in (*self._parser.parse(clean(text, self.fold)), end):
            known = symbol if symbol >= 0 else end + 1
            code, length = book[known]
            bits, size = bits << length | code, size + length
            if symbol < 0:
                bits, size = bits << 8 | (-1 - symbol), size + 8
            book = tables[2 + known]
        return bits, size

    def value(self, text: str) -> tuple[int, int, int]:
        """Return the value of a text: the first 64 bits, the scrambled rest, and how many bits."""
        bits, size = self.bits(text)
        blocks = -(-size // 64)
        padded, rest = bits << (64 * blocks - size), 0
        for i in range(blocks - 2, -1, -1):
            rest = _mix((rest ^ (padded >> (64 * i) & _ONES)) + int(GAMMA))
        return padded >> (64 * (blocks - 1)), rest, size

    def values(self, texts: Iterable[str]) -> np.typing.NDArray[np.uint64]:
        """Return the values of many texts, a row for each; what occurs twice is read once."""
        known: dict[str, tuple[int, int, int]] = {}
        rows = []
        for text in texts:
            found = known.get(text)
            if found is None:
                found = known[text] = self.value(text)
            rows.append(found)
        return np.array(rows, dtype=np.uint64).reshape(-1, 3)

    def text(self, bits: int, size: int) -> str | None:
        """Return the text that bits stand for, as far as they go, or None if they are none's.

        None is what no client sends: bytes that are no UTF-8, or a text whose code is another.
        """
        data, ended = self._read(bits, size)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None if ended else data.decode("utf-8", "ignore")
        return text if not ended or self.bits(text) == (bits, size) else None

    def _read(self, bits: int, size: int) -> tuple[bytes, bool]:
        """Return the bytes that bits stand for, and whether END is the last of them."""
        readers, end, out = self._readers, len(self.alphabet), bytearray()
        book, at = readers[1], 0
        while at < size:
            length = next((k for k in book if (k, _cut(bits, size, at, k)) in book[k]), None)
            if length is None:
                break
            symbol = book[length][length, _cut(bits, size, at, length)]
            at += length
            if symbol == end:
                return bytes(out), at == size
            if symbol == end + 1:
                if at + 8 > size:
                    break
                out.append(_cut(bits, size, at, 8))
                at += 8
            else:
                out += (
                    self.phrases[symbol - end - 2] if symbol > end else self.alphabet[symbol:][:1]
                )
            book = readers[2 + symbol]
        return bytes(out), False

    @cached_property
    def _readers(self) -> list[dict[int, dict[tuple[int, int], int]]]:
        """The symbols by length and bits, for each context, the shorter lengths first."""
        made: dict[int, dict[int, dict[tuple[int, int], int]]] = {}
        for table in self.tables:
            own = made.setdefault(id(table), {})
            if not own:
                for size in sorted({size for _, size in table}):
                    own[size] = {(k, c): s for s, (c, k) in enumerate(table) if k == size}
        return [made[id(table)] for table in self.tables]


def clean(text: str, fold: str) -> bytes:
    """Return the bytes of a text that count, the same on every device."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    whole = normalize("NFC", whole.lower() if fold == "case" else whole)
    data = whole.encode()
    # A byte that only continues a character cannot be where the cut is.
    end = min(len(data), LONGEST_TEXT)
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]


def presets() -> tuple[str, ...]:
    """Return the names of the codes that come with the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


@lru_cache(maxsize=8)
def _read_preset(name: str) -> Code:
    return Code.from_json((_FOLDER / f"{name}.json").read_bytes())


_FOLDER = Path(__file__).parents[2] / "data" / "codes"


def _weighted(examples: Iterable[str] | Mapping[str, float]) -> Iterator[tuple[str, float]]:
    if isinstance(examples, str | bytes) or not isinstance(examples, Iterable):
        raise InvalidParameter("expected several examples; pass a list of texts")
    pairs = examples.items() if isinstance(examples, Mapping) else ((e, 1.0) for e in examples)
    for text, weight in pairs:
        if not isinstance(text, str) or not 0 < check_number("a weight", weight) < 1e300:
            raise InvalidParameter("expected examples as texts, with weights above 0 if any")
        yield text, float(weight)


def _mix(z: int) -> int:
    z &= _ONES
    z = (z ^ z >> 30) * int(FIRST) & _ONES
    z = (z ^ z >> 27) * int(SECOND) & _ONES
    return z ^ z >> 31


def _cut(bits: int, size: int, at: int, length: int) -> int:
    """Return ``length`` of the bits from a place on, or -1 where there are fewer."""
    return -1 if at + length > size else bits >> (size - at - length) & ((1 << length) - 1)
