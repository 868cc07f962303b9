"""``deniable send``, ``pull`` and ``question publish``: what is exchanged with a collector."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from threading import local

import click

from deniable import Question, client
from deniable.cli import inputs, options, outputs
from deniable.cli.answers import Source, read_answers
from deniable.cli.group import InputError, command
from deniable.cli.labels import encode, match, of_question
from deniable.cli.segments import Stated
from deniable.client.client import fetch_question
from deniable.client.delivery import Courier, Delivery, Outcome, Parcel, Transport, begin, utc_today
from deniable.client.remote import find, listed
from deniable.policy import CEILING
from deniable.presentation.view import counted

_RELAYED = 1000
"""How many reports go into one submission with a token."""
_BATCH = 256


@command(
    "deniable send http://127.0.0.1:8000 answers.txt",
    "deniable send https://counts.example.org people.csv --column fruit --question 50d049cc…",
    "DENIABLE_TOKEN=dn_… deniable send https://counts.example.org answers.txt",
)
@click.argument("address", metavar="ADDRESS")
@options.answers_options(form=False)
@options.segments_options
@click.option("--question", metavar="QUESTION",
              help="Its digest, the start of it, or its name. "
              "[default: the only one asked]")  # fmt: skip
@options.token_option("A token of the role relay: sends in bulk.")
@click.option("--ceiling", type=float, default=CEILING, show_default=True,
              help="The most epsilon that the question may ask each person for.")  # fmt: skip
@click.option("--outbox", type=options.FILE, help="Where reports wait. [default: INPUT.outbox]")
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
    stated: Callable[[Question], Stated],
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
    report is a submission of its own. Segments are public, and stated as `privatize` states them.
    """
    answers = source.path
    if str(answers) == outputs.STDIO and outbox is None:
        raise click.UsageError("answers from standard input need --outbox to be resumed from")
    transport = Transport(address, token=token)
    digest = None if question is None else find(transport, question)
    if _is_outbox(answers):
        if new_people or outbox is not None:
            raise click.UsageError("INPUT is an outbox, which needs no other and has no new people")
        box = _open(answers, transport, digest)
    else:
        path, made_from = outbox or Path(f"{answers}.outbox"), inputs.Digest(answers)
        earlier = _open(path, transport, digest) if path.exists() else None
        if earlier is not None and _goes_on(earlier, made_from, new_people=new_people):
            box = earlier
        else:
            asked = fetch_question(transport, digest or _only(transport), ceiling)
            segments = stated(asked)
            watched = replace(segments.read_from(of_question(source, asked)), digest=made_from)
            box = client.Outbox.create(
                path,
                address=transport.address,
                question=asked.digest,
                parcels=_parcels(segments, watched, _RELAYED if token else 1),
                input=partial(_new, made_from, earlier),
            )
            segments.warn()
            if asked.repeat is not None:
                outputs.warn("everybody in INPUT counts for today's round: send only "
                             "people whose turn it is, and each once")  # fmt: skip
    click.get_current_context().call_on_close(box.close)
    transport.close()

    def courier() -> Courier:
        return Courier(Transport(address, token=token), box.question, attempts)

    reasons = _deliver(box, courier, parallel)
    click.echo(_standing(box), err=True)
    if waiting := box.count(Outcome.WAITING):
        raise InputError(
            f"{box.path}: {counted(waiting, 'report')} not delivered yet "
            f"({', '.join(sorted(reasons))}); run the same command again"
        )


def _is_outbox(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def _open(path: Path, transport: Transport, question: str | None) -> client.Outbox:
    """Open an outbox until the command ends, unless another collector or question has it."""
    box = client.Outbox(path)
    click.get_current_context().call_on_close(box.close)
    if box.address != transport.address or question not in (None, box.question):
        raise InputError(
            f"{path} is the outbox of the question {box.question} at {box.address}; name another "
            "with --outbox"
        )
    return box


def _goes_on(box: client.Outbox, made_from: inputs.Digest, *, new_people: bool) -> bool:
    """Tell whether to go on with an outbox; False makes a new one of all lines of the input."""
    waiting, name = box.count(Outcome.WAITING), inputs.name_of(made_from.path)
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


def _new(made_from: inputs.Digest, earlier: client.Outbox | None) -> str:
    """Return the digest of the input of a new outbox, or refuse bytes that were sent before."""
    if earlier is not None and earlier.input == made_from():
        raise InputError(_sent_before(earlier, inputs.name_of(made_from.path)))
    return made_from()


def _sent_before(box: client.Outbox, name: str) -> str:
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


def _parcels(segments: Stated, source: Source, size: int) -> Iterator[tuple[int, Parcel]]:
    """Draw the reports, ``size`` of them under one id, each with the cell of its person."""
    question = segments.question
    width, matcher = question.protocol.report_dtype.itemsize, match(question)
    for batch in segments.watch(read_answers(source), source):
        values = encode(question, matcher, batch, source)
        if size == 1:  # each report is drawn as a single client draws it
            drawn = b"".join(question.protocol.privatize([value]).tobytes() for value in values)
        else:
            drawn = question.protocol.privatize(values).tobytes()
        cells = segments.next_cells(len(values))
        for start in range(0, len(values), size):
            reports = drawn[start * width : (start + size) * width]
            body = question.segments.join(cells[start : start + size], reports, width)
            yield len(reports) // width, Parcel(secrets.token_bytes(16), body)


def _deliver(box: client.Outbox, courier: Callable[[], Courier], parallel: int) -> set[str]:
    """Send what waits, by couriers in parallel, and return why some of it still waits."""
    own, reasons, total = local(), set[str](), box.count()
    done = total - box.count(Outcome.WAITING)

    def deliver(day: str, no: int, parcel: Parcel) -> Delivery:
        if not hasattr(own, "courier"):
            own.courier = courier()
        noted = begin(parcel.state, day)

        def save(now: Parcel) -> bool:
            nonlocal noted
            if now.state != noted:  # that it is being sent on this day is noted already
                box.save(no, now)
                noted = now.state
            return True

        delivery: Delivery = own.courier.deliver(parcel, save)
        return delivery

    with outputs.show_progress("Sending", total) as advance, ThreadPoolExecutor(parallel) as pool:
        while not reasons:
            day = utc_today().isoformat()
            held = box.hold(_BATCH, day)
            if not held:
                break
            numbers, counts, parcels = zip(*held, strict=True)
            deliveries = list(pool.map(partial(deliver, day), numbers, parcels))
            ended = [each.outcome is not Outcome.WAITING for each in deliveries]
            reasons |= {each.reason for each, end in zip(deliveries, ended, strict=True) if not end}
            outcomes = [each.outcome for each in deliveries]
            box.settle(compress(zip(numbers, outcomes, strict=True), ended))
            done += sum(compress(counts, ended))
            advance(done)
    return reasons


def _standing(box: client.Outbox) -> str:
    ends = ((box.count(outcome), outcome.value) for outcome in Outcome)
    said = ", ".join(f"{n:,} {end}" for n, end in ends if n)
    return f"{counted(box.count(), 'report')}: {said or 'nothing to send'}"


@command(
    "deniable pull http://127.0.0.1:8000 fruit -o tally.bin",
    "deniable pull http://127.0.0.1:8000 50d049cc… -o tally.bin",
    "deniable pull https://counts.example.org 50d049cc… --from 2025-01-01 -o tally.bin",
    "deniable pull https://counts.example.org crashes --round 3 --segment arm=A -o a.bin",
)
@click.argument("address", metavar="ADDRESS")
@click.argument("question", metavar="QUESTION")
@click.option("--from", "first", metavar="DAY", help="The first day. [default: all days]")
@click.option("--to", "last", metavar="DAY", help="The last day.")
@click.option("--round", "number", type=click.IntRange(0),
              help="One round of a question that is asked again, from 0 on.")  # fmt: skip
@click.option("--segment", "segments", multiple=True, metavar="DIMENSION=VALUE",
              help="Only reports of this public group; repeat it.")  # fmt: skip
@options.token_option("A token of the role viewer.")
@options.output_option
def pull(
    address: str,
    question: str,
    *,
    first: str | None,
    last: str | None,
    number: int | None,
    segments: tuple[str, ...],
    token: str | None,
    output: Path,
) -> None:
    """Fetch the tally of QUESTION from the collector at ADDRESS.

    QUESTION is its name, its digest, or the first digits of its digest. What comes is an ordinary
    tally file, for `deniable estimate` and `deniable tally`. In Python it is deniable.client.pull.
    """
    outputs.refuse_terminal(output)
    part = client.Part(first, last, number, tuple(each.split("=", 1) for each in segments))
    tally, days = client.pull_part(address, question, part, token=token)
    outputs.write_atomically(output, tally.to_bytes())
    on = f" on {counted(days, 'day')}" if days else ""
    hint = f"; people may answer again, so estimate with --rounds {days or 'N'}"
    again = hint if tally.protocol.memoises else ""
    outputs.announce(output, f"{counted(tally.n, 'report')}{on}{again}")


@command("DENIABLE_TOKEN=dn_… deniable question publish http://127.0.0.1:8000 fruit.json")
@click.argument("address", metavar="ADDRESS")
@options.question_argument
@options.token_option("A token of the role admin.")
def publish(address: str, question_file: Path, *, token: str | None) -> None:
    """Let the collector at ADDRESS ask the question in the file QUESTION, and print its digest.

    A question that is asked there already stays as it is, and the command fails. In Python it is
    deniable.client.publish.
    """
    question = inputs.read_question(question_file)
    name = outputs.title(question.name)
    if not client.publish(address, question, token=token):
        raise InputError(
            f"{address}: {name} ({question.digest}) is asked there already; nothing was changed"
        )
    click.echo(f"{address}: asks {name} from now on", err=True)
    outputs.warn_of_refusal(question.total_epsilon)
    click.echo(question.digest)
