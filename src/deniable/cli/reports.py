"""``deniable privatize``, ``tally``, ``estimate``, ``compare`` and ``experiment``: to results."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import tee
from operator import itemgetter
from pathlib import Path

import click
import numpy as np

from deniable import Estimates, Question, Tally, comparison
from deniable.answers.distribution import NumberEstimates
from deniable.answers.survey import RecordEstimates
from deniable.cli import inputs, options, outputs
from deniable.cli.answers import Source, read_answers
from deniable.cli.group import InputError, command
from deniable.cli.labels import Form, encode, match, of_question, read_candidates
from deniable.cli.segments import Stated, read_pairs, write_divided
from deniable.consistency import METHODS, adjust
from deniable.experiment import compare_arms
from deniable.files import write_reports, write_tally
from deniable.mechanism import Reports
from deniable.presentation.view import counted, percent
from deniable.protocols.sets import SetEstimates

_Values = np.typing.NDArray[np.uint64]

_CHUNK_WORDS = 1 << 21
_CHUNK_PEOPLE = 1 << 18


@command(
    "deniable privatize fruit.json answers.txt -o reports.bin",
    "deniable privatize fruit.json people.csv --column fruit --strip -o reports.bin",
    "cat answers.txt | deniable privatize fruit.json - | deniable tally fruit.json - -o t.bin",
)
@options.question_argument
@options.answers_options()
@options.segments_options
@options.output_option
@options.summary_option
def privatize(
    question_file: Path,
    *,
    source: Source,
    form: Form,
    stated: Callable[[Question], Stated],
    output: Path,
    as_json: bool,
) -> None:
    """Turn the answers in INPUT into deniable reports on QUESTION.

    INPUT is a CSV, TSV, NDJSON or Parquet file, plain lines, or - for standard input; gzip is
    decompressed. Each answer becomes one report, made with the operating system's randomness; the
    report file reveals no answer. Deniability is per report: a person who answers twice spends
    epsilon twice.

    An answer is a label when all characters are the same. --strip, --fold-case and --normalise
    treat more of them as equal; an answer to an open question is changed to the one form that
    stands for all its equals.

    Where the question has segments, --segment names the one of everybody in INPUT, and
    --segment-column the column that has each person's. Without a value for each dimension the
    segment of a person is not stated, and a warning says of how many. Segments are public: the
    report file holds them as they are.
    """
    inputs.check_stdin(question_file, source.path)
    outputs.check_binary(output, as_json)
    question = inputs.read_question(question_file)
    segments = stated(question)
    source = segments.read_from(of_question(source, question))
    matcher = match(question, form)
    path = source.path
    size = path.stat().st_size if str(path) != outputs.STDIO and path.is_file() else None
    with outputs.show_progress("Privatizing", size) as show, outputs.open_output(output) as stream:
        batches = segments.watch(read_answers(source, show), source)
        values = (encode(question, matcher, batch, source) for batch in batches)
        cells, drawn = tee(segments.take(_draw_reports(question, values)))
        count = write_reports(stream, question, map(itemgetter(1), drawn),
                              cells=map(itemgetter(0), cells))  # fmt: skip
    segments.warn()
    if unknown := matcher.describe_unknown():
        click.echo(f"{source.name}: {unknown}", err=True)
    said = f"{counted(count, 'report')} on {outputs.title(question.name)}"
    outputs.sum_up(output, said, as_json, reports=count, other=matcher.unknown,
                   question=question.digest)  # fmt: skip


def _draw_reports(question: Question, values: Iterator[_Values]) -> Iterator[Reports]:
    """Yield reports in order, made while the next answers are read."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        ahead: Future[Reports] | None = None
        for part in _split_values(values, question):
            made, ahead = ahead, worker.submit(question.protocol.privatize, part)
            if made is not None:
                yield made.result()
        if ahead is not None:
            yield ahead.result()


def _split_values(values: Iterator[_Values], question: Question) -> Iterator[_Values]:
    """Yield values in parts that keep all cores busy, and of a size that memory can hold."""
    size = min(max(_CHUNK_WORDS // question.protocol.words.count, 1), _CHUNK_PEOPLE)
    waiting: list[_Values] = []
    people = 0
    for each in values:
        waiting.append(each)
        people += len(each)
        if people >= size:
            whole = np.concatenate(waiting)
            end = len(whole) - len(whole) % size
            yield from (whole[start : start + size] for start in range(0, end, size))
            waiting, people = [whole[end:]], len(whole) - end
    if people:
        yield np.concatenate(waiting)


@command(
    "deniable tally fruit.json reports.bin -o tally.bin",
    "deniable tally fruit.json monday.bin tuesday.bin tally.bin -o week.bin",
    "cat reports.bin | deniable tally fruit.json - | deniable estimate fruit.json -",
)
@options.question_argument
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@click.option("--raw", is_flag=True, help="FILES are reports one after the other, as privatize "
              "returns them in Python: no header, no checksum, no question.")  # fmt: skip
@click.option("--segment", "segments", multiple=True, metavar="DIMENSION=VALUE",
              help="Only reports of this public group; repeat it.")  # fmt: skip
@options.output_option
@options.summary_option
def tally(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    raw: bool,
    segments: tuple[str, ...],
    output: Path,
    as_json: bool,
) -> None:
    """Sum up FILES, report files and tally files on QUESTION in any order, into one tally.

    The tally is the same, byte for byte, however the reports were split among files. Every file is
    checked to its last byte before anything is written; gzip is decompressed. A file with the same
    content as another is counted too, with a warning.
    """
    outputs.check_binary(output, as_json)
    inputs.check_stdin(question_file, *files)
    question = inputs.read_question(question_file)
    if segments and raw:
        raise click.UsageError("--segment is about report files with a header; leave out --raw")
    wanted = read_pairs(segments, "--segment")
    cells = question.segments.select(wanted) if wanted else None
    total = inputs.collect(question, files, raw=raw, cells=cells)
    with outputs.open_output(output) as stream:
        write_tally(stream, total)
    said = f"{counted(total.n, 'report')} in {counted(len(files), 'file')}"
    outputs.sum_up(output, said, as_json, reports=total.n, files=len(files),
                   question=question.digest)  # fmt: skip


@command(
    "deniable estimate fruit.json tally.bin",
    "deniable estimate fruit.json tally.bin --significant --format csv -o fruit.csv",
    "deniable estimate fruit.json reports.bin --top 10 --plot fruit.svg",
    "deniable estimate site.json sites.bin --candidates candidates.txt --json",
    "deniable estimate daily.json june.bin --rounds 30",
    "deniable estimate crashes.json crashes.bin --by platform",
)
@options.question_argument
@click.argument("files", metavar="TALLY...", nargs=-1, required=True, type=options.FILE)
@options.export_options(
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
@click.option("--by", metavar="DIMENSION", multiple=True,
              help="Estimate each value of this public dimension, from report files.")  # fmt: skip
@options.told_options
@click.option("--sizes", is_flag=True,
              help="How many labels people chose, in place of the labels; for sets.")  # fmt: skip
@options.candidates_options
def estimate(
    question_file: Path,
    files: tuple[Path, ...],
    *,
    export: outputs.Export,
    consistency: str,
    people: int | None,
    rounds: int | None,
    by: tuple[str, ...],
    sizes: bool,
    cross: str | None,
    above: float | None,
    candidates: Path | None,
    candidates_column: str | None,
) -> None:
    """Estimate how many people gave each answer to QUESTION.

    TALLY is a tally file; report files do as well, and several files are merged. Counts are
    unbiased: an answer that nobody gave comes out negative about half the time.

    Where people may answer again (BasicRAPPOR), say in how many rounds the reports came, none with
    two reports of one person, or how many people sent about as many reports each.

    With --by each segment is shown from the number of reports on that carries an error of 5 points;
    smaller ones are summed.
    """
    inputs.check_stdin(question_file, *files, candidates)
    question = inputs.read_question(question_file)
    inputs.check_repeats(question, people, rounds)
    labels = read_candidates(question, candidates, candidates_column)
    if question.labels is None and consistency not in {"none", "base-cut"}:
        raise click.UsageError(
            f"--consistency {consistency} makes all answers add up, and the candidates of an open "
            "question need not; use none or base-cut"
        )
    among = labels if question.labels is None else None

    def make(total: Tally) -> Estimates:
        found = question.estimate(total, among, people=people, rounds=rounds)
        if sizes:
            if not isinstance(found, SetEstimates):
                raise click.UsageError("--sizes is for questions whose answers are sets of labels")
            found = found.sizes
        found = _told(found, cross, above)
        adjusted = found if consistency == "none" else adjust(found, consistency, export.alpha)
        some = labels is not None and question.labels is not None and not sizes
        return adjusted.select(labels) if some and labels is not None else adjusted

    if not by:
        export.write(make(inputs.read_tally(question, files)))
        return
    if people is not None:
        raise click.UsageError("--people are those of one tally; give --rounds with --by")
    if len(by) > 1:
        raise click.UsageError("give --by once: results are divided by one dimension at a time")
    write_divided(question, files, by[0], make=make, export=export)


def _told(found: Estimates, cross: str | None, above: float | None) -> Estimates:
    """Return the table of a record, or what is told beside numbers, where that was asked for."""
    if cross is not None:
        if not isinstance(found, RecordEstimates):
            raise click.UsageError("--cross is about records, whose attributes make tables")
        return found.cross(*cross.split("+"))
    if above is not None:
        if not isinstance(found, NumberEstimates):
            raise click.UsageError("--above is for questions about a number")
        return found.asking(above)
    return found


@command(
    "deniable compare fruit.json monday.bin tuesday.bin",
    "deniable compare fruit.json monday.bin tuesday.bin --significant -o changes.csv",
    "deniable compare fruit.json monday.bin tuesday.bin --plot changes.png --top 10",
    "deniable compare old.json old.bin new.bin --second-question new.json",
    "deniable compare daily.json may.bin june.bin --rounds 31 30",
    "deniable compare load.json before.bin after.bin --above 3000",
    "deniable compare set-up.json spring.bin autumn.bin --cross plan+system",
)
@options.question_argument
@click.argument("first", metavar="FIRST", type=options.FILE)
@click.argument("second", metavar="SECOND", type=options.FILE)
@options.export_options(
    top="Only the N largest changes; 0 for all. [default: 25 in a table, else all;",
    significant="Only answers whose share changed.",
    alpha="The chance that any answer that did not change counts as changed.",
)
@click.option("--second-question", type=options.FILE, metavar="FILE",
              help="The question that SECOND answers, if it has another name. Answers and protocol "
              "must be the same.")  # fmt: skip
@click.option("--people", type=click.IntRange(1), nargs=2, metavar="N M",
              help="How many people sent the reports of FIRST and of SECOND, if they may have "
              "answered again.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), nargs=2, metavar="N M",
              help="In how many rounds the reports of each came, such as days; 1 if everybody "
              "answered once.")  # fmt: skip
@options.told_options
@options.candidates_options
def compare(
    question_file: Path,
    first: Path,
    second: Path,
    *,
    export: outputs.Export,
    second_question: Path | None,
    people: tuple[int, int] | None,
    rounds: tuple[int, int] | None,
    cross: str | None,
    above: float | None,
    candidates: Path | None,
    candidates_column: str | None,
) -> None:
    """Tell which answers to QUESTION changed their share from FIRST to SECOND.

    Both are tally files or report files, without a report in common: a week and one of its days
    cannot be compared, one day and the next can. The largest change comes first; of numbers the
    quartiles and the mean are compared too.

    Where weeks, versions or groups were asked by questions of their own, name the other one with
    --second-question. The same people may have answered both: then the result is conservative.
    """
    inputs.check_stdin(question_file, first, second, second_question, candidates)
    question = inputs.read_question(question_file)
    other = question if second_question is None else inputs.read_question(second_question)
    if question.provenance.substance != other.provenance.substance:
        raise InputError(
            f"{inputs.name_of(second_question or question_file)} has other answers or another "
            f"protocol than {inputs.name_of(question_file)}; compare questions that differ only in "
            "name"
        )
    inputs.check_repeats(question, people, rounds)
    labels = read_candidates(question, candidates, candidates_column)
    asked = ((question, first), (other, second))
    tallies = [inputs.read_tally(each, [path]) for each, path in asked]
    if tallies[0] == tallies[1]:
        one, other_one = (inputs.name_of(path) for path in (first, second))
        outputs.warn(f"{other_one} has the same content as {one}; compare reports of other people")
    found = (
        each.estimate(tally, labels, people=people and people[i], rounds=rounds and rounds[i])
        for i, ((each, _), tally) in enumerate(zip(asked, tallies, strict=True))
    )
    export.write(comparison.compare(*(_told(each, cross, above) for each in found)))


@command(
    "deniable experiment fruit.json A=a.bin B=b.bin",
    "deniable experiment fruit.json old=a.bin new=b.bin newer=c.bin --control old --primary kiwi",
    "deniable experiment fruit.json A=a.bin B=b.bin --weight A 9 --weight B 1",
)
@options.question_argument
@click.argument("arms", metavar="ARM=TALLY...", nargs=-1, required=True)
@click.option("--control", metavar="ARM", help="The arm to compare with. [default: the first]")
@click.option("--primary", metavar="ANSWER",
              help="Test this answer alone. [default: all; of numbers the mean]")  # fmt: skip
@click.option("--weight", "weights", type=(str, float), metavar="ARM N", multiple=True,
              help="How many people an arm was planned to have, in proportion to the others; "
              "repeatable. [default: 1 for each]")  # fmt: skip
@click.option("--looks", type=click.IntRange(1), default=1, show_default=True,
              help="How often results are looked at in all.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead: a row for each answer.")
def experiment(
    question_file: Path,
    arms: tuple[str, ...],
    *,
    control: str | None,
    primary: str | None,
    weights: tuple[tuple[str, float], ...],
    looks: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Compare the arms of an experiment with a control, and say what differs.

    Each ARM has a name and a tally or report file of its own, such as `deniable pull --segment`
    fetches. With all answers and arms together, anything is called different by chance with a
    probability of at most 5 %, by Holm's procedure. If the arms do not have about the numbers of
    people that were planned, the same unless --weight says so, the split is broken, and nothing is
    compared.
    """
    question = inputs.read_question(question_file)
    found = {}
    for text in arms:
        name, mark, path = text.partition("=")
        if not mark or not name or name in found:
            raise click.UsageError(f"expected each arm once, as ARM=FILE, got {text[:80]!r}")
        found[name] = question.estimate(inputs.read_tally(question, [Path(path)]))
    result = compare_arms(found, control=control, primary=primary, looks=looks,
                          weights=dict(weights))  # fmt: skip
    if as_json:
        outputs.print_json(result.document(), ascii=False)
        return
    if as_csv:
        click.echo(result.to_csv(), nl=False)
        return
    console = outputs.open_console()
    outputs.say(console, str(result), "bold red" if result.broken else "bold")
    if result.broken:
        return
    one = result.differences[0]
    heads = ("arm", "answer", result.control, "the arm", "lift", "95 % interval", "p")
    rows = [(x.arm, x.answer, *x.cells, f"{x.p_value:.2g}{'  *' if x.significant else ''}")
            for x in result.differences]  # fmt: skip
    outputs.print_columns(console, list(zip(heads, *rows, strict=True)), left=("arm", "answer"))
    tests = counted(result.tests, "test")
    said = f"* differs, with at most {percent(result.alpha)} for any false alarm in {tests}"
    outputs.say(console, said + (f"; lift and interval in {one.unit}" if one.unit else ""))
