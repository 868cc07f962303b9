import re
from pathlib import Path

import pytest

import deniable
from deniable.presentation.palette import DARK, LIGHT, Palette, tokens

SOURCE = Path(deniable.__file__).parent


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the ratio of WCAG 2 between two colours."""
    dim, bright = sorted(map(_luminance, (one, other)))
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out(palette: Palette) -> None:
    """Text has a contrast of at least 4.5 on page and card, and marks one of at least 3."""
    for behind in (palette.ground, palette.card):
        for name in ("ink", "muted", "accent", "up", "down", "warn"):
            assert contrast(getattr(palette, name), behind) >= 4.5, name
        for name in ("edge", "interval", "weak"):
            assert contrast(getattr(palette, name), behind) >= 3, name
    assert contrast(palette.on_accent, palette.accent) >= 4.5
    assert contrast(palette.accent, palette.band) >= 3
    assert contrast(palette.interval, palette.bar) >= 3


def test_colours_stand_nowhere_else() -> None:
    """No style sheet, script or figure of the package has a colour of its own."""
    files = [*SOURCE.rglob("*.css"), *(SOURCE / "presentation").glob("*.py")]
    scripts = SOURCE / "collector" / "pages" / "static"
    files += [path for path in scripts.glob("*.js") if path.name not in ("deniable.js", "try.js")]
    assert len(files) > 10
    found = {
        path.name: re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[\s;\"',)])", path.read_text("utf-8"))
        for path in files
        if path.name != "palette.py"
    }
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_tokens_are_scoped() -> None:
    """The sheet names each colour once below its selector, and once more for the dark."""
    assert tokens(".deniable").count("--accent:") == 2
    assert tokens(".deniable", dark=False).count("--accent:") == 1
