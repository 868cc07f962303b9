"""``deniable send``: answers in, reports delivered to a collector."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import local

import click

from deniable.cli.answers import read_answers
from deniable.cli.display import show_progress
from deniable.cli.group import Command, InputError
from deniable.cli.labels import encode, match
from deniable.cli.options import FILE, answers_place, token_option
from deniable.cli.outputs import STDIO
from deniable.cli.sources import Digest, Source, name_of
from deniable.client.client import fetch_question, find, listed
from deniable.client.delivery import Courier, Delivery, Outcome, Parcel, begin, utc_today
from deniable.client.state import Outbox
from deniable.client.transport import Transport
from deniable.policy import CEILING
from deniable.presentation.view import counted
from deniable.question import Question

_RELAYED = 1000
"""How many reports go into one submission with a token."""
_BATCH = 256


@dataclass
class Couriers:
    """Couriers that work in parallel, each with a connection of its own."""

    address: str
    token: str | None
    digest: str
    attempts: int
    parallel: int

    def __post_init__(self) -> None:
        self._mine = local()

    def deliver(self, box: Outbox, day: str, no: int, parcel: Parcel) -> Delivery:
        """Deliver a parcel that is noted as sent on ``day``; only a change is noted again."""
        if not hasattr(self._mine, "courier"):
            transport = Transport(self.address, token=self.token)
            self._mine.courier = Courier(transport, self.digest, self.attempts)
        courier: Courier = self._mine.courier
        noted = begin(parcel.state, day)

        def save(now: Parcel) -> bool:
            nonlocal noted
            if now.state != noted:
                box.save(no, now)
                noted = now.state
            return True

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
@answers_place
@click.option("--question", metavar="QUESTION",
              help="Its digest, the start of it, or its name. "
              "[default: the only one asked]")  # fmt: skip
@token_option("A token of the role relay: sends in bulk.")
@click.option("--ceiling", type=float, default=CEILING, show_default=True,
              help="The most epsilon that the question may ask each person for.")  # fmt: skip
@click.option("--outbox", type=FILE, help="Where reports wait. [default: INPUT.outbox]")
@click.option("--new-people", is_flag=True,
              help="Send a changed INPUT: all its lines are people who have not "
              "answered.")  # fmt: skip
@click.option("--attempts", type=click.IntRange(1), default=8, show_default=True,
              help="How often to try each submission.")  # fmt: skip
@click.option("--parallel", type=click.IntRange(1, 64), default=8, show_default=True,
              help="How many submissions to send at once.")  # fmt: skip
def send(
    address: str,
    *,
    source: Source,
    question: str | None,
    token: str | None,
    ceiling: float,
    outbox: Path | None,
    new_people: bool,
    attempts: int,
    parallel: int,
) -> None:
    """Turn the answers in INPUT into reports, and send them to the collector at ADDRESS.

    All reports are drawn and written to an outbox before the first is sent. After an interruption
    the same command goes on from there, and sends nothing twice. The outbox remembers which bytes
    it was made from: when INPUT has changed it is refused, unless --new-people says that all of its
    lines are new. INPUT may be an outbox itself: what waits in it is sent. Without a token each
    report is a submission of its own.
    """
    answers = source.path
    if str(answers) == STDIO and outbox is None:
        raise click.UsageError("answers from standard input need --outbox to be resumed from")
    transport = Transport(address, token=token)
    digest = None if question is None else find(transport, question)
    if _is_outbox(answers):
        if new_people or outbox is not None:
            raise click.UsageError("INPUT is an outbox, which needs no other and has no new people")
        box = _open(answers, transport, digest)
    else:
        path, made_from = outbox or Path(f"{answers}.outbox"), Digest(answers)
        earlier = _open(path, transport, digest) if path.exists() else None
        if earlier is not None and _goes_on(earlier, made_from, new_people=new_people):
            box = earlier
        else:
            asked = fetch_question(transport, digest or _only(transport), ceiling)
            watched = replace(source, digest=made_from, textual=asked.answers.textual)
            box = Outbox.create(
                path,
                address=transport.address,
                question=asked.digest,
                parcels=_parcels(asked, watched, _RELAYED if token else 1),
                input=partial(_new, made_from, earlier),
            )
    click.get_current_context().call_on_close(box.close)
    transport.close()
    couriers = Couriers(transport.address, token, box.question, attempts, parallel)
    _conclude(box, _deliver(box, couriers))


def _is_outbox(path: Path) -> bool:
    """Tell whether a file is an outbox instead of a file of answers."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def _open(path: Path, transport: Transport, question: str | None) -> Outbox:
    """Open an outbox until the command ends, unless another collector or question has it."""
    box = Outbox(path)
    click.get_current_context().call_on_close(box.close)
    if box.address != transport.address or question not in (None, box.question):
        raise InputError(
            f"{path} is the outbox of the question {box.question} at {box.address}; name another "
            "with --outbox"
        )
    return box


def _goes_on(box: Outbox, made_from: Digest, *, new_people: bool) -> bool:
    """Tell whether to go on with an outbox; False makes a new one of all lines of the input."""
    waiting, name = box.count(Outcome.WAITING), name_of(made_from.path)
    if waiting or not new_people:
        made_from.read()
    if box.input == made_from():
        if not waiting:
            click.echo(_sent_before(box, name), err=True)
            raise click.exceptions.Exit(0)
        return True
    if waiting and box.input is None and not new_people:
        click.echo(f"{box.path} was written by version 0.2.0, which did not note which file it was "
                   f"made from. What waits in it is sent; {name} is not "
                   "read.", err=True)  # fmt: skip
        return True
    if waiting:
        raise InputError(
            f"{name} has changed since {box.path} was made from it, with "
            f"{counted(waiting, 'report')} not delivered yet. Nothing was sent now. Send them with "
            f"`deniable send {box.address} {box.path}`, or name another --outbox for the new "
            "answers."
        )
    if new_people:
        return False
    came = (
        f"{name} has changed since it was sent"
        if box.input is not None
        else f"{box.path} was written by version 0.2.0, which did not note which bytes it sent"
    )
    raise InputError(
        f"{came} ({_standing(box)}). Nothing was sent now. If every line is from somebody who has "
        "not answered yet, pass --new-people. If only some lines are new, put them into a file of "
        "their own: whoever answers twice reveals twice as much."
    )


def _new(made_from: Digest, earlier: Outbox | None) -> str:
    """Return the digest of the input of a new outbox, or refuse bytes that were sent before."""
    if earlier is not None and earlier.input == made_from():
        raise InputError(_sent_before(earlier, name_of(made_from.path)))
    return made_from()


def _sent_before(box: Outbox, name: str) -> str:
    return (
        f"{name} has not changed since it was sent ({_standing(box)}). Nothing was sent now. For "
        "other people who gave the same answers, name another --outbox."
    )


def _only(transport: Transport) -> str:
    found = [entry for entry in listed(transport) if entry.state == "open"]
    if len(found) != 1:
        names = ", ".join(map(str, found[:10]))
        raise InputError(
            f"{transport.address} asks {names or 'no open question'}; name one with --question"
        )
    return found[0].digest


def _parcels(question: Question, source: Source, size: int) -> Iterator[tuple[int, Parcel]]:
    """Draw the reports, ``size`` of them under one id."""
    width = question.protocol.report_dtype.itemsize
    matcher = match(question)
    for batch in read_answers(source):
        values = encode(question, matcher, batch, source)
        if size == 1:  # each report is drawn as a single client draws it
            drawn = b"".join(question.protocol.privatize([value]).tobytes() for value in values)
        else:
            drawn = question.protocol.privatize(values).tobytes()
        for start in range(0, len(drawn), size * width):
            reports = drawn[start : start + size * width]
            yield len(reports) // width, Parcel(secrets.token_bytes(16), reports)


def _deliver(box: Outbox, couriers: Couriers) -> set[str]:
    """Send what waits, and return why some of it still does."""
    reasons: set[str] = set()
    total = box.count()
    done = total - box.count(Outcome.WAITING)
    with show_progress("Sending", total) as advance, ThreadPoolExecutor(couriers.parallel) as pool:
        while not reasons:
            day = utc_today().isoformat()
            held = box.hold(_BATCH, day)
            if not held:
                break
            numbers, counts, parcels = zip(*held, strict=True)
            send = partial(couriers.deliver, box, day)
            deliveries = list(pool.map(send, numbers, parcels))
            ends = []
            for no, count, delivery in zip(numbers, counts, deliveries, strict=True):
                if delivery.outcome is Outcome.WAITING:
                    reasons.add(delivery.reason)
                else:
                    ends.append((no, delivery.outcome))
                    done += count
            box.settle(ends)
            advance(done)
    return reasons


def _standing(box: Outbox) -> str:
    ends = ((box.count(outcome), outcome.value) for outcome in Outcome)
    said = ", ".join(f"{n:,} {end}" for n, end in ends if n)
    return f"{counted(box.count(), 'report')}: {said or 'nothing to send'}"


def _conclude(box: Outbox, reasons: set[str]) -> None:
    """Say how it ended; reports that still wait are an error."""
    click.echo(_standing(box), err=True)
    waiting = box.count(Outcome.WAITING)
    if waiting:
        raise InputError(
            f"{box.path}: {counted(waiting, 'report')} not delivered yet "
            f"({', '.join(sorted(reasons))}); run the same command again"
        )
