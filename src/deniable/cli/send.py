"""``deniable send``: answers in, reports delivered to a collector."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import local

import click
import numpy as np

from deniable.cli.answers import read_answers
from deniable.cli.display import counted, show_progress
from deniable.cli.group import Command, InputError
from deniable.cli.matching import Form, Matcher
from deniable.cli.options import FILE, answers_argument, column_option, input_format_option
from deniable.cli.outputs import STDIO
from deniable.cli.source import Source
from deniable.client import Courier, Delivery, Outbox, Outcome, Parcel, Transport
from deniable.client.person import CEILING, load_question
from deniable.question import Question

_RELAYED = 1000
"""How many reports go into one submission with a token."""
_BATCH = 256


@dataclass
class Couriers:
    """Couriers that work side by side, each with a connection of its own."""

    address: str
    token: str | None
    digest: str
    attempts: int
    parallel: int

    def __post_init__(self) -> None:
        self._mine = local()

    def today(self) -> str:
        """Return the day of new submissions."""
        return datetime.now(UTC).date().isoformat()

    def deliver(self, box: Outbox, no: int, parcel: Parcel) -> Delivery:
        """Deliver one parcel; only a change of its day needs to be noted meanwhile."""
        if not hasattr(self._mine, "courier"):
            transport = Transport(self.address, token=self.token)
            self._mine.courier = Courier(transport, self.digest, self.attempts)
        courier: Courier = self._mine.courier
        day = parcel.day

        def save(now: Parcel) -> None:
            if now.day != day or not now.doubt:
                box.save(no, now)

        return courier.deliver(parcel, save)


@click.command(
    cls=Command,
    examples=[
        "deniable send http://127.0.0.1:8000 answers.txt",
        "deniable send https://counts.example.org people.csv --column fruit --question 50d049cc…",
        "DENIABLE_TOKEN=dn_… deniable send https://counts.example.org answers.txt",
    ],
)
@click.argument("address", metavar="ADDRESS")
@answers_argument
@column_option
@input_format_option
@click.option("--question", metavar="DIGEST", help="The question. [default: the only one asked]")
@click.option("--token", envvar="DENIABLE_TOKEN", help="A token of the role relay: sends in bulk.")
@click.option("--ceiling", type=float, default=CEILING, show_default=True,
              help="The largest epsilon to accept.")  # fmt: skip
@click.option("--outbox", type=FILE, help="Where reports wait. [default: INPUT.outbox]")
@click.option("--attempts", type=click.IntRange(1), default=8, show_default=True,
              help="How often to try each submission.")  # fmt: skip
@click.option("--parallel", type=click.IntRange(1, 64), default=8, show_default=True,
              help="How many submissions to send at once.")  # fmt: skip
def send(
    address: str,
    answers: Path,
    *,
    column: str | None,
    input_format: str | None,
    question: str | None,
    token: str | None,
    ceiling: float,
    outbox: Path | None,
    attempts: int,
    parallel: int,
) -> None:
    """Turn the answers in INPUT into reports, and send them to the collector at ADDRESS.

    All reports are drawn and written to an outbox before the first is sent; the same command goes
    on from there after an interruption, and sends nothing twice. Without a token each report is a
    submission of its own.
    """
    path = outbox or Path(f"{answers}.outbox")
    if str(answers) == STDIO and outbox is None:
        raise click.UsageError("answers from standard input need --outbox to be resumed from")
    transport = Transport(address, token=token)
    if path.exists():
        box = Outbox(path)
        if box.address != transport.address or question not in (None, box.question):
            raise InputError(
                f"{path}: expected an outbox for {address}, got one for {box.address}; finish that "
                "first, or name another with --outbox"
            )
    else:
        asked = load_question(transport, question or _only(transport), ceiling)
        source = Source(answers, column, input_format)
        parcels = _parcels(asked, source, _RELAYED if token else 1)
        box = Outbox.create(path, address=transport.address, question=asked.digest, parcels=parcels)
    transport.close()
    couriers = Couriers(transport.address, token, box.question, attempts, parallel)
    reasons = _deliver(box, couriers)
    _conclude(box, reasons)


def _only(transport: Transport) -> str:
    """Return the digest of the only open question of a collector."""
    reply = transport.request("GET", "/v1/questions")
    try:
        found = [entry for entry in json.loads(reply.body)["questions"] if entry["state"] == "open"]
    except (ValueError, KeyError, TypeError):
        found = []
    if len(found) != 1:
        names = ", ".join(f"{entry['digest']} ({entry['name']})" for entry in found[:10])
        raise InputError(
            f"{transport.address}: expected one open question, got {names or 'none'}; name one "
            "with --question"
        )
    return str(found[0]["digest"])


def _parcels(question: Question, source: Source, size: int) -> Iterator[tuple[int, Parcel]]:
    """Draw the reports, ``size`` of them under one id."""
    width = question.protocol.report_dtype.itemsize
    matcher = Matcher(question.labels or (), question.other, Form())
    for batch in read_answers(source):
        if question.labels is None:
            values = question.values(batch.answers)
        else:
            values = matcher.values(batch, source).astype(np.uint64)
        if size == 1:  # each report by the very path that a single client takes
            drawn = b"".join(question.protocol.privatize([value]).tobytes() for value in values)
        else:
            drawn = question.protocol.privatize(values).tobytes()
        for start in range(0, len(drawn), size * width):
            reports = drawn[start : start + size * width]
            yield len(reports) // width, Parcel(secrets.token_bytes(16), reports)


def _deliver(box: Outbox, couriers: Couriers) -> set[str]:
    """Send what is pending, and return why some of it still is."""
    reasons: set[str] = set()
    total = box.count()
    done = total - box.count(Outcome.PENDING)
    with show_progress("Sending", total) as advance, ThreadPoolExecutor(couriers.parallel) as pool:
        while not reasons and (held := box.hold(_BATCH, couriers.today())):
            deliveries = list(
                pool.map(lambda entry: couriers.deliver(box, entry[0], entry[2]), held)
            )
            ends = []
            for (no, count, _), delivery in zip(held, deliveries, strict=True):
                if delivery.outcome.final:
                    ends.append((no, delivery.outcome))
                    done += count
                else:
                    reasons.add(delivery.reason)
            box.settle(ends)
            advance(done)
    return reasons


def _conclude(box: Outbox, reasons: set[str]) -> None:
    """Say how it ended; what is pending is an error, to be taken up by the same command."""
    ends = {outcome: box.count(outcome) for outcome in Outcome}
    said = ", ".join(f"{n} {outcome.value}" for outcome, n in ends.items() if n)
    click.echo(f"{counted(box.count(), 'report')}: {said or 'nothing to send'}", err=True)
    box.close()
    if ends[Outcome.PENDING]:
        raise InputError(
            f"{box.path}: {ends[Outcome.PENDING]} reports wait ({', '.join(sorted(reasons))}); run "
            "the same command again"
        )
