"""Records: what people answer about several attributes, and the tables that come of it."""

import json
import math
import re
from hashlib import sha256

import numpy as np
import pytest

from benchmarks import answers as benchmark
from deniable import (
    DE,
    Choice,
    Estimates,
    InvalidDocument,
    InvalidParameter,
    Number,
    OutOfDomain,
    Question,
    Record,
    Text,
    Views,
    compare,
    consistency,
)
from deniable.documents import canonical_json

PEOPLE = 20_000


def survey() -> Record:
    """Return a record of three attributes, with all pairs."""
    country = Choice(["DE", "FR", "other"], other="other")
    age = Number(0, 80, step=20, unit="y")
    return Record(country=country, plan=Choice(["free", "pro"]), age=age, tables="pairs")


def people(seed: int = 1) -> tuple[list[dict[str, object]], np.ndarray]:
    """Return records, of whom plans depend on countries and ages on nothing, and their places."""
    rng = np.random.default_rng(seed)
    country = rng.choice(3, PEOPLE, p=[0.5, 0.3, 0.2])
    plan = (rng.random(PEOPLE) < np.array([0.2, 0.5, 0.3])[country]).astype(int)
    age = rng.choice(5, PEOPLE, p=[0.1, 0.3, 0.3, 0.2, 0.1])
    listed = [
        {"country": ("DE", "FR", "PT")[c], "plan": ("free", "pro")[p], "age": 20 * int(a)}
        for c, p, a in zip(country, plan, age, strict=True)
    ]
    return listed, np.column_stack([country, plan, age])


@pytest.fixture(scope="module")
def asked() -> tuple[Question, Estimates, np.ndarray]:
    """Return a question, its estimates and the places of what people answered."""
    question = Question("set-up", survey(), epsilon=2.0)
    listed, places = people()
    tally = question.tally(question.privatize(listed, np.random.default_rng(2)))
    return question, question.estimate(tally), places


def test_margins_are_the_rows(asked) -> None:
    """Each attribute's shares are near the truth, and its interval holds it or nearly."""
    _, found, places = asked
    true = np.concatenate([np.bincount(places[:, i], minlength=d) for i, d in enumerate((3, 2, 5))])
    assert found.labels[:4] == ("country: DE", "country: FR", "country: other", "plan: free")
    # Ten figures; one is five standard errors off with probability 6e-6.
    assert np.all(np.abs(found.counts - true) < 5 * found.std_errors)
    assert not found.adds_up


def test_a_figure_has_one_attribute_after_the_other(asked) -> None:
    """Rows are ranked within a choice, numbers keep their order, and the title fits all rows."""
    _, found, _ = asked
    assert found.top().labels == (
        "country: DE", "country: FR", "country: other", "plan: free", "plan: pro", "age: 0 y",
        "age: 20 y", "age: 40 y", "age: 60 y", "age: 80 y",
    )  # fmt: skip
    assert found.top(2).labels == ("country: DE", "plan: free")
    assert found.plot().get_suptitle() == "Share of people by country, plan and age"
    plans = found.select(["plan: pro", "plan: free"])
    assert plans.top().labels == ("plan: free", "plan: pro")
    assert plans.caption().startswith("plan: free leads with")


def test_a_cross_table_has_its_cells_and_its_margins(asked) -> None:
    """Cells have labels of both parts, add up to n, and to the margins that are the rows."""
    _, found, places = asked
    table = found.cross("country", "plan")
    true = np.bincount(places[:, 0] * 2 + places[:, 1], minlength=6)
    assert table.labels[:2] == ("DE / free", "DE / pro")
    assert np.all(np.abs(table.counts - true) < 5 * table.std_errors)
    assert table.counts.sum() == pytest.approx(PEOPLE)
    assert np.allclose(table.margin(0).counts, found.counts[:3])
    assert np.allclose(table.margin(1).counts, found.margin("plan").counts)
    assert np.allclose(table.margin(0).std_errors, found.std_errors[:3])
    grid = table.grid()
    assert (grid.rows, grid.columns) == (("DE", "FR", "other"), ("free", "pro"))
    assert grid.shares.shape == grid.lower.shape == (3, 2)
    assert np.all(grid.lower < grid.shares)
    assert found.cross("plan", "country").labels == table.labels


def test_rows_go_everywhere_that_rows_go(asked) -> None:
    """Exports, text, selections and comparisons take them as those of any question."""
    question, found, _ = asked
    assert json.loads(found.to_json())["estimates"][0]["label"] == "country: DE"
    assert "country: DE" in found.table()
    assert "country: DE" in found.to_html()
    assert found["plan: pro"].lower < found["plan: pro"].count
    assert question.estimate(found.tally, ["plan: pro"]).labels == ("plan: pro",)
    again = question.estimate(question.tally(question.privatize(people(3)[0])))
    changes = compare(found, again)
    # The populations are one: 10 changes at alpha .001 in all.
    assert not changes.significant(0.001).any()


def test_the_mean_of_a_number_among_the_attributes(asked) -> None:
    """A number has a mean, with its unit, and a label has none."""
    _, found, places = asked
    mean = found.mean("age")
    assert mean.lower - 2 < 20 * places[:, 2].mean() < mean.upper + 2
    assert str(mean).split()[1] == "y"
    with pytest.raises(InvalidParameter, match="is a number"):
        found.mean("plan")


def test_a_tie_names_its_attribute_once() -> None:
    """The first answer says of which attribute all are."""
    asked = Question("you", Record(plan=("free", "pro"), os=("a", "b", "c")), epsilon=1.0)
    even = [{"plan": plan, "os": os} for plan in ("free", "pro") for os in "abc"] * 500
    reports = asked.privatize(even, np.random.default_rng(3))
    said = str(asked.estimate(asked.tally(reports)).verdict())
    assert re.search("plan: (free and pro|pro and free) are too close to call", said)
    assert re.search("os: [abc], [abc] and [abc] are too close to call", said)


def test_independence_tells_what_depends(asked) -> None:
    """Plans that depend on countries are found, ages that depend on nothing are not."""
    _, found, _ = asked
    rng = np.random.default_rng(4)
    depends = found.independence("country", "plan", rng=rng)
    assert depends.p_value <= 0.01
    assert "depend on each other" in str(depends)
    assert found.independence("country", "age", rng=rng).p_value > 0.01
    with pytest.raises(InvalidParameter, match="runs"):
        found.independence("country", "plan", runs=3)


@pytest.mark.long("many surveys")
def test_independent_attributes_are_seldom_called_dependent() -> None:
    """A short form of ``benchmarks.answers independence``: 5 % of the time, here at most 9 %."""
    lines = [line.figure for line in benchmark.independence(12, 39) if "average" in line.what]
    # 216 tests at .05: more than 19 with probability below .01.
    assert lines[0] <= 0.09


def test_a_question_survives_its_document() -> None:
    """The document has the attributes in their order, the tables, and all of the protocol."""
    question = Question("set-up", survey(), epsilon=1.0)
    document = json.loads(question.to_json())
    assert document["version"] == 2
    assert [part["name"] for part in document["answers"]["parts"]] == ["country", "plan", "age"]
    assert document["answers"]["tables"][3] == ["country", "plan"]
    assert len(document["protocol"]["protocols"]) == len(document["protocol"]["views"])
    assert Question.from_json(question.to_json()) == question


def test_pairs_of_fifteen_attributes_fit_a_document() -> None:
    """All 105 pairs and 15 margins are one question."""
    parts = {f"a{i}": [str(label) for label in range(4)] for i in range(15)}
    question = Question("many", Record(parts, tables="pairs"), epsilon=1.0)
    assert Question.from_json(question.to_json()) == question
    assert question.protocol.report_bits <= 32


@pytest.mark.parametrize(
    "change",
    [
        {"parts": {}}, {"parts": []}, {"parts": None}, {"parts": [{"name": "a"}]},
        {"parts": [{"name": "a", "answers": {"kind": "text"}}]},
        {"parts": [{"name": "a", "answers": {"kind": "record", "parts": [], "tables": []}}]},
        {"parts": [{"name": "a", "answers": ["x", "y"]}]}, {"tables": "pairs"}, {"tables": []},
        {"tables": [["plan"]]}, {"tables": [["x"]]}, {"tables": [[]]}, {"tables": [[1]]},
        {"extra": 1},
    ],
)  # fmt: skip
def test_hostile_records_are_refused(change: dict[str, object]) -> None:
    """A document whose attributes or tables are none is refused as such."""
    document = json.loads(Question("set-up", survey(), epsilon=1.0).to_json())
    with pytest.raises(InvalidDocument):
        read_altered({**document, "answers": {**document["answers"], **change}})


def read_altered(document: dict[str, object]) -> Question:
    """Read a question that somebody changed, with a digest that holds."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return Question.from_json(
        json.dumps({**rest, "digest": sha256(canonical_json(rest)).hexdigest()})
    )


@pytest.mark.parametrize(
    "answer",
    [
        {}, {"country": "DE"}, {"country": "DE", "plan": "pro", "age": 1, "more": 2}, None, "DE", 7,
        {"country": "DE", "plan": "none", "age": 1},
        {"country": "DE", "plan": "pro", "age": "one"},
        {"country": "DE", "plan": "pro", "age": float("nan")},
        {"country": 1, "plan": "pro", "age": 1},
        ["DE", "pro", 1], "[1]", "{", '{"country": "DE", "plan": "pro"}',
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused_without_being_shown(answer: object) -> None:
    """Errors name the position, and never hold what a person said."""
    good = {"country": "secretland", "plan": "pro", "age": 33}
    assert not survey().takes(answer)
    with pytest.raises((OutOfDomain, InvalidParameter)) as error:
        survey().encode([good, answer])
    assert "secretland" not in str(error.value)
    assert "33" not in str(error.value)


def test_columns_are_records_too() -> None:
    """Mappings of columns, frames and JSON texts have the values of the records."""
    listed, places = people()
    record, some = survey(), listed[:50]
    columns = {name: [each[name] for each in some] for name in record.names}
    values = record.encode(some)
    assert np.array_equal(record.encode(columns), values)
    assert np.array_equal(record.encode([json.dumps(each) for each in some]), values)
    assert np.array_equal(record.join(list(places[:50].T)), values)
    with pytest.raises(InvalidParameter, match="none for 'plan'"):
        record.encode({"country": ["DE"], "age": [1]})
    with pytest.raises(InvalidParameter, match="one length"):
        record.encode({**columns, "age": [1]})
    with pytest.raises(OutOfDomain, match="places from 0 to 1"):
        record.join([np.array([0]), np.array([2]), np.array([0])])


@pytest.mark.frames
def test_a_frame_is_columns() -> None:
    """Columns of a frame are taken by name, whatever else it has."""
    pandas = pytest.importorskip("pandas")
    some = people()[0][:20]
    frame = pandas.DataFrame(some).assign(other=1)
    assert np.array_equal(survey().encode(frame), survey().encode(some))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (Record, "attributes"),
        (lambda: Record(a=["x"]), "from 2"),
        (lambda: Record(a=Text()), "choice or a number"),
        (lambda: Record({"": ["x", "y"]}), "names of attributes"),
        (lambda: Record({1: ["x", "y"]}), "names of attributes"),
        (lambda: Record({"a": ["x", "y"]}, a=["x", "y"]), "names of their own"),
        (lambda: Record({f"a{i}": [str(j) for j in range(99)] for i in range(11)}), "2\\^64"),
        (lambda: Record(a=["x", "y"], tables="all"), "margins"),
        (lambda: Record(a=["x", "y"], tables=[("b",)]), "attributes of the record"),
        (lambda: Record(a=["x", "y"], b=["x", "y"], tables=[("a",)]), "'b' in none"),
        (lambda: Record(a=["x", "y"], tables=[("a",), ("a",)]), "twice"),
        (lambda: Record(a=["x", "y"], tables=[("a", "a")]), "once"),
        (lambda: Record({"a": ["b: c", "y"], "a: b": ["c", "z"]}), "one name"),
    ],
)  # fmt: skip
def test_bad_records_are_refused(make, match: str) -> None:
    """Each says what is wrong with it."""
    with pytest.raises(InvalidParameter, match=match):
        make()


def test_no_answer_to_an_attribute_is_no_reason_to_leave_somebody_out() -> None:
    """Who is missing would tell something: an error asks for a label instead."""
    record = Record(a=["x", "y"], age=Number(0, 9))
    for answer in ({"a": None, "age": 3}, {"a": "x", "age": math.nan}):
        with pytest.raises(OutOfDomain, match="no answer to an attribute is a label of its own"):
            record.encode([answer])
    with pytest.raises(InvalidParameter, match="columns of 1, 2"):
        record.encode({"a": ["x"], "age": [1, 2]})


def test_a_table_that_no_view_holds_is_refused() -> None:
    """The error names the nearest view, in the question and in the results."""
    record = Record(a=["x", "y"], b=["x", "y"], c=["x", "y"], tables=[("a", "b"), ("c",)])
    with pytest.raises(InvalidParameter, match="table of a and b; the nearest has a"):
        Question("q", record, Views(1.0, (2, 2, 2), ((0,), (1,), (2,))))
    with pytest.raises(InvalidParameter, match="expected Views"):
        Question("q", record, DE(1.0, 8))
    question = Question("q", record, epsilon=1.0)
    found = question.estimate(question.tally(question.protocol.privatize(np.arange(8).repeat(99))))
    with pytest.raises(InvalidParameter, match="a and c together; there are a / b"):
        found.cross("a", "c")
    with pytest.raises(OutOfDomain, match="an attribute among"):
        found.cross("d")


def test_shares_of_several_attributes_are_not_adjusted_to_one(asked) -> None:
    """Methods that make counts add up to n refuse margins, and take one table."""
    _, found, _ = asked
    for method in ("norm-sub", "norm-mul", "shrink", "significance"):
        with pytest.raises(InvalidParameter, match="do not add up"):
            consistency.adjust(found, method)
        assert consistency.adjust(found.cross("plan"), method).counts.sum() == pytest.approx(PEOPLE)
    assert consistency.adjust(found, "base-cut").counts.min() >= 0


def test_few_reports_have_rows_and_no_table() -> None:
    """An attribute that nobody drew yet has even shares with intervals from 0 to n."""
    record = Record({name: ["x", "y"] for name in "abcdefgh"})
    question = Question("early", record, epsilon=1.0)
    found = question.estimate(question.tally(question.protocol.privatize([0])))
    assert len(found) == 16
    lower, upper = found.interval()
    assert np.sum((lower == 0) & (upper == 1)) >= 14
    assert "nan" not in found.to_csv().lower()


def test_nothing_is_said_of_an_attribute_that_nobody_told_of() -> None:
    """One person tells of one attribute or two; the mean of another is not the middle, for sure."""
    record = Record(a=["x", "y"], n=Number(0, 10), m=Number(0, 10))
    question = Question("q", record, epsilon=1.0)
    for seed in range(6):
        reports = question.privatize([{"a": "x", "n": 5, "m": 5}], np.random.default_rng(seed))
        found = question.estimate(question.tally(reports))
        assert "5 (5 to 5)" not in str(found.verdict())
        told = found.figures()
        for name in "nm":
            if f"mean of {name}" not in told:
                with pytest.raises(InvalidParameter, match=f"nobody has told of {name} yet"):
                    found.mean(name)


def test_rare_values_of_several_views_cover_at_a_large_epsilon() -> None:
    """Two views tell of a value that nobody gave: by their standard errors alone it is none."""
    record = Record(a=["x", "y"], b=list("abcdef"), c=list("1234"), tables="pairs")
    question, rng = Question("q", record, epsilon=8.0), np.random.default_rng(3)
    shares, covered = [0.5, 0.3, 0.15, 0.04, 0.008, 0.002], 0
    for _ in range(60):
        places = [np.zeros(200, int), rng.choice(6, 200, p=shares), np.zeros(200, int)]
        reports = question.protocol.privatize(record.join(places), rng)
        rows = question.estimate(question.tally(reports)).select(["b: e"])
        covered += rows.interval()[1][0] / 200 >= 0.008
    # 60 intervals at .95: 48 or fewer with probability below 1e-5.
    assert covered > 48


def test_a_record_that_says_two_things_is_none() -> None:
    """An attribute that is twice in an object of JSON has two values, and neither counts."""
    text = '{"country": "DE", "country": "FR", "plan": "pro", "age": 41}'
    with pytest.raises(OutOfDomain, match="and nothing else; the one at position 0"):
        survey().encode([text])
    parts = [{"name": "os", "answers": ["a", "b"]}] * 2
    with pytest.raises(InvalidParameter, match="expected each attribute once, got 'os'"):
        Record(parts)


def test_what_nobody_told_of_yet_is_not_what_nobody_is_asked() -> None:
    """The first comes with more reports; the second never does, and there are others."""
    record = Record(a=["x", "y"], b=["u", "v"], c=["s", "t"], tables=[("a", "b"), ("b", "c")])
    question = Question("few", record, epsilon=1.0)
    one = [{"a": "x", "b": "u", "c": "s"}]
    found = question.estimate(question.tally(question.privatize(one, np.random.default_rng(1))))
    told = "a" if found._tables.tells((0,)) else "c"
    missing = "c" if told == "a" else "a"
    for names in ((missing,), ("b", missing)):
        with pytest.raises(InvalidParameter, match=r"nobody has told of .* yet: wait for more"):
            found.cross(*names)
    with pytest.raises(InvalidParameter, match="people are not asked for a and c together"):
        found.cross("a", "c")
    with pytest.raises(InvalidParameter, match="expected level between 0 and 1"):
        found.cross("b", told).within(1.0)


def test_what_a_wrong_record_has_to_be_is_about_its_first_wrong_attribute() -> None:
    """As an object or as JSON; of what is no such object it is the object."""
    record = Record(country=["DE", "FR"], age=Number(0, 80, step=20, unit="y"))
    wrong = {"country": "DE", "age": "old"}
    for answer in (wrong, json.dumps(wrong)):
        assert record.wanted_of(answer).endswith(" such as 40 (in 'age')")
    for answer in ({"country": "DE"}, "DE", None):
        assert record.wanted_of(answer) == "an object with 'country', 'age' and nothing else"
