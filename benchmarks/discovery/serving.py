"""Whether submissions notice a search: the latency of a collector without one and during one."""

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPConnection
from statistics import median
from threading import Thread
from urllib.parse import urlsplit

import numpy as np

from benchmarks.discovery.sets import words
from benchmarks.ingest import generate, serving
from benchmarks.load import Load
from deniable import Discovery, Question, Text
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores import open_store
from deniable.collector.stores.records import Asked, State

CONNECTIONS, SECONDS, ROUNDS = 4, 1.0, 9
"""Short enough that the whole load meets the search; a single one is mostly luck, hence rounds."""


def measure(seed: int, n: int = 10**6) -> dict[str, object]:
    """Submit single reports by turns without a search and while the words of n people are sought.

    Each round has a new sum to search. It is made and published before, as for every kind of
    question; the latency of that second is told as well. The latency of a search is the middle one
    of the rounds whose load ended before it.
    """
    rng, (texts, shares) = np.random.default_rng(seed), words()
    question = Question("words", Text(discover="english"), Discovery(4.0, salt=rng.bytes(8).hex()))
    counts = rng.multinomial(n, shares)
    values = np.repeat(question.values(texts), counts, axis=0)
    tally = question.tally(question.protocol.privatize(values, rng))
    day = datetime.now(UTC).date().isoformat()
    path = f"/v1/questions/{question.digest}"
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"{folder}/store.db")
        store.ask(Asked(question.digest, question.to_json(), State.OPEN, write_terms(Terms())))
        token = create(store, TOKEN, Role.ADMIN, name="benchmark")
        store.close()
        with serving("sqlite", f"{folder}/store.db", None) as address:

            def call(method: str, place: str, body: bytes | None = None) -> int:
                connection = HTTPConnection(urlsplit(address).netloc, timeout=600)
                connection.request(method, path + place, body, {"Authorization": f"Bearer {token}"})
                answer = connection.getresponse()
                answer.read()
                connection.close()
                return answer.status

            def seek() -> None:
                while call("GET", "/discoveries") == 503:
                    pass

            def meanwhile(work: Callable[[], object]) -> tuple[float, bool]:
                """Return the latency while something is done, and whether it outlasted the load."""
                thread = Thread(target=work)
                thread.start()
                found: float = generate(load, None)["p99"]
                lasted = thread.is_alive()
                thread.join()
                return found, lasted

            assert call("PUT", f"/tallies/{0:032x}?day={day}", tally.to_bytes()) == 201
            some = question.tally(question.privatize(["kiwi"] * 1000, rng)).to_bytes()
            report = question.privatize(["kiwi"], rng).tobytes()
            load = Load(address, f"{path}/reports?day={day}", report, CONNECTIONS, SECONDS)
            generate(load, None)  # to warm up
            quiet, summing, during = [], [], []
            for number in range(1, ROUNDS + 1):
                # A sum that was searched is not searched again.
                assert call("PUT", f"/tallies/{number:032x}?day={day}", some) == 201
                summing.append(meanwhile(lambda: call("GET", "/tally"))[0])
                quiet.append(generate(load, None)["p99"])
                found, lasted = meanwhile(seek)
                during += [found] if lasted else []
    if not during:
        raise SystemExit("every search ended before its load; search more people")
    return {
        "p99 without": median(quiet), "p99 while the sum is made": median(summing),
        "p99 during": median(during), "searches": len(during),
        "ratio": round(median(during) / median(quiet), 2),
    }  # fmt: skip
