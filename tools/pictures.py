"""The pictures of the README: a question in the dashboard, and the page on which it can be tried.

``python -m tools pictures`` starts the demonstration, opens it in Chromium, and writes
``docs/images/dashboard.png`` and ``try.png``, light and dark, and ``try.webp``, which rolls the
dice for six seconds, again and again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click
import numpy as np
from PIL import Image

from deniable.cli.demonstration import QUESTION
from deniable.cli.group import InputError, command

if TYPE_CHECKING:  # Playwright starts slowly
    from playwright.sync_api import Page

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
_SIZE = {"width": 1280, "height": 800}
_ANSWER, _SENT = "Tea", "“Cola” or “Lemonade”"
"""What is said, and what is sent, where the page does not move."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_DAYS, _LIFE = "section.part:has(.curves)", "#life > summary"
_MARGIN = 24
_SCHEMES: dict[Literal["light", "dark"], str] = {"light": "", "dark": "-dark"}
"""What ends the name of a picture."""
_LOOP = (1_000, 1_500, 1_500, 2_000)
"""For how many milliseconds the page is shown before an answer is chosen, and each of its rolls."""
_WITH = (False, True, False, True)
"""Whether what is sent includes the answer: a loop has to show both."""


class _Demo(NamedTuple):
    address: str
    store: str

    def link(self) -> str:
        where = ["--store", self.store, "--url", self.address]
        made = [sys.executable, "-m", "deniable", "token", "login", *where]
        return subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _demo() -> Iterator[_Demo]:
    """Run the demonstration until the pictures are taken."""
    serve = [sys.executable, "-m", "deniable", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            found = re.match(r"Collecting at (\S+) into (\S+)", first)
            if found is None:
                raise InputError(f"the demonstration did not start: {first!r}")
            yield _Demo(*found.groups())
        finally:
            process.terminate()


def _smaller(picture: Image.Image) -> Image.Image:
    """Keep the 256 most frequent colours exactly: a third of the size, and nobody sees it."""
    pixels = np.asarray(picture, dtype=np.int64)
    colours, where, counts = np.unique(
        pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    kept = colours[np.argsort(counts)[-256:]]
    nearest = ((colours[:, None] - kept) ** 2).sum(axis=2).argmin(axis=1)
    found = Image.fromarray(nearest[where].reshape(pixels.shape[:2]).astype(np.uint8))
    found.putpalette(kept.ravel().tolist())
    return found


def _height(page: Page, last: str) -> int:
    """Return where a part of the page ends."""
    where = "(last) => document.querySelector(last).getBoundingClientRect().bottom + scrollY"
    return round(float(page.evaluate(where, last))) + _MARGIN


def _take(page: Page, scheme: Literal["light", "dark"], height: int) -> Image.Image:
    """Take a picture of the top of a page."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(500)
    taken = page.screenshot(
        full_page=True, clip={"x": 0, "y": 0, "width": _SIZE["width"], "height": height}
    )
    return Image.open(BytesIO(taken)).convert("RGB")


def _keep(page: Page, name: str, last: str, folder: Path) -> None:
    """Keep a page down to its last part, light and dark."""
    height = _height(page, last)
    for scheme, end in _SCHEMES.items():
        path = folder / f"{name}{end}.png"
        _smaller(_take(page, scheme, height)).save(path, optimize=True)
        click.echo(f"{path.name}: {_SIZE['width']} x {height}")


def _rolls(page: Page, height: int) -> Iterator[dict[str, Image.Image]]:
    """Yield pictures of the page before an answer is chosen and of each roll, as _LOOP says."""
    page.reload()
    page.wait_for_selector("#try:not([hidden])")
    for k in range(len(_LOOP)):
        if k == 1:
            page.get_by_role("button", name=_ANSWER, exact=True).click()
        elif k:
            page.click("#again")
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement.blur()")
        if k and (_ANSWER in page.inner_text("#sent-words")) != _WITH[k]:
            return
        yield {end: _take(page, scheme, height) for scheme, end in _SCHEMES.items()}


def _loop(page: Page, last: str, folder: Path) -> None:
    """Keep a page down to its last part as a loop, light and dark."""
    for _ in _LOOP:
        page.click("#again")
    height, taken = _height(page, last), list[dict[str, Image.Image]]()
    while len(taken) < len(_LOOP):
        taken = list(_rolls(page, height))
    for end in _SCHEMES.values():
        first, *others = [_smaller(frames[end]) for frames in taken]
        path = folder / f"try{end}.webp"
        first.save(path, save_all=True, append_images=others, duration=_LOOP, loop=0, lossless=True)
        click.echo(f"{path.name}: {path.stat().st_size:,} bytes")


@command("python -m tools pictures")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), default=IMAGES,
              help="Where to write them.  [default: docs/images]")  # fmt: skip
def pictures(folder: Path) -> None:
    """Take the pictures of the README from the demonstration; needs Chromium."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - starts slowly

    folder.mkdir(parents=True, exist_ok=True)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with _demo() as demo, sync_playwright() as playwright:
        # Some run as root, where the sandbox does not start.
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=_SIZE)  # type: ignore[arg-type]
        page.goto(demo.link())
        page.click("main form button")
        page.goto(f"{demo.address}/questions/{QUESTION.digest}")
        _keep(page, "dashboard", _DAYS, folder)
        page.goto(f"{demo.address}/try/{QUESTION.digest}")
        page.wait_for_selector("#try:not([hidden])")
        while page.inner_text("#sent-words") != _SENT:
            page.get_by_role("button", name=_ANSWER, exact=True).click()
        page.mouse.move(0, 0)
        page.evaluate("document.activeElement.blur()")
        _keep(page, "try", _LIFE, folder)
        _loop(page, _LIFE, folder)
        chromium.close()
