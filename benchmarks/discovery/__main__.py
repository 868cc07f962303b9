"""What docs/discovery.md says, measured: ``python -m benchmarks.discovery LINE... [--seeds 5]``.

law        codes of random texts read back, and the enumerated law of a small setting
false      sure texts that nobody gave, on ordinary and on hard sets, at epsilon 2 and 4
split      check people hold other texts: nothing may be sure
recall     what was promised is kept, and the sure texts against their expected number
planted    texts planted at the share that the plan gives for 90 %
looks      how much larger a share has to be on a collector, which looks often, than in the plan
intervals  how many intervals of sure texts hold the truth
poison     identical reports among honest ones
time       a search of words, and of other sets, in seconds and MB
long       a text that is cut, in ``unfinished`` and named by a list
pem        against PEM with the same code, and with bytes
serving    the latency of a collector's submissions without a search and during one
job        error signatures, the fifth of which nobody listed, at the planned number of people
journey    20,000 browsers, the words that a dashboard names, and the closed question of them
"""

import argparse
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.discovery import journey as journeys
from benchmarks.discovery import pem as prefixes
from benchmarks.discovery import serving as responsiveness
from benchmarks.discovery.sets import (
    HARD,
    ORDINARY,
    Texts,
    code,
    of_size,
    signatures,
    texts,
    words,
    zipf,
)
from benchmarks.discovery.trial import Rng, Trial, run
from deniable import Code, Discovery, Question, audit, plan_discovery
from deniable.advice.discovery import ALPHA, TESTED, smallest_share
from deniable.collector.jobs import growths
from deniable.mechanism import Reports
from deniable.protocols.discovery.verification import alpha_at

Row = dict[str, object]


def law(seeds: int) -> Iterator[Row]:
    """Read random texts back, 20,000 for each seed, and audit a small setting."""
    points = np.r_[32:127, 160:0xD800, 0xE000:0x110000]
    for seed in range(seeds):
        rng, english, lost = np.random.default_rng(seed), Code.preset("english"), 0
        for row in rng.choice(points, (20_000, 6)):
            text = "".join(map(chr, row))
            lost += english.text(*english.bits(text)) != unicodedata.normalize("NFC", text)
        yield {"texts": 20_000, "lost": lost}
    found = audit(Discovery(1.0, 1, 1, 1, 2, "0" * 16))
    yield {"exact": found.exact, "epsilon": found.epsilon}


def false(seeds: int) -> Iterator[Row]:
    """Search every set, ordinary and hard, and count false sure texts; alpha is 0.05 a search."""
    yield from _trials((*ORDINARY, *HARD), (2.0, 4.0), seeds)


def recall(seeds: int) -> Iterator[Row]:
    """Search ordinary sets."""
    yield from _trials((*ORDINARY, "inter300"), (2.0, 4.0), seeds)


def _trials(names: tuple[str, ...], epsilons: tuple[float, ...], seeds: int) -> Iterator[Row]:
    # Seed by seed, so that what an interrupted run has printed is about every set.
    for seed in range(seeds):
        for epsilon in epsilons:
            for name in names:
                yield {"seed": seed} | run(name, epsilon, seed).row()


def split(seeds: int) -> Iterator[Row]:
    """Give every check person another text, which begins like the true one."""

    def change(question: Question, reports: Reports, rng: Rng) -> Reports:
        protocol = question.protocol
        assert isinstance(protocol, Discovery)
        check = np.flatnonzero(reports // protocol.lines.reports >= protocol.payload)
        # Their texts were in the order of the list; any others will do.
        other = question.privatize([f"word{i}#x" for i in range(3 * len(check))], rng)
        other = other[other // protocol.lines.reports >= protocol.payload]
        reports[check] = other[: len(check)]
        return reports

    for seed in range(seeds):
        yield run("words", 4.0, seed, change=change).row()


def planted(seeds: int) -> Iterator[Row]:
    """Plant 24 texts of a size at the share that is found with 90 %, among rare words."""
    listed, shares = words()
    rare = shares.copy()
    rare[:300] = 0
    english = code("english")
    for seed in range(seeds):
        for epsilon, sizes in (
            (1.0, (20, 40)),
            (2.0, (14, 20, 30, 40, 48)),
            (4.0, (14, 20, 30, 40, 48)),
        ):
            for size in sizes:
                rng = np.random.default_rng([seed, size])
                share = smallest_share(Discovery(epsilon, salt="0" * 16), 10**6, size) or 1.0
                chosen = of_size(english, size, 24, rng)
                kept = [i for i, word in enumerate(listed) if word not in chosen]
                rest = rare[kept] / rare[kept].sum() * (1 - share * len(chosen))
                among = Texts(
                    [*chosen, *(listed[i] for i in kept)],
                    np.concatenate([np.full(len(chosen), share), rest]),
                    english,
                )
                trial = run(f"planted{size}", epsilon, seed, among=among)
                found = sum(text in trial.found.sure for text in chosen)
                yield trial.row() | {"size": size, "planted": len(chosen), "found": found}


def looks(seeds: int) -> Iterator[Row]:
    """Compare what a plan says with what is left of alpha after all looks of a collector."""
    del seeds
    for epsilon in (1.0, 2.0, 4.0):
        protocol = Discovery(epsilon, salt="0" * 16)
        for people in (100_000, 1_000_000):
            look = growths(protocol, people)
            part = alpha_at(ALPHA, look=look) / ALPHA
            for size in (20, 40):
                planned = smallest_share(protocol, people, size) or 1.0
                served = smallest_share(protocol, people, size, tested=TESTED / part) or 1.0
                yield {"epsilon": epsilon, "people": people, "size": size, "look": look,
                       "planned": planned, "served": served,
                       "larger": served / planned - 1}  # fmt: skip


def intervals(seeds: int) -> Iterator[Row]:
    """Search sets with many sure texts."""
    yield from _trials(("words", "sku300", "uniform300", "inter300"), (4.0,), seeds)


def poison(seeds: int) -> Iterator[Row]:
    """Add identical reports, an eighth of them to each piece."""

    def change(copies: int) -> Callable[[Question, Reports, Rng], Reports]:
        def add(question: Question, reports: Reports, rng: Rng) -> Reports:
            protocol = question.protocol
            assert isinstance(protocol, Discovery)
            made = question.privatize(["planted"] * 1000, rng)
            pieces = made // protocol.lines.reports
            one = [made[pieces == j][0] for j in range(protocol.layout.pieces)]
            return np.concatenate([reports, np.repeat(one, copies // len(one))])

        return add

    for epsilon in (2.0, 4.0):
        for seed in range(seeds):
            for copies in (0, 2000, 10_000):
                trial = run("words", epsilon, seed, change=change(copies) if copies else None)
                yield trial.row() | {"copies": copies}


def time(seeds: int) -> Iterator[Row]:
    """Search a million and ten million people, and none, one and twenty."""
    for seed in range(seeds):
        for n in (0, 1, 20, 10**6, 10**7):
            yield run("words", 4.0, seed, n=n).row()


def long(seeds: int) -> Iterator[Row]:
    """Search addresses with too short a payload, then with a list of 200."""
    for seed in range(seeds):
        trial = run("urls5", 4.0, seed)
        protocol = trial.protocol
        cut = [text for text, size in zip(trial.held, trial.sizes, strict=True)
               if size > protocol.layout.length]  # fmt: skip
        largest = max(cut, key=lambda text: trial.held[text])
        about = min((abs(each.about - trial.held[largest]) for each in trial.found.unfinished),
                    default=float("inf"))  # fmt: skip
        listed = trial.question.discover(trial.tally, trial.order[:200])
        spread = float(np.sqrt(protocol.variance(trial.tally.n, trial.held[largest] / 10**6)))
        yield trial.row() | {
            "largest": trial.held[largest], "off by sd": round(about / spread, 2),
            "named": largest in listed.sure, "sure with a list": len(listed.sure),
            "false with a list": sum(not trial.held.get(text) for text in listed.sure),
        }  # fmt: skip


def pem(seeds: int) -> Iterator[Row]:
    """Compare the list with PEM's, k = 16, 32 and 64."""
    for name in ("words", "kosarak"):
        for epsilon in (2.0, 4.0):
            for seed in range(seeds):
                trial = run(name, epsilon, seed)
                yield trial.row() | _peers(trial, np.random.default_rng(seed))


def _peers(trial: Trial, rng: Rng) -> Row:
    """Return recall and false texts of PEM on the same people, by code and by six bytes."""
    answers = trial.question.answers
    counts, order = np.array(list(trial.held.values())), trial.order
    values = answers.encode(list(trial.held))[:, 0] >> np.uint64(64 - prefixes.WIDTH)
    raw = np.array(
        [int.from_bytes(t.encode()[:6].ljust(6, b"\0"), "big") for t in trial.held], np.uint64
    )
    epsilon, row = trial.protocol.epsilon, Row()
    for label, keys in (("PEM, same code", values), ("PEM, bytes", raw)):
        own = dict(zip(trial.held, keys.tolist(), strict=True))
        held = {own[text] for text, count in trial.held.items() if count}
        found = {k: set(prefixes.extend(keys, counts, epsilon, k, rng)) for k in (16, 32, 64)}
        row[label] = [round(sum(own[text] in found[k] for text in order[:k]) / k, 3) for k in found]
        row[f"{label}, false"] = [len(found[k] - held) for k in found]
    seconds, row["PEM MB"] = prefixes.cost(int(counts.sum()), epsilon, rng)
    return row | {"PEM seconds": round(seconds, 1)}


def serving(seeds: int) -> Iterator[Row]:
    """Submit to a collector that searches a million people's words."""
    for seed in range(seeds):
        yield responsiveness.measure(seed)


def job(seeds: int) -> Iterator[Row]:
    """Plan for the fifth of 30,000 signatures, and look for it with as many people."""
    shares = zipf(30_000)
    public, own = signatures(5000, 99), code("signatures")
    plan = plan_discovery(public, epsilon=2.0, share=float(shares[4]), code=own)
    few = plan_discovery(public, epsilon=1.0, share=float(shares[4]), users=40_000, code=own)
    yield {"people": plan.users, "plan": str(plan), "few": few.reachable, "said": str(few)}
    for seed in range(seeds):
        chosen = texts("signatures", np.random.default_rng(seed))
        among = chosen._replace(payload=plan.protocol.payload)
        trial = run("job", 2.0, seed, n=plan.users, among=among)
        yield trial.row() | {"fifth": chosen.texts[4] in trial.found.sure}


def journey(seeds: int) -> Iterator[Row]:
    """Walk from browsers to the closed question, and say whether every promise of it holds."""
    rows = []
    for row in journeys.run(seeds):
        rows.append(row)
        yield row | {"holds": journeys.holds(rows)}


LINES = {
    each.__name__: each
    for each in (
        law,
        false,
        split,
        recall,
        planted,
        looks,
        intervals,
        poison,
        time,
        long,
        pem,
        serving,
        job,
        journey,
    )
}


def total(rows: list[Row]) -> Row:
    """Return the sums of what adds up."""
    names = ("sure", "expected", "promised", "kept", "false", "listed", "listed false", "covered",
             "intervals", "planted", "found", "clipped", "lost", "fifth", "named")  # fmt: skip
    return {
        name: round(sum(float(str(row.get(name) or 0)) for row in rows if row.get(name) is not True)
                    + sum(row.get(name) is True for row in rows), 1)
        for name in names if any(name in row for row in rows)
    } | {"searches": len(rows)}  # fmt: skip


def main() -> None:
    """Run the lines that are named, and print a row for each trial and the sums of a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("lines", nargs="+", choices=[*LINES, "all"], metavar="LINE")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    for name in LINES if "all" in options.lines else options.lines:
        rows = []
        for row in LINES[name](options.seeds):
            rows.append(row)
            sys.stdout.write(json.dumps({"line": name} | row, default=float) + "\n")
            sys.stdout.flush()
        sys.stdout.write(json.dumps({"line": name, "all": total(rows)}) + "\n")


if __name__ == "__main__":
    main()
