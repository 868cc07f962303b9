"""Questions that were made to hurt a browser, and the client that has to face them.

``python -m tests.browser.hostile`` makes a thousand, has every build of the client read and answer
them in Node and in Chromium, and prints how many it answered, and how long the slowest took.
Digests are right, as whoever publishes a question chooses its digest. Verdicts must be those of
``Question.load``, and a build answers no question of another. One thing browsers leave to it:
whether the views of a record or a number tell what is wanted, which protects nobody.
"""

import json
import random
import subprocess
import sys
from contextlib import ExitStack
from hashlib import sha256
from types import SimpleNamespace
from unittest.mock import patch

from deniable.answers import Choice, Choices, Number, Record
from deniable.documents import canonical_json
from deniable.errors import InvalidDocument
from deniable.policy import BROWSERS, BUILDS
from deniable.protocols import discover
from deniable.protocols.affine import AffineSelection
from deniable.protocols.direct import DE
from deniable.protocols.hashing import LH, OLH, OpenLH
from deniable.protocols.histogram import THE
from deniable.protocols.levels import Levels
from deniable.protocols.subset import SubsetSelection
from deniable.protocols.unary import OUE, UE
from deniable.protocols.views import Views
from deniable.question import Question
from deniable.rota import Repeat
from tests import components
from tests.browser.conftest import ARGUMENTS
from tests.browser.law import ROOT
from tests.browser.standin import Site
from tests.fuzz import answers_of

CLIENT = ROOT / "clients" / "js"
STATIC = ROOT / "src" / "deniable" / "collector" / "pages" / "static"
FILES = {"": "deniable.js", **{build: f"deniable-{build}.js" for build in BUILDS}}
"""The builds of the client by the kind of answers that they are for; the first is for one label."""
LONGEST = 1 << 20
"""How many characters of a question a browser reads, and a label for every 16 of them."""
CELLS = 1 << 17
"""How many cells all views may have together."""
EXTREMES = [
    0, 1, -1, 2, 3, 4, 5, 63, 64, 255, 40_000, 65_536, 1 << 24, 1 << 26, (1 << 31) - 1, 1 << 31,
    1 << 53, 1 << 64, 10**40, 0.5, 1e-300, 1e300, -0.5, "", "0", "1", "148", "-1", "1e3", "0x10",
    "x", str((1 << 64) - 1), str(1 << 64), "9" * 1000, None, True, False, [], [[]], {}, {"p": "1"},
    [1, 0, 1], ["1", "1"], [1] * 1000,
]  # fmt: skip
"""Values for any place of a document."""


def labelled(count):
    """Return so many short labels."""
    return tuple(f"{i:x}" for i in range(count))


def sound():
    """Return sound questions of every protocol, and of unusual shapes.

    Levels are a part of views, and no question has them by themselves.
    """
    kinds = [kind for kind in discover().values() if not issubclass(kind, Levels)]
    protocols = [example for kind in kinds for example in kind.examples()]
    protocols += [
        DE(5.0, 60_000), OUE(1.0, 20_000), OUE(0.01, 2), SubsetSelection(5.0, 4096, 4093),
        SubsetSelection(1.0, 67, 33), SubsetSelection(5.0, 20_000, 3), LH(1.0, 5, (1 << 31) - 1),
        LH(1.0, 5, 65_536), LH(1.0, 5, 62_748_517), LH(1.0, 20_000, 2), LH(1.0, 2, 251**2),
        AffineSelection(1.0, 5, 65_536, 3, 17_000), AffineSelection(1.0, 5, 13**4, 2, 9_000),
        AffineSelection(1.0, 2, 2, 63, 1), AffineSelection(3.0, 50_000), OpenLH(1.0, 1 << 24),
        THE(1.0, 5, 40.0), THE(5.0, 5, -0.1), THE(0.001, 5, 0.0), UE(0.5, 0.4999999, 3),
    ]  # fmt: skip
    for protocol in protocols:
        yield Question("hostile", answers_of(protocol), protocol)
    weekly = Repeat("2026-03-02", every=7, rounds=4, times=2)
    groups = {"platform": ("web", "app"), "age": ("young", "old", "older")}
    yield Question("hostile", labelled(5), DE(1.0, 5), repeat=weekly)
    yield Question("hostile", labelled(5), OLH(1.0, 5), segments=groups)
    yield Question("hostile", None, OpenLH(1.0), repeat=weekly, segments=groups)
    yield Question("hostile", Choices(labelled(5), 2), epsilon=1.0, repeat=weekly, segments=groups)
    yield from records(weekly, groups)


def records(weekly, groups):
    """Return sound questions about numbers and several attributes."""
    hours = Number(0, 100, 5, "h", ("distribution", "mean"))
    plan = Choice(("free", "pro", "no answer"))
    yield Question("hostile", hours, epsilon=1.0)
    yield Question("hostile", Number(-1, 1, 0.1, want=("mean",)), epsilon=2.0, repeat=weekly)
    yield Question("hostile", Number(0, 65_535, want=("mean",)), epsilon=2.0)
    survey = Record(plan=plan, hours=hours, country=labelled(40), tables="pairs")
    yield Question("hostile", survey, epsilon=1.0, segments=groups)
    yield Question("hostile", Record({"any": Choice(("a", "b"), "b")}), epsilon=5.0)
    many = Record({f"a{i}": ("no", "yes") for i in range(9)}, tables="pairs")
    yield Question("hostile", many, epsilon=1.0)


def places(item, path=()):
    """Yield the way to every place of a document, lists of labels aside."""
    if isinstance(item, dict):
        for key in item:
            yield (*path, key)
            yield from places(item[key], (*path, key))
    elif isinstance(item, list) and path != ("labels",):
        for i, part in enumerate(item):
            yield (*path, i)
            yield from places(part, (*path, i))


def mutate(document, rng):
    """Change one place or a few: another value, none, or one more."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        *way, last = rng.choice(list(places(document)))
        inner = document
        for step in way:
            inner = inner[step]
        how = rng.random()
        if how < 0.85:
            inner[last] = rng.choice(EXTREMES)
        elif how < 0.92:
            del inner[last]
        elif isinstance(inner, dict):
            inner[rng.choice(("extra", "__proto__", "theta", "p", "window"))] = rng.choice(EXTREMES)


def named_ones():
    """Yield what was once too expensive, or let in."""
    field = LH(1.0, 5, 8).specification()
    for why, change in (
        ("another modulus of GF(8)", {"field": {**field["field"], "modulus": [1, 0, 1, 1]}}),
        ("a reducible modulus", {"field": {**field["field"], "modulus": [1, 1, 1, 1]}}),
        (
            "a composite characteristic",
            {"field": {"characteristic": 8, "degree": 1, "modulus": []}},
        ),
        ("a degree of 40,000", {"field": {**field["field"], "degree": 40_000}}),
        ("digits of 2^26", {"digits": 1 << 26}),
        ("another name", {"name": "AffineSelection", "window": 1}),
    ):
        yield why, {**field, **change}
    slow = SubsetSelection(1.0, 5).specification()
    yield "weights of 148 and 1", {**slow, "weights": {"inside": "148", "outside": "1"}}
    tall = AffineSelection(1.0, 5).specification()
    yield (
        "weights of a selection of 148 and 1",
        {**tall, "weights": {"inside": "148", "outside": "1"}},
    )
    yield "digits of a selection of 2^26", {**tall, "digits": 1 << 26}
    free = THE(1.0, 5).specification()
    yield "a threshold of 10^300", {**free, "theta": 1e300}
    yield "an epsilon of 10^300", {**free, "epsilon": 1e300}
    yield "no chance at all", {**UE(0.5, 0.25, 5).specification(), "q": 5e-324}


def case(document):
    """Return a document with its digest, and the build of the client that answers it, if any."""
    digest = sha256(canonical_json(document)).hexdigest()
    text = json.dumps({**document, "digest": digest}, ensure_ascii=False)
    made = {"text": text, "named": digest, "build": None}
    try:
        question = Question.load(text, digest=digest)
    except InvalidDocument:
        return {**made, "free": loads_unchecked(text, digest)}
    few = len(question.labels or ()) <= LONGEST // 16
    if isinstance(question.protocol, Views):
        parts = question.protocol.protocols
        few = sum(part.value_count for part in parts) <= CELLS
    build = question.answers.build if question.answers.build in BUILDS else ""
    spoken = question.protocol.name in BUILDS.get(build, BROWSERS)
    answered = spoken and few and len(text) <= LONGEST
    return {**made, "build": build if answered else None}


def loads_unchecked(text, digest):
    """Tell whether a question would load if its views did not have to tell what is wanted."""
    with ExitStack() as stack:
        for kind in (Number, Record):
            stack.enter_context(patch.object(kind, "check", lambda answers, protocol: None))
        try:
            question = Question.load(text, digest=digest)
        except InvalidDocument:
            return False
    answers, protocol = question.answers, question.protocol
    if not isinstance(answers, Number | Record) or not isinstance(protocol, Views):
        return False
    if isinstance(answers, Record):
        return answers.radices == protocol.radices
    return answers.steps <= protocol.value_count


def written(question):
    """Return the document of a question without its digest."""
    document = json.loads(question.to_json())
    del document["digest"]
    return document


def named_views():
    """Yield views that cost much or that are none, as a document has them."""
    plain = Record(a=("no", "yes"), b=("no", "yes", "perhaps"), tables="pairs")
    base = written(Question("hostile", plain, epsilon=1.0))
    sound, cut = base["protocol"], "4611686018427387904"
    huge = SubsetSelection(1.0, 1 << 22, 2).specification()
    for change in (
        {"radices": [2] * 65, "views": [[i] for i in range(65)]},
        {"radices": [1 << 31, 1 << 31, 8]},
        {"views": [[0], [1], [0, 5]]},
        {"views": [[0], [1], [0, 0]]},
        {"views": [[0], [0], [0, 1]]},
        {"lots": [cut, cut, cut]},
        {"lots": ["0", str(1 << 63), str(1 << 63)]},
        {"lots": [str(1 << 64), "1", str(-1)]},
        {"radices": [1 << 22, 3], "views": [[0], [1]], "protocols": [huge, sound["protocols"][1]]},
        {"views": [[0]] * 600, "lots": ["1"] * 600, "protocols": [sound["protocols"][0]] * 600},
        {"views": [[0, 1]] * 10**5},
        {"radices": [2] * 10**5},
    ):
        yield {**base, "protocol": {**sound, **change}}
    hours = written(Question("hostile", Number(0, 100, 5), epsilon=1.0))
    for change in (
        {"low": -1e308, "high": 1e308}, {"step": 5e-324}, {"step": -5}, {"low": 100},
        {"high": 10**6, "step": 1}, {"low": 1e-300}, {"unit": "x" * 21}, {"want": []},
    ):  # fmt: skip
        yield {**hours, "answers": {**hours["answers"], **change}}


def make(count=1000, seed=20261117):
    """Return so many questions: sound ones, known attacks, floods, and mutants."""
    rng = random.Random(seed)
    originals = list(sound())
    cases = [case(written(question)) for question in originals]
    base = written(Question("hostile", labelled(5), LH(1.0, 5, 8)))
    cases += [case({**base, "protocol": protocol}) for _, protocol in named_ones()]
    cases += [case(document) for document in named_views()]
    floods = [labelled(70_000), ("x" * (1 << 20),) * 2, labelled(1 << 18)]
    cases += [case({**base, "labels": list(labels)}) for labels in floods]
    deep = "[" * 100_000 + "]" * 100_000
    cases += [{"text": text, "named": "0" * 64, "build": None} for text in (deep, '{"a":' * 50_000)]
    while len(cases) < count:
        document = json.loads(json.dumps(written(rng.choice(originals))))
        mutate(document, rng)
        cases.append(case(document))
    return cases[:count]


def in_node(cases):
    """Have every build of the client face questions in Node."""
    data = json.dumps(cases).encode()
    found = {}
    for build in FILES:
        command = [components.node(), "test/hostile.mjs", build]
        run = subprocess.run(
            command, cwd=CLIENT, input=data, capture_output=True, timeout=300, check=True
        )
        found[build] = json.loads(run.stdout)
    return found


def wrong(cases, found):
    """Return what a build made another verdict of than Python, or broke on."""
    return [
        (FILES[build], each["build"], came["why"], each["text"][:1000])
        for build, verdicts in found.items()
        for each, came in zip(cases, verdicts, strict=True)
        if (each["build"] == build) != (came["why"] == "" and not each.get("free"))
        or "broken" in came["why"]
    ]


def said(where, found):
    """Say how it went."""
    for build, verdicts in found.items():
        answered = sum(came["why"] == "" for came in verdicts)
        slowest = max(came["milliseconds"] for came in verdicts)
        print(
            f"{FILES[build]} in {where}: {len(verdicts):,} questions, {answered:,} answered; "
            f"the slowest took {slowest:.1f} ms"
        )


FACE = """async ([build, file]) => {
    const { face } = await import("/hostile.js");
    const questions = await (await fetch("/questions.json")).json();
    return face(await import(`/${file}`), questions, build);
}"""
"""Has a page face the questions that its site serves, with a build of the client."""


def in_browser(browser, cases):
    """Have every build of the client face questions in a browser."""
    files = {
        "/": b"<!doctype html><title>Hostile</title>",
        "/hostile.js": (CLIENT / "test" / "hostile.js").read_bytes(),
        "/questions.json": json.dumps(cases).encode(),
        **{f"/{file}": (STATIC / file).read_bytes() for file in FILES.values()},
    }
    with Site(files, SimpleNamespace(url="")).running() as site:
        page = browser.new_page()
        page.goto(site.url)
        found = {build: page.evaluate(FACE, [build, file]) for build, file in FILES.items()}
        page.close()
    return found


def in_chromium(cases):
    """Have every build of the client face questions in Chromium."""
    from playwright import sync_api  # noqa: PLC0415 - absent where these tests are not run

    with sync_api.sync_playwright() as tool:
        started = tool.chromium.launch(executable_path=components.browser(), args=ARGUMENTS)
        found = in_browser(started, cases)
        started.close()
    return found


if __name__ == "__main__":
    made = make(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    for place, runs in (("Node", in_node), ("Chromium", in_chromium)):
        faced = runs(made)
        said(place, faced)
        unlike = wrong(made, faced)
        print(f"{len(unlike)} verdicts in {place} unlike Python's", *unlike[:5], sep="\n")
