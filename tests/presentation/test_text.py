import re
from dataclasses import replace

import numpy as np
import pytest

from deniable import DE, Estimates, Question, compare
from deniable.presentation.text import SHADE, SOLID, TICK, ZERO, bar_spans, columns_of, table_lines
from deniable.presentation.view import Scale
from tests.presentation.conftest import URLS


def test_nothing_is_cut_without_a_width(estimates: Estimates) -> None:
    """Every label and number stands in the table in full."""
    text = estimates.table(None)
    assert all(url in text for url in URLS)
    assert "…" not in text
    assert text == estimates.table(None, width=None)


def test_the_table_says_where_it_comes_from(estimates: Estimates) -> None:
    """Two lines name the question, the reports, the protocol, the digest and the version."""
    first, second = estimates.table(5).splitlines()[:2]
    source = estimates.provenance
    assert source is not None
    assert source.digest is not None
    assert first == "pages: 5 of 30 answers, estimated from 20,000 reports"
    version = source.version
    assert second == f"OUE at epsilon = 2, question {source.digest[:16]}, deniable {version}"


def test_the_threshold_is_computed_once(
    estimates: Estimates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts, bars and the note below the table share one threshold."""
    threshold, seen = Estimates.threshold, []

    def recorded(self: Estimates, alpha: float = 0.05) -> float:
        seen.append(alpha)
        return threshold(self, alpha)

    monkeypatch.setattr(Estimates, "threshold", recorded)
    repr(estimates)
    assert seen == [0.05]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_a_table_fits_its_width_and_tells_labels_apart(estimates: Estimates, width: int) -> None:
    """Bars shrink, then labels lose what they share; no number is touched."""
    lines = estimates.table(20, width=width).splitlines()[3:23]
    assert max(map(columns_of, lines)) <= width
    assert len({line.split()[1] for line in lines}) == 20
    for row, line in zip(estimates.top(20), lines, strict=True):
        assert all(cell in line for cell in row.cells)


def test_bars_shrink_before_labels_are_cut(estimates: Estimates) -> None:
    """From wide to narrow: whole labels with ever shorter bars, then cut ones, then no bars."""

    def state(width: int) -> tuple[bool, int]:
        line = max(estimates.table(1, width=width).splitlines()[3:4])
        return "…" in line, len(re.findall(f"[{SOLID}{SHADE}]", line))

    states = [state(width) for width in range(140, 50, -1)]
    assert states == sorted(states, key=lambda each: (each[0], -each[1]))
    assert states[0] == (False, 30)
    assert states[-1] == (True, 0)
    assert (True, 6) in states


def test_one_endless_label_does_not_push_the_others() -> None:
    """A label of a million characters is written in full, and pads no other row."""
    found = Estimates(np.array([5.0, 4.0]), np.ones(2), 10, 1.0, ("x" * 10**6, "short"))
    lines = found.table().splitlines()
    assert "x" * 10**6 in lines[2]
    assert len(lines[3]) < 200


def test_an_encoding_without_the_characters_gets_escapes(estimates: Estimates) -> None:
    """Labels are measured as they are written."""
    found = Estimates(np.array([5.0, 4.0]), np.ones(2), 10, 1.0, ("日本", "fig"))
    rows = ["".join(span.text for span in line) for line in
            table_lines(found.view(), None, "ascii")[1:3]]  # fmt: skip
    assert r"\u65e5\u672c" in rows[0]
    # The counts stand in the same column of both rows.
    assert rows[0].index(" 5  ") == rows[1].index(" 4  ")


def _bar(row: object, scale: Scale) -> str:
    return "".join(span.text for span in bar_spans(row, scale, 10))  # type: ignore[arg-type]


def test_bars_are_solid_up_to_the_interval(estimates: Estimates) -> None:
    """What is certain is solid, the interval is shaded, the truth is a tick."""
    row = replace(next(iter(estimates)), lower=40.0, upper=60.0, count=50.0)
    assert _bar(row, Scale(0, 100)) == SOLID * 4 + SHADE * 2
    assert _bar(replace(row, truth=90.0), Scale(0, 100)) == SOLID * 4 + SHADE * 2 + " " * 3 + TICK
    assert _bar(replace(row, lower=-30.0), Scale(0, 100)) == SHADE * 6
    assert _bar(replace(row, lower=-30.0, upper=-20.0), Scale(0, 100)) == ""
    assert _bar(row, Scale(-100, 100)) == " " * 5 + SOLID * 2 + SHADE
    down = replace(row, lower=-60.0, upper=-40.0)
    assert _bar(down, Scale(-100, 100)) == " " * 2 + SHADE + SOLID * 2 + ZERO


def test_every_part_of_a_bar_has_its_colour(estimates: Estimates) -> None:
    """A terminal colours runs of any length, and tells what is certain from the interval."""
    row = replace(next(iter(estimates)), lower=40.0, upper=60.0, count=50.0, truth=90.0)
    spans = bar_spans(row, Scale(0, 100), 10)
    assert [span.part for span in spans] == ["solid", "shade", "", "tick"]
    assert [len(span.text) for span in spans] == [4, 2, 3, 1]


def test_scales_have_room_for_everything(estimates: Estimates) -> None:
    """Zero, the limit, all bars and intervals lie between left and right; empty ones have width."""
    rows = estimates.rows()
    scale = Scale.over(rows, 5.0)
    assert scale.left <= 0 < scale.right
    assert scale.left <= min(row.lower for row in rows)
    assert scale.right >= max(row.upper for row in rows)
    assert Scale.over((), None) == Scale(0.0, 1.0)
    both = Scale.over(rows, signed=True)
    assert both.left == -both.right
    assert scale.places(scale.left, scale.right, 1e9) == [0, 1, 1]


def _doubtful(size: int, count: float) -> Estimates:
    """Return estimates of which the first is ``count`` standard errors large, the others 0."""
    counts = np.array([count, *[0.0] * (size - 1)])
    return Estimates(counts, np.ones(size), 100, 1.0, tuple(f"answer {i}" for i in range(size)))


@pytest.mark.parametrize(
    ("found", "level", "said"),
    [
        (_doubtful(20, 2.5), 0.95, "an interval that leaves out 0 need not be significant: it is "
         "about one answer by itself, significance about all 20 at once"),
        (_doubtful(20, -2.5), 0.95, "an interval that leaves out 0 need not be significant"),
        (_doubtful(2, 2.5), 0.9999, "a significant answer can have 0 in its interval: the interval "
         "leaves 0.005 % on either side, significance 5 % over all answers"),
    ],
)  # fmt: skip
def test_an_interval_and_a_verdict_that_seem_to_disagree_are_explained(
    found: Estimates, level: float, said: str
) -> None:
    """The sentence stands in text, page and figure, wherever such a row is shown."""
    assert said in " ".join(found.table(level=level).split())
    assert said in found.to_html(level=level)
    title = found.plot(level=level).legends[0].get_title().get_text()
    assert said in title.replace("\n", " ")


@pytest.mark.parametrize("count", [9.0, 1.0])
def test_where_nothing_seems_to_disagree_nothing_is_explained(count: float) -> None:
    """A large count and a small one are as one expects."""
    found = _doubtful(20, count)
    for text in (found.table(), found.to_html()):
        assert "leaves out 0" not in text
        assert "0 in its interval" not in text


def test_comparisons_explain_the_same() -> None:
    """A change whose interval leaves out 0 without being significant has its sentence."""
    question = Question("fruit", tuple("abcdefghijklmnopqrst"), DE(3.0, 20))
    rng = np.random.default_rng(5)
    days = [
        question.estimate(question.tally(question.privatize(answers, rng)))
        for answers in (["a"] * 1000 + ["b"] * 9000, ["a"] * 1180 + ["b"] * 8820)
    ]
    found = compare(*days)
    doubtful = [row for row in found if row.lower > 0 and not row.significant]
    assert ("leaves out 0 need not be" in found.table(None)) == bool(doubtful)
    assert doubtful
