"""``deniable demo``: a survey of five million people, from their surnames to the estimates."""

import json
import math
from dataclasses import dataclass
from time import perf_counter

import click
import numpy as np

from deniable.cli import outputs
from deniable.cli.group import command
from deniable.estimates import Estimates
from deniable.presentation.view import counted
from deniable.question import Question
from deniable.simulation import Census

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
        click.echo(json.dumps(_survey_document(survey, top), indent=2, ensure_ascii=False))
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
    factor = math.exp(survey.question.protocol.realised_epsilon)
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
