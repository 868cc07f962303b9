import re
from html.parser import HTMLParser

import numpy as np

from deniable import Estimates
from deniable.presentation.html import html_fragment
from tests.presentation.conftest import URLS


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def _elements(page: str) -> _Elements:
    parser = _Elements()
    parser.feed(page)
    return parser


def test_a_fragment_needs_no_style_of_its_own(estimates: Estimates) -> None:
    """It stands under a strict content security policy: no style, script, handler or address."""
    fragment = html_fragment(estimates.view())
    elements = _elements(fragment)
    assert not {"style", "script", "link", "img"} & {tag for tag, _ in elements.found}
    for _, attributes in elements.found:
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        assert not {"fill", "stroke", "href", "src"} & set(attributes)


def test_a_page_has_one_style_and_nothing_inline(estimates: Estimates) -> None:
    """The page that stands alone carries its sheet in its head."""
    elements = _elements(estimates.to_html())
    assert len(elements.named("style")) == 1
    assert all("style" not in attributes for _, attributes in elements.found)


def test_rows_are_headed_by_their_answers(estimates: Estimates) -> None:
    """Each row is headed by its label in full, each column by a word, and the picture is extra."""
    page = estimates.to_html()
    chart = page[page.index('<table class="chart"') : page.index("</table>")]
    scopes = [each.get("scope") for each in _elements(chart).named("th")]
    assert scopes == ["col"] * 3 + ["row"] * len(URLS)
    assert all(f"<bdi>{url}</bdi></th>" in chart for url in URLS)
    hidden = [each for each in _elements(chart).named("td") if each.get("aria-hidden") == "true"]
    assert len(hidden) == 1 + len(URLS)
    assert 'role="img"' not in page


def test_significance_is_said_in_words(estimates: Estimates) -> None:
    """What is too rare to tell says so, and all numbers say whether they are significant."""
    page = estimates.to_html()
    found = estimates.top().significant()
    ranges = re.findall(r'class="number range">([^<]+)<', page)
    assert [said != "too few to tell" for said in ranges] == found.tolist()
    words = re.findall(r'<td class="verdict (?:yes|no)">([a-z ]+)</td>', page)
    assert [word == "significant" for word in words] == found.tolist()
    assert 0 < found.sum() < len(found)


def test_negative_counts_show(estimates: Estimates) -> None:
    """Bars of counts below zero end left of it."""
    found = Estimates(np.array([-50.0, 50.0]), np.ones(2), 100, 1.0)
    shown = html_fragment(found.view())
    zeros = re.findall(r'class="zero" d="M([\d.]+)', shown)
    (left, width), (right, _) = re.findall(r'<rect [^>]*x="([\d.]+)"[^>]*width="([\d.]+)"',
                                           shown)  # fmt: skip
    assert float(left) < float(zeros[0]) == float(right)
    assert float(left) + float(width) == float(zeros[0])


def test_a_page_of_many_answers_has_the_largest() -> None:
    """100,000 answers make a page of a thousand rows that says so, unless all are asked for."""
    counts = np.random.default_rng(1).permutation(100_000.0 * np.linspace(0, 1, 100_000))
    many = Estimates(counts, np.ones(100_000), 10**6, 1.0)
    page = many.to_html()
    bar = '<svg class="bars"'
    assert page.count(bar) == 1000
    assert "1,000 of 100,000 answers" in page
    assert len(page) < 1_500_000
    assert f"<bdi>{int(np.argmax(counts))}</bdi></th>" in page
    some = many.take(range(1500))
    assert some.to_html(top=None).count(bar) == 1500
    assert some.to_html(top=20).count(bar) == 20


def test_the_largest_comes_first_everywhere(estimates: Estimates) -> None:
    """Page, notebook and text have the same order."""
    labels = estimates.top(25).labels
    for shown in (estimates.to_html(), estimates._repr_html_(), estimates.table()):
        places = [shown.rindex(label) for label in labels]
        assert places == sorted(places)


def test_the_title_is_the_question(estimates: Estimates) -> None:
    """A page is named after its question, escaped, unless a title is given."""
    assert "<title>pages</title>" in estimates.to_html()
    assert "<title>&lt;b&gt;</title>" in estimates.to_html(title="<b>")
