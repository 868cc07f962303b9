"""The pages of the documentation, as tests read them."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def text_of(page: Path) -> str:
    """Return a page."""
    return page.read_text(encoding="utf-8")


def cells(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table after some text."""
    after = text_of(ROOT / page)[text_of(ROOT / page).index(heading) :]
    rows = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
