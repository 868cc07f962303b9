"""What MkDocs does not know by itself: pages outside docs/, the palette, and links into the source.

A hook of mkdocs.yml. README files, CONTRIBUTING and the like become pages of the site under their
own paths. Links to other files of the repository are set as code, since the site does not hold
them; a link to a file that does not exist stays as it is, and fails the build.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # MkDocs is in an environment of its own
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
BESIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "clients/js/README.md",
    "examples/spark/README.md",
)
"""Pages that stand where GitHub looks for them."""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
_SCHEMES = {"default": "LIGHT", "slate": "DARK"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages beside docs/ and the colours."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - not in the environment of tests

    for path in BESIDE:
        files.append(File.generated(config, path, content=(ROOT / path).read_text("utf-8")))
    files.append(File.generated(config, "assets/palette.css", content=palette_sheet()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links between pages point to where the pages are on the site."""
    del config
    here = page.file.src_uri
    source = here if here in BESIDE else f"docs/{here}"

    def moved(match: re.Match[str]) -> str:
        bang, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        if not target:
            return match[0]
        named = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        own = "index.md" if named == "README.md" else named.removeprefix("docs/")
        if files.get_file_from_path(own):
            link = posixpath.relpath(own, posixpath.dirname(here) or ".")
            return f"{bang}[{text}]({link}{'' if named == 'README.md' else anchor})"
        if (ROOT / named).exists():
            return f"{text} (`{named}`)"
        return match[0]

    return _LINK.sub(moved, markdown)


def palette_sheet() -> str:
    """Return the project's colours as those of the theme, light and dark."""
    path = ROOT / "src" / "deniable" / "presentation" / "palette.py"
    spec = importlib.util.spec_from_file_location("palette", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    palette = importlib.util.module_from_spec(spec)
    # Not by its package, which needs NumPy; dataclasses look their module up, though.
    import sys  # noqa: PLC0415

    sys.modules["palette"] = palette
    spec.loader.exec_module(palette)
    return "".join(
        f'[data-md-color-scheme="{scheme}"] {{\n{_declared(getattr(palette, name))}}}\n'
        for scheme, name in _SCHEMES.items()
    )


def _declared(colours: object) -> str:
    tokens = {
        "--md-primary-fg-color": "card",
        "--md-primary-fg-color--light": "card",
        "--md-primary-fg-color--dark": "card",
        "--md-primary-bg-color": "ink",
        "--md-primary-bg-color--light": "muted",
        "--md-accent-fg-color": "accent",
        "--md-typeset-a-color": "accent",
        "--md-default-bg-color": "ground",
        "--md-default-fg-color": "ink",
        "--md-default-fg-color--light": "muted",
        "--md-typeset-color": "ink",
        "--md-code-bg-color": "card",
        "--md-code-fg-color": "ink",
        "--md-footer-bg-color": "card",
        "--md-footer-bg-color--dark": "card",
        "--md-footer-fg-color": "ink",
        "--md-footer-fg-color--light": "muted",
        "--md-footer-fg-color--lighter": "muted",
        "--line": "line",
    }
    return "".join(f"  {token}: {getattr(colours, name)};\n" for token, name in tokens.items())
