"""Write what version 0.1.0 wrote: questions, report files, tallies and estimates of every protocol.

Runs with deniable 0.1.0 only (``python write.py DIRECTORY``), once; later versions read the result.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np

import deniable
from deniable.cli.reports import write_reports
from deniable.protocols import discover


def protocols():
    """Yield the examples of every protocol and an instance of a usual size."""
    for kind in discover().values():
        yield from kind.examples()
    yield deniable.DE(1.0, 300)
    yield deniable.OUE(2.0, 100)
    yield deniable.OLH(1.0, 1000)
    yield deniable.OLH(2.0, 1000)
    yield deniable.OLH(4.0, 5000)
    yield deniable.LH(1.0, 1000, 10)
    yield deniable.BLH(0.5, 257)
    yield deniable.OpenLH(6.0)
    yield deniable.RAPPOR(epsilon=4.0)
    yield deniable.RandomMatrixProjection(1.0, 100, 1 << 24)


def main(directory: Path) -> None:
    """Write one JSON document for each protocol."""
    assert deniable.__version__ == "0.1.0"
    for number, protocol in enumerate(protocols()):
        rng = np.random.default_rng(number)
        labels = [f"answer {i}" for i in range(30 if protocol.is_open else protocol.domain_size)]
        closed = None if protocol.is_open else tuple(labels)
        question = deniable.Question(f"{protocol.name} {number}: kiwi?", closed, protocol)
        size = 1500 if protocol.report_dtype.itemsize < 40 else 300
        held = rng.zipf(1.5, size) % len(labels)
        reports = question.privatize([labels[i] for i in held], rng)
        stream = io.BytesIO()
        write_reports(stream, question, [reports])
        tally = question.tally(reports)
        estimates = question.estimate(tally, labels if protocol.is_open else None)
        single = question.privatize([labels[1]], np.random.default_rng(7))
        document = {
            "question": question.to_json(),
            "digest": question.digest,
            "answers": held.tolist(),
            "single": single.tobytes().hex(),
            "reports": stream.getvalue().hex(),
            "tally": tally.to_bytes().hex(),
            "counts": estimates.counts.tolist(),
            "std_errors": estimates.std_errors.tolist(),
        }
        path = directory / f"{number:02}-{protocol.name}.json"
        path.write_text(json.dumps(document, indent=0) + "\n")


main(Path(sys.argv[1]))
