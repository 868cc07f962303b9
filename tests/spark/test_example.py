"""The example runs as its README says."""

import re
import shlex
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable import Question, Tally

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_runs_by_the_commands_of_its_readme(spark_environment, tmp_path):
    """The second command makes a sample, counts it, and leaves tallies of all reports."""
    (block,) = re.findall(
        r"```sh\n(.*?)```", (ROOT / "examples/spark/README.md").read_text(), re.DOTALL
    )
    make, submit = block.replace("\\\n", " ").strip().splitlines()
    assert make == "make .venv-spark/.installed"
    words = shlex.split(submit)[1:]  # the environment of the tests names the interpreter
    python = Path(spark_environment["PYSPARK_PYTHON"])
    assert words[0] == ".venv-spark/bin/spark-submit"
    words[0] = str(python.parent / "spark-submit")
    words = [word.replace("build/", f"{tmp_path}/") for word in words]
    # Spark's own script that finds its home does not take an interpreter with a space in its path.
    home = {"SPARK_HOME": str(Path(find_spec("pyspark").origin).parent)}
    done = subprocess.run(
        words, cwd=ROOT, env=spark_environment | home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "kiwi" in done.stdout
    assert "124 tallies" in done.stdout
    folder = tmp_path / "fruit"
    question = Question.from_json((folder / "question.json").read_text())
    reports = pq.read_table(folder / "reports")["report"].to_pylist()
    stored = pq.read_table(folder / "tallies")["tally"].to_pylist()
    assert len(reports) == 20_000
    local = question.tally(question.parse(b"".join(reports), None))
    assert sum(map(Tally.from_bytes, stored)).to_bytes() == local.to_bytes()
