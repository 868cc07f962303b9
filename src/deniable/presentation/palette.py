"""The palette: every colour of pages, pictures and notebooks, light and dark, in one place.

Style sheets name a colour by its token, ``var(--accent)``; figures take it from ``LIGHT``. Text
stands out from what is behind it by 4.5 to 1 at least, and what carries meaning by 3 to 1. Bars
are fainter: the interval on them carries the meaning.
"""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Palette:
    """One colour for each purpose."""

    ground: str
    """Behind everything."""
    card: str
    ink: str
    muted: str
    """Text that is not read first."""
    line: str
    """Between things; carries no meaning."""
    edge: str
    """Around what can be filled in or pressed."""
    accent: str
    on_accent: str
    bar: str
    interval: str
    band: str
    weak: str
    """The interval of what is too rare to tell."""
    up: str
    down: str
    warn: str
    """What needs attention, and the mark of a truth that only a simulation knows."""


LIGHT = Palette(
    ground="#fbfbfa",
    card="#ffffff",
    ink="#1a1c1f",
    muted="#5c6370",
    line="#e4e6ea",
    edge="#7d8795",
    accent="#0f5fc2",
    on_accent="#ffffff",
    bar="#9cc0ee",
    interval="#0f5fc2",
    band="#cfe0f6",
    weak="#87919f",
    up="#13703f",
    down="#a8321f",
    warn="#9a5b00",
)
DARK = Palette(
    ground="#111317",
    card="#181b20",
    ink="#eceef1",
    muted="#a3acb8",
    line="#2b3038",
    edge="#7a8594",
    accent="#7db1ff",
    on_accent="#0b1420",
    bar="#2d5288",
    interval="#8fbcff",
    band="#23406a",
    weak="#7a8594",
    up="#6fd39b",
    down="#ff9b8a",
    warn="#f0b35a",
)


def tokens(scope: str, *, dark: bool = True) -> str:
    """Return the style sheet that gives every colour its token, below a selector."""
    sheet = f"{scope} {{ {_declared(LIGHT)} }}\n"
    if dark:
        sheet += f"@media (prefers-color-scheme: dark) {{ {scope} {{ {_declared(DARK)} }} }}\n"
    return sheet


def _declared(palette: Palette) -> str:
    named = asdict(palette).items()
    return " ".join(f"--{name.replace('_', '-')}: {colour};" for name, colour in named)
