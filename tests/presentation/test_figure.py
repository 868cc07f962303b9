import io
import json
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from deniable import Code, Discovery, Estimates, Question, Text, compare
from deniable.presentation.figure import choose_fonts, metadata

HIEROGLYPH = "\U00013000"


def _estimates(*labels: str) -> Estimates:
    size = len(labels)
    return Estimates(np.arange(size, 0.0, -1), np.ones(size), 9, 1.0, labels)


@pytest.fixture
def only_dejavu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no font be installed but the one that comes with matplotlib."""
    fonts = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)


@pytest.mark.usefixtures("only_dejavu")
def test_what_no_font_has_is_spelled_and_said() -> None:
    """A figure with characters that cannot be drawn has escapes for them, and a warning."""
    with pytest.warns(UserWarning, match="no installed font has 1 of the characters"):
        figure = _estimates(f"a{HIEROGLYPH}", "b").plot()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == [r"a\U00013000", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png")


@pytest.mark.usefixtures("only_dejavu")
def test_emoji_without_a_font_are_named() -> None:
    """Emoji that belong together are one name in brackets, and different ones stay different."""
    labels = ["👩\u200d👩\u200d👧 famille", "🇫🇷 France", "👍🏽 ok", "👍🏿 ok", "☕"]
    with pytest.warns(UserWarning, match="names or escapes"):
        drawn, _ = choose_fonts(labels)
    assert drawn == [
        "[woman, woman, girl] famille", "[fr] France", "[thumbs up sign, skin type-4] ok",
        "[thumbs up sign, skin type-6] ok", "☕",
    ]  # fmt: skip


def test_a_font_that_has_the_characters_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any installed font is looked through, in the order of preference, and named beside the first.

    The font that has what the first one lacks is a stand-in here: the real ones are large.
    """

    class _Font:
        def __init__(self, characters: str) -> None:
            self.characters = characters

        def get_charmap(self) -> dict[int, int]:
            return {ord(c): 1 for c in self.characters}

    fonts = {"DejaVu Sans": "ab ", "Wide": "日本", "Noto Color Emoji": "🥝", "Noto Emoji": "🥝"}
    listed = [font_manager.FontEntry(fname=name, name=name) for name in fonts]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", listed)
    monkeypatch.setattr(font_manager, "get_font", lambda name: _Font(fonts[name]))
    assert choose_fonts(["a b", "日本 🥝"]) == (
        ["a b", "日本 🥝"],
        ["DejaVu Sans", "Noto Emoji", "Wide"],
    )
    assert choose_fonts(["ab"]) == (["ab"], ["DejaVu Sans"])


@pytest.mark.usefixtures("only_dejavu")
def test_a_broken_font_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that cannot be read does not keep a figure from being drawn."""
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    broken = font_manager.FontEntry(fname=str(tmp_path / "broken.ttf"), name="Noto Sans CJK SC")
    monkeypatch.setattr(
        font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist, broken]
    )
    with pytest.warns(UserWarning, match="no installed font"):
        choose_fonts([HIEROGLYPH])


def _png_texts(data: bytes) -> dict[str, str]:
    """Return the texts in a PNG, by their keys."""
    found, place = {}, 8
    while place < len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        if kind == b"tEXt":
            key, _, text = body.partition(b"\0")
            found[key.decode("latin-1")] = text.decode("latin-1")
        if kind == b"iTXt":
            key, _, rest = body.partition(b"\0")
            text = rest[2:].split(b"\0", 2)[2]
            found[key.decode("latin-1")] = (zlib.decompress(text) if rest[0] else text).decode()
        place += 12 + size
    return found


def test_a_figure_of_discoveries_says_what_its_marks_are() -> None:
    """Sure texts have bars, likely ones a mark of their own, and the legend says so."""
    protocol = Discovery(4.0, bucket_bits=6, piece_bits=8, salt=f"{6:016x}")
    question = Question("words", Text(discover=Code.preset("english")), protocol)
    given = {"hello": 6000, "coffee": 3000, "busy": 1200, "tea": 400, "milk": 250, "mate": 250}
    people = [text for text, count in given.items() for _ in range(count)]
    reports = question.privatize(people, np.random.default_rng(6))
    found = question.discover(question.tally(reports))
    sure, likely = len(found.sure), len(found) - len(found.sure)
    assert min(sure, likely) > 0
    figure = found.plot()
    (marks,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert np.asarray(marks.get_ydata()).tolist() == list(range(sure, sure + likely))
    assert np.asarray(marks.get_xdata()) == pytest.approx(
        [row.count for row in found if not row.sure]
    )
    assert len(figure.axes[0].patches) == sure
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {
        "count from check reports", "95 % interval",
        "count of a likely text, which may be nobody's",
    }  # fmt: skip
    alone = found.take(np.arange(sure)).plot()
    assert [text.get_text() for text in alone.legends[0].get_texts()] == [
        "count from check reports", "95 % interval",
    ]  # fmt: skip


def test_figures_carry_their_provenance(question: Question, estimates: Estimates) -> None:
    """The words below name protocol and question, and the file says both in full."""
    figure = estimates.plot()
    caption = figure.legends[0].get_title().get_text().splitlines()
    assert caption[0] == "pages: 25 of 30 answers, estimated from 20,000 reports"
    assert question.digest[:16] in caption[1]
    for kind in ("png", "svg", "pdf"):
        sink = io.BytesIO()
        figure.savefig(sink, format=kind, metadata=metadata(estimates.view(), kind))
        if kind == "png":
            said = json.loads(_png_texts(sink.getvalue())["deniable.provenance"])
            assert said == estimates.constants()
        if kind == "svg":
            assert question.digest in sink.getvalue().decode()


def test_a_figure_begins_with_what_it_says(estimates: Estimates) -> None:
    """The title is the first sentence of the verdict, and the axis has shares in percent."""
    figure = estimates.plot()
    assert " ".join(figure.get_suptitle().split()) == " ".join(
        str(estimates.verdict().headline).split()
    )
    figure.savefig(io.BytesIO(), format="png")
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert len(figure.axes) == 1
    assert all(text == "0" or text.endswith(" %") for text in ticks)


@pytest.mark.filterwarnings("ignore:no installed font")
def test_names_from_right_to_left_turn_no_sentence_around() -> None:
    """Such names are isolated from each other, and the lines around them run as English does."""
    figure = _estimates("שלום", "תודה", "plain").plot()
    assert (
        figure.get_suptitle()
        == "\u200e\u2068שלום\u2069, \u2068תודה\u2069 and plain are too close to call."
    )
    assert "\u2068" not in _estimates("a", "b").plot().get_suptitle()
    asked = Question("שלום", ("a", "b"), epsilon=1.0)
    named = asked.estimate(asked.tally(asked.privatize(["a", "b"])))
    assert named.plot().legends[0].get_title().get_text().startswith("\u200e\u2068שלום\u2069: ")


def test_rows_are_drawn_on_axes_of_the_callers(estimates: Estimates) -> None:
    """Given axes, the figure is theirs, and gets no title and no legend."""
    mine = Figure()
    first, second = mine.subplots(1, 2)
    assert estimates.plot(ax=first) is mine
    assert first.patches
    assert not second.patches
    assert first.get_title(loc="left").startswith("pages")
    assert (mine.get_suptitle(), mine.legends) == ("", [])


def test_true_changes_are_drawn_beside_the_estimated_ones() -> None:
    """The true change of each answer of a comparison stands on the row of that answer."""
    first, second = _estimates("a", "b", "c"), _estimates("c", "b", "a")
    figure = compare(first, second).plot(truth=[0.3, 0.2, 0.1], top=2)
    (marks,) = [line for line in figure.axes[0].lines if line.get_label() == "true change"]
    assert marks.get_xdata().tolist() == [0.3, 0.2]
    assert marks.get_ydata().tolist() == [0, 1]


def test_nothing_is_drawn_over_the_caption(estimates: Estimates) -> None:
    """Title, axes and legend stand above each other and within the figure."""
    figure = estimates.plot()
    figure.savefig(io.BytesIO(), format="png")
    (legend,), axes, title = figure.legends, figure.axes[0], figure._suptitle  # type: ignore[attr-defined]
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    box = title.get_window_extent()
    assert axes.get_window_extent().y1 <= box.y0
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
