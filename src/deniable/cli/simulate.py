"""``deniable simulate``, on your own data, and ``deniable demo``, on the surnames of the census."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

from deniable import Estimates, Open, OpenLH, Protocol, Question, simulation
from deniable.advice.ranking import find_protocols
from deniable.cli import inputs, options, outputs
from deniable.cli.answers import Source, read_answers
from deniable.cli.group import InputError, command
from deniable.cli.labels import Form, Matcher, encode, match, of_question, read_labels
from deniable.presentation.view import counted
from deniable.simulation import Census, Population, Trial

_MOST_WORDS = 1 << 31
_SOON = 1 << 28
"""Random words that are drawn within seconds: as many are spent on repetitions by default."""
_RUNS = 5
_MOST_PEOPLE = 10**12
_HEADS = ("protocol", "epsilon", "bytes", "MSE", "theory", "ratio", "error")
_SPARED = ("theory", "bytes")
"""Columns that a narrow terminal does without, in this order."""


@command(
    "deniable simulate answers.txt --epsilon 1",
    "deniable simulate people.csv --column fruit --epsilon 1 --epsilon 2 --protocol DE,LH:g=4",
    "deniable simulate answers.txt --question fruit.json --protocol OUE",
    "deniable simulate survey.csv --question set-up.json",
    "deniable simulate answers.txt --epsilon 1 --protocol auto --plot simulation.png --json",
)
@options.answers_options()
@click.option("--question", "question_file", type=options.FILE, metavar="FILE",
              help="Take labels, other and epsilon from a question, and try its protocol "
              "first.")  # fmt: skip
@click.option("--epsilon", "epsilons", type=float, multiple=True,
              help="The privacy loss of one report; repeat it to compare.")  # fmt: skip
@click.option("--protocol", "names", metavar="NAMES", shell_complete=options.complete_protocols,
              help="Protocols, separated by commas. [default: all that finish soon; with "
              "--question only its own]")  # fmt: skip
@click.option("--labels", "labels_file", type=options.FILE, metavar="FILE",
              help="All possible answers. [default: those in INPUT]")  # fmt: skip
@click.option("--labels-column", metavar="NAME", help="The column of --labels to take.")
@click.option("--other", metavar="LABEL",
              help="The label that answers outside --labels count as.")  # fmt: skip
@click.option("--people", type=click.IntRange(1, _MOST_PEOPLE),
              help="Draw this many answers from INPUT.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1),
              help="How often each protocol is tried. [default: 5, fewer where that takes "
              "long]")  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=10, show_default=True,
              help="Rows to show, and the k of the recall of the k most frequent.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Make the noise repeatable: simulation only.")
@options.plot_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def simulate(
    *,
    source: Source,
    form: Form,
    question_file: Path | None,
    epsilons: tuple[float, ...],
    names: str | None,
    labels_file: Path | None,
    labels_column: str | None,
    other: str | None,
    people: int | None,
    runs: int | None,
    top: int,
    seed: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Try protocols on the answers in INPUT: the error they would have made, against theory.

    The mean squared error of the counts stands beside the one that the exact variance predicts,
    with the share of the true top answers that the estimates find. What several runs measure
    differs by chance: the spread tells how much, and the best is the best in theory.
    """
    outputs.check_plot(plot)
    inputs.check_stdin(source.path, question_file, labels_file)
    if labels_column is not None and not labels_file:
        raise click.UsageError("--labels-column is about the file of --labels; name one")
    if question_file and (labels_file or other is not None):
        raise click.UsageError("a --question has its labels; leave out --labels and --other")
    if other is not None and not labels_file:
        raise click.UsageError("--other is for answers outside --labels; name them")
    question = inputs.read_question(question_file) if question_file else None
    labels = read_labels(labels_file, labels_column) if labels_file else None
    if labels is not None and other is not None and other not in labels:
        labels = (*labels, other)
    if question is not None:
        if not question.answers.textual:
            _rehearse(question, source, form, alone=not (names or epsilons or plot), people=people,
                      runs=runs or _RUNS, top=top, seed=seed, as_json=as_json)  # fmt: skip
            return
        labels, other = question.labels, question.other
    matcher = Matcher(labels, other, form)
    population = _read_population(source, matcher)
    rng = None if seed is None else np.random.default_rng(seed)
    if people is not None:
        population = population.sample(people, np.random.default_rng(seed or 0))
    protocols, skipped = _choose_protocols(names, epsilons, question, population)
    work = max(sum(_words(protocol, population) for protocol in protocols), 1)
    runs = runs or min(max(_SOON // work, 1), _RUNS)
    trials, seconds = _run_trials(protocols, population, top=top, runs=runs, rng=rng)
    if plot is not None:
        outputs.write_plot(simulation.draw(population, trials, top), plot)
    if said := matcher.describe_unknown():
        click.echo(f"{source.name}: {said}", err=True)
    if as_json:
        each = zip(trials, seconds, strict=True)
        found = [{**trial.document(top), "seconds": took} for trial, took in each]
        document = {"people": population.size, "answers": len(population.labels), "runs": runs,
                    "other": matcher.unknown, "skipped": skipped, "trials": found}  # fmt: skip
        outputs.print_json(document)
    else:
        _print_trials(population, trials, top)
        for name in skipped:
            click.echo(f"{name} skipped: it would take long; name it with --protocol", err=True)


def _read_population(source: Source, matcher: Matcher) -> Population:
    held = [matcher.values(batch, source) for batch in read_answers(source)]
    if len(matcher.labels) < 2:
        raise InputError(
            f"{source.name}: expected at least two different answers, got {len(matcher.labels)}; "
            "list all possible ones with --labels"
        )
    if not held:
        raise InputError(f"{source.name}: there are no answers in the file; check it")
    return Population(matcher.labels, np.concatenate(held))


def _rehearse(
    question: Question,
    source: Source,
    form: Form,
    *,
    alone: bool,
    people: int | None,
    runs: int,
    top: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """Try a question about records, numbers or sets on a file, beside the truth."""
    if not alone:
        raise click.UsageError(
            f"answers to {question.name} are {question.answers.wanted}: simulate tries the "
            "question's own protocol; leave out --protocol, --epsilon and --plot"
        )
    matcher, read = match(question, form), of_question(source, question)
    held = [encode(question, matcher, batch, read) for batch in read_answers(read)]
    if not held:
        raise InputError(f"{source.name}: there are no answers in the file; check it")
    values = np.concatenate(held)
    if people is not None:
        values = np.random.default_rng(seed or 0).choice(values, people)
    rng = None if seed is None else np.random.default_rng(seed)
    found = simulation.rehearse(question, values, runs=runs, rng=rng)
    if as_json:
        outputs.print_json(found.document())
        return
    console, shown = outputs.open_console(), found.estimates.largest(top)
    outputs.say(console, f"{found}\n", "bold")
    outputs.print_rows(console, found.estimates.take(shown).view(truth=found.truth[shown]))


def _choose_protocols(
    names: str | None, epsilons: Sequence[float], question: Question | None, population: Population
) -> tuple[list[Protocol], list[str]]:
    """Return the protocols to try and the names of those that were left out as too slow."""
    d, own = len(population.labels), [] if question is None else [question.protocol]
    if not epsilons:
        if not own:
            raise click.UsageError("give --epsilon, or a --question that has one")
        epsilons = [own[0].epsilon]
    if names is not None:
        listed = [name.strip() for name in names.split(",") if name.strip()]
        if not listed:
            raise InputError(f"expected names of protocols, got {names!r}; write for example "
                             "--protocol DE,LH:g=4")  # fmt: skip
        made = [options.at_epsilon(name, epsilon, d) for name in listed for epsilon in epsilons]
        return list(dict.fromkeys([*own, *made])), []
    if own:
        return own, []
    every: list[Protocol] = [p for e in epsilons for p in (*find_protocols(e, d), OpenLH(e))]
    fast = [p for p in every if _words(p, population) <= _MOST_WORDS]
    skipped = [f"{p.name} at epsilon = {p.epsilon:g}" for p in every if p not in fast]
    return fast, skipped


def _words(protocol: Protocol, population: Population) -> int:
    """Return the work of one run: the random words drawn, or the hashes of open protocols."""
    each = len(population.labels) if isinstance(protocol, Open) else protocol.words.count
    return population.size * each


def _run_trials(
    protocols: Sequence[Protocol], population: Population, **options: Any
) -> tuple[list[Trial], list[float]]:
    """Try the protocols, and return the seconds that one run of each took as well."""
    trials, seconds = [], []
    with outputs.show_progress("Simulating", len(protocols)) as advance:
        for position, protocol in enumerate(protocols):
            start = perf_counter()
            trials.append(simulation.try_protocol(protocol, population, **options))
            seconds.append((perf_counter() - start) / options["runs"])
            advance(position + 1)
    return trials, seconds


def _print_trials(population: Population, trials: Sequence[Trial], top: int) -> None:
    console, n, top = outputs.open_console(), population.size, min(top, len(population.labels))
    runs = len(trials[0].squared_errors)
    times = "one run" if runs == 1 else f"{runs} runs"
    outputs.say(
        console, f"{n:,} people, {len(population.labels):,} answers, {times}\n", style="bold"
    )
    heads = (*_HEADS, f"top {top}", "found")
    columns = list(zip(heads, *(_trial_cells(trial, n) for trial in trials), strict=True))
    outputs.print_columns(console, columns, spared=_SPARED)
    after = "" if runs == 1 else " (± its standard deviation from run to run)"
    outputs.say(
        console,
        "MSE: mean squared error of the counts; theory: what the exact variance predicts; ratio: "
        f"MSE to theory{after}; error: the root of the MSE as a share of all people; top {top}: "
        f"how many of the {top} most frequent answers are estimated among the most frequent; "
        "found: how many are significant.\n",
    )
    best = min(trials, key=lambda trial: trial.order)
    rows = np.argsort(-population.truth, kind="stable")[:top]
    labelled = replace(best.estimates, labels=population.labels)
    last = "" if runs == 1 else ", in the last run"
    judged = "as measured" if best.theory is None else "in theory"
    outputs.say(console, f"The best {judged}, {best.protocol.name} at epsilon = "
                  f"{best.protocol.epsilon:g}{last}:", style="bold")  # fmt: skip
    outputs.print_rows(console, labelled.take(rows).view(truth=population.truth[rows]))


def _trial_cells(trial: Trial, n: int) -> tuple[str, ...]:
    theory, ratio = "-", "-"
    if trial.theory is not None:
        spread = "" if trial.spread is None else f" ± {trial.spread / trial.theory:.2f}"
        theory = f"{trial.theory:.3g}"
        ratio = f"{trial.squared_error / trial.theory:.2f}{spread}"
    return (
        trial.protocol.name,
        f"{trial.protocol.epsilon:.4g}",
        f"{trial.protocol.report_dtype.itemsize:,}",
        f"{trial.squared_error:.3g}",
        theory,
        ratio,
        f"{100 * trial.squared_error**0.5 / n:.3g} %",
        f"{100 * trial.recall:.0f} %",
        "-" if trial.found is None else f"{trial.found:,}",
    )


_CHUNK = 250_000


@dataclass(frozen=True)
class _Survey:
    """What the demo shows: the truth, the estimates, and what they cost."""

    question: Question
    truth: np.typing.NDArray[np.int64]
    estimates: Estimates
    seconds: dict[str, float]
    rows: np.typing.NDArray[np.int64]
    """The surnames by their true count, without the one that stands for the rest."""


@command("deniable demo", "deniable demo --epsilon 1 --people 1000000 --json")
@click.option("--people", default=5_000_000, show_default=True, type=click.IntRange(1),
              help="How many people are simulated.")  # fmt: skip
@click.option("--epsilon", default=2.0, show_default=True, help="The privacy loss of a report.")
@click.option("--top", default=25, show_default=True, type=click.IntRange(1), help="Rows to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def demo(people: int, epsilon: float, top: int, as_json: bool) -> None:
    """Five million people report their surname, deniably.

    Surnames are drawn from the 2010 US census; every person sends one report, made with the
    operating system's randomness. The table compares the truth, which only a simulation knows,
    with what the reports tell.
    """
    survey = _run_survey(people, epsilon)
    if as_json:
        outputs.print_json(_survey_document(survey, top), ascii=False)
    else:
        _print_survey(survey, top)


def _run_survey(people: int, epsilon: float) -> _Survey:
    census = Census.read()
    question = census.question(epsilon)
    population = np.random.default_rng(2010)  # the people are repeatable, their noise is not
    truth = np.zeros(len(census.labels), dtype=np.int64)
    seconds = dict.fromkeys(("draw", "privatize", "tally", "estimate"), 0.0)
    total = question.accumulator()
    with outputs.show_progress("Collecting reports", people) as advance:
        for start in range(0, people, _CHUNK):
            clock = perf_counter()
            values = census.draw(min(_CHUNK, people - start), population)
            truth += np.bincount(values, minlength=len(truth))
            drawn = perf_counter()
            reports = question.protocol.privatize(values)
            privatized = perf_counter()
            total.add(reports)
            seconds["draw"] += drawn - clock
            seconds["privatize"] += privatized - drawn
            seconds["tally"] += perf_counter() - privatized
            advance(start + len(values))
        clock = perf_counter()
        estimates = question.estimate(total.tally())
        seconds["estimate"] = perf_counter() - clock
    order = np.argsort(-truth, kind="stable")
    rows = np.asarray(order[order != census.other], dtype=np.int64)
    return _Survey(question, truth, estimates, seconds, rows)


def _print_survey(survey: _Survey, top: int) -> None:
    console, estimates, rows = outputs.open_console(), survey.estimates, survey.rows
    protocol = survey.question.protocol
    listed = zip(estimates.rows(), survey.truth, strict=True)
    covered = np.mean([row.ends[0] <= true <= row.ends[1] for row, true in listed])
    outputs.say(
        console,
        f"{estimates.n:,} people, {len(rows):,} surnames and the rest, {protocol.name} at "
        f"epsilon = {protocol.epsilon:g}\n",
        style="bold",
    )
    largest = rows[:top]
    outputs.print_rows(console, estimates.take(largest).view(truth=survey.truth[largest]))
    size = counted(protocol.report_dtype.itemsize, "byte")
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in survey.seconds.items())
    found = len(estimates.take(rows).only_significant())
    outputs.say(
        console,
        f"\n{found} of {len(rows):,} surnames are significant, "
        f"{100 * covered:.1f} % of all intervals cover the truth.\nOne report: {size}. "
        f"Time: {sum(survey.seconds.values()):.1f} s ({spent}).\n\n{_explain_report(survey)}",
    )


def _explain_report(survey: _Survey) -> str:
    """Say what one report tells about one person, by Bayes' rule with the most common answer."""
    factor = np.exp(survey.question.protocol.realised_epsilon)
    first = survey.rows[0]
    before = survey.truth[first] / survey.estimates.n
    after = factor * before / (factor * before + 1 - before)
    name = (survey.question.labels or ())[first]
    return (
        f"Whoever sees one report can make any one surname at most e^epsilon = {factor:.2f} times "
        f"likelier against any other: the chance that its sender is a {name}, {100 * before:.2f} % "
        f"beforehand, is at most {100 * after:.1f} % afterwards. Which surname was meant stays "
        "unknown, however much they compute."
    )


def _survey_document(survey: _Survey, top: int) -> dict[str, object]:
    estimates, rows = survey.estimates, survey.rows
    return {
        "people": estimates.n,
        "protocol": survey.question.protocol.specification(),
        "report_bytes": survey.question.protocol.report_dtype.itemsize,
        "significant": len(estimates.take(rows).only_significant()),
        "threshold": estimates.threshold(),
        "seconds": survey.seconds,
        "surnames": [
            {"label": row.label, "true": int(true), "estimated": row.count, "low": row.lower,
             "high": row.upper, "significant": row.significant}
            for row, true in zip(estimates.take(rows[:top]), survey.truth[rows[:top]], strict=True)
        ],
    }  # fmt: skip
