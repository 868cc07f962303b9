"""Count the reports of a data lake by day and country, and print what people answered.

    spark-submit examples/spark/job.py QUESTION REPORTS TALLIES

QUESTION is a question file, REPORTS a folder of Parquet files with the columns report, day and
country, and TALLIES the folder that the tallies are written to, one for each day and country. With
``--sample PEOPLE`` a question and the reports of that many invented people are made first.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from deniable import OLH, Question
from deniable import spark as lakes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BY = ("day", "country")


def make_sample(session: SparkSession, question_file: Path, reports: str, people: int) -> None:
    """Write a question, and the reports of people who like the first of its fruit best."""
    fruit = ("kiwi", "fig", "plum", "pear", "sloe", "medlar", "quince", "other")
    question = Question("fruit", fruit, OLH(2.0, len(fruit)), other="other")
    question_file.parent.mkdir(parents=True, exist_ok=True)
    question_file.write_text(question.to_json(), encoding="utf-8")
    names = ", ".join(f"'{name}'" for name in fruit)
    answers = session.range(people).selectExpr(
        f"element_at(array({names}), int(8 * pow((id * 7919 % 1000) / 1000, 2)) + 1) AS answer",
        "date_add(DATE'2026-01-01', int(id % 31)) AS day",
        "element_at(array('at', 'ch', 'de', 'li'), int(id % 4) + 1) AS country",
    )
    lakes.privatize(answers, question, "answer", reports)


def count(frame: DataFrame, question: Question, tallies: str) -> None:
    """Write the tallies by day and country, add them up again, and print the estimates."""
    refused: Counter[str] = Counter()
    lakes.tally(frame, question, "report", BY, refused=refused).write.parquet(tallies)
    stored = frame.sparkSession.read.parquet(tallies)
    print(question.estimate(lakes.merge(stored, question)))
    print(f"{stored.count()} tallies in {tallies}; rows left out: {dict(refused) or 'none'}")


def main() -> None:
    """Read the arguments, and run in the session that spark-submit configures."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - starts Java

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("question", type=Path)
    parser.add_argument("reports")
    parser.add_argument("tallies")
    parser.add_argument("--sample", type=int, metavar="PEOPLE", help="make the reports first")
    options = parser.parse_args()
    session = SparkSession.builder.appName("deniable").getOrCreate()
    if options.sample:
        make_sample(session, options.question, options.reports, options.sample)
    question = Question.from_json(options.question.read_text(encoding="utf-8"))
    count(session.read.parquet(options.reports), question, options.tallies)
    session.stop()


if __name__ == "__main__":
    sys.exit(main())
