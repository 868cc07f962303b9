"""``deniable question``: what is asked, the answers, and the protocol that hides them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from deniable import Answers, Choice, Choices, Number, Question, Record, Text, Views, advice
from deniable.advice.discovery import fit
from deniable.advice.ranking import percent
from deniable.answers.forecast import forecast
from deniable.cli import inputs, options, outputs
from deniable.cli.group import Group
from deniable.cli.labels import About, Form, read_labels, twins
from deniable.presentation.text import one_line
from deniable.presentation.view import counted
from deniable.protocol import Closed, Goal, Protocol
from deniable.protocols.discovery import Code, Discovery
from deniable.protocols.sets import Sets
from deniable.rota import Repeat
from deniable.segments import Dimension, Segments

_SHOWN = 8
_SAID = {"name", "epsilon", "domain_size"}


@click.group(
    cls=Group,
    lazy={"publish": ("send", "Let a running collector ask a question.")},
    examples=["deniable question create --help", "deniable question show fruit.json"],
)
def question() -> None:
    """Create a question, show one, or let a collector ask it.

    A question file is what people and the server have in common. Its digest goes into every report
    file and tally, so that answers to different questions are never mixed.
    """


@question.command(
    examples=[
        "deniable question create fruit --label kiwi --label fig --epsilon 1 -o fruit.json",
        "deniable question create fruit --labels labels.txt --other other --epsilon 1 -o f.json",
        "deniable question create surname --labels names.csv --labels-column name --epsilon 2 "
        "--protocol OLH -o surname.json",
        "deniable question create site --open --epsilon 3 -o site.json",
        "deniable question create words --discover --code english --epsilon 4 -o words.json",
        "deniable question create tools --choices tools.txt --at-most 8 --epsilon 1 -o tools.json",
        "deniable question create set-up --record set-up.toml --tables pairs --epsilon 1 -o s.json",
        "deniable question create hours --number 0 100 --unit h --want distribution --want mean "
        "--epsilon 1 -o hours.json",
        "deniable question create crashes --label yes --label no --epsilon 2 --every 7 --rounds 26 "
        "--segment platform=linux,mac,windows -o crashes.json",
    ]
)
@click.argument("name")
@click.option("--labels", "labels_file", type=options.FILE, metavar="FILE",
              help="A file of labels: one on each line, a JSON array (.json), or a column of a "
              "CSV, TSV, NDJSON or Parquet file.")  # fmt: skip
@click.option("--labels-column", metavar="NAME", help="The column of --labels to take.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="One label; repeat it.")
@click.option("--choices", "choices_file", type=options.FILE, metavar="FILE",
              help="As --labels, of which people choose several: needs --at-most.")  # fmt: skip
@options.at_most_option
@click.option("--no-cut", is_flag=True,
              help="Refuse answers with more than --at-most labels. [default: keep that many, at "
              "random]")  # fmt: skip
@options.kind_options
@click.option("--open", "is_open", is_flag=True, help="Any text is an answer; no labels.")
@click.option("--discover", "discovered", is_flag=True,
              help="Any text is an answer, and the frequent ones are to be found.")  # fmt: skip
@click.option("--code", "code_name", metavar="NAME|FILE",
              help="The public code of --discover: english, digits, or a file of deniable code "
              "learn. [default: english]")  # fmt: skip
@click.option("--examples", type=options.FILE, metavar="FILE",
              help="Public examples of such texts, for the settings that deniable plan --discover "
              "takes. [default: texts of up to 50 bits]")  # fmt: skip
@click.option("--other", metavar="LABEL",
              help="The label that stands for all other answers; added if missing.")  # fmt: skip
@click.option("--epsilon", type=float, help="The privacy loss of one report; 1 or 2 is usual.")
@click.option("--protocol", "protocol_name", default=options.AUTO, show_default=True,
              metavar="NAME", shell_complete=options.complete_protocols,
              help="The protocol, with settings after colons: LH:g=16, THE:theta=1, "
              "UE:p=0.5:q=0.2. auto takes the recommended one.")  # fmt: skip
@options.goal_option
@click.option("--every", type=int, metavar="DAYS",
              help="Ask again: how many days a round has.")  # fmt: skip
@click.option("--rounds", type=int, metavar="N",
              help="In one of how many rounds each person is asked.")  # fmt: skip
@click.option("--times", type=int, default=1, show_default=True, metavar="N",
              help="How often each person is asked in all.")  # fmt: skip
@click.option("--start", metavar="DAY", help="The first day of the first round. [default: today]")
@click.option("--segment", "segments", multiple=True, metavar="NAME=VALUE,VALUE…",
              help="Public groups by which reports are counted; repeat it for another dimension. "
              "A last value of … in brackets, as in os=linux,mac,[rest], stands for all "
              "others.")  # fmt: skip
@options.output_option
def create(
    name: str,
    *,
    labels_file: Path | None,
    labels_column: str | None,
    labels: tuple[str, ...],
    choices_file: Path | None,
    at_most: int | None,
    no_cut: bool,
    about: About,
    is_open: bool,
    discovered: bool,
    code_name: str | None,
    examples: Path | None,
    other: str | None,
    epsilon: float | None,
    protocol_name: str,
    goal: Goal,
    every: int | None,
    rounds: int | None,
    times: int,
    start: str | None,
    segments: tuple[str, ...],
    output: Path,
) -> None:
    """Create the question NAME.

    The labels of the answers come from --labels, from --label, or from both; an --open question
    has none. The order of the labels is part of the question. With --at-most an answer is a set of
    labels: a;b;c, or a JSON list. Of a --record each attribute is a column, and people are asked
    for some of them by lot; of a --number they are asked for its first digits, or for a level.

    With --every and --rounds people are asked again, each in a round of their own: their devices
    draw it, and everything that a person ever sends reveals --times times epsilon.
    """
    again, groups = _repeat(every, rounds, times, start), Segments(tuple(map(_dimension, segments)))
    several = _check_several(at_most, choices_file=choices_file, no_cut=no_cut, other=other)
    labels_file = _one_file(labels_file, choices_file)
    others = (labels, labels_file, is_open, other, several, protocol_name.lower() != options.AUTO)
    if kind := about.kind(alone=not any(others) and not discovered):
        options.check_privacy(epsilon, None)
        made = Question(name, kind, epsilon=options.needed(epsilon), goal=goal, repeat=again,
                        segments=groups)  # fmt: skip
        _write(output, made)
        return
    _check_discovered(code_name, examples, discovered=discovered, protocol_name=protocol_name)
    options.check_named(protocol_name)
    discovered = discovered or protocol_name.lower().partition(":")[0] == "discovery"
    is_open = is_open or discovered
    if is_open and (labels or labels_file or other is not None):
        raise click.UsageError("an --open question takes any answer; leave out the labels")
    if labels_column is not None and not labels_file:
        raise click.UsageError("--labels-column is about the file of --labels; name one")
    listed = (*(read_labels(labels_file, labels_column) if labels_file else ()), *labels)
    if not listed and not is_open:
        raise click.UsageError("no answers given: pass --labels, --label, --choices, --number, "
                               "--record, --open or --discover")  # fmt: skip
    if other is not None and other not in listed:
        listed = (*listed, other)
    size = None if is_open else len(listed)
    options.check_privacy(epsilon, size)
    if several and is_open:
        raise click.UsageError("--at-most is about labels; an --open question has none")
    if goal != "mean" and (is_open or protocol_name.lower() != options.AUTO):
        raise click.UsageError("--goal is about the recommended protocol of a question with labels")
    text = Text(inputs.read_code(code_name or "english")) if discovered else None
    answers = text if is_open else Choices(listed, at_most, not no_cut) if at_most else listed
    if protocol_name.lower() == options.AUTO and examples is None:
        made = Question(name, answers, epsilon=options.needed(epsilon), other=other, goal=goal,
                        repeat=again, segments=groups)  # fmt: skip
    else:
        named = f"{protocol_name}:at_most={at_most}" if at_most else protocol_name
        protocol = (_fitted(text, examples, epsilon) if text and examples
                    else options.choose_protocol(named, epsilon, size))  # fmt: skip
        if isinstance(protocol, Sets):
            answers = Choices(listed, protocol.at_most, not no_cut)
        made = Question(name, answers, protocol, other=other, repeat=again, segments=groups)
    if epsilon is None:  # the settings give it
        options.check_privacy(made.protocol.epsilon)
    _warn_of_labels(listed, sets=isinstance(answers, Choices))
    if discovered and examples is None:
        outputs.warn("nobody has checked how many texts are too long for this code, and those are "
                     "not found; try it with deniable plan --discover --examples")  # fmt: skip
    _write(output, made)


def _write(output: Path, made: Question) -> None:
    outputs.write_atomically(output, made.to_json().encode())
    outputs.announce(output, _headline(made))
    outputs.warn_of_refusal(made.total_epsilon)


def _check_discovered(
    code_name: str | None, examples: Path | None, *, discovered: bool, protocol_name: str
) -> None:
    if code_name is not None and not discovered:
        raise click.UsageError("--code is about texts that are to be discovered: pass --discover")
    if examples is not None and (not discovered or protocol_name.lower() != options.AUTO):
        raise click.UsageError("--examples choose the settings of --discover: pass that, and leave "
                               "out --protocol")  # fmt: skip


def _fitted(text: Text, examples: Path, epsilon: float | None) -> Discovery:
    """Return the settings that a plan with these examples has, and warn of those too long."""
    code = text.discover or Code.preset("english")
    found = fit(read_labels(examples, twice=True), code, options.needed(epsilon))
    if found.too_long:
        outputs.warn(
            f"{percent(found.cut)} of the examples are too long to be found, and such texts can "
            f"only be named from a list: {found.longest}"
        )
    return found.protocol


def _repeat(every: int | None, rounds: int | None, times: int, start: str | None) -> Repeat | None:
    if every is not None and rounds is not None:
        return Repeat(start or datetime.now(UTC).date().isoformat(), every, rounds, times)
    if every is not None or rounds is not None or start or times != 1:
        raise click.UsageError("to ask again, give --every and --rounds together")
    return None


def _dimension(text: str) -> Dimension:
    """Read a dimension; a value in brackets stands for all that are not listed."""
    name, mark, listed = text.partition("=")
    if not mark:
        raise click.UsageError(f"expected --segment NAME=VALUE,VALUE, got {text[:80]!r}")
    return Dimension.of(name, [value.strip() for value in listed.split(",")])


@question.command(
    examples=[
        "deniable question show fruit.json",
        "deniable question show fruit.json --json",
        "deniable question show fruit.json --labels",
    ]
)
@options.question_argument
@click.option("--json", "as_json", is_flag=True, help="Print the question itself, as JSON.")
@click.option("--labels", "only_labels", is_flag=True, help="Print the labels, as JSON lines.")
def show(question_file: Path, *, as_json: bool, only_labels: bool) -> None:
    """Show the question in the file QUESTION and what its reports cost."""
    shown = inputs.read_question(question_file)
    if as_json:
        click.echo(shown.to_json().encode(), nl=False)
    elif only_labels:
        for label in shown.labels or ():
            click.echo(json.dumps(label, ensure_ascii=False).encode())
    else:
        _print(shown)


def _check_several(
    at_most: int | None, *, choices_file: Path | None, no_cut: bool, other: str | None
) -> bool:
    """Tell whether people give several answers, and refuse options that do not go together."""
    if at_most is None and (choices_file or no_cut):
        raise click.UsageError("how many labels may a person choose? Pass --at-most as well")
    if at_most is not None and other is not None:
        raise click.UsageError("--other is about one label; a set of labels has none for the rest")
    return at_most is not None


def _one_file(labels_file: Path | None, choices_file: Path | None) -> Path | None:
    if labels_file and choices_file:
        raise click.UsageError("--choices is --labels for sets; pass one of them")
    return labels_file or choices_file


def _warn_of_labels(labels: tuple[str, ...], *, sets: bool) -> None:
    """Warn of labels that people cannot tell apart, such as "a" and "a ", or cannot write."""
    found = list(twins(labels, Form(strip=True, fold_case=True, normalise=True)))
    if found:
        first, second = found[0]
        more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
        outputs.warn(
            f"the labels {outputs.shorten(first)} and {outputs.shorten(second)}{more} differ only "
            "in white space, case or encoding, and count as different answers"
        )
    split = [label for label in labels if ";" in label] if sets else []
    if split:
        outputs.warn(f"{outputs.shorten(split[0])} has a semicolon, which stands between labels in "
                     "files: write answers with it as JSON lists")  # fmt: skip


def _print(shown: Question) -> None:
    protocol, labels = shown.protocol, shown.labels
    chosen = isinstance(shown.answers, Choice)
    taken = "open" if labels is None else _taken(shown.answers)
    if isinstance(protocol, Discovery):
        taken = f"to be discovered: {_discovered(protocol)}"
    if isinstance(shown.answers, Choices):
        larger = "are cut at random" if shown.answers.cut else "are refused"
        taken = f"at most {shown.answers.at_most} of {taken}; larger sets {larger}"
    facts = (
        ("name", one_line(shown.name, 200)),
        ("answers", taken),
        ("other", "none: answers that are not labels are refused" if shown.other is None
         else one_line(shown.other)),
        ("protocol", f"{protocol.name} at epsilon = {protocol.epsilon:.6g}"),
        ("reveals", advice.reveals(protocol, shown.repeat.times if shown.repeat else None)),
        ("asked", "" if shown.repeat is None else f"{shown.repeat}; epsilon = "
         f"{shown.total_epsilon:.6g} in all, for ever"),
        ("segments", "; ".join(f"{e.name}: {', '.join(e.values)}" for e in shown.segments)),
        ("settings", _settings(protocol)),
        ("realised", f"epsilon = {protocol.realised_epsilon:.6g}, from the weights that are run"),
        ("p*, q*", f"{rates.p:.6g}, {rates.q:.6g}" if (rates := protocol.parameters) else ""),
        ("report", counted(protocol.report_dtype.itemsize, "byte")),
        _error(shown),
        ("digest", shown.digest),
    )  # fmt: skip
    rows = [(name, text) for name, text in facts if text and (chosen or name != "other")]
    outputs.print_facts(outputs.open_console(), rows)
    outputs.warn_of_refusal(shown.total_epsilon)


def _taken(answers: Answers) -> str:
    """Say which answers there are: labels, the range of a number, the attributes of a record."""
    if isinstance(answers, Number):
        unit = f" {one_line(answers.unit)}" if answers.unit else ""
        return f"a number from {answers.low:g} to {answers.high:g}{unit}, by {answers.step:g}"
    if isinstance(answers, Record):
        parts = "; ".join(f"{one_line(name)}: {_taken(part)}" for name, part in answers.parts)
        tables = ", ".join(" by ".join(map(one_line, table)) for table in answers.tables)
        return f"{parts}. Tables: {tables}"
    labels = answers.labels or ()
    if not isinstance(answers, Choice | Choices):
        return answers.wanted
    more = ", …" if len(labels) > _SHOWN else ""
    return f"{len(labels):,}: {', '.join(one_line(x) for x in labels[:_SHOWN])}{more}"


def _error(shown: Question) -> tuple[str, str]:
    """Return the typical standard error; for an open question, that of a rare answer.

    For records and numbers it is a share of all people.
    """
    protocol, sizes = shown.protocol, (10_000, 1_000_000)
    if isinstance(protocol, Views):
        worst = max(forecast(shown.answers, protocol), key=lambda each: each.variance)
        few, many = (worst.shown(n) for n in sizes)
        return "95 % error", f"{worst.what}: {few} with 10,000 people, {many} with 1,000,000"
    share = 1 / protocol.domain_size if isinstance(protocol, Closed) else 0.0
    name = "typical error" if share else "error of a rare answer"
    one = protocol.variance(1, share)
    if one is None:
        return name, "not known in closed form; try it with deniable simulate"
    few, many = (f"{float(n * one) ** 0.5:,.0f}" for n in sizes)
    return name, f"{few} people among 10,000, {many} among 1,000,000"


def _settings(protocol: Protocol) -> str:
    """Return what the protocol was made with besides epsilon and the number of answers."""
    rest = {k: v for k, v in protocol.specification().items() if k not in _SAID}
    shown = (f"{k} = {v}" for k, v in rest.items() if isinstance(v, str | int | float))
    return ", ".join(shown)


def _headline(made: Question) -> str:
    answers = "any answer" if made.labels is None else f"{len(made.labels):,} answers"
    if isinstance(made.answers, Number):
        answers = _taken(made.answers)
    if isinstance(made.answers, Record):
        answers = counted(len(made.answers.parts), "attribute")
    if isinstance(made.protocol, Discovery):
        answers = _discovered(made.protocol)
    size = counted(made.protocol.report_dtype.itemsize, "byte")
    return (
        f"{answers}, {made.protocol.name} at epsilon = {made.protocol.epsilon:.6g}, {size} a "
        f"report, digest {made.digest[:16]}…"
    )


def _discovered(protocol: Discovery) -> str:
    return f"texts whose code has up to {protocol.layout.length} bits"
