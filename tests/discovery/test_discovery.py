"""Discovery: the law of reports, what the search may see, and what is said of texts."""

import math
import re
import time
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable import (
    Code,
    DeniableError,
    Discovery,
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    InvalidReport,
    OpenLH,
    OutOfDomain,
    Question,
    Tally,
    Text,
)
from deniable.auditing import output_law
from deniable.protocols.discovery import verification
from deniable.protocols.discovery.search import levels
from deniable.protocols.discovery.verification import alpha_at, candidates, crafted
from deniable.statistics import Table
from tests.naive.codes import bits_of, cells_of

ENGLISH = Code.preset("english")
SALT = "0123456789abcdef"
SMALL = Discovery(1.0, 1, 1, 1, 2, SALT)


def ask(epsilon: float, **settings: int) -> Question:
    """Return a question whose texts are to be discovered."""
    protocol = Discovery(epsilon, salt=SALT, **settings)
    return Question("words", Text(discover=ENGLISH), protocol)


WORDS = ("banana", "kiwi", "fig", "plum", "internet", "interval", "intercom", "x" * 40, "orange")
COUNTS = (9000, 8000, 7000, 6000, 7000, 7000, 7000, 8000, 8000)
QUESTION = ask(4.0, bucket_bits=6, piece_bits=8)
"""Fewer and smaller buckets than usual, for a search that takes a fraction of a second."""


@pytest.fixture(scope="module")
def tally() -> Tally:
    """Return the tally of some people."""
    answers = [word for word, count in zip(WORDS, COUNTS, strict=True) for _ in range(count)]
    return QUESTION.tally(QUESTION.privatize(answers, np.random.default_rng(5)))


def test_who_shares_a_check_cell_with_a_frequent_text_is_not_counted_for_it(tally: Tally) -> None:
    """The people of the frequent one support that cell, and no list makes them count twice."""
    layout, read = QUESTION.protocol.layout, ENGLISH.values
    first = layout.payload
    wanted = layout.cells(read(["banana"]))[0, first]
    texts = ["".join(letters) for letters in product("aeioudlmns", repeat=5)]
    cells = layout.cells(read(texts))[:, first]
    rival = texts[int(np.flatnonzero(cells == wanted)[0])]
    for names in (["banana", rival], [rival, "banana"]):
        found = QUESTION.estimate(tally, names)
        counts = dict(zip(names, found.counts, strict=True))
        assert abs(counts["banana"] - 9000) < 1000
        assert abs(counts[rival]) < 1000
        assert found.significant()[names.index("banana")]
        assert not found.significant()[names.index(rival)]
    both = QUESTION.estimate(tally, ["banana", rival, rival.upper() + "s"]).counts
    assert both[0] == QUESTION.estimate(tally, ["banana"]).counts[0]
    assert QUESTION.estimate(tally, [rival]).counts[0] > 2000  # banana has to be named


@pytest.fixture(scope="module")
def found(tally: Tally):
    """Return what a search finds, with two candidates beside."""
    return QUESTION.discover(tally, ["x" * 40, "pear"])


def test_the_notes_say_what_the_order_and_an_interval_from_nothing_mean(found) -> None:
    """The rows do not stand by their counts, and one that is only just sure begins at 0."""
    assert any(note.startswith("in the order of all reports") for note in found.notes())
    assert not any("only just sure" in note for note in found.notes())
    lower = np.where(np.arange(len(found.whole.lower)) == 1, 1e-6, found.whole.lower)
    just = replace(found, whole=found.whole._replace(lower=lower))
    assert any("only just sure" in note for note in just.notes())
    assert "likely ones" in str(found)


@pytest.mark.parametrize(
    "protocol", [*Discovery.examples(), *Discovery.further_examples()], ids=repr
)
@pytest.mark.parametrize("text", ["", "hello", "naïve", "x" * 300])
def test_cells_are_those_that_are_specified(protocol: Discovery, text: str) -> None:
    """Bucket, pieces and check hashes of a text are those of the slow twin."""
    cells = protocol.layout.cells(ENGLISH.values([text]))
    assert cells.tolist() == [cells_of(protocol, bits_of(ENGLISH, text))]
    assert cells.max() < 1 << (protocol.bucket_bits + protocol.piece_bits)


def test_law_is_that_of_the_closed_protocol_in_a_drawn_piece() -> None:
    """A text has each piece with its lot, and supports a cell with p* if it is its own, else q*."""
    law, cells = output_law(SMALL, 3), SMALL.layout.cells(SMALL.numbered(np.array([3], np.uint64)))
    chances = np.zeros((2, 8), dtype=object)
    for outcome in product(*(weights.items() for weights in law.weights)):
        data = bytearray(SMALL.report_dtype.itemsize)
        for places, (piece, _) in zip(law.positions, outcome, strict=True):
            for place, byte in zip(places, piece, strict=True):
                data[place] = byte
        chance = Fraction(math.prod(w for _, w in outcome), math.prod(law.totals))
        j, code = divmod(int(SMALL.parse(bytes(data))[0]), SMALL.lines.reports)
        held = np.array([code], SMALL.closed.report_dtype)
        for cell in range(8):
            if SMALL.closed.supports(held, cell)[0]:
                chances[j, cell] += chance
    p, q = SMALL.probabilities.exact_p, SMALL.probabilities.exact_q
    for j in range(2):
        own = int(cells[0, j])
        assert [2 * chance for chance in chances[j]] == [p if c == own else q for c in range(8)]


def test_reports_take_four_bytes_up_to_epsilon_five() -> None:
    """The field is chosen such that a report fits, at next to no cost."""
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 4.2, 4.5, 5.0):
        for payload in (4, 5, 6):
            protocol = Discovery(epsilon, payload, salt=SALT)
            assert protocol.report_bits == 32
            assert protocol.closed.variance(1) < 1.03 * Discovery(epsilon).closed.variance(1)


def test_drawn_salts_differ() -> None:
    """Each question has its own salt, unless one is given."""
    assert Discovery(1.0).salt != Discovery(1.0).salt
    assert Discovery(1.0, salt=SALT) == Discovery(1.0, salt=SALT)


@pytest.mark.parametrize(
    "settings",
    [{"payload": 0}, {"payload": 7}, {"check": 0}, {"check": 9}, {"bucket_bits": 13},
     {"piece_bits": 13}, {"bucket_bits": 12, "piece_bits": 12}, {"salt": "xyz"}, {"salt": 7},
     {"salt": SALT.upper()}, {"g": 6}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    """What does not fit into 60 bits, or into memory, gets a clear error."""
    with pytest.raises(InvalidParameter, match="expected"):
        Discovery(1.0, **settings)


def test_report_beyond_the_last_piece_is_refused() -> None:
    """A code that no client sends does not enter."""
    protocol = Discovery(2.0, salt=SALT)
    most = protocol.layout.pieces * protocol.lines.reports
    assert len(protocol.parse(np.array([most - 1], "<u4").tobytes())) == 1
    with pytest.raises(InvalidReport, match="below"):
        protocol.parse(np.array([most], "<u4").tobytes())


def test_question_says_it_in_the_second_version() -> None:
    """A text to be discovered has its code beside the kind, and all else in the protocol."""
    again = Question.from_json(QUESTION.to_json())
    assert again == QUESTION
    assert again.version == 2
    assert QUESTION.answers.document()["discover"] == {"code": ENGLISH.document()}
    assert Question("q", None, epsilon=1.0).version == 1


def test_protocol_and_answers_belong_together() -> None:
    """A code needs Discovery, and Discovery a code."""
    with pytest.raises(InvalidParameter, match="Discovery"):
        Question("q", Text(discover="english"), OpenLH(1.0))
    with pytest.raises(InvalidParameter, match="code"):
        Question("q", Text(), Discovery(1.0))
    for wrong in (7, ["english"]):
        with pytest.raises(InvalidParameter, match="code"):
            Text(discover=wrong)
    with pytest.raises((InvalidDocument, InvalidParameter)):
        Text(discover={"code": {}, "more": 1})


def test_no_text_is_refused_and_nothing_else_is_taken() -> None:
    """Any text becomes a report; a number is no answer, and the error does not hold it."""
    assert len(QUESTION.privatize(["", "\ud800", "x" * 10**5])) == 3
    with pytest.raises(OutOfDomain, match="position 1") as error:
        QUESTION.privatize(["kiwi", 4711])
    assert "4711" not in str(error.value)


def test_frequent_texts_are_found_and_counted(found) -> None:
    """Each frequent text is sure, its interval holds the truth, and none is false."""
    assert set(found.sure) == set(WORDS)
    rows = [found[word] for word in WORDS]
    held = [row.lower <= n <= row.upper for row, n in zip(rows, COUNTS, strict=True)]
    # Nine intervals of 95 %, with this seed.
    assert sum(held) >= 7
    assert all(row.verdict == "sure" for row in rows)
    assert "pear" not in found
    assert found.complete
    assert found.found.even
    assert found.found.clipped == 0
    assert found.uncovered == pytest.approx(0, abs=0.1)


def test_texts_that_are_cut_are_shown_apart_and_named_by_a_list(tally: Tally, found) -> None:
    """A text longer than the payload is unfinished, until a list of candidates names it."""
    alone = QUESTION.discover(tally)
    assert "x" * 40 not in alone
    (beginning,) = [each for each in alone.unfinished if set(each.beginning) == {"x"}]
    assert beginning.about == pytest.approx(8000, rel=0.2)
    assert "x" * 40 in found.sure
    assert not [each for each in found.unfinished if set(each.beginning) == {"x"}]
    twice = QUESTION.discover(tally, ["café", "cafe\u0301"])
    assert twice.found.tested == alone.found.tested + 1
    assert any(f"{beginning.beginning}… (about {beginning.about:,.0f})" in n for n in alone.notes())


def test_what_is_cut_and_most_frequent_is_said_first() -> None:
    """No text leads that fewer people have than one that is too long for the code."""
    texts = ["x" * 40] * 24_000 + ["kiwi"] * 12_000 + ["fig"] * 9000
    reports = QUESTION.privatize(texts, np.random.default_rng(6))
    found = QUESTION.discover(QUESTION.tally(reports))
    first, second, *_ = found.findings()
    assert re.match(r"A text that begins with “x+…” is too long for the code, and about 5\d", first)
    assert second.startswith("2 texts are sure: “kiwi” has 2")
    assert not any("leads" in said for said in found.findings())
    assert "too long for the code" in str(found.parts()[1])
    few = ["x" * 40] * 24_000
    alone = QUESTION.discover(QUESTION.tally(QUESTION.privatize(few, np.random.default_rng(7))))
    assert alone.findings()[1] == "No shorter text is frequent enough to be sure of."


def test_what_all_people_gave_is_said_in_plain_figures() -> None:
    """A share of all, and a chance, are neither in powers of ten nor below what they are."""
    tally = QUESTION.tally(QUESTION.privatize([" "] * 12_000, np.random.default_rng(8)))
    for alpha, said in ((0.025, "2.5"), (0.1, "10"), (0.95, "95"), (0.05 / 6, "0.84")):
        found = QUESTION.discover(tally, alpha=alpha)
        first, second = found.findings()
        assert re.fullmatch(r'1 text is sure: " " leads with (9\d|100)\s% of .*', first)
        assert f"at most {said}\u00a0%" in second
    assert found.sure == (" ",)
    with pytest.raises(InvalidParameter, match="nothing to ask about"):
        found.question(2.0)


def test_discoveries_make_a_closed_question(found) -> None:
    """The follow-up has the sure texts as labels, and one for all others."""
    closed = found.question(2.0)
    assert set(WORDS) < set(closed.labels)
    assert closed.other == "(other)"
    assert closed.protocol.epsilon == 2.0
    assert closed.name == QUESTION.name


def test_discoveries_are_shown_and_exported(found) -> None:
    """Text, page and exports have the texts and what holds for all of them."""
    assert "banana" in repr(found)
    assert re.search(r"is at most 5\s%", found.table(width=200))
    assert "banana" in found.to_html()
    assert found.to_csv().splitlines()[0].startswith("label,count,share,lower,upper,sure,tail")
    assert len(found.top(3)) == 3
    assert found.top(3).uncovered == found.uncovered
    with pytest.raises(OutOfDomain, match="not found"):
        found["pear"]


def test_named_candidates_are_estimated_without_a_search(tally: Tally) -> None:
    """Any texts can be counted from check pieces, with intervals that hold the truth."""
    estimates = QUESTION.estimate(tally, ["banana", "pear", "x" * 40])
    lower, upper = estimates.interval()
    for i, count in enumerate((9000, 0, 8000)):
        assert lower[i] <= count <= upper[i]
    assert estimates.significant().tolist() == [True, False, True]
    for wrong in ("kiwi", [], 7):
        with pytest.raises(InvalidParameter, match="list of texts"):
            QUESTION.estimate(tally, wrong)
    for count in (QUESTION.estimate, QUESTION.discover):
        with pytest.raises(OutOfDomain, match="position 1 has half of a surrogate pair"):
            count(tally, ["kiwi", "\ud800"])
    for twice in (["kiwi", "kiwi"], ["caf\u00e9", "cafe\u0301"]):
        with pytest.raises(InvalidParameter, match="each candidate once"):
            QUESTION.estimate(tally, twice)


def test_search_never_sees_a_check_report(tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are the same whatever check reports say, and those decide alone what is sure."""
    seen = []

    def watched(protocol, code, sizes, supports):
        made = candidates(protocol, code, sizes, supports)
        seen.append((len(supports), made.texts, made.unfinished))
        return made

    monkeypatch.setattr(verification, "candidates", watched)
    protocol = QUESTION.protocol
    answers = [word for word, count in zip(WORDS, COUNTS, strict=True) for _ in range(count)]
    # The same seed draws the same pieces.
    reports = QUESTION.privatize(answers, np.random.default_rng(5))
    others = QUESTION.privatize([f"{word}#x" for word in answers], np.random.default_rng(5))
    check = reports // protocol.lines.reports >= protocol.payload
    reports[check] = others[check]
    assert QUESTION.discover(tally).sure
    assert not QUESTION.discover(QUESTION.tally(reports)).sure
    assert seen[0] == seen[1]
    assert seen[0][0] == protocol.payload


def test_copies_are_clipped_and_plant_nothing(tally: Tally) -> None:
    """Identical reports count no more than honest people can send, and the others are named."""
    protocol, rng = QUESTION.protocol, np.random.default_rng(7)
    wanted = protocol.privatize(ENGLISH.values(["planted"] * 400), rng)
    pieces = wanted // protocol.lines.reports
    copies = np.repeat([wanted[pieces == j][0] for j in range(protocol.layout.pieces)], 250)
    found = QUESTION.discover(tally + QUESTION.tally(copies))
    assert "planted" not in found
    assert found.found.clipped > 0.9 * len(copies)
    assert found.n + found.found.clipped == tally.n + len(copies)
    assert any("copies" in note for note in found.notes())


def test_uneven_pieces_are_noticed() -> None:
    """Clients that do not draw the piece are told by the numbers of reports."""
    reports = QUESTION.privatize(["kiwi"] * 4000, np.random.default_rng(8))
    one = reports[reports // QUESTION.protocol.lines.reports == 0]
    honest, wrong = QUESTION.tally(reports), QUESTION.tally(np.concatenate([reports, one]))
    assert QUESTION.protocol.tables(honest).even
    assert not QUESTION.protocol.tables(wrong).even
    assert any("uneven" in note for note in QUESTION.discover(wrong).notes())


@pytest.mark.parametrize("n", [0, 1, 20])
def test_few_reports_get_an_answer(n: int) -> None:
    """Too few reports for a search are said to be too few; candidates are looked at anyway."""
    tally = QUESTION.tally(QUESTION.privatize(["kiwi"] * n, np.random.default_rng(9)))
    found = QUESTION.discover(tally, ["kiwi"])
    assert not found.found.searched
    assert any("too few" in note for note in found.notes())
    with pytest.raises(InvalidParameter, match="no text is sure"):
        QUESTION.discover(tally).question(1.0)


def test_tallies_of_another_question_are_refused(tally: Tally) -> None:
    """A search is of one question's tally, with alpha and rate from 0 to 1."""
    with pytest.raises(IncompatibleTally):
        ask(2.0).discover(tally)
    with pytest.raises(IncompatibleTally):
        QUESTION.discover(replace(tally, question="0" * 64))
    with pytest.raises(InvalidParameter, match="discovered"):
        Question("q", ("a", "b"), epsilon=1.0).discover(replace(tally, question=None))
    for wrong in ({"alpha": 0}, {"alpha": 1.5}, {"rate": 0}, {"rate": "x"}):
        with pytest.raises(InvalidParameter, match=r"alpha|rate"):
            QUESTION.discover(tally, **wrong)
    for listed in ("kiwi", [1]):
        with pytest.raises(InvalidParameter, match="list of texts"):
            QUESTION.discover(tally, listed)


def test_alpha_is_divided_over_looks_and_segments() -> None:
    """Any number of looks, in any number of segments, spends at most alpha together."""
    assert sum(alpha_at(0.05, look=k, segments=4) for k in range(1, 500)) * 4 < 0.05
    assert alpha_at(0.05, look=1) == 0.025


def test_levels_and_crafted_reports_are_those_of_the_plan() -> None:
    """Longer codes have to be stronger, and the price of a planted text grows as the root of n."""
    tau = levels(QUESTION.protocol.layout)
    assert (np.diff(tau) >= 0).all()
    assert tau[20] == pytest.approx(stats.norm.isf(50 / 2**20), abs=1e-6)
    assert crafted(Discovery(4.0, salt=SALT), 10**6) == 708
    assert crafted(Discovery(4.0, salt=SALT), 4 * 10**6) == pytest.approx(2 * 708, abs=2)


FORGED = {
    "more hits than reports": (4, [7], [5]),
    "fewer hits than reports": (10**15, [7], [5]),
    "a cell beyond the last": (1, [-1], [1]),
    "no hits of a million": (1, list(range(10**6)), [0] * 10**6),
    "a million hits of one report": (1, list(range(10**6)), [1] * 10**6),
    "sums that overflow": (5, [7, 8], [2**62, 2**62 + 5]),
}


@pytest.mark.parametrize("why", FORGED)
def test_forged_tallies_are_refused_within_limits(why: str) -> None:
    """What no people can leave in a full-size tally is refused at once, in some megabytes."""
    protocol = Discovery(4.0, salt=SALT)
    n, cells, counts = FORGED[why]
    size = protocol.layout.pieces * protocol.cells
    places = np.array([cell % (size + 1) for cell in cells], dtype=np.uint64)
    forged = Tally(protocol, n, Table(size, places, np.array(counts))).to_bytes()
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(DeniableError):
            Tally.from_bytes(forged)
        assert time.process_time() - start < 1
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
