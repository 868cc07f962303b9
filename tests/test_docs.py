"""What the pages name exists: commands, options, modules, files, extras, links and anchors."""

import ast
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import deniable
from deniable.cli import cli
from tests.pages import ROOT, cells, text_of
from tools.__main__ import tools

DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PLANNED = "hadamard"
"""The example of CONTRIBUTING, which its reader writes."""

NAMES = {"deniable.audit", "deniable.db", "deniable.digest", "deniable.js", "deniable.provenance"}
"""Files, loggers and keys whose names look like modules."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def fences(page: Path) -> list[tuple[str, str]]:
    """Return the code blocks of a page with their languages."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE)


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def spans(page: Path) -> list[str]:
    """Return what is set as code inside the prose, line breaks as spaces."""
    found = re.findall(r"`([^`]+)`", prose(page).replace("``", ""))
    return [" ".join(span.split()) for span in found]


def commands(page: Path) -> Iterator[str]:
    """Yield what looks like a command: in the prose, and line by line in blocks for a shell."""
    yield from spans(page)
    yield from re.findall(r"^    (\S.*)$", prose(page), re.MULTILINE)
    for language, block in fences(page):
        if language in ("", "console", "sh"):
            joined = block.replace("\\\n", " ")
            yield from (line.removeprefix("$ ") for line in joined.splitlines())


def words_of(command: str, start: str) -> list[list[str]]:
    """Return the words of each call of one program inside a line, up to a pipe or the like."""
    found = []
    before = r"(?:^|[|;(] ?)(?:\.venv[\w-]*/bin/)?"
    for match in re.finditer(rf"{before}{start} ([^|;)#>]*)", command):
        try:
            found.append(shlex.split(match[1]))
        except ValueError:  # an apostrophe of the prose
            found.append(match[1].split())
    return found


def options_of(command: click.Command) -> set[str]:
    """Return the options of a command."""
    # Not by get_params, which keeps the names of --help that its context has.
    names = [name for option in command.params for name in option.opts + option.secondary_opts]
    return {"-h", "--help", *(name for name in names if name.startswith("-"))}


def check_call(group: click.Command, words: list[str], said: str) -> None:
    """Follow words through the groups to a command, and find all its options."""
    command, rest = group, list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found is not None, f"{said}: no such command"
        command = found
    known = options_of(command)
    for word in rest:
        if re.match(r"--?[a-z]", word):
            assert word.split("=")[0] in known, f"{said}: no option {word}"


@cache
def all_options() -> set[str]:
    """Return the options of all commands, ours and the authors'."""
    found, waiting = set(), [cli, tools]
    while waiting:
        command = waiting.pop()
        found |= options_of(command)
        if isinstance(command, click.Group):
            context = click.Context(command)
            waiting += [
                command.get_command(context, name) for name in command.list_commands(context)
            ]
    return found


@every_page
def test_every_command_exists_with_its_options(page: Path) -> None:
    """``deniable`` and ``python -m tools`` are followed to the command, option by option."""
    for line in commands(page):
        for words in words_of(line, "deniable"):
            check_call(cli, words, line)
        for words in words_of(line, "python -m tools"):
            check_call(tools, words, line)


@pytest.mark.parametrize(
    "wrong", ["plan --nonsense 3", "question destroy", "nothing", "store backup --trust-clock x"]
)
def test_a_command_that_is_not_there_is_noticed(wrong: str) -> None:
    """The check has power."""
    (words,) = words_of(f"$(deniable {wrong})", "deniable")
    with pytest.raises(AssertionError, match=r"no such command|no option"):
        check_call(cli, words, wrong)


@every_page
def test_every_option_in_the_prose_is_one_of_a_command(page: Path) -> None:
    """An option that stands alone belongs to some command, or to a module that is run."""
    for span in spans(page):
        option = re.match(r"--[a-z][a-z-]*", span)
        if option and option[0] not in all_options():
            sources = (*ROOT.glob("benchmarks/*.py"), *ROOT.glob("examples/*/*.py"))
            said = any(f'"{option[0]}"' in text_of(source) for source in sources)
            assert said, f"no command has {option[0]}"


@every_page
def test_every_module_that_is_run_exists(page: Path) -> None:
    """``python -m NAME`` names a module, whose source has the options that are given."""
    for line in commands(page):
        for name, *words in words_of(line, "python -m"):
            found = find_spec(name)
            assert found is not None, f"{line}: no module {name}"
            if name.split(".")[0] in ("benchmarks", "tests"):
                origin = Path(found.origin)
                source = text_of(
                    origin if origin.stem != "__init__" else origin.parent / "__main__.py"
                )
                for word in words:
                    if word.startswith("--"):
                        assert f'"{word.split("=")[0]}"' in source, f"{line}: no option {word}"


@every_page
def test_every_target_of_make_and_script_of_npm_exists(page: Path) -> None:
    """``make NAME`` and ``npm run NAME`` are in the Makefile and in package.json."""
    targets = set(re.findall(r"^(?:\.PHONY: )?([a-z-]+):", MAKEFILE, re.MULTILINE))
    package = json.loads((ROOT / "clients" / "js" / "package.json").read_text())
    for line in commands(page):
        for name, *_ in words_of(line, "make"):
            assert name in targets or "/" in name or "=" in name, f"{line}: no target {name}"
        for name, *_ in words_of(line, "npm run"):
            assert name in package["scripts"], f"{line}: no script {name}"


def resolves(name: str) -> bool:
    """Tell whether a dotted name is a module or an attribute of one, where it can be imported."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except (ImportError, deniable.DeniableError) as error:
            if (getattr(error, "name", None) or "").startswith("deniable"):
                continue
            return True  # an extra is not installed
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@every_page
def test_every_dotted_name_is_there(page: Path) -> None:
    """A module, class or function that is named with its package can be imported."""
    for span in spans(page):
        match = re.match(r"(deniable(?:\.[A-Za-z_]\w*)+)(?:\(|$)", span)
        if match and match[1] not in NAMES and PLANNED not in match[1].lower():
            assert resolves(match[1]), f"{match[1]} is not there"


@every_page
def test_every_file_of_the_project_is_there(page: Path) -> None:
    """Paths below the folders of the project exist."""
    folders = r"(?:src|tests|tools|docs|benchmarks|vectors|clients|examples|requirements)"
    for span in spans(page):
        for path in re.findall(rf"^{folders}/[\w./-]+", span):
            written = path == "vectors/NAME.json" or PLANNED in path.lower()
            found = [(folder / path).exists() for folder in (ROOT, page.parent)]
            assert written or any(found), f"{path} is not there"


@every_page
def test_every_extra_exists(page: Path) -> None:
    """What pip is told to install with the package is an extra of it."""
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    for names in re.findall(r"(?:deniable|\.)\[([a-z,]+)\]", text_of(page)):
        assert set(names.split(",")) <= extras.keys(), names
    if page.name == "README.md" and page.parent == ROOT:
        listed = re.findall(r"`(\w+)`", "".join(row[0] for row in cells("README.md", "| extra |")))
        assert set(listed) == extras.keys()


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_picture_of_the_layers_is_that_of_the_contract() -> None:
    """CONTRIBUTING lists modules in the order in which pyproject.toml has them."""
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    contract = [set(re.findall(r"\w+", layer)) for layer in layers]
    block = text_of(ROOT / "CONTRIBUTING.md").partition("**Layers.**")[2].split("\n\n")[1]
    drawn = [set(re.findall(r"\w+", line[4:].partition("  ")[0])) for line in block.splitlines()]
    assert len(drawn) == len(contract)
    for line, layer in zip(drawn, contract, strict=True):
        assert line <= layer


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    """Relative links name files that exist, and their anchors headings of these."""
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"no file {target}"
        if anchor and linked.suffix == ".md":  # the theme knows pictures by theirs
            assert anchor in anchors(linked), f"no heading {target}"


@every_page
def test_every_page_begins_with_what_it_is_for(page: Path) -> None:
    """A title, and then a sentence."""
    title, _, rest = text_of(page).partition("\n\n")
    assert re.fullmatch(r"# [^\n]+", title)
    assert re.match(r"[*A-Z`]", rest), "begin with a sentence"
    assert len(re.findall(r"^# ", prose(page), re.MULTILINE)) == 1


def test_every_page_is_reached_from_the_readme() -> None:
    """No page of docs/ is an orphan."""
    linked = set(re.findall(r"\]\((docs/[\w/-]+\.md)", text_of(ROOT / "README.md")))
    assert linked == {str(page.relative_to(ROOT)) for page in PAGES if DOCS in page.parents}


def test_every_page_is_on_the_site_and_in_its_index() -> None:
    """The navigation of the site and docs/index.md name all pages of docs/."""
    pages = {str(page.relative_to(DOCS)) for page in PAGES if DOCS in page.parents}
    named = re.findall(r"[:-] ([\w/-]+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE)
    assert pages <= set(named)
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", text_of(DOCS / "index.md")))
    assert pages - linked == {"index.md"}


@every_page
def test_python_in_pages_is_python_with_names_that_exist(page: Path) -> None:
    """Every block compiles, and what it takes from deniable is there."""
    imported = {"deniable": "deniable"}
    for language, block in fences(page):
        for node in ast.walk(ast.parse(block if language == "python" else "")):
            names = []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("deniable"):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                imported |= {name.rpartition(".")[2]: name for name in names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = imported.get(node.value.id)
                names = [f"{owner}.{node.attr}"] if owner else []
            for name in names:
                assert PLANNED in name.lower() or resolves(name), f"{name} is not there"
