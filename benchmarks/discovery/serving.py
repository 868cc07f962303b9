"""Whether submissions notice a search: the latency of a collector without one and during one."""

import tempfile
import time
from datetime import UTC, datetime
from http.client import HTTPConnection
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

CONNECTIONS, SECONDS = 4, 3.0
"""Short enough that the whole load meets the search."""


def measure(seed: int, n: int = 10**6) -> dict[str, object]:
    """Submit single reports for some seconds, then again while the words of n people are sought."""
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

            assert call("PUT", f"/tallies/{1:032x}?day={day}", tally.to_bytes()) == 201
            report = question.privatize(["kiwi"], rng).tobytes()
            load = Load(address, f"{path}/reports?day={day}", report, CONNECTIONS, SECONDS)
            generate(load, None)  # to warm up
            quiet, began = generate(load, None), time.perf_counter()

            def seek() -> None:
                while call("GET", "/discoveries") == 503:
                    pass

            search = Thread(target=seek)
            search.start()
            time.sleep(1)
            during, whole = generate(load, None), search.is_alive()
            search.join()
    return {
        "p99 without": quiet["p99"], "p99 during": during["p99"],
        "ratio": round(during["p99"] / quiet["p99"], 2), "search went on": whole,
        "search seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip
