"""The mathematics that the page to try a question shows of a report: exact, and the law's own."""

import math
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from deniable.randomness import Replayed
from tests.browser.test_dashboard import collector  # noqa: F401 - a fixture
from tests.browser.test_kinds import ASKED, fill, violations, visit  # noqa: F401 - a fixture
from tests.browser.test_try import exact, written

pytestmark = pytest.mark.browser


def of_view(question, code):
    """Return the lots before and of the view that a report is of, its protocol, and its report."""
    lots, before = [int(lot) for lot in question.protocol.specification()["lots"]], 0
    for lot, part in zip(lots, question.protocol.protocols, strict=True):
        _, reports = counted(part.specification())
        if code < reports:
            return before, lot, part, code
        before, code = before + lot, code - reports
    raise AssertionError(code)


def counted(stated):
    """Return how many reports of a protocol fit one answer, and how many there are."""
    d, g, k = stated.get("levels", stated["domain_size"]), stated.get("g"), stated.get("size")
    if g:
        return stated["window"] * (g - 1), g * (g - 1)
    return (math.comb(d - 1, k - 1), math.comb(d, k)) if k else (1, d)


@pytest.mark.parametrize("kind", ["record", "number", "mean"])
def test_the_mathematics_of_a_lot(visit, kind):  # noqa: F811 - a fixture
    """The lot shown chose the view, and the likelihoods are those of its protocol."""
    question = visit.ask(ASKED[kind])
    visit.begin(question)
    fill(visit.page, kind)
    shown = visit.draw()
    for roll in range(2, 8):
        code = int.from_bytes(bytes.fromhex(shown["report"]), "little")
        before, lot, part, own = of_view(question, code)
        assert before <= int(shown["words"][0], 16) < before + lot
        share = re.search(r"A share of ([\d.]+) ", shown["decided"][0])
        assert float(share[1] if share else 1) == pytest.approx(lot / 2**64, rel=1e-4)
        stated = part.specification()
        if "levels" in stated:
            p, q = (Fraction(int(stated["weights"][name]), 2**64) for name in "pq")
            fits = {i: i == own for i in range(stated["levels"])}
        else:
            report, (fitting, every) = np.array([own], part.report_dtype), counted(stated)
            fits = {i: bool(part.supports(report, i)[0]) for i in range(part.domain_size)}
            p = part.parameters.exact_p / fitting
            q = (1 - part.parameters.exact_p) / (every - fitting)
        assert exact(shown["fitting"]) == Fraction(lot, 2**64) * p
        assert exact(shown["other"]) == Fraction(lot, 2**64) * q
        many = len(fits) if kind != "number" or "levels" in stated else math.ceil(
            question.answers.steps * len(fits) / math.prod(question.protocol.radices))  # fmt: skip
        assert f"It fits {sum(list(fits.values())[:many])} of {many} answers" in shown["fits"]
        (mine,) = [row for row in shown["likelihoods"] if row[0].endswith("your answer")]
        assert written(mine[1]) in (pytest.approx(float(p * lot / 2**64), rel=1e-4),
                                    pytest.approx(float(q * lot / 2**64), rel=1e-4))  # fmt: skip
        assert shown["beliefs"][0][1] == f"{100 / many:.3g} %"
        assert shown["together"] == ""  # reports of several views are of different answers
        shown = visit.again(roll)
    visit.page.fill("#prior", "50")
    assert visit.page.evaluate(BEFORE) == "50 %"
    assert violations(visit.page) == []


BEFORE = "document.querySelector('#beliefs td').textContent"


@pytest.mark.parametrize("kind", ["choices", "polynomial"])
def test_the_mathematics_of_a_set(visit, kind):  # noqa: F811 - a fixture
    """How many sets a report fits is counted, and those are e^epsilon times as likely."""
    question = visit.ask(ASKED[kind])
    visit.begin(question)
    fill(visit.page, kind)
    shown, protocol = visit.draw(), question.protocol
    d, most = len(question.labels), protocol.at_most
    for roll in range(2, 6):
        report = question.parse(bytes.fromhex(shown["report"]))
        ratio = exact(shown["fitting"]) / exact(shown["other"])
        assert float(ratio) == pytest.approx(math.e, rel=1e-12)
        assert ratio <= protocol.worst_ratio
        total = sum(math.comb(d, size) for size in range(most + 1))
        fitting = int(re.match(r"It fits ([\d,]+) of ", shown["fits"])[1].replace(",", ""))
        assert f" of {total:,} answers" in shown["fits"]
        if kind == "choices":
            members = contained(protocol, report)
            sizes = range(most + 1)
            sets = (
                {*some, *range(d, d + most - size)}
                for size in sizes
                for some in combinations(range(d), size)
            )
            assert fitting == sum(bool(members & points) for points in sets)
            others = math.comb(d + most, protocol.size) - math.comb(d, protocol.size)
            law = others * exact(shown["fitting"]) + math.comb(d, protocol.size) * exact(
                shown["other"])  # fmt: skip
            assert float(law) == pytest.approx(1, rel=1e-12)
        before, after = (float(cell.removesuffix(" %")) for cell in shown["beliefs"][0][1:])
        assert before == pytest.approx(100 / total, rel=0.01)
        weight = math.e if shown["likelihoods"][0][2] != "1 ×" else 1
        against = (fitting * math.e + total - fitting) / total
        assert after == pytest.approx(before * weight / against, rel=0.02)
        shown = visit.again(roll)
    assert violations(visit.page) == []


def contained(protocol, report):
    """Return the points of a report of a set, blanks too, by unranking it as the format says."""
    rank, members, k = int(report[0]), set(), protocol.size
    for point in reversed(range(protocol.domain_size + protocol.at_most)):
        if k and rank >= math.comb(point, k):
            rank -= math.comb(point, k)
            members.add(point)
            k -= 1
    return members


def test_the_mathematics_of_a_text_to_be_discovered(visit):  # noqa: F811 - a fixture
    """The words shown make the bytes shown, and one piece, drawn by lot, has a likelihood."""
    question, texts = ASKED["discover"], ("hello", "world", "other")
    protocol, closed = question.protocol, question.protocol.closed
    functions = closed.g**closed.digits - 1
    values = question.values(texts)
    visit.ask(question)
    visit.begin(question)
    fill(visit.page, "discover")
    visit.page.click("text=Compare with other answers")
    visit.page.fill("#others", "world\nother")
    shown = visit.draw()
    for roll in range(2, 6):
        report = bytes.fromhex(shown["report"])
        words = b"".join(int(word, 16).to_bytes(8, "little") for word in shown["words"])
        assert question.privatize(["hello"], Replayed(words)).tobytes() == report
        piece, own = divmod(int.from_bytes(report, "little"), functions * closed.g)
        first, last = (-(-(place << 64) // protocol.layout.pieces) for place in (piece, piece + 1))
        assert first <= int(shown["words"][0], 16) < last
        assert f"asks for piece {piece + 1}," in shown["decided"][0]
        fitting, other = exact(shown["fitting"]), exact(shown["other"])
        assert functions * (fitting + (closed.g - 1) * other) == Fraction(last - first, 2**64)
        assert fitting / other == closed.worst_ratio
        cells = protocol.layout.cells(values)[:, piece].tolist()
        sent = np.array([own], closed.report_dtype)
        fits = [bool(closed.supports(sent, cell)[0]) for cell in cells]
        assert f"It fits {sum(fits)} of 3 answers" in shown["fits"]
        for text, fit in zip(texts, fits, strict=True):
            assert (f"“{text}”" in shown["fits"]) == fit
        assert ("This time it does." in shown["status"]) == fits[0]
        assert shown["together"] == ""
        shown = visit.again(roll)
    assert violations(visit.page) == []
