"""What pages tell a reader to type works, block by block, in an empty folder."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import deniable
from tests.marks import shortened
from tests.test_docs import PAGES, fences

ROOT = Path(__file__).resolve().parents[1]
SERVED = "127.0.0.1:8000"
ADDRESS = "https://counts.example.org"
FILES = {
    "docs/answers.md": {
        "set-up.toml": dict(fences(ROOT / "docs/answers.md"))["toml"],
        "people.csv": "country,plan,age\n" + "DE,pro,41\nFR,free,23\n" * 500,
        "work.csv": "hours\n" + "38\n41\n" * 500,
    },
    "docs/audit.md": {
        "fruit.json": deniable.Question("fruit", ("kiwi", "fig"), epsilon=1.0).to_json(),
        "mypackage/noise.py": "from deniable import DE\n\n\nclass Noise(DE):\n    pass\n",
    },
    "docs/discovery.md": {
        "words.txt": "hello\nworld\nbanana\n",
        "answers.txt": "kiwi\n" * 9000 + "papaya\n" * 6000,
        "signatures.txt": "".join(f"TypeError: x at app.js:{i}\n" for i in range(300)),
    },
    "docs/rounds.md": {"people.csv": "crashed,os,arm\n" + "yes,linux,A\nno,beos,B\n" * 1000},
    "docs/sets.md": {
        "tools.txt": "git\nvim\ntmux\nfzf\nmake\n",
        "people.csv": "tools\n" + "git;vim\ngit\n" * 500,
    },
}
"""What readers of a page have already: files of their own."""
ELSEWHERE = {
    "CONTRIBUTING.md": "tests/test_contributing.py",
    "docs/api.md": "src/deniable",
    "docs/client.md": "tests/collector/test_product.py",
    "docs/collector.md": "tests/collector/test_commands.py",
    "docs/scale.md": "tests/spark/test_page.py",
}
"""Pages whose code needs something special, and what tests it."""
BROWSER = {"docs/answers.md", "clients/js/README.md"}
"""Pages with HTML or JavaScript, all of which tests/browser/test_examples.py runs."""
NOT_RUN = {"", "sh", "text", "toml"}
"""Languages of blocks that are not typed: files, output, and other programs' commands."""


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return [block for name, block in fences(ROOT / page) if name == language]


def lines_of(block: str) -> list[str]:
    """Return what stands after each dollar sign, continued lines as one."""
    joined = block.replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


class Reader:
    """Somebody who types a page, block by block, in one folder and with one collector."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, object] = {"__name__": "page"}
        self.variables = ""
        self.served: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def read(self) -> None:
        for name, content in FILES.get(self.page, {}).items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(content, encoding="utf-8")
        for language, block in fences(ROOT / self.page):
            if language == "python":
                text = block.replace(SERVED, self.address)
                text = text.replace(ADDRESS, f"http://{self.address}")
                exec(compile(text, self.page, "exec"), self.names)
            elif language == "console":
                for line in lines_of(block):
                    self.type(line)

    def type(self, line: str) -> None:
        if line.startswith("deniable serve"):
            self.serve(shlex.split(line)[1:])
            return
        said = self.run(line)
        assert said.returncode == 0, f"{self.page}: {line}\n{said.stdout}{said.stderr}"

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run one line as a shell of 100 columns would, with this interpreter's deniable."""
        ours = f'deniable() {{ {shlex.quote(sys.executable)} -m deniable.cli "$@"; }}'
        kept = re.match(r"([A-Z]+)=", line)
        after = f'\ndeclare -p {kept[1]} >> "$KEPT"' if kept else ""
        script = f'{ours}\ntouch "$KEPT"; . "$KEPT"; set -e\n{line}{after}\n'
        return subprocess.run(
            ["bash", "-c", script.replace(SERVED, self.address)],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "100", "KEPT": str(self.folder / ".variables")},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def serve(self, words: list[str]) -> None:
        """Start the collector, and wait until it takes reports."""
        port = self.address.partition(":")[2]
        command = [sys.executable, "-m", "deniable.cli", *words, "--port", port]
        with (self.folder / "serve.log").open("wb") as log:
            self.served.append(
                subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)
            )
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert self.served[-1].poll() is None, (self.folder / "serve.log").read_text()
                time.sleep(0.1)
        raise AssertionError("the collector does not start")

    def leave(self) -> None:
        for process in self.served:
            process.terminate()
            process.wait()


RUN = [
    name
    for page in PAGES
    if (name := str(page.relative_to(ROOT))) not in ELSEWHERE
    and any(language in ("console", "python") for language, _ in fences(page))
]


@pytest.mark.parametrize("page", shortened(RUN, "a process for each command"))
def test_what_the_page_tells_to_type_works(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands and Python succeed in order, in one empty folder."""
    monkeypatch.chdir(tmp_path)
    reader = Reader(page, tmp_path)
    try:
        reader.read()
    finally:
        reader.leave()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_is_nothing_to_type(page: Path) -> None:
    """A command of ours never hides in a block that nobody runs."""
    for language, block in fences(page):
        if language in ("html", "js"):
            assert str(page.relative_to(ROOT)) in BROWSER
            continue
        assert language in {"console", "pycon", "python", *NOT_RUN}, language
        if language == "console":
            assert lines_of(block), "a console block has a line with a dollar sign"
        elif language in ("", "sh") and page.name not in ("cli.md", "CONTRIBUTING.md"):
            assert not re.search(r"^(\$ )?deniable ", block, re.MULTILINE), block


def test_what_runs_other_pages_is_there() -> None:
    """Pages with tests of their own are named beside them."""
    assert all(
        (ROOT / page).exists() and (ROOT / test).exists() for page, test in ELSEWHERE.items()
    )


def test_a_line_that_fails_is_noticed(tmp_path: Path) -> None:
    """The check has power."""
    with pytest.raises(AssertionError, match="no-such-option"):
        Reader("README.md", tmp_path).type("deniable plan --no-such-option")


def test_the_python_of_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """The example ends with the table of estimates that stands below it, but for the version."""
    (example,), (table,) = blocks("README.md", "python"), blocks("README.md", "text")
    exec(compile(example, "README.md", "exec"), {})
    version = re.compile(r"deniable \d+\.\d+\.\d+\S*")
    assert version.sub("", capsys.readouterr().out) == version.sub("", table)


def test_the_python_of_the_quick_start_works(tmp_path: Path) -> None:
    """A device reads its question and makes a report, whatever the encoding of its locale."""
    labels = ("Firefox", "Vašek's own")
    question = deniable.Question("browser", labels, protocol=deniable.DE(1.0, 2))
    (tmp_path / "browser.json").write_text(question.to_json(), encoding="utf-8")
    device, server, analyst = blocks("docs/quick-start.md", "python")
    checked = (
        f"{device}\nassert len(report) == 1\n{server}\nassert tally.n == 1\n"
        f"tally.to_bytes('tally.bin')\n{analyst}\nassert estimates.n == 1\n"
    )
    # Python itself cannot read a path beyond ASCII from the file that names ours in such a locale.
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-S", "-X", "utf8=0", "-c", checked],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_opens_with_the_two_commands() -> None:
    """Whoever reads ten lines knows how to run it."""
    opening = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:10])
    assert "make demo" in opening
    assert "make test" in opening
