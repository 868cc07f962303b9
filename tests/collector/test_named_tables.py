"""The form for several attributes: which cross tables are wanted, and what each will tell."""

from __future__ import annotations

import html
import re

import pytest

from deniable import Question
from deniable.answers.forecast import plan_answers
from tests.collector.conftest import Answer, Collector

FIELDS = {
    "name": "Who?", "kind": "record", "parts": "country: DE, FR, PT\nplan: free, pro\nage: 0 to 3",
    "users": "20000", "epsilon": "2",
}  # fmt: skip


def send(collector: Collector, action: str, **fields: str) -> Answer:
    """Send the form for a new question."""
    body = "&".join(f"{name}={html_form(value)}" for name, value in (FIELDS | fields).items())
    headers = {"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"}
    return collector.request("POST", "/new", f"{body}&action={action}".encode(), role="admin",
                             headers=headers)  # fmt: skip


def html_form(text: str) -> str:
    """Encode a value as forms do."""
    return "".join(c if c.isalnum() else "".join(f"%{b:02X}" for b in c.encode()) for c in text)


def test_named_tables_are_asked_and_planned(collector: Collector) -> None:
    """Those that are named and nothing else; an attribute in none of them comes by itself."""
    fields = {"tables": "named", "crossed": " plan + country "}
    made = send(collector, "create", **fields)
    assert made.status == 303, made.body.decode()
    digest = made.headers["location"].split("/")[2]
    question = Question.from_json(collector.request("GET", f"/v1/questions/{digest}").body)
    assert question.answers.tables == (("country", "plan"), ("age",))
    shown = html.unescape(send(collector, "plan", **fields, fragment="").body.decode())
    found = re.findall(r"<li>(.*?): (\d+) (?:cells|shares), each right to (.*?)\.</li>", shown)
    planned = plan_answers(question.answers, users=20_000, epsilon=2.0)
    wide = {each.what: each.shown(20_000).replace("± ", "±\u00a0") for each in planned.forecasts}
    assert sorted(found) == [
        ("age", "4", wide["share in age"]),
        ("country by plan", "6", wide["share in country by plan"]),
    ]


def test_a_plan_of_all_pairs_says_which_is_the_coarsest(collector: Collector) -> None:
    """The coarsest tables come first, with their cells."""
    shown = send(collector, "plan", tables="pairs", fragment="").body.decode()
    found = re.findall(r": (\d+) (?:cells|shares), each right to ±\u00a0([0-9.]+) point", shown)
    assert sorted(int(cells) for cells, _ in found) == [2, 3, 4, 6, 8, 12]
    reaches = [float(reach) for _, reach in found]
    assert reaches == sorted(reaches, reverse=True)
    assert reaches[0] > reaches[-1]


@pytest.mark.parametrize(
    ("tables", "crossed", "said"),
    [
        ("named", "", "Name at least one cross table, for example country+plan."),
        ("named", "country+os", "“os” is no attribute. There are country, plan, age."),
        ("named", "country+", "“” is no attribute."),
        ("named", "plan+age, age+plan", "This cannot be asked: "),
        ("pairs", "country+plan", "Choose “Only the cross tables that I name” above"),
    ],
)
def test_wrong_tables_are_said_at_their_field(
    collector: Collector, tables: str, crossed: str, said: str
) -> None:
    """Nothing is created, and what was entered is kept."""
    answer = send(collector, "create", tables=tables, crossed=crossed)
    text = answer.body.decode()
    assert answer.status == 400
    assert said in text
    (field,) = re.findall(r'<input[^>]*name="crossed"[^>]*>', text)
    assert 'aria-invalid="true"' in field
    assert f'value="{crossed}"' in field
