"""What the pages say exists: commands, options, modules, files, links, anchors, and figures."""

import ast
import importlib
import json
import math
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
from benchmarks import page as benchmarks
from deniable.advice import plan, recommend
from deniable.cli import cli
from deniable.protocols import discover
from tests.faults import page as reliability
from tools.__main__ import tools

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PLANNED = "hadamard"
"""The example of CONTRIBUTING, which its reader writes."""

NAMES = {"deniable.audit", "deniable.db", "deniable.digest", "deniable.js", "deniable.provenance"}
"""Files, loggers and keys whose names look like modules."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def text_of(page: Path) -> str:
    """Return a page."""
    return page.read_text(encoding="utf-8")


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
    context = click.Context(command, info_name="deniable")
    return {name for option in command.get_params(context) for name in option.opts
            + option.secondary_opts if name.startswith("-")}  # fmt: skip


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


def cells(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table after some text."""
    after = text_of(ROOT / page)[text_of(ROOT / page).index(heading) :]
    rows = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


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
        assert not anchor or anchor in anchors(linked), f"no heading {target}"


@every_page
def test_every_page_begins_with_what_it_is_for(page: Path) -> None:
    """A title, and then a sentence."""
    title, _, rest = text_of(page).partition("\n\n")
    assert re.fullmatch(r"# [^\n]+", title)
    assert re.match(r"[*A-Z`]", rest), "begin with a sentence"
    assert len(re.findall(r"^# ", prose(page), re.MULTILINE)) == 1


def test_every_page_is_reached_from_the_readme() -> None:
    """No page of docs/ is an orphan."""
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)", text_of(ROOT / "README.md")))
    assert linked == {page.name for page in PAGES if page.parent.name == "docs"}


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


def made(name: str, epsilon: float, size: int) -> deniable.Protocol:
    """Return a protocol as pages name it, at an epsilon and a number of answers."""
    if name.startswith("THE"):
        return deniable.THE(epsilon, size, theta=1.0)
    return discover()[name](epsilon, size)


def test_variances_in_protocols_are_those_of_the_library() -> None:
    """The table of Var* / n is the library's, to two decimals."""
    for epsilon, *found in cells("docs/protocols.md", "## Variance"):
        names = ["SubsetSelection", "AffineSelection", "DE", "OLH", "OUE", "SUE", "SHE", "BLH"]
        protocols = [made(name, float(epsilon), 32) for name in names]
        assert found == [f"{protocol.variance(1):.2f}" for protocol in protocols]


def best(epsilon: float, size: int) -> str:
    """Return the name of the protocol that is recommended."""
    return recommend(epsilon, size).best.protocol.name


def test_protocols_that_are_chosen_are_those_of_the_library() -> None:
    """The table of protocols by epsilon and number of answers is what ``recommend`` puts first."""
    for epsilon, *found in cells("docs/protocols.md", "## Which protocol is chosen"):
        sizes = (2, 5, 12, 64, 1000, 41_270)
        assert found == [f"`{best(float(epsilon), size)}`" for size in sizes]
    for epsilon, size in ((1.0, 5), (2.0, 12)):
        assert (best(epsilon, size) == "DE") > (best(epsilon, size + 1) == "DE")


def test_sizes_in_protocols_are_those_of_the_library() -> None:
    """The table of bytes is the library's, at epsilon 1."""
    for name, *found in cells("docs/protocols.md", "## Size of a report"):
        expected = []
        for size in (12, 1000, 41_270):
            try:
                protocol = made(name.strip("`"), 1.0, size)
                expected.append(f"{protocol.report_bits // 8:,}")
            except deniable.DeniableError:
                expected.append("-")
        assert found == expected


def test_every_protocol_is_explained() -> None:
    """A protocol that users can choose stands in docs/protocols.md."""
    page = text_of(ROOT / "docs" / "protocols.md")
    assert [name for name in discover() if f"`{name}`" not in page] == []


def test_odds_in_choosing_follow_from_epsilon() -> None:
    """What a coin-flip suspicion becomes is e^epsilon / (1 + e^epsilon)."""
    page = text_of(ROOT / "docs" / "choosing.md")
    for epsilon in (1, 2, 4):
        share = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert re.search(rf"(?:At |at )?{epsilon}\D*?{100 * share:.0f} %", page)
    for epsilon, ratio, share in cells("docs/threat-model.md", "whatever the observer believed"):
        odds = math.exp(float(epsilon))
        assert (ratio, share) == (f"{odds:.1f}", f"{100 * odds / (1 + odds):.0f} %")


def test_what_repeated_reports_reveal_is_computed() -> None:
    """The figures of the threat model about answering again follow from p and q."""
    page = " ".join(text_of(ROOT / "docs" / "threat-model.md").split())
    p = deniable.DE(1.0, 10).parameters.p
    assert f"the true one for {100 * p:.0f} % of people after one report" in page
    # Two permanent responses at f = 1/2: of 16 bits 14 are held by neither value.
    equal = (2 * 0.75 * 0.25) ** 2 * (0.75**2 + 0.25**2) ** 14
    assert f"equal with probability {equal:.4f} for 16 answers" in page
    assert f"a ratio of {1 / equal:,.0f}, where" in page


def test_settings_and_sizes_in_protocols_are_those_of_the_library() -> None:
    """RAPPOR's epsilon, its defaults, and the bytes of open questions."""
    page = " ".join(text_of(ROOT / "docs" / "protocols.md").split())
    rappor = deniable.RAPPOR(f=0.5)
    assert f"two hashes at f = 1/2 have epsilon {rappor.epsilon:.2f}" in page
    for name in ("bits", "hashes", "cohorts"):
        assert f"- `{name}` ({getattr(rappor, name)}) " in page
    sizes = [deniable.OpenLH(epsilon).report_bits // 8 for epsilon in (1.0, 5.5, 5.6, 12.0)]
    assert sizes == [25, 25, 26, 28]
    assert "`OpenLH` has 25 bytes, above epsilon 5.5 up to 28" in page


def test_errors_in_choosing_are_those_of_the_plan() -> None:
    """The three errors of the example are what ``plan`` computes."""
    found = plan(domain_size=8, users=20_000, error=0.01)
    rare, typical, largest = (
        f"{100 * error:.2f} %" for error in (found.rare_error, found.error, found.largest_error)
    )
    page = text_of(ROOT / "docs" / "choosing.md")
    assert f"they are {rare}, {typical} and {largest}" in page


def test_the_people_in_optimality_are_those_of_the_plans() -> None:
    """How many people the better protocol needs, and that of the paper's guideline."""
    found = plan(domain_size=12, epsilon=1.0, error=0.01)
    guideline = re.search(r"would need ([\d,]+) people", str(found))[1]
    expected = f"| {found.users:,} instead of {guideline};"
    assert expected in text_of(ROOT / "docs" / "optimality.md")


def test_pages_of_measurements_show_what_is_saved() -> None:
    """Both pages are what their programs write from the figures in the repository."""
    faults = json.loads((ROOT / "tests" / "faults" / "results.json").read_text(encoding="utf-8"))
    assert text_of(ROOT / "docs" / "reliability.md") == reliability.render(faults)
    saved = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in saved}
    assert text_of(ROOT / "docs" / "benchmarks.md") == benchmarks.render(results)


def test_the_speed_in_the_readme_is_the_measured_one() -> None:
    """Eight million reports decode in about a tenth of a second, by the saved benchmark."""
    saved = json.loads((ROOT / "benchmarks" / "results" / "table.json").read_text(encoding="utf-8"))
    rows = [row for row in saved["ratios"] if row["work"] == "OLH tally + decode"]
    slowest = saved["sizes"]["kosarak_reports"] * max(row["seconds"] for row in rows)
    assert 0.05 < slowest < 0.15
    readme = " ".join(text_of(ROOT / "README.md").split())
    assert "Eight million reports over 41,270 answers decode in about a tenth of a second" in readme


def test_the_size_of_the_browser_client_is_the_recorded_one() -> None:
    """README and the client's own page round the gzipped bytes that the build records."""
    size = json.loads((ROOT / "clients" / "js" / "size.json").read_text())["gzip"]
    for page in ("README.md", "clients/js/README.md"):
        assert f"{size / 1000:.1f} kB" in text_of(ROOT / page)
