"""``deniable recommend`` and ``plan``: what to know before anything is collected."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from deniable import Answers, Choices, Closed, Levels, Number, Record, Views, advice, plan_answers
from deniable.advice.ranking import HEADS, find_protocols
from deniable.answers.forecast import AnswersPlan
from deniable.cli import inputs, options, outputs
from deniable.cli.group import InputError, command
from deniable.cli.labels import About, read_labels
from deniable.division import fewest
from deniable.presentation.verdict import points, rounded
from deniable.presentation.view import counted
from deniable.protocol import Goal, Protocol

_SPARED = ("server", "client", "paper", "relative")
"""The columns that a narrow terminal does without, in this order."""
_SHORTER = (("random word", "word"), (" a report, then decode", " + decoding"), (" a report", ""))


@command(
    "deniable recommend --epsilon 1 --domain-size 1000",
    "deniable recommend --epsilon 4 --domain-size 41270 --users 8000000 --json",
    "deniable recommend --epsilon 1 --domain-size 1000 --max-report-bytes 16",
    "deniable recommend --epsilon 2 --domain-size 12 --goal rare",
    "deniable recommend --epsilon 1 --domain-size 1000 --at-most 8",
    "deniable recommend --epsilon 1 --record set-up.toml --tables pairs",
)
@click.option("--epsilon", type=float, required=True, help="The privacy loss of one report.")
@click.option("--domain-size", type=int, help="How many answers there are.")
@click.option("--users", type=int, help="How many people send a report.")
@click.option("--max-report-bytes", type=int, help="The largest report that is acceptable.")
@options.at_most_option
@click.option("--choices", "choices_file", type=options.FILE, metavar="FILE",
              help="A file of labels of which people choose several, with --at-most, in place of "
              "--domain-size.")  # fmt: skip
@options.goal_option
@options.kind_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def recommend(
    *,
    epsilon: float,
    domain_size: int | None,
    users: int | None,
    max_report_bytes: int | None,
    at_most: int | None,
    choices_file: Path | None,
    goal: Goal,
    about: About,
    as_json: bool,
) -> None:
    """Rank the protocols for an epsilon and a domain size, by exact variance.

    For a --record or a --number there is one way to ask: its views, and how many people draw each.

    The variance is that of a count for one person: averaged over all answers, or with --goal rare
    that of an answer which nobody gives, which decides what is significant. Protocols within
    half a percent of each other count as equal: the one that decodes fastest comes first. The last
    column tells which protocol the guideline of the paper takes.
    """
    if choices_file is not None:
        if at_most is None or domain_size is not None:
            raise click.UsageError("--choices takes --at-most, and no --domain-size")
        domain_size = len(read_labels(choices_file))
    options.check_privacy(epsilon, domain_size)
    kind = about.kind(alone=(domain_size, max_report_bytes, at_most) == (None,) * 3)
    if kind is not None:
        _say_views(kind, epsilon, goal, as_json)
        return
    if domain_size is None:
        raise click.UsageError("give --domain-size, --choices, --record or --number")
    ranked = advice.recommend(
        epsilon, domain_size, users, max_report_bytes, goal=goal, at_most=at_most
    )
    possible = {*(option.name for option in ranked.options), *ranked.unranked}
    impossible = sorted({*_usual(at_most)} - possible)
    if as_json:
        given = ("epsilon", "domain_size", "users", "max_report_bytes", "goal", "at_most")
        document = {name: getattr(ranked, name) for name in given} | {
            "best": ranked.best.name,
            "guideline": ranked.guideline,
            "reason": ranked.reason,
            "options": [option.row() for option in ranked.options],
            "unranked": list(ranked.unranked),
            "impossible": impossible,
        }
        outputs.print_json(document)
        return
    console, best = outputs.open_console(), ranked.best.noise(goal)
    rows = [HEADS, *(_shorten_cells(option.cells(best, goal)) for option in ranked.options)]
    columns = [column for column in zip(*rows, strict=True) if users or column[0] != "std error"]
    outputs.print_columns(console, columns, spared=_SPARED, left=("client", "server", "paper"))
    none = f"Impossible at this epsilon and domain size: {', '.join(impossible)}."
    for said in (*([none] if impossible else ()), *ranked.notes, ""):
        outputs.say(console, said)
    outputs.say(console, f"{ranked.reason}\n\n{advice.meaning(epsilon)}", "bold")


def _say_views(kind: Record | Number, epsilon: float, goal: Goal, as_json: bool) -> None:
    """Print what people are asked by lot, how many of them, and by which protocol."""
    protocol = kind.suggest(epsilon, goal)
    assert isinstance(protocol, Views), "records and numbers have no other"
    every = zip(protocol.views, protocol.protocols or (), protocol.lots or (), strict=True)
    asked = [(_asked(kind, view, part), int(lot) / 2**64, part.name) for view, part, lot in every]
    if as_json:
        views = [dict(zip(("asked", "people", "protocol"), row, strict=True)) for row in asked]
        document = {"epsilon": epsilon, "views": views, "protocol": protocol.specification()}
        outputs.print_json(document)
        return
    console = outputs.open_console()
    rows = [(what, f"{100 * people:.1f} %", name) for what, people, name in asked]
    columns = list(zip(("asked about", "people", "by"), *rows, strict=True))
    outputs.print_columns(console, columns, left=("asked about", "by"))
    size = counted(protocol.report_dtype.itemsize, "byte")
    outputs.say(console, f"\nEach person draws one of these by lot and spends all of epsilon = "
                f"{epsilon:g} on it; a report takes {size}.\n\n{advice.meaning(epsilon)}",
                "bold")  # fmt: skip


def _asked(kind: Record | Number, view: Sequence[int], part: object) -> str:
    if isinstance(kind, Record):
        return " and ".join(kind.names[digit] for digit in view)
    if isinstance(part, Levels):
        return "a level, for the mean"
    return f"which of {part.domain_size:,} ranges" if isinstance(part, Closed) else "a range"


def _shorten_cells(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells of an option with fewer letters, so that most fit into 80 columns."""
    text = "\n".join(cells)
    for long, short in _SHORTER:
        text = text.replace(long, short)
    return tuple(text.split("\n"))


@command(
    "deniable plan --domain-size 12 --users 20000 --error 0.01",
    "deniable plan --domain-size 41270 --users 1000000 --epsilon 1",
    "deniable plan --domain-size 100 --epsilon 1 --significant 0.005 --json",
    "deniable plan --domain-size 12 --users 100000 --rounds 26 --every 7 --lifetime 2 --cells 8",
    "deniable plan --discover --examples words.txt --users 1000000 --epsilon 2",
    "deniable plan --domain-size 2 --epsilon 2 --arms 2 --from 0.1 --lift 0.02",
    "deniable plan --record set-up.toml --tables pairs --users 20000 --epsilon 2",
    "deniable plan --number 0 10000 --step 50 --unit ms --epsilon 1 --error 0.01",
    "deniable plan --choices tools.txt --at-most 8 --users 100000 --epsilon 1",
)
@click.option("--domain-size", type=int, help="How many answers there are.")
@click.option("--users", type=int, help="How many people send a report.")
@click.option("--epsilon", type=float, help="The privacy loss of one report.")
@click.option("--discover", "discovered", is_flag=True, help="Texts are to be discovered.")
@click.option("--examples", type=options.FILE, help="Public examples of such texts.")
@click.option("--code", "code_name", default="english", help="The public code of such texts.")
@click.option("--share", type=float, help="The share of a text that is to be found.")
@click.option("--error", type=float, help="The typical standard error of an estimated share "
              "(root mean square over all answers): 0.01 is one percentage point.")  # fmt: skip
@click.option("--significant", type=float, help="In place of --error: the smallest share that will "
              "be significant with a probability of at least 95 %, among this many people or "
              "more.")  # fmt: skip
@options.kind_options
@click.option("--choices", "choices_file", type=options.FILE, metavar="FILE",
              help="A file of labels of which people choose several. With --at-most.")  # fmt: skip
@options.at_most_option
@click.option("--protocol", "name", shell_complete=options.complete_protocols,
              help="Plan with this protocol. [default: the best one]")  # fmt: skip
@click.option("--rounds", type=int, help="Ask again: in one of how many rounds each person is "
              "asked. With --users and --lifetime.")  # fmt: skip
@click.option("--lifetime", type=float, help="What all reports of a person reveal together.")
@click.option("--times", type=int, default=1, show_default=True,
              help="How often each person is asked in all.")  # fmt: skip
@click.option("--every", type=click.IntRange(1), default=1, show_default=True,
              help="How many days a round has.")  # fmt: skip
@click.option("--cells", type=click.IntRange(1), default=1, show_default=True,
              help="How many segments people are divided into.")  # fmt: skip
@click.option("--arms", type=int, help="An experiment with this many arms. With --epsilon, --from "
              "and --lift.")  # fmt: skip
@click.option("--from", "start", type=float, help="The share of an answer in the control.")
@click.option("--lift", type=float, help="By how much it changes: 0.02 is two points.")
@click.option("--primary", is_flag=True, help="Only one answer, named beforehand, is tested.")
@click.option("--looks", type=int, default=1, show_default=True,
              help="How often results are looked at in all.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
def plan(
    *,
    domain_size: int | None,
    users: int | None,
    epsilon: float | None,
    discovered: bool,
    examples: Path | None,
    code_name: str,
    share: float | None,
    error: float | None,
    significant: float | None,
    about: About,
    choices_file: Path | None,
    at_most: int | None,
    name: str | None,
    rounds: int | None,
    lifetime: float | None,
    times: int,
    every: int,
    cells: int,
    arms: int | None,
    start: float | None,
    lift: float | None,
    primary: bool,
    looks: int,
    as_json: bool,
) -> None:
    """Solve for people, epsilon or error, given the other two; or plan rounds or an experiment.

    Give two of --users, --epsilon and one of --error and --significant. A question that is asked
    again needs --users, --rounds and --lifetime; an experiment --arms, --epsilon, --from and
    --lift; texts that are to be discovered --discover and --examples. Of a --record, a --number or
    --choices the error of each table, quantile, mean or item is told; --error is the largest.
    """
    alone = not discovered and (domain_size, significant, name) == (None,) * 3
    divided = (rounds, arms) != (None, None)
    kind = _kind(about, choices_file, at_most, alone=alone, divided=divided)
    if isinstance(kind, Choices) and divided:
        domain_size, kind = len(kind.labels), None
    if kind is not None:
        options.check_privacy(epsilon)
        told = plan_answers(kind, users=users, epsilon=epsilon, error=error)
        within = f"{told.worst.what} is right to {told.worst.shown(max(1, told.users // cells))}"
        shown = fewest(kind, told.protocol) if cells > 1 else 0
        _say_answers(told, as_json, _of_cells(told.users, cells, within, shown))
    elif discovered:
        others = (domain_size, error, significant, name, rounds, lifetime, arms, start, lift)
        stray = cells > 1 or any(each is not None for each in others)
        if examples is None or epsilon is None or (users, share) == (None, None) or stray:
            raise click.UsageError("--discover takes --examples, --epsilon, and --users or "
                                   "--share, and nothing else but --code; for rounds or "
                                   "segments plan one, with its people as --users")  # fmt: skip
        options.check_privacy(epsilon)
        searched = advice.plan_discovery(read_labels(examples, twice=True), epsilon=epsilon,
                                         users=users, share=share,
                                         code=inputs.read_code(code_name))  # fmt: skip
        create = shlex.join(["deniable", "question", "create", "NAME", "--discover", "--code",
                             code_name, "--examples", str(examples), "--epsilon", f"{epsilon:g}",
                             "-o", "NAME.json"])  # fmt: skip
        _say_search(searched, create, as_json, advice.meaning(epsilon))
    elif domain_size is None or examples is not None or share is not None:
        raise click.UsageError("give --domain-size; --examples and --share belong to --discover")
    elif rounds is not None:
        stray = any(x is not None for x in (epsilon, error, significant, arms, name))
        if users is None or lifetime is None or stray:
            raise click.UsageError("a plan of rounds takes --users, --rounds and --lifetime, the "
                                   "epsilon of all that a person sends")  # fmt: skip
        options.check_privacy(lifetime / max(times, 1), domain_size)
        rota = advice.plan_rounds(domain_size, users=users, rounds=rounds, lifetime=lifetime,
                                   times=times, pooled=min(4, rounds), at_most=at_most)  # fmt: skip
        off = points(1.96 * rota.round_error * cells**0.5)
        cell = _of_cells(users // rounds, cells, f"each share in a round is right to ± {off}")
        _say_plan(rota, as_json, advice.meaning(lifetime / times),
                  *cell[:1], advice.tells(users, cells=cells, days=rounds * every))  # fmt: skip
    elif arms is not None:
        stray = any(x is not None for x in (error, significant, name))
        if epsilon is None or start is None or lift is None or stray:
            raise click.UsageError("a plan of arms takes --arms, --epsilon, --from and --lift")
        options.check_privacy(epsilon, domain_size)
        needed = advice.plan_arms(domain_size, epsilon=epsilon, start=start, lift=lift, arms=arms,
                                  primary=primary, looks=looks, at_most=at_most)  # fmt: skip
        cell = [advice.tells(arms * needed.people, cells=cells)] if cells > 1 else []
        _say_plan(needed, as_json, advice.meaning(epsilon), *cell)
    else:
        given = sum(x is not None for x in (users, epsilon, error, significant))
        if given != 2 or None not in (error, significant):
            raise click.UsageError(
                "give two of --users, --epsilon and one of --error and --significant; the third is "
                "solved for"
            )
        options.check_privacy(epsilon, domain_size)
        found = advice.plan(
            domain_size,
            users=users,
            epsilon=epsilon,
            error=error,
            significant=significant,
            protocol=None if name is None else _plannable(name, at_most),
            at_most=at_most,
        )
        if epsilon is None and found.reachable:
            options.check_privacy(found.epsilon)
        within = f"each share is right to ± {points(1.96 * (found.error or 0) * cells**0.5)}"
        _say_found(found, epsilon, as_json, _of_cells(found.users, cells, within, _least(found)))


def _least(found: advice.Plan) -> int:
    """Return from how many reports on a segment is shown, or 0 where that is not known."""
    return (advice.cell_minimum(found.protocol) or 0) if isinstance(found.protocol, Protocol) else 0


def _of_cells(users: int | None, cells: int, within: str, shown: int = 0) -> list[str]:
    """Say what is known of a segment, if there are any, and how many of its people look alike."""
    if cells == 1 or users is None:
        return []
    same = "One of {cells} segments of the same size has about {people} people: {within}."
    said = same.format(cells=cells, people=rounded(users / cells), within=within)
    said += f" It is shown from {shown:,} reports on." if shown else ""
    return [said, advice.tells(users, cells=cells)]


def _say_found(
    found: advice.Plan, epsilon: float | None, as_json: bool, of_cells: list[str]
) -> None:
    # What cannot be reached at the largest epsilon is not worth an explanation of that epsilon.
    reached = found.epsilon if found.reachable else epsilon
    said = None if reached is None else advice.meaning(reached)
    if as_json:
        outputs.print_json({**found.row(), "meaning": said, "notes": of_cells})
        return
    console = outputs.open_console()
    outputs.say(console, f"{found.verdict}\n", "bold" if found.reachable else "bold red")
    if found.reachable:
        outputs.print_facts(console, [(f.name, f"{f.value}, {f.note}") for f in found.facts])
        outputs.say(console, "\n" + "\n\n".join([found.explanation, *of_cells]))
    if said is not None:
        outputs.say(console, f"\n{said}")


def _kind(
    about: About, choices_file: Path | None, at_most: int | None, *, alone: bool, divided: bool
) -> Answers | None:
    """Return the record, the number or the sets that are planned, if any are."""
    if divided and (about.record_file or about.number):
        raise click.UsageError("--rounds and --arms are about answers of a list, one or several "
                               "of them; for a --record or a --number plan one round or one arm, "
                               "with the people in it as --users")  # fmt: skip
    if choices_file is None:
        return about.kind(alone=alone and at_most is None)
    if at_most is None or not alone or about.kind(alone=False):
        raise click.UsageError("--choices takes --at-most, and no --domain-size, --significant or "
                               "--protocol")  # fmt: skip
    return Choices(read_labels(choices_file), at_most)


def _say_answers(found: AnswersPlan, as_json: bool, of_cells: list[str]) -> None:
    epsilon = found.protocol.epsilon
    if as_json:
        document = {**found.row(), "meaning": advice.meaning(epsilon), "notes": of_cells}
        outputs.print_json(document)
        return
    console = outputs.open_console()
    outputs.say(console, f"{found.verdict}\n", "bold" if found.reachable else "bold red")
    rows = (found.table.headings, *found.table.rows)
    outputs.print_columns(console, list(zip(*rows, strict=True)), left=("what",))
    if found.reachable:
        outputs.say(console, "\n" + "\n\n".join([*of_cells, advice.meaning(epsilon)]))


def _say_plan(found: advice.RoundsPlan | advice.ArmsPlan, as_json: bool, *more: str) -> None:
    if as_json:
        outputs.print_json({**asdict(found), "notes": more})
        return
    console = outputs.open_console()
    outputs.say(console, f"{found.verdict}\n", "bold")
    outputs.print_facts(console, [(f.name, f"{f.value}, {f.note}") for f in found.facts])
    outputs.say(console, "\n" + "\n\n".join([found.explanation, *more]))


def _say_search(found: advice.DiscoveryPlan, create: str, as_json: bool, meaning: str) -> None:
    if as_json:
        outputs.print_json({**found.row(), "create": create, "notes": [meaning]})
        return
    console = outputs.open_console()
    outputs.say(console, f"{found.verdict}\n", "bold" if found.reachable else "bold red")
    more = [found.explanation] if found.reachable else []
    outputs.say(console, "\n\n".join([*more, meaning]))
    if found.reachable:
        click.echo(f"\nThe question with these settings:\n{create}")


def _usual(at_most: int | None) -> list[str]:
    """Return the protocols that are made of an epsilon and a number of answers."""
    few = find_protocols(1.0, 2) if at_most is None else find_protocols(1.0, 3, at_most=1)
    return [protocol.name for protocol in few]


def _plannable(name: str, at_most: int | None) -> str:
    """Return the protocol of that name, if it is made of an epsilon and a number of answers."""
    able = _usual(at_most)
    known = {each.lower(): each for each in able} | {"grr": "DE"}
    if name.lower() not in known:
        raise InputError(
            f"expected a protocol without settings for a plan, one of {', '.join(able)}, got "
            f"{name!r}; name one of them, or try others with deniable simulate"
        )
    return known[name.lower()]
