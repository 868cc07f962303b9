"""``deniable estimate`` and ``deniable compare``: counts with error bars, and what changed."""

from pathlib import Path

import click

from deniable.cli.group import Command, InputError
from deniable.cli.inputs import check_repeats, read_candidates, read_question, read_tally
from deniable.cli.options import FILE, candidates_options, export_options, question_argument
from deniable.cli.outputs import Export, warn
from deniable.cli.sources import check_stdin, name_of
from deniable.comparison import compare as compare_estimates
from deniable.consistency import METHODS, adjust


@click.command(
    cls=Command,
    examples=[
        "deniable estimate fruit.json tally.bin",
        "deniable estimate fruit.json tally.bin --significant --format csv -o fruit.csv",
        "deniable estimate fruit.json reports.bin --top 10 --plot fruit.svg",
        "deniable estimate site.json sites.bin --candidates candidates.txt --json",
        "deniable estimate daily.json june.bin --rounds 30",
    ],
)
@question_argument
@click.argument("files", metavar="TALLY...", nargs=-1, required=True, type=FILE)
@export_options(
    top="Only the N largest counts, largest first; 0 for all. [default: 25 in a table, else all in "
    "the question's order;",
    significant="Only answers above the threshold.",
    alpha="The chance that any answer nobody gave counts as significant.",
)
@click.option("--consistency", type=click.Choice(("none", *METHODS)), default="none",
              show_default=True,
              help="Adjust the counts; the intervals stay those of the unbiased ones.")  # fmt: skip
@click.option("--people", type=click.IntRange(1), metavar="N",
              help="How many people sent the reports, if they may have answered "
              "again.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), metavar="N",
              help="In how many rounds the reports came: for a collector's tally the days with "
              "reports; 1 if everybody answered once.")  # fmt: skip
@candidates_options
def estimate(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    export: Export,
    consistency: str,
    people: int | None,
    rounds: int | None,
    candidates: Path | None,
    candidates_column: str | None,
) -> None:
    """Estimate how many people gave each answer to QUESTION.

    TALLY is a tally file; report files do as well, and several files are merged. Counts are
    unbiased: an answer that nobody gave comes out negative about half the time.

    Where people may answer again (BasicRAPPOR), say in how many rounds the reports came, none with
    two reports of one person, or how many people sent about as many reports each.
    """
    check_stdin(question_file, *files, candidates)
    question = read_question(question_file)
    check_repeats(question, people, rounds)
    labels = read_candidates(question, candidates, candidates_column)
    if question.labels is None and consistency not in {"none", "base-cut"}:
        raise click.UsageError(
            f"--consistency {consistency} makes all answers add up, and the candidates of an open "
            "question need not; use none or base-cut"
        )
    total = read_tally(question, files)
    among = labels if question.labels is None else None
    found = question.estimate(total, among, people=people, rounds=rounds)
    adjusted = found if consistency == "none" else adjust(found, consistency, export.alpha)
    if labels is not None and question.labels is not None:
        adjusted = adjusted.select(labels)
    export.write(adjusted)


@click.command(
    cls=Command,
    examples=[
        "deniable compare fruit.json monday.bin tuesday.bin",
        "deniable compare fruit.json monday.bin tuesday.bin --significant -o changes.csv",
        "deniable compare fruit.json monday.bin tuesday.bin --plot changes.png --top 10",
        "deniable compare old.json old.bin new.bin --second-question new.json",
        "deniable compare daily.json may.bin june.bin --rounds 31 30",
    ],
)
@question_argument
@click.argument("first", metavar="FIRST", type=FILE)
@click.argument("second", metavar="SECOND", type=FILE)
@export_options(
    top="Only the N largest changes; 0 for all. [default: 25 in a table, else all;",
    significant="Only answers whose share changed.",
    alpha="The chance that any answer that did not change counts as changed.",
)
@click.option("--second-question", type=FILE, metavar="FILE",
              help="The question that SECOND answers, if it has another name. Answers and protocol "
              "must be the same.")  # fmt: skip
@click.option("--people", type=click.IntRange(1), nargs=2, metavar="N M",
              help="How many people sent the reports of FIRST and of SECOND, if they may have "
              "answered again.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), nargs=2, metavar="N M",
              help="In how many rounds the reports of each came, such as days; 1 if everybody "
              "answered once.")  # fmt: skip
@candidates_options
def compare(
    question_file: Path,
    first: Path,
    second: Path,
    *,
    export: Export,
    second_question: Path | None,
    people: tuple[int, int] | None,
    rounds: tuple[int, int] | None,
    candidates: Path | None,
    candidates_column: str | None,
) -> None:
    """Tell which answers to QUESTION changed their share from FIRST to SECOND.

    Both are tally files or report files, without a report in common: a week and one of its days
    cannot be compared, one day and the next can. The largest change comes first.

    Where weeks, versions or groups were asked by questions of their own, name the other one with
    --second-question. The same people may have answered both: then the result is conservative.
    """
    check_stdin(question_file, first, second, second_question, candidates)
    question = read_question(question_file)
    other = question if second_question is None else read_question(second_question)
    if question.provenance.substance != other.provenance.substance:
        raise InputError(
            f"{name_of(second_question or question_file)} has other answers or another protocol "
            f"than {name_of(question_file)}; compare questions that differ only in name"
        )
    check_repeats(question, people, rounds)
    labels = read_candidates(question, candidates, candidates_column)
    asked = ((question, first), (other, second))
    tallies = [read_tally(each, [path]) for each, path in asked]
    if tallies[0] == tallies[1]:
        warn(f"{name_of(second)} has the same content as {name_of(first)}; compare reports of "
             "different people")  # fmt: skip
    export.write(compare_estimates(*(
        each.estimate(tally, labels, people=people and people[i], rounds=rounds and rounds[i])
        for i, ((each, _), tally) in enumerate(zip(asked, tallies, strict=True))
    )))  # fmt: skip
