"""Write what version 0.2.0 wrote: questions, report files, tallies and estimates of every protocol.

Runs with deniable 0.2.0 only (``python write.py DIRECTORY``), once; later versions read the result.
The files beside it write the rest: ``write_client.py``, ``write_page.py``, ``write_store.py`` and,
with Node, ``write_browser.mjs``.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np

import deniable
from deniable.files import write_reports
from deniable.protocols import discover
from deniable.pure import Closed

REPORTS, LARGE_REPORTS = 400, 150


def protocols():
    """Yield the examples of every protocol and an instance of a usual size."""
    for kind in discover().values():
        yield from kind.examples()
    yield deniable.AffineSelection(1.0, 1000)
    yield deniable.AffineSelection(4.0, 300)
    yield deniable.SubsetSelection(1.0, 40)
    yield deniable.SubsetSelection(4.0, 257)
    yield deniable.DE(1.0, 300)
    yield deniable.OUE(2.0, 100)
    yield deniable.OLH(1.0, 1000)
    yield deniable.BasicRAPPOR(50, f=0.5, p=0.75, q=0.25)
    yield deniable.RandomMatrixProjection(1.0, 100, 1 << 24)


def labels_of(number, protocol):
    """Return labels and the one for all other answers, which every second closed question has."""
    if not isinstance(protocol, Closed):
        return None, None
    labels = tuple(f"answer {i}" for i in range(protocol.domain_size))
    return labels, labels[-1] if number % 2 else None


def document_of(number, protocol):
    """Return one document: the question, what people answered, reports, tally and estimates."""
    rng = np.random.default_rng(number)
    labels, other = labels_of(number, protocol)
    question = deniable.Question(f"{protocol.name} {number}: quince?", labels, protocol, other)
    answers = list(labels or (f"answer {i}" for i in range(30)))
    size = REPORTS if protocol.report_dtype.itemsize < 25 else LARGE_REPORTS
    held = rng.zipf(1.5, size) % len(answers)
    reports = question.privatize([answers[i] for i in held], rng)
    stream = io.BytesIO()
    write_reports(stream, question, [reports])
    tally = question.tally(reports)
    estimates = question.estimate(tally, None if labels else answers)
    return {
        "question": question.to_json(),
        "digest": question.digest,
        "answers": held.tolist(),
        "single": question.privatize([answers[1]], np.random.default_rng(7)).tobytes().hex(),
        "reports": stream.getvalue().hex(),
        "tally": tally.to_bytes().hex(),
        "counts": estimates.counts.tolist(),
        "std_errors": estimates.std_errors.tolist(),
    }


def main(directory: Path) -> None:
    """Write one JSON document for each protocol."""
    assert deniable.__version__ == "0.2.0"
    for number, protocol in enumerate(protocols()):
        document = document_of(number, protocol)
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(document[key])}" for key in document)
        (directory / f"{number:02}-{protocol.name}.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
