"""What is pasted into pages of other sites: a form that cannot leak, and a client that stays."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from hashlib import sha256, sha384
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from deniable.answers import Answers
from deniable.collector.pages import qr
from deniable.collector.pages.embed import unknown
from deniable.protocols.direct import DE
from deniable.protocols.hashing import OLH, OpenLH
from deniable.protocols.histogram import SHE
from deniable.question import Question
from deniable.rota import Repeat
from tests.collector.conftest import Collector, today
from tests.collector.test_pages import get

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "deniable" / "collector" / "pages" / "static"


def test_the_snippet_names_the_question_and_the_hash_of_the_client(collector: Collector) -> None:
    """What is pasted carries the digest and an integrity that the client at its address has."""
    question = collector.ask()
    text = unescape(get(collector, f"/questions/{question.digest}/collect"))
    (path,) = re.findall('src="[^"]*(/client/[^"]+)"', text)
    served = collector.request("GET", path)
    assert served.headers["access-control-allow-origin"] == "*"
    assert served.headers["content-type"].startswith("text/javascript")
    assert "immutable" in served.headers["cache-control"]
    hash = base64.b64encode(sha384(served.body).digest()).decode()
    assert f'integrity="sha384-{hash}"' in text
    assert f'data-question="{question.digest}"' in text
    assert collector.request("GET", "/client/000000000000/deniable.js").status == 404
    other = collector.ask(SHE(1.0, 3))
    assert "does not know SHE" in get(collector, f"/questions/{other.digest}/collect")


class Form(HTMLParser):
    """The tags of what is pasted, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all tags of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("labels", [("a", "b", 'quoted " & <c>'), tuple(map(str, range(60))), None])
def test_the_form_has_nothing_to_send(collector: Collector, labels: tuple[str, ...] | None) -> None:
    """No field has a name or an answer chosen, Send is disabled, and every state has its words."""
    protocol = OpenLH(1.0) if labels is None else OLH(1.0, len(labels))
    document = Question("leaks", labels, protocol)
    collector.request("POST", "/v1/questions", document.to_json().encode(), role="admin")
    page = get(collector, f"/questions/{document.digest}/collect")
    found = Form(unescape(re.search('<code id="snippet">(.*?)</code>', page, re.DOTALL)[1]))
    (form,) = found.all("form")
    assert form["method"] == "dialog"
    assert not any("name" in attributes for _, attributes in found.tags)
    assert found.all("button") == [{"disabled": None}]
    assert found.all("p")[0] == {"role": "status"}
    (link,) = found.all("a")
    assert link["href"].endswith(f"/try/{document.digest}")
    assert link["rel"] == "noopener"
    outcomes = re.findall(r'\| "([\w-]+)"', (ROOT / "clients/js/src/memory.ts").read_text())
    rounds = {"data-not-now", "data-finished"}  # of questions that are asked again
    assert {f"data-{state}" for state in ("ready", "failed", *outcomes)} - rounds == {
        name for name in form if name.startswith("data-")
    }
    if labels is not None and len(labels) <= 50:
        first, *others = found.all("option")
        assert first == {"value": "", "disabled": None, "selected": None}
        assert [option["value"] for option in others] == list(labels)
    (script,) = found.all("script")
    assert set(script) == {
        "type", "src", "crossorigin", "integrity", "data-collector", "data-question", "data-form",
    }  # fmt: skip


def test_the_tag_names_the_segments_and_the_form_the_rounds(collector: Collector) -> None:
    """Each dimension is left for the page to fill in, and rounds have words of their own."""
    question = Question(
        "groups", ("a", "b"), DE(1.0, 2), repeat=Repeat(today(), every=7, rounds=4),
        segments={"app & os": ("web", "desktop"), "arm": ("A", "B")},
    )  # fmt: skip
    collector.request("POST", "/v1/questions", question.to_json().encode(), role="admin")
    page = get(collector, f"/questions/{question.digest}/collect")
    found = Form(unescape(re.search('<code id="snippet">(.*?)</code>', page, re.DOTALL)[1]))
    (script,), (form,) = found.all("script"), found.all("form")
    assert parse_qs(script["data-segment"]) == {"app & os": ["?"], "arm": ["?"]}
    said = unescape(page)
    assert "people.csv --column answer --segment-column 'app & os' --segment-column arm" in said
    assert "answer, segment={'app & os': '?', 'arm': '?'})" in said
    assert {"data-not-now", "data-finished"} <= set(form)
    assert "<b>arm</b> is A or B." in page
    assert f"--segment-column arm --question {question.digest}" in said
    assert "data-segment" not in get(collector, f"/questions/{collector.ask().digest}/collect")


def test_the_tag_leaves_ceiling_and_budget_to_the_browser(collector: Collector) -> None:
    """The tag of a question above the policy does not raise it; pages say what browsers do."""
    for epsilon, said in ((5.1234444, True), (12.0, True), (5.0, False)):
        question = collector.ask(DE(epsilon, 3))
        text = get(collector, f"/questions/{question.digest}/collect")
        assert "data-ceiling" not in text
        assert "data-budget" not in text
        for page in (text, collector.request("GET", f"/try/{question.digest}").body.decode()):
            assert ("Browsers refuse this question by default" in page) is said


def test_every_released_client_is_served_for_ever(collector: Collector) -> None:
    """Clients that were released are where their tags look for them, to the byte."""
    listed = json.loads((STATIC / "clients" / "manifest.json").read_text())
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    versions = {name.partition("-")[0] for name in listed}  # 0.3.0-views is one build of several
    assert set(released) - {"0.1.0"} == versions, "run npm run release in clients/js"
    assert listed["0.2.0"] == (
        "sha384-9cQpXiLLPZh7NdiNKWzBZPvcySq5RFk0PNrPMmLftUb++w9WUVgpPEAq8ulvmipC"
    )
    for version, integrity in listed.items():
        data = (STATIC / "clients" / f"{version}.js").read_bytes()
        assert f"sha384-{base64.b64encode(sha384(data).digest()).decode()}" == integrity
        path = f"/client/{sha256(data).hexdigest()[:12]}/deniable.js"
        answer = collector.request("GET", path)
        assert (answer.status, answer.body) == (200, data)
        assert "immutable" in answer.headers["cache-control"]
    first = (STATIC / "clients" / "0.2.0.js").read_bytes()
    assert collector.request("GET", "/deniable.js").body == first


def test_kinds_that_browsers_do_not_know_are_not_offered_to_them() -> None:
    """A protocol that browsers speak is not enough: they read version 1 of the document."""

    @dataclass(frozen=True)
    class _Digit(Answers):
        kind, labels, value_count, wanted = "digit", tuple("0123456789"), 10, "a digit"

        def value(self, answer: object) -> int | None:
            return answer if answer in range(10) else None

        def suggest(self, epsilon: float, goal: str = "mean") -> DE:
            return DE(epsilon, 10)

    assert unknown(Question("digit", _Digit(), epsilon=1.0)) == "answers of the kind digit"
    assert unknown(Question("digit", _Digit.labels, epsilon=1.0)) == ""


@pytest.mark.parametrize(
    ("text", "size", "digest"),
    [
        ("fig", 21, "9c4ddf0a3a8ee754"),
        ("https://example.org/try/" + 16 * "a3f9", 37, "75ac7d137fa38246"),
        (134 * "x", 41, "6475170c34b5fddf"),
    ],
)
def test_codes_are_those_of_other_writers(text: str, size: int, digest: str) -> None:
    """The symbols with mask 3 are what the package qrcode 8 draws, to the module."""
    grid = qr.symbol(text, 3)
    assert grid is not None
    assert grid.shape == (size, size)
    assert sha256(np.packbits(grid).tobytes()).hexdigest()[:16] == digest


def test_what_is_too_long_for_a_code_has_none() -> None:
    """Up to 134 bytes fit; the picture of a longer address is left out."""
    assert qr.symbol(135 * "x") is None
    assert qr.picture(135 * "x") == ""
    assert qr.picture("fig").count("<path") == 1
