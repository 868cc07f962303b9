"""pure-ldp's PEM: ``python benchmarks/peers/prefixes.py LIST SEED EPSILON PEOPLE``.

Runs in the environment of the other packages. LIST has words with counts, or an item for each
person (.npz), of which the number is the text. Prefixes are extended by six bits over the first six
bytes. Its default, OLH, asks for 512 GiB at this length, so that the oracle is the Hadamard
count-mean sketch that its documentation shows. Reports are searched for the 16, 32 and 64 most
frequent texts. Prints one line of JSON.
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
LARGEST = (16, 32, 64)


def bits(word: str) -> str:
    """Return the bits of a word's first bytes."""
    data = word.encode()[:BYTES].ljust(BYTES, b"\0")
    return "".join(format(byte, "08b") for byte in data)


def read(path: str) -> tuple[list[str], np.ndarray]:
    """Return texts and how many people have each."""
    if path.endswith(".npz"):
        counts = np.bincount(np.load(path)["item"])
        held = np.flatnonzero(counts)
        return [str(item) for item in held], counts[held]
    with lzma.open(path, "rt") as stream:
        rows = [line.split() for line in stream]
    return [row[0] for row in rows], np.array([float(row[1]) for row in rows])


def main() -> None:
    """Collect from so many people, and look for the most frequent texts."""
    path, seed, epsilon, n = sys.argv[1], *map(float, sys.argv[2:])
    random.seed(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002 - the package draws from the global generator
    words, shares = read(path)
    counts = np.random.default_rng(int(seed)).multinomial(int(n), shares / shares.sum())
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
    row = {"seed": int(seed), "epsilon": epsilon, "n": int(n), "recall": [], "false": [],
           "collect": round(time.perf_counter() - start, 1), "seconds": []}  # fmt: skip
    held = {bits(word) for word, count in zip(words, counts.tolist(), strict=True) if count}
    order = np.argsort(-counts, kind="stable")
    for k in LARGEST:
        start = time.perf_counter()
        found = set(server.find_heavy_hitters(k=k)[0])
        row["seconds"].append(round(time.perf_counter() - start, 1))
        row["recall"].append(sum(bits(words[i]) in found for i in order[:k]) / k)
        row["false"].append(len(found - held))
    row["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(row))


if __name__ == "__main__":
    main()
