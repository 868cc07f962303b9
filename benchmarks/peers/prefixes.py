"""pure-ldp's PEM on words: ``python benchmarks/peers/prefixes.py LIST SEED EPSILON K PEOPLE``.

Runs in the environment of the other packages. Prefixes are extended by six bits over the first six
bytes of a word. Its default, OLH, asks for 512 GiB at this length, so that the oracle is the
Hadamard count-mean sketch that its documentation shows. Prints one line of JSON.
"""

import json
import lzma
import random
import resource
import sys
import time

import numpy as np

_zeros = np.zeros
# NumPy 2.4 no longer takes None for the shape of a scalar, which the package passes.
np.zeros = lambda shape, *rest, **options: _zeros(() if shape is None else shape, *rest, **options)

from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer  # noqa: E402
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer  # noqa: E402

BYTES, STEP = 6, 6


def bits(word: str) -> str:
    """Return the bits of a word's first bytes."""
    data = word.encode()[:BYTES].ljust(BYTES, b"\0")
    return "".join(format(byte, "08b") for byte in data)


def main() -> None:
    """Collect from so many people, and look for the most frequent words."""
    path, seed, epsilon, k, n = sys.argv[1], *map(float, sys.argv[2:])
    random.seed(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002 - the package draws from the global generator
    with lzma.open(path, "rt") as stream:
        rows = [line.split() for line in stream]
    words, shares = [row[0] for row in rows], np.array([float(row[1]) for row in rows])
    rng = np.random.default_rng(int(seed))
    counts = rng.multinomial(int(n), shares / shares.sum())
    settings = {
        "epsilon": epsilon, "start_length": STEP, "max_string_length": 8 * BYTES,
        "fragment_length": STEP,
    }  # fmt: skip
    oracle = CMSServer(epsilon, 128, 1024, is_hadamard=True)
    client = PEMClient(
        **settings, fo_client=CMSClient(epsilon, oracle.hash_funcs, 1024, is_hadamard=True)
    )
    server = PEMServer(**settings, fo_server=oracle)
    for each in server.oracles:
        each.hash_funcs = oracle.hash_funcs
    start = time.perf_counter()
    for word, count in zip(words, counts.tolist(), strict=True):
        for _ in range(count):
            server.aggregate(client.privatise(bits(word)))
    collected = time.perf_counter()
    found, _ = server.find_heavy_hitters(k=int(k))
    seconds = time.perf_counter() - collected
    texts = [
        int(each, 2).to_bytes(BYTES, "big").rstrip(b"\0").decode("utf-8", "replace")
        for each in found
    ]
    frequent = [words[i] for i in np.argsort(-counts, kind="stable")[: int(k)]]
    hits = sum(word.encode()[:BYTES].decode("utf-8", "replace") in texts for word in frequent)
    print(
        json.dumps(
            {
                "seed": int(seed), "epsilon": epsilon, "k": int(k), "n": int(n),
                "recall": hits / int(k), "collect": round(collected - start, 1),
                "seconds": round(seconds, 1),
                "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
