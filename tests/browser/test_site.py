"""The documentation site: complete, searchable, and without a request to another host."""

import os
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *said: object) -> None:
        del said


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as make docs does: a warning is an error."""
    if not MKDOCS.exists():
        pytest.skip("needs .venv-docs, as make docs makes it")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_no_page_asks_another_host(site: Path, address: str, context) -> None:
    """Every page is rendered; all requests go to the site itself, succeed, and no script fails."""
    asked, failed = set[str](), list[str]()
    page = context.new_page()
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    page.on("response", lambda got: failed.append(got.url) if got.status >= 400 else None)
    page.on("pageerror", lambda error: failed.append(str(error)))
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert len(pages) > 35
    for name in pages:
        page.goto(f"{address}/{name}", wait_until="load")
        assert page.locator("h1").count() >= 1, name
    assert asked == {urlsplit(address).netloc}
    assert failed == []


def test_the_search_finds_a_page(address: str, context) -> None:
    """What is typed is found in the index of the site."""
    page = context.new_page()
    page.goto(f"{address}/index.html")
    page.locator(".md-search__input").click()
    page.keyboard.type("epsilon")
    found = page.locator(".md-search-result__link").first
    found.wait_for()
    found.click()
    page.wait_for_load_state()
    assert "epsilon" in page.locator("article").inner_text().lower()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_landing_page_fits(address: str, browser, width: int, scheme: str) -> None:
    """Nothing is wider than the window, and the picture is that of the colours."""
    found = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = found.new_page()
    page.goto(f"{address}/index.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.locator("article img:visible").evaluate_all("all => all.map(one => one.src)")
    assert len(shown) == 1
    assert ("dark" in shown[0]) == (scheme == "dark")
    kept = os.environ.get("SITE_PICTURES")
    if kept:
        page.screenshot(path=f"{kept}/{scheme}-{width}.png")
    found.close()
