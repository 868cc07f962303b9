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


_COLOURS = (
    ("#fbfbfa", "#111317"),  # ground
    ("#ffffff", "#181b20"),  # card
    ("#1a1c1f", "#eceef1"),  # ink
    ("#5c6370", "#a3acb8"),  # muted
    ("#e4e6ea", "#2b3038"),  # line
    ("#7d8795", "#7a8594"),  # edge
    ("#0f5fc2", "#7db1ff"),  # accent
    ("#ffffff", "#0b1420"),  # on_accent
    ("#9cc0ee", "#2d5288"),  # bar
    ("#0f5fc2", "#8fbcff"),  # interval
    ("#cfe0f6", "#23406a"),  # band
    ("#87919f", "#7a8594"),  # weak
    ("#13703f", "#6fd39b"),  # up
    ("#a8321f", "#ff9b8a"),  # down
    ("#9a5b00", "#f0b35a"),  # warn
)
LIGHT, DARK = (Palette(*colours) for colours in zip(*_COLOURS, strict=True))
"""The colours on a light ground and on a dark one."""


def tokens(scope: str, *, dark: bool = True) -> str:
    """Return the style sheet that gives every colour its token, below a selector.

    Paper is white, so that what is printed has the light colours.
    """
    sheet = f"{scope} {{ {_declared(LIGHT)} }}\n"
    if dark:
        dark_screen = "screen and (prefers-color-scheme: dark)"
        sheet += f"@media {dark_screen} {{ {scope} {{ {_declared(DARK)} }} }}\n"
    return sheet


def _declared(palette: Palette) -> str:
    named = asdict(palette).items()
    return " ".join(f"--{name.replace('_', '-')}: {colour};" for name, colour in named)
