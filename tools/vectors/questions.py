"""Questions that every client must accept or refuse: ``questions.json``.

A page names a digest and a ceiling; the document comes from a server that nobody has to trust. It
is refused unless it is the document that was named, sound in itself, and made of weights that spend
no more than the epsilon it states and no more than the ceiling. The smallest excess there is, a
weight that is off by one, is among the cases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256

from deniable.documents import canonical_json
from deniable.policy import BROWSERS, CEILING
from deniable.protocol import Protocol
from deniable.protocols import discover
from deniable.protocols.affine import AffineSelection
from deniable.protocols.direct import DE
from deniable.protocols.hashing import BLH, LH, OLH, OpenLH
from deniable.protocols.histogram import THE
from deniable.protocols.subset import SubsetSelection
from deniable.protocols.unary import OUE, UE
from deniable.question import Question
from deniable.randomness import WORD
from tools.vectors.turns import WEEKLY, groups, repeated, rounds

Document = dict[str, object]
Case = dict[str, object]
Move = Callable[[int, int], tuple[int, int]]

_FRUIT = ("kiwi", "fig", "plum", "pear", "sloe")
_UNUSUAL = (
    "naïve", "nai\u0308ve", "Москва", "東京", "🥝", "\u007f", '"\\/', "\t\n\0\u001f", "\ue000", "",
)  # fmt: skip


def make_refusals() -> dict[str, object]:
    """Return the contents of the file: texts, the digests that are named, and the verdicts."""
    cases = [*_accepted(), *_foreign(), *_malformed(), *_overspent(), *_numbers(), *_hostile()]
    cases += [*_newer(), *_second(), *_again()]
    return {"format": "deniable-vectors", "version": 1, "vectors": cases}


def ask(
    protocol: Protocol, labels: tuple[str, ...] | None = _FRUIT, other: str | None = None
) -> Document:
    """Return a sound question as a document without its digest."""
    document = json.loads(Question("fruit", labels, protocol, other=other).to_json())
    return {key: value for key, value in document.items() if key != "digest"}


def _case(
    why: str, document: Document, *, accepted: bool = False, ceiling: float = CEILING
) -> Case:
    """Return a case whose digest is that of its document, whatever is in it."""
    digest = sha256(canonical_json(document)).hexdigest()
    text = json.dumps({**document, "digest": digest})
    return _plain(why, text, digest, accepted=accepted, ceiling=ceiling)


def _plain(
    why: str, text: str, digest: str, *, accepted: bool = False, ceiling: float = CEILING
) -> Case:
    return {"why": why, "accepted": accepted, "ceiling": ceiling, "named": digest, "text": text}


def _examples() -> Iterator[Protocol]:
    """Yield small instances of the protocols that all clients speak."""
    for name, kind in discover(offers=False).items():
        if name in BROWSERS:
            yield from kind.examples()


def _labels(protocol: Protocol) -> tuple[str, ...] | None:
    size = protocol.specification().get("domain_size")
    return tuple(f"answer {i}" for i in range(size)) if isinstance(size, int) else None


def _accepted() -> Iterator[Case]:
    for protocol in _examples():
        yield _case(f"a sound {protocol}", ask(protocol, _labels(protocol)), accepted=True)
    unusual = ask(DE(2.0, len(_UNUSUAL)), _UNUSUAL, other="🥝")
    yield _case("labels beyond ASCII", unusual, accepted=True)
    digest = sha256(canonical_json(unusual)).hexdigest()
    raw = json.dumps({"digest": digest, **unusual}, indent=3, sort_keys=True, ensure_ascii=False)
    yield _plain("the same, as they are and in another order", raw, digest, accepted=True)
    for epsilon in (0.1, 1e-7, 1 / 3, 4.999999999999999, 5.0):
        yield _case(f"epsilon {epsilon!r}", ask(DE(epsilon, 5)), accepted=True)
    document = ask(DE(3.0, 5))
    digest = sha256(canonical_json(document)).hexdigest()
    text = json.dumps({**document, "digest": digest})
    for number in ("3", "3.00", "30e-1", "0.3e+1"):
        same = text.replace('"epsilon": 3.0', f'"epsilon": {number}')
        yield _plain(f"epsilon 3 written as {number}", same, digest, accepted=True)
    yield _case("epsilon 6 under a ceiling of 6", ask(DE(6.0, 5)), accepted=True, ceiling=6.0)


def _foreign() -> Iterator[Case]:
    """Yield texts that are not a question, or not the one that was named."""
    document, other = ask(DE(1.0, 5)), ask(DE(2.0, 5))
    digest, another = (sha256(canonical_json(d)).hexdigest() for d in (document, other))
    text = json.dumps({**document, "digest": digest})
    for why, found in {
        "no text": "",
        "no JSON": "{",
        "an array": "[]",
        "null": "null",
        "a string": '"deniable-question"',
        "a number that JSON does not have": text.replace("1.0", "NaN"),
        "a label altered": text.replace("kiwi", "Kiwi"),
        "an epsilon altered": text.replace("1.0", "1.5"),
        "no digest": json.dumps(document),
        "the digest in capitals": json.dumps({**document, "digest": digest.upper()}),
        "another question": json.dumps({**other, "digest": another}),
        "another question that claims the digest": json.dumps({**other, "digest": digest}),
        "the question with another digest": json.dumps({**document, "digest": another}),
    }.items():
        yield _plain(why, found, digest)
    yield _plain("a digest named in capitals", text, digest.upper())
    yield _plain("no digest named", text, "")


def _malformed() -> Iterator[Case]:
    """Yield documents with a digest that holds and fields that do not."""
    closed, opened = ask(DE(1.0, 5)), ask(OpenLH(1.0), None)
    changes: list[tuple[str, Document]] = [
        ("another format", {"format": "deniable-tally"}),
        ("version 2", {"version": 2}),
        ("version 3", {"version": 3}),
        ("version 1 as text", {"version": "1"}),
        ("version true", {"version": True}),
        ("a field too many", {"extra": None}),
        ("an empty name", {"name": ""}),
        ("a number for a name", {"name": 7}),
        ("null for a name", {"name": None}),
        ("a label too few", {"labels": list(_FRUIT[1:])}),
        ("a label too many", {"labels": [*_FRUIT, "lime"]}),
        ("a label twice", {"labels": [*_FRUIT[1:], "fig"]}),
        ("a number for a label", {"labels": [*_FRUIT[1:], 7]}),
        ("a text for labels", {"labels": "figgy"}),
        ("no labels for a closed protocol", {"labels": None}),
        ("an other that is no label", {"other": "lime"}),
        ("a number for other", {"other": 0}),
        ("an empty other", {"other": ""}),
        ("no protocol", {"protocol": None}),
        ("an empty protocol", {"protocol": {}}),
        ("a protocol that is a list", {"protocol": []}),
    ]
    for why, change in changes:
        yield _case(why, {**closed, **change})
    yield _case("a field too few", {key: closed[key] for key in closed if key != "other"})
    yield _case("labels for an open protocol", {**opened, "labels": list(_FRUIT)})
    yield _case("an other label of an open protocol", {**opened, "other": "kiwi"})
    surrogate = {**closed, "labels": ["\ud83e", *_FRUIT[1:]]}
    text = json.dumps(surrogate, separators=(",", ":"), sort_keys=True)
    digest = sha256(text.encode()).hexdigest()
    yield _plain("half a surrogate pair", f'{text[:-1]},"digest":"{digest}"}}', digest)


def _second_form(**changes: object) -> Document:
    """Return a question in version 2 of the document."""
    first = ask(DE(1.0, 5))
    head = {"format": first["format"], "version": 2, "name": first["name"]}
    answers = {"kind": "choice", "labels": list(_FRUIT), "other": None}
    rest = {"protocol": first["protocol"], "repeat": None, "segments": []}
    return {**head, "answers": answers, **rest, **changes}


def _newer() -> Iterator[Case]:
    """Yield sound questions that only a newer client may answer; this one must say so."""
    for why, change in (("a kind that nobody has thought of", {"answers": {"kind": "toString"}}),):
        yield {**_case(why, _second_form(**change)), "newer": True}


def _second() -> Iterator[Case]:
    """Yield documents of version 2 that no client accepts, now or later."""
    first, text = ask(DE(1.0, 5)), ask(OpenLH(1.0), None)["protocol"]
    for why, change in (
        ("a choice that version 1 can say", {}),
        ("a text that version 1 can say", {"answers": {"kind": "text"}, "protocol": text}),
        ("answers that are null", {"answers": None}),
        ("answers that are a list", {"answers": list(_FRUIT)}),
        ("answers without a kind", {"answers": {"labels": list(_FRUIT), "other": None}}),
        ("a kind that is null", {"answers": {"kind": None}}),
        ("a kind in capitals", {"answers": {"kind": "Text"}, "protocol": text}),
        ("a choice without labels", {"answers": {"kind": "choice", "other": None}}),
        ("a text with labels", {"answers": {"kind": "text", "labels": None}, "protocol": text}),
        ("labels beside answers", {"labels": first["labels"]}),
        ("other beside answers", {"other": None}),
        ("a field too many in version 2", {"extra": None}),
        ("rounds without the rest", {"repeat": {"rounds": 12}}),
        ("segments that are strings", {"segments": ["north", "south"]}),
        ("repeat false", {"repeat": False}),
        ("repeat 0", {"repeat": 0}),
        ("segments null", {"segments": None}),
        ("segments an object", {"segments": {}}),
        ("answers in version 1", {"version": 1}),
    ):
        yield _case(why, _second_form(**change))
    for name in ("name", "answers", "protocol", "repeat", "segments"):
        whole = _second_form()
        yield _case(f"no {name} in version 2", {k: v for k, v in whole.items() if k != name})


def _again() -> Iterator[Case]:
    """Yield questions that are asked again or by groups, and others that no client accepts."""
    for question in repeated():
        said = _said(question)
        yield _case(f"rounds or groups: {question.name}", _second_form(**said), accepted=True)
    for why, change, accepted in (*rounds(), *groups()):
        yield _case(why, _second_form(**change), accepted=accepted)
    for why, times, epsilon in (("a hundred times", 100, 0.05), ("a hundred and one", 101, 0.01)):
        protocol, again = ask(DE(epsilon, 5))["protocol"], {**WEEKLY, "times": times}
        yield _case(why, _second_form(repeat=again, protocol=protocol), accepted=times == 100)


def _said(question: Question) -> Document:
    document = json.loads(question.to_json())
    return {key: document[key] for key in ("name", "repeat", "segments")}


def _overspent() -> Iterator[Case]:
    """Yield weights that can be executed and spend more than is stated or allowed."""
    for protocol in _examples():
        if protocol.name != "UE":  # which states p and q, and no epsilon
            document = _reweigh(ask(protocol, _labels(protocol)), _excess(protocol))
            yield _case(f"more than its epsilon by {protocol}", document)
    yield _case("epsilon above the ceiling", ask(DE(6.0, 5)))
    yield _case("epsilon a little above the ceiling", ask(DE(5.000000000000001, 5)))
    yield _case("epsilon above a lower ceiling", ask(OLH(1.0, 5)), ceiling=0.999999)
    yield _case("p and q far above the ceiling", ask(UE(0.9999, 0.0001, 5)))
    stated = ask(DE(4.0, 5))
    changed = {**_part(stated, "protocol"), "epsilon": 1.0}
    yield _case("weights of epsilon 4 that state 1", _with(stated, changed))


def _excess(protocol: Protocol) -> Move:
    """Return the smallest change of the weights that spends more than epsilon and adds up."""
    specification = protocol.specification()
    if protocol.name == "THE":  # which spends much less than it states
        return lambda p, q: (WORD - q // 9, q // 9)
    if protocol.name == "OUE" or "inside" in _part(specification, "weights"):
        return lambda high, low: (high, low - 1)
    values = 2 if protocol.name == "SUE" else specification.get("g") or specification["domain_size"]
    others = int(str(values)) - 1
    return lambda p, q: (p + others, q - 1)


def _numbers() -> Iterator[Case]:
    """Yield numbers that no protocol has, or that two readers could read in two ways."""
    direct, hashed = ask(DE(1.0, 5)), ask(LH(1.0, 5, 4))
    moves: dict[str, Move] = {
        "weights that do not add up": lambda p, q: (p - 1, q),
        "weights that add up to more": lambda p, q: (p + 1, q),
        "q above p": lambda p, q: (WORD - 4 * (p // 3), p // 3),
        "q equal to p": lambda p, q: (q, q),
        "q zero": lambda p, q: (WORD, 0 * p * q),
        "q below zero": lambda p, q: (WORD + 4, -1),
    }
    for why, move in moves.items():
        yield _case(why, _reweigh(direct, move))
    texts: list[tuple[str, Document]] = [
        ("p as a number", {"p": _weights(direct)[0]}),
        ("no q", {"q": None}),
        ("weights swapped", _swapped(direct)),
    ]
    texts += [(f"p written as {form}", {"p": form.format(*_weights(direct))}) for form in _FORMS]
    protocol = _part(direct, "protocol")
    for why, change in texts:
        changed = {**protocol, "weights": {**_part(protocol, "weights"), **change}}
        yield _case(why, _with(direct, changed))
    for name, value in (
        ("epsilon", 0), ("epsilon", -1.0), ("epsilon", "1"), ("epsilon", None), ("epsilon", [1.0]),
        ("name", "constructor"), ("name", "de"), ("name", None), ("domain_size", 5.5),
        ("domain_size", "5"), ("domain_size", True), ("weights", None), ("weights", []),
    ):  # fmt: skip
        changed = {**_part(direct, "protocol"), name: value}
        yield _case(f"{name} {json.dumps(value)}", _with(direct, changed))
    yield from _fields(hashed)


_FORMS = ("0{}", "+{}", " {}", "{}.0", "{}n", "0x{:x}", "{:_}")


def _fields(hashed: Document) -> Iterator[Case]:
    """Yield fields and hash families that do not exist."""
    protocol = _part(hashed, "protocol")
    field = _part(protocol, "field")
    changes: list[tuple[str, Document]] = [
        ("no hash family", {"family": None}),
        ("an unknown hash family", {"family": "toString"}),
        ("a field of another order", {"field": {**field, "degree": 3}}),
        ("a field of characteristic 1", {"field": {**field, "characteristic": 1}}),
        ("a modulus below zero", {"field": {**field, "modulus": [0, -1, 1]}}),
        ("a modulus beyond the field", {"field": {**field, "modulus": [1, 4, 1]}}),
        ("a modulus with fractions", {"field": {**field, "modulus": [1, 0.5, 1]}}),
        ("no field", {"field": None}),
        ("digits that are too few", {"digits": 1}),
        ("digits that are too many", {"digits": 40}),
        ("half a digit", {"digits": 2.5}),
        ("no digits", {"digits": 0}),
        ("a range of 1", {"g": 1}),
        ("a range that is no number", {"g": "4"}),
    ]
    for why, change in changes:
        yield _case(why, _with(hashed, {**protocol, **change}))


def _hostile() -> Iterator[Case]:
    """Yield unusual questions that are sound, and others that are costly or not fields."""
    unusual: list[Protocol] = [
        LH(1.0, 5, 65_536), LH(1.0, 5, 13**4), LH(1.0, 5, 251**2), LH(1.0, 5, (1 << 31) - 1),
        AffineSelection(1.0, 5, 2, 63, 1), AffineSelection(1.0, 5, 65_536, 3, 17_000),
        SubsetSelection(1.0, 5, 4), OpenLH(1.0, 1 << 24), THE(1.0, 5, 40.0), THE(4.0, 5, -0.1),
        THE(2.0, 5, 1.0), UE(0.5, 0.4999999, 5),
    ]  # fmt: skip
    for protocol in unusual:
        labels = None if protocol.name == "OpenLH" else _FRUIT
        yield _case(f"a sound {protocol}", ask(protocol, labels), accepted=True)
    hashed, selected = ask(LH(1.0, 5, 8)), ask(AffineSelection(1.0, 5, 8, 1, 3))
    subset, thresholded = ask(SubsetSelection(1.0, 5, 2)), ask(THE(1.0, 5))
    field = _part(_part(hashed, "protocol"), "field")
    changes: list[tuple[str, Document, Document]] = [
        ("another modulus that would do", hashed, {"field": {**field, "modulus": [1, 0, 1, 1]}}),
        ("a reducible modulus", hashed, {"field": {**field, "modulus": [1, 1, 1, 1]}}),
        ("a composite characteristic", hashed,
         {"field": {"characteristic": 8, "degree": 1, "modulus": []}}),
        ("a degree of 40,000", hashed, {"field": {**field, "degree": 40_000}}),
        ("2^26 digits", hashed, {"digits": 1 << 26}),
        ("2^26 digits of a selection", selected, {"digits": 1 << 26}),
        ("64 digits of a selection", selected, {"digits": 64}),
        ("a window as wide as the field", selected, {"window": 8}),
        ("a window of nothing", selected, {"window": 0}),
        ("weights under which a draw has no end", selected,
         {"weights": {"inside": "148", "outside": "1"}}),
        ("the same of subsets", subset, {"weights": {"inside": "148", "outside": "1"}}),
        ("sets of all values", subset, {"size": 5}),
        ("sets of none", subset, {"size": 0}),
        ("a threshold beyond all noise", thresholded, {"theta": 1e300}),
        ("an epsilon beyond all numbers", thresholded, {"epsilon": 1e300}),
        ("another field of the protocol", thresholded, {"extra": 1}),
        ("p and q beside an epsilon", ask(OUE(1.0, 5)), {"p": 0.5, "q": 0.1}),
        ("an epsilon beside p and q", ask(UE(0.75, 0.25, 5)), {"epsilon": 0.1}),
        ("a binary hash into four", ask(BLH(1.0, 5)), {"g": 4}),
    ]  # fmt: skip
    for why, document, change in changes:
        yield _case(why, _with(document, {**_part(document, "protocol"), **change}))
    for protocol in (DE(1.0, 5), OLH(1.0, 5), THE(1.0, 5), SubsetSelection(1.0, 5)):
        less = _reweigh(ask(protocol), lambda high, low: (high - 4, low + 1))
        yield _case(f"weights that spend less than {protocol} does", less)


def _part(document: Document, name: str) -> Document:
    part = document[name]
    if not isinstance(part, dict):
        raise AssertionError(f"{name} is no object")
    return part


def _with(document: Document, protocol: Document) -> Document:
    return {**document, "protocol": protocol}


def _weights(document: Document) -> tuple[int, ...]:
    weights = _part(_part(document, "protocol"), "weights")
    return tuple(int(str(weight)) for weight in weights.values())


def _swapped(document: Document) -> Document:
    p, q = _weights(document)
    return {"p": str(q), "q": str(p)}


def _reweigh(document: Document, move: Move) -> Document:
    """Return a question with other weights."""
    protocol = _part(document, "protocol")
    weights = _part(protocol, "weights")
    first, second = _weights(document)
    moved = dict(zip(weights, map(str, move(first, second)), strict=True))
    return _with(document, {**protocol, "weights": moved})
