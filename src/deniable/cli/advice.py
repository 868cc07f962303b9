"""``deniable recommend``, ``plan`` and ``audit``: what to know before anything is collected."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click
import numpy as np

from deniable import advice, auditing
from deniable.advice.ranking import Goal, find_protocols
from deniable.auditing.probe import Privatizer
from deniable.cli import options, outputs
from deniable.cli.group import InputError, command
from deniable.cli.inputs import read_code, read_question
from deniable.cli.labels import read_labels
from deniable.errors import DeniableError
from deniable.progress import listening
from deniable.protocols import discover

_HEADS = ("protocol", "variance", "relative", "std error", "bytes", "client", "server", "paper")
_SPARED = ("server", "client", "paper", "relative")
"""The columns that a narrow terminal does without, in this order."""
_SHORTER = (("random word", "word"), (" a report, then decode", " + decoding"), (" a report", ""))


@command(
    "deniable recommend --epsilon 1 --domain-size 1000",
    "deniable recommend --epsilon 4 --domain-size 41270 --users 8000000 --json",
    "deniable recommend --epsilon 1 --domain-size 1000 --max-report-bytes 16",
    "deniable recommend --epsilon 2 --domain-size 12 --goal rare",
    "deniable recommend --epsilon 1 --domain-size 1000 --at-most 8",
)
@click.option("--epsilon", type=float, required=True, help="The privacy loss of one report.")
@click.option("--domain-size", type=int, required=True, help="How many answers there are.")
@click.option("--users", type=int, help="How many people send a report.")
@click.option("--max-report-bytes", type=int, help="The largest report that is acceptable.")
@options.at_most_option
@options.goal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def recommend(
    *,
    epsilon: float,
    domain_size: int,
    users: int | None,
    max_report_bytes: int | None,
    at_most: int | None,
    goal: Goal,
    as_json: bool,
) -> None:
    """Rank the protocols for an epsilon and a domain size, by exact variance.

    The variance is that of a count for one person: averaged over all answers, or with --goal rare
    that of an answer which nobody gives, which decides what is significant. Protocols within
    half a percent of each other count as equal: the one that decodes fastest comes first. The last
    column tells which protocol the guideline of the paper takes.
    """
    options.check_privacy(epsilon, domain_size)
    ranked = advice.recommend(
        epsilon, domain_size, users, max_report_bytes, goal=goal, at_most=at_most
    )
    few = find_protocols(1.0, 2) if at_most is None else find_protocols(1.0, 3, at_most=1)
    usual = (protocol.name for protocol in few)
    possible = {*(option.name for option in ranked.options), *ranked.unranked}
    impossible = sorted({*usual} - possible)
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
        click.echo(json.dumps(document, indent=2))
        return
    console, best = outputs.open_console(), ranked.best.noise(goal)
    rows = [_HEADS, *(_shorten_cells(option.cells(best, goal)) for option in ranked.options)]
    columns = [column for column in zip(*rows, strict=True) if users or column[0] != "std error"]
    outputs.print_columns(console, columns, spared=_SPARED, left=("client", "server", "paper"))
    none = f"Impossible at this epsilon and domain size: {', '.join(impossible)}."
    for said in (*([none] if impossible else ()), *ranked.notes, ""):
        outputs.say(console, said)
    outputs.say(console, f"{ranked.reason}\n\n{advice.meaning(epsilon)}", "bold")


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
@options.at_most_option
@click.option("--protocol", "name", shell_complete=options.complete_protocols,
              help="Plan with this protocol. [default: the best one]")  # fmt: skip
@click.option("--rounds", type=int, help="Ask again: in one of how many rounds each person is "
              "asked. With --users and --lifetime.")  # fmt: skip
@click.option("--lifetime", type=float, help="What all reports of a person reveal together.")
@click.option("--times", type=int, default=1, show_default=True,
              help="How often each person is asked in all.")  # fmt: skip
@click.option("--every", type=int, default=1, show_default=True, help="How many days a round has.")
@click.option("--cells", type=int, default=1, show_default=True,
              help="How many segments people are divided into.")  # fmt: skip
@click.option("--arms", type=int, help="An experiment of so many arms. With --epsilon, --from and "
              "--lift.")  # fmt: skip
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
    --lift; texts that are to be discovered --discover and --examples.
    """
    if discovered:
        if examples is None or epsilon is None or (users, share) == (None, None):
            raise click.UsageError("--discover takes --examples, --epsilon, and --users or --share")
        options.check_privacy(epsilon)
        searched = advice.plan_discovery(read_labels(examples), epsilon=epsilon, users=users,
                                         share=share, code=read_code(code_name))  # fmt: skip
        _say_plan(searched.row(), searched.explanation, as_json, advice.meaning(epsilon))
        return
    if domain_size is None or examples is not None or share is not None:
        raise click.UsageError("give --domain-size; --examples and --share belong to --discover")
    if rounds is not None:
        if users is None or lifetime is None or (epsilon, error, significant, arms) != (None,) * 4:
            raise click.UsageError("a plan of rounds takes --users, --rounds and --lifetime")
        options.check_privacy(lifetime / max(times, 1), domain_size)
        rota = advice.plan_rounds(domain_size, users=users, rounds=rounds, lifetime=lifetime,
                                   times=times, pooled=min(4, rounds))  # fmt: skip
        told = advice.tells(users, cells=cells, days=rounds * every)
        _say_plan(rota.row(), rota.explanation, as_json, advice.meaning(lifetime), told)
        return
    if arms is not None:
        if epsilon is None or start is None or lift is None or (error, significant) != (None, None):
            raise click.UsageError("a plan of arms takes --arms, --epsilon, --from and --lift")
        options.check_privacy(epsilon, domain_size)
        needed = advice.plan_arms(domain_size, epsilon=epsilon, start=start, lift=lift, arms=arms,
                                  primary=primary, looks=looks)  # fmt: skip
        _say_plan(needed.row(), needed.explanation, as_json, advice.meaning(epsilon))
        return
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
    # What cannot be reached at the largest epsilon is not worth an explanation of that epsilon.
    reached = found.epsilon if found.reachable else epsilon
    said = None if reached is None else advice.meaning(reached)
    if as_json:
        click.echo(json.dumps({**found.row(), "meaning": said}, indent=2))
        return
    console = outputs.open_console()
    outputs.say(console, f"{found.verdict}\n", "bold" if found.reachable else "bold red")
    if found.reachable:
        outputs.print_facts(console, [(f.name, f"{f.value}, {f.note}") for f in found.facts])
        outputs.say(console, f"\n{found.explanation}")
    if said is not None:
        outputs.say(console, f"\n{said}")


def _say_plan(row: dict[str, object], explanation: str, as_json: bool, *more: str) -> None:
    if as_json:
        click.echo(json.dumps({**row, "notes": more}, indent=2))
        return
    outputs.say(outputs.open_console(), "\n\n".join([explanation, *more]), "bold")


def _plannable(name: str, at_most: int | None) -> str:
    """Return the protocol of that name, if it is made of an epsilon and a number of answers."""
    few = find_protocols(1.0, 2) if at_most is None else find_protocols(1.0, 3, at_most=1)
    able = [protocol.name for protocol in few]
    known = {each.lower(): each for each in able} | {"grr": "DE"}
    if name.lower() not in known:
        raise InputError(
            f"expected a protocol without settings for a plan, one of {', '.join(able)}, got "
            f"{name!r}; name one of them, or try others with deniable simulate"
        )
    return known[name.lower()]


_DOMAIN_SIZE = 4


@command(
    "deniable audit fruit.json",
    "deniable audit OUE --epsilon 1 --domain-size 4",
    "deniable audit LH:g=4 --epsilon 1 --domain-size 5 --calls 1000 --json",
)
@click.argument("target", metavar="QUESTION|PROTOCOL|MODULE:CLASS")
@click.option("--epsilon", type=float, help="The privacy loss that is claimed.")
@click.option("--domain-size", type=int, help=f"How many values.  [default: {_DOMAIN_SIZE}]")
@click.option("--calls", type=click.IntRange(32), default=8192, show_default=True,
              help="How many single calls to make with each value.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1000), default=200_000, show_default=True,
              help="How many reports to draw where the law cannot be enumerated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
def audit(
    target: str,
    *,
    epsilon: float | None,
    domain_size: int | None,
    calls: int,
    samples: int,
    as_json: bool,
) -> int:
    """Prove or measure the epsilon of a protocol, from the code that clients run.

    The protocol is that of a question file, one of ours by its name and settings (LH:g=16,
    THE:theta=1, UE:p=0.5:q=0.2), or a class of yours: MODULE:CLASS is imported, from the current
    directory too, and called with the epsilon and the domain size where it takes them.

    Single calls, batches and copies must make the same reports from the same random words. On small
    domains the law of the reports is enumerated and the answer is exact; elsewhere it is a lower
    bound. The exit code is 1 when the protocol is BROKEN: when it spends more than it claims, or
    its calls differ.
    """
    protocol = _find_target(target, epsilon, domain_size)
    with outputs.show_progress("Auditing", 100) as show, listening(lambda done, _: show(done)):
        found = auditing.audit(protocol, calls=calls, samples=samples)
    if as_json:
        click.echo(json.dumps(_audit_document(protocol, found)))
    else:
        style = "bold green" if found.holds else "bold red"
        outputs.say(outputs.open_console(), f"{protocol}: {found}", style, "    ")
    return 0 if found.holds else 1


def _audit_document(protocol: Privatizer, found: auditing.Audit) -> dict[str, object]:
    ratio = found.worst_ratio
    specification = getattr(protocol, "specification", None)
    return {
        **asdict(found),
        "epsilon": found.epsilon if math.isfinite(found.epsilon) else None,
        "holds": found.holds,
        "protocol": specification() if specification else repr(protocol),
        "worst_ratio": None if ratio is None else str(ratio),
    }


def _find_target(target: str, epsilon: float | None, domain_size: int | None) -> Privatizer:
    if target.endswith(".json") or Path(target).is_file():
        if epsilon is not None or domain_size is not None:
            raise InputError(f"the question {target} has its own epsilon and answers; leave out "
                             "--epsilon and --domain-size")  # fmt: skip
        return read_question(Path(target)).protocol
    if _is_foreign(target):
        return _load_foreign(target, {"epsilon": epsilon, "domain_size": domain_size})
    size = _DOMAIN_SIZE if domain_size is None else domain_size
    return options.choose_protocol(target, epsilon, size)


def _is_foreign(text: str) -> bool:
    """Tell whether a name is that of a module and a class, and not a protocol with settings.

    >>> _is_foreign("mine:Noise"), _is_foreign("LH:g=4"), _is_foreign("OUE")
    (True, False, False)
    """
    module, colon, name = text.partition(":")
    known = {each.lower() for each in discover()} | {"grr", "auto"}
    return bool(colon) and "=" not in name and module.lower() not in known


def _load_foreign(text: str, given: dict[str, float | None]) -> Privatizer:
    """Import what ``text`` names, make it, and check that it is something to audit."""
    found = _import_foreign(*text.split(":", 1))
    made = _make_foreign(text, found, given) if isinstance(found, type) else found
    missing = [part for part in ("privatize", "epsilon") if not hasattr(made, part)]
    if missing or not isinstance(made, Privatizer):
        raise InputError(
            f"{text} has no {' and no '.join(missing)}; an audit needs privatize(values, rng=None) "
            "and epsilon, see docs/audit.md"
        )
    _check_number(f"epsilon of {text} as a positive number", made.epsilon, least=0.0)
    size = getattr(made, "domain_size", None)
    if size is not None:
        wanted = f"domain_size of {text} as a whole number from 2 on, or none for fingerprints"
        _check_number(wanted, size, least=1.0)
    return made


def _import_foreign(module: str, name: str) -> object:
    with _current_directory():
        try:
            loaded = import_module(module)
        except Exception as error:
            raise InputError(
                f"{module} cannot be imported: {type(error).__name__}: {error}; run the command in "
                "its directory, or install it"
            ) from error
    if not hasattr(loaded, name):
        near = get_close_matches(name, dir(loaded), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "check its name"
        raise InputError(f"there is no class {name!r} in {module}; {hint}")
    found: object = getattr(loaded, name)
    return found


@contextmanager
def _current_directory() -> Iterator[None]:
    """Let modules of the current directory be imported, as ``python -m`` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _make_foreign(text: str, kind: type, given: dict[str, float | None]) -> object:
    arguments = {name: value for name, value in given.items() if value is not None}
    try:
        made: object = kind(**arguments)
    except DeniableError:
        raise
    except Exception as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise InputError(
            f"{text} cannot be made with ({shown}): {type(error).__name__}: {error}; give "
            "--epsilon and --domain-size as far as it takes them"
        ) from error
    return made


def _check_number(wanted: str, number: object, *, least: float) -> None:
    found = None if isinstance(number, bool) else number
    if not isinstance(found, int | float | np.number) or not float(found) > least:
        raise InputError(f"expected the {wanted}, got {number!r}")
