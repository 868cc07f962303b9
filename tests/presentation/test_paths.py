"""Exports are returned, or written to the file that is named; notebooks show figures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from deniable import Estimates, InvalidParameter, Question, compare

PNG = b"\x89PNG\r\n\x1a\n"
EXPORTS = ["to_csv", "to_json", "to_html",
           pytest.param("to_parquet", marks=pytest.mark.frames)]  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("kind", [str, Path], ids=["text", "path"])
def test_a_named_file_has_what_would_be_returned(
    estimates: Estimates, tmp_path: Path, name: str, kind: type
) -> None:
    """With a name nothing is returned and the file is written, over what was there."""
    export, path = getattr(estimates, name), tmp_path / "fruit"
    path.write_text("what was there before" * 10_000)
    assert export(kind(path), level=0.9) is None
    returned = export(level=0.9)
    assert path.read_bytes() == (returned.encode() if isinstance(returned, str) else returned)


def test_comparisons_have_the_same_rule(question: Question, tmp_path: Path) -> None:
    """What changed is written to the file that is named, too."""
    first, second = (question.estimate(question.tally(question.privatize([x] * 50)))
                     for x in question.labels[:2])  # fmt: skip
    found = compare(first, second)
    found.to_html(tmp_path / "changes.html")
    assert (tmp_path / "changes.html").read_text(encoding="utf-8") == found.to_html()
    found.plot(tmp_path / "changes.png")
    assert (tmp_path / "changes.png").read_bytes().startswith(PNG)


def test_text_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    """A label beyond ASCII is written as UTF-8 where the locale knows ASCII only."""
    code = (
        "import deniable; "
        "q = deniable.Question('fruit', ('kiwi', 'Va\\u0161ek'), deniable.DE(1.0, 2)); "
        "q.to_json('q.json'); assert deniable.Question.open('q.json') == q; "
        "q.estimate(q.tally(q.privatize(['kiwi']))).to_csv('e.csv')"
    )
    # Python itself cannot read a path beyond ASCII from the file that names ours in such a locale.
    subprocess.run(
        [sys.executable, "-S", "-X", "utf8=0", "-c", code], cwd=tmp_path, check=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0",
             "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "Vašek" in (tmp_path / "e.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*EXPORTS, "plot"])
@pytest.mark.parametrize("wrong", [10, "", 0.9])
def test_what_is_no_name_is_refused(estimates: Estimates, name: str, wrong: object) -> None:
    """A number where the name goes, as in plot(10), is told to go by its own name."""
    with pytest.raises(InvalidParameter, match="everything else by name"):
        getattr(estimates, name)(wrong)


def test_a_notebook_shows_a_figure(estimates: Estimates) -> None:
    """The figure draws itself as PNG without pyplot, and is a figure in every other way."""
    figure = estimates.plot(top=5)
    assert figure._repr_png_().startswith(PNG)  # type: ignore[attr-defined]
    assert len(figure.axes[0].get_yticklabels()) == 5
    assert isinstance(figure, Figure)


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", PNG), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_a_figure_is_written_in_the_format_of_its_name(
    estimates: Estimates, question: Question, tmp_path: Path, name: str, start: bytes
) -> None:
    """PNG, SVG and PDF by the ending, with where the numbers come from inside."""
    assert estimates.plot(tmp_path / name) is None
    data = (tmp_path / name).read_bytes()
    assert data.startswith(start)
    assert question.digest.encode() in data or name.endswith("pdf")


def test_a_figure_of_another_format_is_refused(estimates: Estimates, tmp_path: Path) -> None:
    """Nothing is written under a name that says no format of ours."""
    with pytest.raises(InvalidParameter, match=r"ends with .png, .svg, .pdf"):
        estimates.plot(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
