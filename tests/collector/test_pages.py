"""Pages as they come over HTTP: what is in them, who gets them, and what their forms refuse."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import urlencode

import numpy as np
import pytest

from deniable import DE, Choices, OpenLH, Record
from deniable.collector.pages.languages import languages
from deniable.collector.pages.templating import assets
from deniable.collector.problems import PROBLEMS
from deniable.presentation.trend import short_date
from deniable.question import Question
from tests.collector.conftest import Answer, Collector, today

HTML = {"Accept": "text/html,application/xhtml+xml"}


def fill(
    collector: Collector, question: Question, count: int = 400, day: str | None = None
) -> None:
    """Send reports of uniform answers."""
    rng = np.random.default_rng(count)
    data = question.protocol.privatize(rng.integers(0, 3, count), rng).tobytes()
    assert collector.submit(question, data, day=day, role="relay").status == 204


def post(collector: Collector, path: str, **fields: str) -> Answer:
    """Send a form as an admin."""
    return collector.request("POST", path, urlencode(fields).encode(), role="admin")


def get(collector: Collector, path: str, role: str = "admin") -> str:
    """Return the text of a page."""
    answer = collector.request("GET", path, role=role, headers=HTML)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    return answer.body.decode()


def test_no_page_has_anything_inline(collector: Collector) -> None:
    """No style, no handler and no script but by address, so that the policy needs no exception."""
    question = collector.ask()
    fill(collector, question)
    fill(collector, question, day=today(-1))
    address = f"/questions/{question.digest}"
    compared = f"{address}?from={today()}&compare_to={today(-1)}"
    tabs = [f"{address}/{tab}" for tab in ("collect", "quality", "settings")]
    more = ["/access", "/status", "/check", f"/try/{question.digest}", *tabs]
    for path in ("/", "/new", "/login?key=x", address, compared, f"{address}?fragment", *more):
        text = get(collector, path)
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", text), path
        assert all("src=" in tag for tag in re.findall("<script[^>]*>", text)), path


def test_a_fragment_is_the_part_of_the_page_that_moves(collector: Collector) -> None:
    """What a script fetches is to the letter what the page has."""
    question = collector.ask()
    fill(collector, question)
    page = get(collector, f"/questions/{question.digest}")
    fragment = get(collector, f"/questions/{question.digest}?fragment")
    assert fragment.strip() in page
    assert "<html" not in fragment


def test_a_page_says_how_many_reports_are_missing(collector: Collector) -> None:
    """Below the minimum there are no results, but how many reports there are of those it takes."""
    question = collector.ask()
    fill(collector, question, 7)
    text = get(collector, f"/questions/{question.digest}")
    assert "7 of 10 reports" in text
    assert "Results appear at 10." in text
    fill(collector, question, 3)
    text = get(collector, f"/questions/{question.digest}")
    assert "10 reports" in text
    assert "10\u00a0% of all reports would move a share by 1 point" in text


def test_a_page_tells_what_was_refused_for_its_question_alone(collector: Collector) -> None:
    """Accepted, repeated and refused submissions are counted by question, with the reason."""
    question, other = collector.ask(), collector.ask()
    report = question.privatize(["a"]).tobytes()
    id = b"i" * 16
    for day in (today(), today(), "2020-01-01"):
        collector.submit(question, report, id=id, day=day)
    found = get(collector, f"/questions/{question.digest}/quality").split("Submissions since this")[
        1
    ]
    rows = dict(re.findall(r'<th scope="row">([^<]+)</th><td class="number">([^<]+)</td>', found))
    rows.pop("anonymous", None)
    assert rows == {
        "accepted submissions, of one report or more": "1",
        "repeated: sent again, counted once": "1",
        "refused: a day that is not open": "1",
    }
    page = get(collector, f"/questions/{question.digest}/quality")
    cells = 3 * '<td class="number">1</td>'
    assert f'<th scope="row">{today()}</th>{cells}' in page
    assert '<rect class="refused"' in page
    page = get(collector, f"/questions/{other.digest}/quality")
    assert "refused" not in page.split("Submissions since this")[1].split("<h2")[0]
    assert '<rect class="refused"' not in page


def test_discovery_asks_for_no_margin(collector: Collector) -> None:
    """Which texts will be found follows from people and privacy, whatever was chosen before."""
    given = {"kind": "discover", "solve": "users", "users": "100000", "epsilon": "4"}
    given |= {"code": "english", "examples": "busy"}
    text = post(collector, "/new", action="plan", **given).body.decode()
    assert "of them give will be found" in text
    assert 'class="field margin"' in text


def test_quality_says_whether_the_promise_holds(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the weights spend stands beside the claim; were it more, the page would say so."""
    question = collector.ask()
    page = get(collector, f"/questions/{question.digest}/quality")
    assert "The promise holds" in page
    assert "ε = 1 of 1" in page
    monkeypatch.setattr(DE, "realised_epsilon", 1.5)
    page = get(collector, f"/questions/{collector.ask().digest}/quality")
    assert "The promise is broken" in page
    assert "ε = 1.5 of 1" in page


def test_a_source_is_expected_to_differ_until_that_is_withdrawn(collector: Collector) -> None:
    """The tab has a button for either, says what was done, and keeps who did it."""
    question = collector.ask()
    collector.submit(question, question.privatize(["a"]).tobytes())
    place = f"/questions/{question.digest}"
    for action, words in (("expected", "raises no alarm"), ("unexpected", "with the others again")):
        answer = post(collector, place, action=action, source="anonymous", tab="quality")
        assert answer.headers["location"] == f"{place}/quality?done={action}"
        page = get(collector, answer.headers["location"])
        assert words in page
        assert ('value="unexpected"' in page) is (action == "expected")
    assert "expect anonymous to differ" in page
    assert "compare anonymous again" in page


def test_browsers_see_problems_as_pages(collector: Collector) -> None:
    """The status is that of the interface; programs still get problem+json."""
    answer = collector.request("GET", "/nothing", headers=HTML)
    assert answer.status == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "There is no page" in answer.body.decode()
    assert collector.request("GET", "/nothing").problem == "not-found"
    unknown = collector.request("GET", f"/v1/questions/{'0' * 64}", headers=HTML)
    assert unknown.problem == "unknown-question"


def test_logging_in_leads_back(collector: Collector) -> None:
    """A page that needs a login sends people there and back; programs are told what is missing."""
    path = f"/questions/{collector.ask().digest}?from=2026-01-01"
    answer = collector.request("GET", path, headers=HTML)
    assert answer.status == 303
    login = answer.headers["location"]
    assert login.startswith("/login?next=/questions/")
    assert "%3Ffrom%3D2026-01-01" in login
    text = collector.request("GET", login, headers=HTML).body.decode()
    assert f'name="next" value="{path}"' in text
    assert collector.request("GET", path).problem == "unauthorized"
    for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example"):
        shown = collector.request("GET", f"/login?{urlencode({'next': elsewhere})}").body.decode()
        assert 'name="next" value="/"' in shown


def test_visitors_learn_what_the_server_is(collector: Collector) -> None:
    """The first page tells strangers of public results, and of nothing else."""
    shown, hidden = collector.ask(), collector.ask()
    path = f"/v1/questions/{shown.digest}"
    collector.request("PATCH", path, b'{"public_results": true}', role="admin")
    text = collector.request("GET", "/", headers=HTML).body.decode()
    assert f"/results/{shown.digest}" in text
    assert hidden.digest not in text


def test_public_results_are_shown_and_framed_where_allowed(collector: Collector) -> None:
    """Everybody sees results that are public; one address may be framed, by the listed sites."""
    question = collector.ask()
    fill(collector, question)
    path = f"/results/{question.digest}"
    assert collector.request("GET", path, headers=HTML).status == 404
    assert collector.request("GET", f"{path}/embed", headers=HTML).status == 404
    terms = b'{"public_results": true, "origins": ["https://a.example", "https://b.example"]}'
    collector.request("PATCH", f"/v1/questions/{question.digest}", terms, role="admin")
    page = collector.request("GET", path, headers=HTML)
    framed = collector.request("GET", f"{path}/embed", headers=HTML)
    assert "give or take" in page.body.decode() or "too close" in page.body.decode()
    head, _, body = page.body.decode().partition("</head>")
    (shared,) = re.findall('<meta property="og:description" content="(.+)">', head)
    assert shared.partition(". ")[0] in re.sub("<[^>]*>", "", body)
    usual, own = (each.headers["content-security-policy"] for each in (page, framed))
    assert "frame-ancestors 'none'" in usual
    assert own == usual.replace("'none'", "https://a.example https://b.example").replace(
        "default-src https://a.example https://b.example", "default-src 'none'"
    ).replace("base-uri https://a.example https://b.example", "base-uri 'none'")


def test_respondents_read_their_language(collector: Collector) -> None:
    """Pages for respondents follow the browser, or the address; every language is complete."""
    assert {len(each.sentences) for each in languages().values()} == {
        len(languages()["en"].sentences)
    }
    assert all(
        each.sentences.keys() == languages()["en"].sentences.keys() for each in languages().values()
    )
    german = collector.request("GET", "/check", headers={"Accept-Language": "de-CH,en;q=0.5"})
    assert '<html lang="de">' in german.body.decode()
    assert "Was Sie prüfen können" in german.body.decode()
    assert '<html lang="en">' in collector.request("GET", "/check?lang=en").body.decode()
    question = collector.ask()
    tried = collector.request("GET", f"/try/{question.digest}?lang=de").body.decode()
    assert "bleibt auf diesem Gerät" in tried
    html = {"Accept": "text/html", "Accept-Language": "de"}
    missing = collector.request("GET", f"/try/{'0' * 64}", headers=html)
    assert (missing.status, '<html lang="de">' in missing.body.decode()) == (404, True)
    assert "Diese Frage gibt es nicht" in missing.body.decode()
    hidden = collector.request("GET", f"/results/{question.digest}", headers=html)
    assert "sind nicht öffentlich" in hidden.body.decode()
    assert "Antworten, die Ihre bleiben" in collector.request("GET", "/?lang=de").body.decode()


def test_every_problem_has_a_page(collector: Collector) -> None:
    """Whatever is refused has a heading in every language, and says what to do."""
    for words in languages().values():
        for found in PROBLEMS.values():
            assert words[f"problem_{found.type}"]
            assert words[f"problem_{found.type}_advice"] or found.status == 401
    html = {"Accept": "text/html"}
    wrong = collector.request("GET", "/check?no=1", headers=html)
    assert "The address or the form is not complete." in wrong.body.decode()
    method = collector.request("GET", "/logout", headers=html)
    assert "Open the page that the form is on." in method.body.decode()


def test_tokens_and_sessions_have_a_page(collector: Collector) -> None:
    """An admin makes and ends tokens; the secret is shown once, and a wrong name at its field."""
    made = post(collector, "/access", action="token", name="nightly", role="viewer")
    secret = re.search(r"dn_[\w-]{20,}", made.body.decode())
    assert secret
    assert secret[0] not in get(collector, "/access")
    assert "nightly" in get(collector, "/access")
    again = post(collector, "/access", action="token", name="nightly", role="viewer")
    assert again.status == 400
    assert 'aria-invalid="true"' in again.body.decode()
    post(collector, "/access", action="revoke", kind="token", name="nightly")
    assert "nightly" not in get(collector, "/access")
    assert collector.request("GET", "/access", role="viewer").problem == "forbidden"
    assert "Reports are being stored" in get(collector, "/status", role="viewer")


def test_people_and_programs_are_told_in_their_own_words(collector: Collector) -> None:
    """A page says in a sentence what to do; the detail of the problem is for programs."""
    path = f"/questions/{'0' * 64}"
    page = collector.request("GET", path, headers=HTML, role="viewer").body.decode()
    assert "This question does not exist, or was deleted." in page
    assert "0" * 64 not in page
    told = collector.request("GET", path, role="viewer").json
    assert (told["title"], told["detail"]) == (
        "Question not found",
        f"no question here has the digest {'0' * 64}",
    )


def test_an_open_question_asks_for_answers_first(collector: Collector) -> None:
    """Where answers have to be named, that is said however few reports there are."""
    question = collector.ask(OpenLH(1.0), None)
    path = f"/questions/{question.digest}?from={today()}&compare_to={today(-1)}&fragment"
    text = collector.request("GET", path, role="viewer").body.decode()
    assert "Name the answers to count" in text
    assert "No comparison" not in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from=2026-02-30", "is not a day: write 2026-01-31."),
        ("from=2026-02-02&to=2026-02-01", "The first day is after the last one."),
        ("compare_from=2026-02-02", "choose the first one too"),
        ("from=2026-02-01&compare_to=2026-02-02", "The two ranges of days overlap"),
    ],
)
def test_a_mistake_in_days_keeps_the_form(collector: Collector, query: str, said: str) -> None:
    """What is wrong stands beside the fields, which keep what was entered; all days are shown."""
    question = collector.ask()
    fill(collector, question)
    answer = collector.request("GET", f"/questions/{question.digest}?{query}", role="viewer")
    text = answer.body.decode()
    assert answer.status == 400
    assert said in text
    assert "400 reports" in text
    for pair in query.split("&"):
        assert f'value="{pair.partition("=")[2]}"' in text


def test_too_few_reports_of_the_past_are_not_waited_for(collector: Collector) -> None:
    """Where no more reports can come nobody is told to wait for them."""
    question = collector.ask()
    address = f"/questions/{question.digest}"
    assert "0 of 10 reports" in get(collector, address)
    assert "Too few reports in these days" in get(collector, f"{address}?to=2020-01-01")
    post(collector, address, action="closed")
    assert "Too few reports in these days" in get(collector, address)


@pytest.mark.parametrize(
    ("solve", "solved"), [("users", "72570"), ("epsilon", "2.121"), ("error", "2.69")]
)
def test_a_plan_solves_for_any_of_three(collector: Collector, solve: str, solved: str) -> None:
    """People, privacy or margin follow from the other two, and nothing is created."""
    before = collector.request("GET", "/v1/questions").body
    fields = {"labels": "a\nb\nc\nd", "solve": solve, "action": "plan", "fragment": ""}
    text = post(collector, "/new", users="10000", epsilon="1", error="1", **fields).body.decode()
    assert f'data-solved="{solved}"' in text
    assert "95\u00a0% sure" in text
    assert "changes the odds" in text
    whole = post(collector, "/new", users="10000", epsilon="1", error="1",
                 **{**fields, "action": "plan"})  # fmt: skip
    assert whole.status == 200
    assert collector.request("GET", "/v1/questions").body == before


KINDS = {
    "number": {"kind": "number", "low": "0", "high": "63", "step": "1", "unit": "ms"},
    "record": {"kind": "record", "parts": "plan: free, pro\nos: a, b, c", "tables": "pairs"},
    "choices": {"kind": "choices", "boxes": "git\nvim\ntmux\nfzf", "at_most": "2"},
    "open": {"kind": "open"},
}


@pytest.mark.parametrize("solve", ["users", "epsilon", "error"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_solves_for_any_of_three_whatever_the_kind(
    collector: Collector, kind: str, solve: str
) -> None:
    """What was solved for, put in, gives the other two back."""
    given = {**KINDS[kind], "users": "20000", "epsilon": "2", "error": "2", "fragment": ""}
    text = post(collector, "/new", solve=solve, action="plan", **given).body.decode()
    found = re.search('data-solved="([^"]+)"', text)
    assert found is not None, text
    assert "is right to ±\u00a0" in text
    again = given | {solve: found[1]}
    other = "error" if solve != "error" else "users"
    text = post(collector, "/new", solve=other, action="plan", **again).body.decode()
    back = re.search('data-solved="([^"]+)"', text)
    assert float(back[1]) == pytest.approx(float(given[other]), rel=0.03)


@pytest.mark.parametrize(
    ("people", "light"), [("10", "hopeless"), ("3000", "coarse"), ("100000", "good")]
)
def test_a_hopeless_plan_looks_like_one(collector: Collector, people: str, light: str) -> None:
    """A light tells what a question will be worth, and how many more people would help."""
    fields = {"labels": "\n".join("abcdefgh"), "action": "plan", "fragment": ""}
    text = post(collector, "/new", users=people, **fields).body.decode()
    assert f'class="light {light}"' in text
    assert ("more people make it good" in text) == (light != "good")


def test_presets_keep_the_answers_that_were_named(collector: Collector) -> None:
    """Who named answers to an open question, and wants seven days, does not name them again."""
    digest = collector.ask(OpenLH(2.0), None).digest
    shown = get(collector, f"/questions/{digest}?candidates=a%0Ab")
    assert shown.count('&amp;candidates=a%0Ab"') == 2
    assert shown.count(f'href="/questions/{digest}?candidates=a%0Ab"') == 1


def test_a_question_says_when_its_last_report_came(collector: Collector) -> None:
    """By the day, which is all that is stored."""
    question, seen = collector.ask(), []
    for day in (today(-1), today()):
        assert collector.submit(question, bytes(1), day=day).status == 204
        seen += re.findall("the last (.*?)</p>", get(collector, f"/questions/{question.digest}"))
    first = short_date(today(-1)).replace(" ", "\u00a0")
    assert seen == [f"on {first}", "today"]


def test_no_margin_is_beyond_100_points(collector: Collector) -> None:
    """A plan by which a share could be anything says so."""
    fields = {"labels": "\n".join(map(str, range(30))), "action": "plan", "fragment": ""}
    text = post(collector, "/new", users="10", **fields).body.decode()
    assert "each share is right to no better than ±\u00a0100\u00a0points" in text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"labels": "a\nb"}, "Enter the question"),
        ({"name": "x", "labels": "a\na"}, "is in the list twice"),
        ({"name": "x", "labels": "a"}, "at least two answers"),
        ({"name": "x", "labels": "a\nb", "epsilon": "-1"}, "epsilon"),
        (
            {"name": "x", "labels": "a\nb", "epsilon": "much"},
            "Enter the privacy level in digits",
        ),
        ({"name": "x", "labels": "a\nb", "epsilon": "0,5"}, "Enter the privacy level in digits"),
        ({"name": "x", "kind": "open", "protocol": "OUE"}, "have a protocol of their own"),
        ({"name": "x", "labels": "a\nb", "users": "2.5"}, "Enter people as a whole number"),
    ],
)
def test_a_wrong_form_keeps_what_was_entered(
    collector: Collector, fields: dict[str, str], said: str
) -> None:
    """What is wrong is said on the form, and everything else stays in it."""
    answer = post(collector, "/new", action="create", **fields)
    text = answer.body.decode()
    assert answer.status == 400
    assert said in text
    assert 'aria-invalid="true"' in text
    assert "<title>Error: " in text
    for name, value in fields.items():
        if name in ("name", "epsilon", "users"):
            assert f'value="{value}"' in text


def test_a_question_is_created_changed_and_deleted(collector: Collector) -> None:
    """The forms do what the interface does."""
    answer = post(
        collector, "/new", action="create", name="Fruit", labels="kiwi\nfig", other="else"
    )
    assert answer.status == 303
    path = answer.headers["location"].removesuffix("/collect")
    digest = path.rpartition("/")[2]
    question = Question.from_json(collector.request("GET", f"/v1/questions/{digest}").body)
    assert (question.labels, question.other) == (("kiwi", "fig", "else"), "else")
    post(
        collector, path, action="settings", origins="https://a.example\nhttps://b.example",
        minimum="7", collect="yes",
    )  # fmt: skip
    assert post(collector, path, action="closed").status == 303
    status = collector.request("GET", f"/v1/questions/{digest}/status", role="viewer").json
    assert status == {
        "digest": digest, "name": "Fruit", "state": "closed", "reports": 0, "minimum": 7,
        "origins": ["https://a.example", "https://b.example"], "collect": True,
        "public_results": False, "expected": [],
    }  # fmt: skip
    history = get(collector, f"{path}/quality").split("What was changed")[1]
    assert "settings" in history
    assert "closed" in history
    post(collector, path, action="settings", origins="*", minimum="")
    status = collector.request("GET", f"/v1/questions/{digest}/status", role="viewer").json
    assert (status["minimum"], status["collect"]) == (None, False)
    assert post(collector, path, action="open").status == 303
    for name in ("", "Froot"):
        refused = post(collector, path, action="delete", name=name)
        assert refused.status == 400
        assert "Nothing was deleted" in refused.body.decode()
    assert post(collector, path, action="delete", name="Fruit").headers["location"] == "/"
    assert collector.request("GET", f"/v1/questions/{digest}").status == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "settings", "origins": "example.org"},
        {"action": "settings", "origins": "*", "minimum": "0"},
        {"action": "settings", "origins": "*", "minimum": "many"},
        {"action": "settings", "origins": "*", "minimum": "9" * 5000},
        {"action": "burn"},
        {},
    ],
)
def test_wrong_settings_change_nothing(collector: Collector, fields: dict[str, str]) -> None:
    """A form that makes no sense is refused as a whole."""
    path = f"/questions/{collector.ask().digest}"
    status = f"/v1{path}/status"
    before = collector.request("GET", status, role="viewer").body
    answer = post(collector, path, **fields)
    assert answer.status == 400
    if fields.get("action") == "settings":
        assert 'aria-invalid="true"' in answer.body.decode()
        assert fields["origins"] in answer.body.decode()
    assert collector.request("GET", status, role="viewer").body == before


def test_a_source_can_be_left_out(collector: Collector) -> None:
    """Who contributed is listed, and each source can be left out and taken in again."""
    question = collector.ask()
    fill(collector, question, 30)
    collector.submit(question, question.privatize(["a"]).tobytes())
    path = f"/questions/{question.digest}"
    assert "relay:relay" in get(collector, f"{path}/quality")
    post(collector, path, action="exclude", source="relay:relay")
    assert collector.n(question) == 1
    post(collector, path, action="include", source="relay:relay")
    assert collector.n(question) == 31


def test_files_are_served_under_their_own_hash(collector: Collector) -> None:
    """A file is kept for good by browsers, and under another hash there is none."""
    for asset in assets().values():
        answer = collector.request("GET", asset.address)
        assert (answer.status, answer.body) == (200, asset.data)
        assert "immutable" in answer.headers["cache-control"]
    assert collector.request("GET", "/static/000000000000/style.css").status == 404
    assert collector.request("GET", "/static/000000000000/..%2Fpages.py").status == 404


def test_a_trend_follows_answers_from_day_to_day(collector: Collector) -> None:
    """Days with too few reports are left out and counted; CSV and JSON have the same numbers."""
    question = collector.ask()
    for later, count in ((-3, 200), (-2, 4), (0, 300)):
        fill(collector, question, count, today(later))
    path = f"/v1/questions/{question.digest}/trend"
    found = collector.request("GET", path, role="viewer").json
    assert found["days_left_out"] == 1
    assert {(row["day"], row["n"]) for row in found["trend"]} == {(today(-3), 200), (today(), 300)}
    assert {row["label"] for row in found["trend"]} == {"a", "b", "c"}
    assert all(row["lower"] < row["share"] < row["upper"] for row in found["trend"])
    text = collector.request("GET", f"{path}?format=csv&candidate=b", role="viewer").body.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in rows] == ["b", "b"]
    wanted = [row["share"] for row in found["trend"] if row["label"] == "b"]
    assert [float(row["share"]) for row in rows] == wanted
    empty = collector.request("GET", f"{path}?to=2020-01-01", role="viewer")
    assert empty.problem == "too-few-reports"


def test_the_public_page_collects_whatever_sites_are_listed(collector: Collector) -> None:
    """Where a question is answered on the collector's own page, that page needs not be listed."""
    question = collector.ask()
    path, report = f"/v1/questions/{question.digest}", question.privatize(["a"]).tobytes()
    own = {"Origin": collector.address}
    for collect, status in (("false", 403), ("true", 204)):
        terms = f'{{"origins": ["https://a.example"], "collect": {collect}}}'.encode()
        assert collector.request("PATCH", path, terms, role="admin").status == 200
        assert collector.submit(question, report, headers=own).status == status
    foreign = {"Origin": "https://b.example"}
    assert collector.submit(question, report, headers=foreign).problem == "origin-refused"


def test_a_form_has_a_catch_all_for_attributes_and_may_refuse_larger_sets(
    collector: Collector,
) -> None:
    """What the command line can say of records and sets, the form can say as well."""

    def made(**fields: str) -> Question:
        answer = post(collector, "/new", action="create", users="9000", **fields)
        assert answer.status == 303, answer.body
        digest = answer.headers["location"].split("/")[2]
        return Question.from_json(collector.request("GET", f"/v1/questions/{digest}").body)

    parts = "country: DE, FR, elsewhere\nplan: free, pro\nos: a, other\nage: 0 to 9"
    record = made(name="All", kind="record", parts=parts, others="elsewhere, other").answers
    assert isinstance(record, Record)
    assert [getattr(part, "other", None) for _, part in record.parts] == [
        "elsewhere", None, "other", None,
    ]  # fmt: skip
    for more, cut in (("cut", True), ("refuse", False)):
        sets = made(name="Sets", kind="choices", boxes="a\nb\nc", at_most="2", more=more).answers
        assert isinstance(sets, Choices)
        assert sets.cut is cut
    wrong = post(collector, "/new", action="create", name="x", kind="record", parts=parts,
                 others="abroad")  # fmt: skip
    assert wrong.status == 400
    assert "“abroad” is no answer of an attribute" in wrong.body.decode()
