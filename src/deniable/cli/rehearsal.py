"""Rehearsals: a question for records, numbers or sets, asked of people whose answers are known."""

import json

import click
import numpy as np

from deniable import simulation
from deniable.cli import outputs
from deniable.cli.answers import Source, read_answers
from deniable.cli.group import InputError
from deniable.cli.labels import Form, encode, match, of_question
from deniable.question import Question


def check_own(question: Question, *, alone: bool) -> None:
    """Refuse other protocols: one for records, numbers or sets fits no other question."""
    if not alone:
        raise click.UsageError(
            f"answers to {question.name} are {question.answers.wanted}: simulate tries the "
            "question's own protocol; leave out --protocol, --epsilon and --plot"
        )


def rehearse(
    question: Question,
    source: Source,
    form: Form,
    *,
    people: int | None,
    runs: int,
    top: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """Ask a question for records, numbers or sets of the people in a file, and tell the truth."""
    matcher, read = match(question, form), of_question(source, question)
    held = [encode(question, matcher, batch, read) for batch in read_answers(read)]
    if not held:
        raise InputError(f"{source.name}: there are no answers in the file; check it")
    values = np.concatenate(held)
    if people is not None:
        chosen = np.random.default_rng(seed or 0).integers(0, len(values), people)
        values = values[chosen]
    rng = None if seed is None else np.random.default_rng(seed)
    found = simulation.rehearse(question, values, runs=runs, rng=rng)
    if as_json:
        rows = zip(found.estimates.keys, found.truth.tolist(), found.estimates.counts.tolist(),
                   strict=True)  # fmt: skip
        named = [{"label": str(key), "true": true, "count": count} for key, true, count in rows]
        document = {"people": len(values), "runs": runs, "error": found.error,
                    "stated_error": found.stated, "covered": found.covered,
                    "estimates": named}  # fmt: skip
        click.echo(json.dumps(document, indent=2))
        return
    console, times = outputs.open_console(), "one run" if runs == 1 else f"{runs} runs"
    stated = "" if found.stated is None else f", where the estimates state {100 * found.stated:.3g}"
    held_by = "" if found.covered is None else (
        f"; {100 * found.covered:.0f} % of the 95 % intervals hold the truth"
    )  # fmt: skip
    said = f"{len(values):,} people, {times}: shares are {100 * found.error:.3g} points off{stated}"
    outputs.say(console, f"{said} (root mean square){held_by}.\n", "bold")
    rows_ = found.estimates.largest(top)
    outputs.print_rows(console, found.estimates.take(rows_).view(truth=found.truth[rows_]))
