"""Mistakes in the form for a new question: each is told at its field, in words for people."""

import re
from urllib.parse import urlencode

import pytest

from tests.collector.conftest import Collector

NUMBER = {"kind": "number", "low": "0", "high": "10", "step": "1"}
RECORD = {"kind": "record"}
MANY = {"solve": "users"}


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        ({"users": "many"}, "users", "Enter the number of people in digits, not “many”."),
        ({"users": "0"}, "users", "Enter people as a whole number from 1 on, not 0."),
        ({"epsilon": "0"}, "epsilon", "Enter a privacy level above 0"),
        ({"epsilon": "inf"}, "epsilon", "Enter a privacy level above 0"),
        ({"error": "0", **MANY}, "error", "Enter a margin of error between 0 and 100, not 0."),
        ({"error": "200", **MANY}, "error", "Enter a margin of error between 0 and 100, not 200."),
        ({"error": "1e-7", **MANY}, "users", "It takes more people than live on Earth."),
        ({"error": "0.001", "solve": "epsilon"}, "epsilon", "10,000 people are too few"),
        ({"error": "0.001", "solve": "epsilon", **NUMBER}, "epsilon", "10,000 people are too few"),
        ({**NUMBER, "step": "3"}, "step", "Steps of 3 from 0 on miss 10."),
        ({**NUMBER, "step": "0.000001"}, "step", "at most 65,535 are possible"),
        ({**NUMBER, "unit": "x" * 21}, "unit", "Enter a unit of up to 20 letters."),
        ({"parts": "plan: a, a\nx: 1, 2", **RECORD}, "parts", "“plan” has “a” twice."),
        ({"kind": "open", "protocol": "OUE"}, "protocol", "have a protocol of their own"),
        (
            {"kind": "discover", "examples": "hello", "users": "10"},
            "users",
            "No text will be found",
        ),
    ],
)
def test_a_mistake_is_told_at_its_field(
    collector: Collector, fields: dict[str, str], place: str, said: str
) -> None:
    """Nothing is created, the field is marked, and no word of the library's errors is shown."""
    form = {"action": "create", "name": "x", "labels": "a\nb", **fields}
    answer = collector.request("POST", "/new", urlencode(form).encode(), role="admin")
    text = answer.body.decode()
    assert answer.status == 400
    found = re.findall(r'<span class="wrong" id="(\w+)-wrong">([^<]+)</span>', text)
    assert [name for name, _ in found] == [place]
    assert said in found[0][1]
    assert "expected" not in found[0][1]
    assert re.search(rf'id="{place}"[^>]* aria-invalid="true"', text)
