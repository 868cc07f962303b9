"""``deniable discover`` and ``code``: find texts that nobody listed, and the codes of texts."""

from pathlib import Path

import click

from deniable.cli import inputs, options, outputs
from deniable.cli.group import Group, command
from deniable.cli.labels import read_labels
from deniable.discoveries import LEVEL
from deniable.protocols.discovery import Code


@command(
    "deniable discover words.json words.bin",
    "deniable discover words.json words.bin --list candidates.txt --format csv -o words.csv",
    "deniable discover words.json words.bin --follow-up 2 --follow-up-file closed.json",
)
@options.question_argument
@click.argument("files", metavar="TALLY...", nargs=-1, required=True, type=options.FILE)
@options.export_options(
    top="Only the N most frequent texts; 0 for all. [default: 25 in a table, else all;",
    significant="Only sure texts.",
    alpha="How many false texts are expected among the sure ones, at most.",
)
@click.option("--rate", type=float, default=0.1, show_default=True,
              help="Which part of the longer list may be false.")  # fmt: skip
@click.option("--list", "--candidates", "listed", type=options.FILE, metavar="FILE",
              help="Texts to look at besides, one on each line: chosen without a look at the "
              "reports.")  # fmt: skip
@click.option("--follow-up", type=float, metavar="EPSILON",
              help="Make a closed question of the sure texts as well.")  # fmt: skip
@click.option("--follow-up-file", type=options.OUTPUT, metavar="FILE",
              help="Where that question goes.")  # fmt: skip
def discover(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    export: outputs.Export,
    rate: float,
    listed: Path | None,
    follow_up: float | None,
    follow_up_file: Path | None,
) -> None:
    """Find the frequent texts that people gave to QUESTION and that nobody listed.

    QUESTION was made with --discover. TALLY is a tally file; report files do as well, and several
    files are merged. Sure texts have intervals that hold although the texts were selected.
    """
    if (follow_up is None) != (follow_up_file is None):
        raise click.UsageError("--follow-up and --follow-up-file belong together; pass both")
    if export.level != LEVEL:
        raise click.UsageError("intervals of discovered texts are at 95 %; leave out --level")
    inputs.check_stdin(question_file, *files, listed)
    question = inputs.read_question(question_file)
    candidates = None if listed is None else read_labels(listed)
    found = question.discover(
        inputs.read_tally(question, files), candidates, alpha=export.alpha, rate=rate
    )
    export.write(found)  # first, since it may be that nothing is sure
    if follow_up is not None and follow_up_file is not None:
        options.check_privacy(follow_up, len(found.askable) + 1)
        closed = found.question(follow_up)
        outputs.write_atomically(follow_up_file, closed.to_json().encode())
        outputs.announce(follow_up_file, f"a closed question of {len(found.askable):,} texts")


@click.group(cls=Group, examples=["deniable code learn pages.txt -o pages-code.json"])
def code() -> None:
    """Learn a public code of texts, for questions whose answers are to be discovered."""


@code.command(
    examples=[
        "deniable code learn pages.txt -o pages-code.json",
        "deniable code learn words.txt --fold-case --phrases 0 -o words-code.json",
    ]
)
@click.argument("examples", metavar="EXAMPLES", type=options.FILE)
@click.option("--phrases", type=click.IntRange(0, 512), metavar="N",
              help="How many sequences of bytes may become symbols. [default: 300 for long texts, "
              "else none]")  # fmt: skip
@click.option("--fold-case", is_flag=True, help="Read all texts in small letters.")
@options.output_option
def learn(examples: Path, *, phrases: int | None, fold_case: bool, output: Path) -> None:
    """Learn a code from the public texts in the file EXAMPLES, one on each line.

    Empty lines and repetitions do not count.

    The code goes to every device: never learn it from people's answers.
    """
    texts, fold = read_labels(examples, twice=True), "case" if fold_case else "none"
    made = Code.learn(texts, phrases=phrases, fold=fold)
    outputs.write_atomically(output, made.to_json().encode())
    outputs.announce(output, f"a code of {made.size:,} symbols")
