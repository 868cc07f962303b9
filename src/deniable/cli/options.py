"""Options that several commands share, alone or as a group that becomes one argument.

A protocol is named as ``OLH``, ``THE:theta=1``, ``UE:p=0.5:q=0.2`` or ``auto``.
"""

import math
import os
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from deniable.answers.number import WANTS
from deniable.cli import outputs
from deniable.cli.answers import KINDS, Source
from deniable.cli.group import InputError, InputPath, OutputPath
from deniable.cli.labels import About, Form
from deniable.cli.segments import Stated, read_pairs
from deniable.protocol import Closed, Open, Protocol
from deniable.protocols import discover, find
from deniable.protocols.sets import Sets

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = InputPath(path_type=Path, allow_dash=True)
OUTPUT = OutputPath(path_type=Path, allow_dash=True)
AUTO = "auto"
LARGE_EPSILON = 5.0
"""Above this a report hides little, and the user is warned."""
_SMALL_EPSILON = 1e-6
_TARGET = {"epsilon", "domain_size"}
"""The arguments that are not settings: options and labels give them."""
_MADE_BY = {"Views": "--record or --number", "Levels": "--number and --want mean"}
"""The options by which questions get a protocol that is neither for labels nor for any text."""


def probability(text: str) -> float:
    """Return a number between 0 and 1, so far from 1 that normal quantiles are finite."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (found > 0 and (1 + found) / 2 < 1):
        raise click.BadParameter(f"expected a number above 0 and below 1, got {text!r}")
    return found


question_argument = click.argument("question_file", metavar="QUESTION", type=FILE)
output_option = click.option(
    "-o", "--output", type=OUTPUT, default=outputs.STDIO,
    help="Where to write. [default: standard output]",
)  # fmt: skip
summary_option = click.option(
    "--json", "as_json", is_flag=True, help="Print a summary as JSON; needs -o."
)
goal_option = click.option(
    "--goal", type=click.Choice(["mean", "rare", "table"]), default="mean", show_default=True,
    help="Whose variance is to be least: the mean over all answers, that of rare answers, which "
    "makes more of them significant, or of a record the error of whole tables.",
)  # fmt: skip
at_most_option = click.option(
    "--at-most", type=click.IntRange(1), metavar="N",
    help="People choose up to N answers.",
)  # fmt: skip
plot_option = click.option(
    "--plot", type=OUTPUT, metavar="FILE", help="Draw a figure as well: .png, .svg or .pdf."
)


def token_option(help: str) -> Decorator:
    return click.option(
        "--token", envvar="DENIABLE_TOKEN", callback=_read_token,
        help=f"{help} [DENIABLE_TOKEN, or DENIABLE_TOKEN_FILE for a file that holds it]",
    )  # fmt: skip


def _read_token(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    file = os.environ.get("DENIABLE_TOKEN_FILE")
    if value is not None or not file:
        return value
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"DENIABLE_TOKEN_FILE: {error}", context, parameter) from error


_PLACE = (
    click.argument("answers", metavar="INPUT", type=FILE),
    click.option("--column", metavar="NAME", help="The column, or key, that holds the answers."),
    click.option(
        "--input-format", "kind", type=click.Choice(KINDS),
        help="What INPUT is. [default: by its name; else CSV when a column is named, else lines]",
    ),
)  # fmt: skip
_FORM = (
    click.option(
        "--delimiter", metavar="CHAR", help="What separates the columns of a CSV file. [default: ,]"
    ),
    click.option("--strip", is_flag=True, help="Ignore white space around answers and labels."),
    click.option("--fold-case", is_flag=True, help="Treat upper and lower case as equal."),
    click.option(
        "--normalise", is_flag=True,
        help="Treat different encodings of a character as equal (Unicode's form NFC).",
    ),
)  # fmt: skip


def answers_options(*, form: bool = True) -> Decorator:
    """Hand the answers in INPUT to a command as ``source``, and how to match them as ``form``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @_all_of((*_PLACE, *_FORM) if form else _PLACE)
        @wraps(command)
        def read(*, answers: Path, column: str | None, kind: str | None, **rest: Any) -> Any:
            source = Source(answers, column, kind, rest.pop("delimiter", None))
            if form:
                rest["form"] = Form(*(rest.pop(x) for x in ("strip", "fold_case", "normalise")))
            return command(source=source, **rest)

        return read

    return decorate


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Hand what the options say of a record or a number to a command as ``about``."""

    @_all_of((
        click.option("--record", "record_file", type=FILE, metavar="FILE",
                     help="A JSON or TOML file of attributes: a list of labels for each, or low, "
                     "high, step and unit of a number."),
        click.option("--tables", metavar="TABLES", multiple=True,
                     help="What is wanted of a record: margins, pairs, or country+plan,age; repeat "
                     "it, or put commas in between. [default: margins]"),
        click.option("--number", type=(float, float), metavar="LOW HIGH",
                     help="A number is an answer."),
        click.option("--step", type=float, help="What numbers are rounded to. [default: 1]"),
        click.option("--unit", help="The unit of the numbers."),
        click.option("--want", multiple=True, type=click.Choice(WANTS),
                     help="What is wanted of numbers; repeat it. [default: distribution]"),
    ))  # fmt: skip
    @wraps(command)
    def read(*args: Any, **rest: Any) -> Any:
        about = About(*(rest.pop(name) for name in About._fields))
        return command(*args, about=about, **rest)

    return read


def segments_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the segments of the people in INPUT to a command as ``stated``, for a question."""

    @_all_of((
        click.option("--segment", "segments", multiple=True, metavar="DIMENSION=VALUE",
                     help="The public group of all people in INPUT; repeat it."),
        click.option("--segment-column", "columns", multiple=True, metavar="DIMENSION[=COLUMN]",
                     help="The column of INPUT that has the public group of each person; repeat "
                     "it."),
    ))  # fmt: skip
    @wraps(command)
    def read(*, segments: tuple[str, ...], columns: tuple[str, ...], **rest: Any) -> Any:
        values = read_pairs(segments, "--segment")
        by_column = read_pairs(columns, "--segment-column")
        return command(stated=partial(Stated, values=values, columns=by_column), **rest)

    return read


def candidates_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _all_of((
        click.option("--candidates", type=FILE, metavar="FILE",
                     help="The answers to count, in a file of labels; for open questions."),
        click.option("--candidates-column", metavar="NAME",
                     help="The column of --candidates to take."),
    ))(command)  # fmt: skip


def told_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return _all_of((
        click.option("--cross", metavar="NAMES",
                     help="Of a record, the table over some attributes: country+plan."),
        click.option("--above", type=float, metavar="NUMBER",
                     help="Of numbers: also tell the share of people above this one."),
    ))(command)  # fmt: skip


def export_options(*, top: str, significant: str, alpha: str) -> Decorator:
    """Hand the options of a command that writes rows to it, as ``export``; the texts are help."""
    options = (
        click.option("--format", "form", type=click.Choice(outputs.FORMATS),
                     help="What to write. [default: by the name of the output, else table]"),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        output_option,
        click.option("--top", type=click.IntRange(0), metavar="N", help=f"{top} HTML has at most "
                     "1000]"),
        click.option("--significant", is_flag=True, help=significant),
        click.option("--level", type=probability, default=0.95, show_default=True,
                     help="The level of the intervals."),
        click.option("--alpha", type=probability, default=0.05, show_default=True, help=alpha),
        plot_option,
    )  # fmt: skip

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @_all_of(options)
        @wraps(command)
        def read(*, form: str | None, as_json: bool, output: Path, **rest: Any) -> Any:
            given = {name: rest.pop(name) for name in ("top", "significant", "level", "alpha")}
            plot = rest.pop("plot")
            outputs.check_plot(plot)
            form = outputs.choose_form(form, as_json, output)
            return command(export=outputs.Export(form, output, **given, plot=plot), **rest)

        return read

    return decorate


def _all_of(options: tuple[Decorator, ...]) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def choose_protocol(text: str, epsilon: float | None, domain_size: int | None) -> Protocol:
    """Return the protocol that ``text`` names; a domain size of None stands for an open domain."""
    name, *settings = text.split(":")
    if name.lower() == AUTO and domain_size is not None:
        from deniable.advice import recommend  # noqa: PLC0415 - only auto needs advice

        return recommend(needed(epsilon), domain_size).best.protocol
    kind = find_protocol(name)
    known = {f.name: f for f in fields(kind)}
    given: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key in given:
            raise InputError(f"{text!r} has the setting {key!r} more than once; drop one")
        if not equals or key not in known or key in _TARGET:
            own = [k for k in known if k not in _TARGET]
            raise InputError(
                f"expected {kind.__name__} with {' and '.join(own) or 'no settings'}, got "
                f"{setting!r}; {_remedy(kind)}"
            )
        try:
            point = any(mark in value.lower() for mark in ".en")
            given[key] = float(value) if point else int(value)
        except ValueError as error:
            wanted = f"expected a number, got {setting!r}; write for example g=16"
            raise InputError(wanted) from error
    if "epsilon" in known:
        if epsilon is not None or known["epsilon"].default is MISSING:
            given["epsilon"] = needed(epsilon)
    elif epsilon is not None:
        raise InputError(
            f"the epsilon of {kind.__name__} follows from its settings; leave out --epsilon"
        )
    if "domain_size" in known:
        if domain_size is None:
            raise InputError(
                f"{kind.__name__} needs a list of answers; for an open question use OpenLH"
            )
        given["domain_size"] = domain_size
    missing = [k for k, f in known.items() if f.default is MISSING and k not in given]
    if missing:
        raise InputError(f"{kind.__name__} needs {' and '.join(missing)}; {_remedy(kind)}")
    return kind(**given)


def at_epsilon(text: str, epsilon: float, domain_size: int) -> Protocol:
    """Return the protocol that ``text`` names, at its own epsilon where its settings give one."""
    check_named(text)
    name = text.partition(":")[0]
    given = name.lower() == AUTO or takes(find_protocol(name), "epsilon")
    return choose_protocol(text, epsilon if given else None, domain_size)


def check_named(text: str) -> None:
    """Refuse the name of a protocol that belongs to another kind of answers than labels or text."""
    name = text.partition(":")[0]
    if name.lower() != AUTO and not issubclass(kind := find_protocol(name), Closed | Open | Sets):
        raise InputError(f"{kind.__name__} is neither for labels nor for any text; {_remedy(kind)}")


def find_protocol(name: str) -> type[Protocol]:
    """Return the protocol of that name, in upper or lower case; GRR is DE."""
    known = {each.lower(): kind for each, kind in discover().items()}
    known["grr"] = known["de"]
    found = known.get(name.lower()) or find(name)  # which says what is wrong with an offer
    if found is None:
        raise InputError(
            f"expected a protocol among {', '.join(discover())}, got {name!r}; name one of them"
        )
    return found


def check_privacy(epsilon: float | None, domain_size: int | None = None) -> None:
    """Warn of an epsilon that hides little, and refuse one too small for every protocol.

    What is not an epsilon at all is for the library to refuse.
    """
    if epsilon is None or not 0 < epsilon < math.inf:
        return
    if epsilon > LARGE_EPSILON:
        odds = f"{math.exp(epsilon):,.0f}" if epsilon < 20 else f"{math.exp(min(epsilon, 700)):.1e}"
        outputs.warn(
            f"epsilon = {epsilon:g} is above {LARGE_EPSILON:g}: one report can multiply the odds "
            f"of a guess about its sender by {odds}, which hides little; 1 to 3 is usual"
        )
    if domain_size is not None and epsilon < _SMALL_EPSILON:
        from deniable.advice.ranking import find_protocols  # noqa: PLC0415 - most need no advice

        if not find_protocols(epsilon, domain_size) and find_protocols(1.0, domain_size):
            raise InputError(
                f"no protocol can have epsilon = {epsilon:g} with {domain_size:,} answers: it is "
                "too small for probabilities of 64 bits; take a larger one, such as 0.1"
            )


def complete_protocols(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of several protocols separated by commas, in upper or lower case."""
    del ctx, param
    before, comma, last = incomplete.rpartition(",")
    names = [AUTO, *discover()]
    return [f"{before}{comma}{name}" for name in names if name.lower().startswith(last.lower())]


def takes(kind: type[Protocol], argument: str) -> bool:
    """Tell whether a protocol is made with ``argument``; without a domain size it is open."""
    return argument in {f.name for f in fields(kind)}


def needed(epsilon: float | None) -> float:
    if epsilon is None:
        raise InputError("an epsilon is missing; pass for example --epsilon 1")
    return epsilon


def _remedy(kind: type[Protocol]) -> str:
    """Say how to write a protocol with its settings, so that it is accepted, or what makes it."""
    if not issubclass(kind, Closed | Open | Sets):
        made_by = _MADE_BY.get(kind.__name__)
        return ("make the question in Python" if made_by is None else
                f"deniable question create makes it with {made_by}, without --protocol"
                )  # fmt: skip
    known = {f.name: f.default for f in fields(kind)} | kind.usual_settings
    # Where f is free epsilon may be given in its place, but not both.
    own = [key for key, value in known.items() if key not in _TARGET
           and value is not None and not (key == "f" and "epsilon" in known)]  # fmt: skip
    written = ":".join([kind.__name__, *(f"{key}={known[key]}" for key in own)])
    return f"write for example {written}" + (
        ", with at least as many rows as people" if "rows" in known else ""
    )
