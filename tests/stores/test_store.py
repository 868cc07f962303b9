"""The promises of ``Store``, sentence by sentence, on every store."""

from __future__ import annotations

from dataclasses import replace
from threading import Barrier, Thread

from deniable.collector.stores.records import (
    MOST_PUBLISHED,
    Asked,
    Days,
    Key,
    Outcome,
    Publication,
    Slice,
    State,
    Submission,
    Total,
)
from deniable.collector.stores.store import Store
from tests.stores.conftest import DAY, QUESTION, TODAY, Place

Q = QUESTION.digest
OTHER = Asked("b" * 64, '{"other": 1}', State.OPEN, "{}")


def submission(number: int, reports: bytes = b"report", **fields: object) -> Submission:
    """Return a submission with a number for its id."""
    return replace(Submission(Q, DAY, number.to_bytes(16, "big"), reports), **fields)


def published(store: Store, part: Slice) -> Publication | None:
    """Return the sum of a slice as it was last shown."""
    return store.snapshot(shown=[part]).published.get(part)


def counted(store: Store, day: int = DAY) -> int:
    """Return how many reports of a day are counted."""
    return store.snapshot(Slice(Q, Days(day, day))).n


def fold_all(store: Store) -> int:
    """Fold with tallies that are just the reports joined, and return the number of steps."""
    steps = 0
    while pile := store.pile(1, 1 << 20):
        n, _, joined = (pile.tally or b"0|").partition(b"|")
        total = int(n) + pile.n
        assert store.fold(pile, b"%d|" % total + joined + pile.reports)
        steps += 1
    return steps


def test_a_submission_is_stored(store: Store) -> None:
    """What was added is in the snapshot of its day, bytes and all."""
    assert store.add([submission(1)]) == [Outcome.STORED]
    (waiting,) = store.snapshot(TODAY).waiting
    assert (waiting.day, waiting.n, waiting.data) == (DAY, 1, b"report")
    assert store.snapshot(Slice(Q, Days(DAY + 1, DAY + 9))).n == 0


def test_a_group_may_hold_several_questions(store: Store) -> None:
    """Each submission of a group is judged by its own question."""
    store.ask(OTHER)
    group = [submission(1), submission(1, question=OTHER.digest), submission(1, question="f" * 64)]
    stored, unknown = Outcome.STORED, Outcome.UNKNOWN
    assert store.add(group) == [stored, stored, unknown]
    store.change(OTHER.digest, state=State.CLOSED)
    group = [submission(2), submission(2, question=OTHER.digest)]
    assert store.add(group) == [stored, Outcome.CLOSED]
    assert counted(store) == 2


def test_the_same_submission_twice_counts_once(store: Store) -> None:
    """A repeat is told as such and not counted, in another call and in the same."""
    assert store.add([submission(1), submission(1)]) == [Outcome.STORED, Outcome.REPEATED]
    assert store.add([submission(1)]) == [Outcome.REPEATED]
    assert counted(store) == 1


def test_the_same_id_with_other_bytes_is_a_conflict(store: Store) -> None:
    """The first bytes stay, in one group and in the next."""
    one, two = submission(1, b"one"), submission(1, b"two")
    assert store.add([one, two, one]) == [Outcome.STORED, Outcome.CONFLICT, Outcome.REPEATED]
    assert store.add([two, one]) == [Outcome.CONFLICT, Outcome.REPEATED]
    assert [total.data for total in store.snapshot(TODAY).waiting] == [b"one"]


def test_a_repeat_is_known_after_folding(store: Store) -> None:
    """Ids stay when reports are folded, and so does what tells other bytes."""
    store.add([submission(1, b"one")])
    assert fold_all(store) == 1
    assert store.add([submission(1, b"one"), submission(1, b"two"), submission(2)]) == [
        Outcome.REPEATED,
        Outcome.CONFLICT,
        Outcome.STORED,
    ]
    assert counted(store) == 2


def test_the_same_id_on_two_questions_and_days_counts_each(store: Store) -> None:
    """The key is question, day and id."""
    store.ask(OTHER)
    group = [submission(1), submission(1, day=DAY + 1), submission(1, question=OTHER.digest)]
    assert store.add(group) == [Outcome.STORED] * 3


def test_unknown_and_deleted_questions_are_refused(store: Store) -> None:
    """A submission to a question that is not there is not stored."""
    assert store.add([submission(1, question="f" * 64)]) == [Outcome.UNKNOWN]
    assert store.change(Q, state=State.DELETED)
    assert store.add([submission(1)]) == [Outcome.UNKNOWN]
    assert store.asked(Q) is None
    assert not store.change(Q, state=State.OPEN)


def test_a_closed_question_takes_nothing_new_and_remembers(store: Store) -> None:
    """A repeat of what was stored before closing answers as before."""
    store.add([submission(1)])
    assert store.change(Q, state=State.CLOSED)
    assert store.add([submission(1), submission(2), submission(1, b"other")]) == [
        Outcome.REPEATED,
        Outcome.CLOSED,
        Outcome.CONFLICT,
    ]
    assert store.change(Q, state=State.OPEN)
    assert store.add([submission(2)]) == [Outcome.STORED]


def test_asking_again_changes_nothing(store: Store) -> None:
    """The first state and terms of a question stay until they are changed."""
    assert not store.ask(replace(QUESTION, state=State.CLOSED, terms="[]"))
    assert store.asked(Q) == QUESTION
    assert store.change(Q, terms="[1]")
    assert store.asked(Q) == replace(QUESTION, terms="[1]", edition=1)
    assert not store.change("f" * 64, terms="[]")
    store.ask(OTHER)
    assert [asked.digest for asked in store.all_asked()] == [Q, OTHER.digest]


def test_folding_changes_no_count(store: Store) -> None:
    """Each report is in a tally or waiting, never both; sources stay apart."""
    store.add([submission(i, b"%d" % i) for i in range(5)])
    store.add([submission(9, b"relayed", count=3, source="relay:x")])
    before = store.standing(TODAY)
    assert fold_all(store) == 2
    store.add([submission(7)])
    snapshot = store.snapshot(TODAY)
    assert {total.source: total.n for total in snapshot.tallies} == {"anonymous": 5, "relay:x": 3}
    assert [total.n for total in snapshot.waiting] == [1]
    after = store.standing(TODAY)
    assert (after.n, after.edition) == (before.n + 1, before.edition)


def test_reports_are_counted_by_day(store: Store) -> None:
    """Waiting reports and tallies of a day add up; days without any, and excluded ones, are not."""
    store.add([submission(1), submission(2, day=DAY - 2), submission(3, day=DAY - 2, count=4)])
    fold_all(store)
    store.add([submission(4), submission(5, day=DAY - 3, count=7, source="relay:bad")])
    store.exclude(Q, "relay:bad", True)
    assert store.standing(Slice(Q, Days(DAY - 9, DAY + 9))).daily == [(DAY - 2, 5), (DAY, 2)]
    assert store.standing(Slice(Q, Days(DAY, DAY + 9))).daily == [(DAY, 2)]
    assert store.standing(Slice("f" * 64, Days(0, DAY))).daily == []


def test_a_pile_can_be_folded_once(place: Place, store: Store) -> None:
    """Of two who fold the same reports one succeeds, and nothing is counted twice."""
    store.add([submission(1), submission(2)])
    other = place.open()
    mine, theirs = store.pile(1, 100), other.pile(1, 100)
    assert mine is not None
    assert mine == theirs
    assert store.fold(mine, b"2|")
    assert not other.fold(mine, b"2|")
    store.add([submission(3)])
    assert not other.fold(mine, b"2|")
    assert counted(store) == 3


def test_small_piles_wait_and_large_ones_are_cut(store: Store) -> None:
    """A pile has at least ``least`` bytes, and not more than ``most`` unless one group has."""
    for i in range(4):
        store.add([submission(i, b"x" * 10)])
    assert store.pile(41, 100) is None
    for most, rows in ((25, 2), (1, 1), (100, 4)):
        pile = store.pile(1, most)
        assert pile is not None
        assert (len(pile.rows), len(pile.reports), pile.n) == (rows, 10 * rows, rows)


def test_old_tallies_go_after_the_retention(place: Place, store: Store) -> None:
    """Uploads are kept for good."""
    store.add([submission(1)])
    store.upload(Q, Total(DAY, "upload:1", 4, b"4|"), b"f")
    fold_all(store)
    place.pass_to(DAY + 30)
    store.seal(trust_clock=True)
    assert store.sweep(10, retention=31) == 1  # the id
    assert store.sweep(10, retention=31) == 0
    assert store.sweep(10, retention=29) == 1
    assert counted(store) == 4


def test_a_deleted_question_leaves_nothing(store: Store) -> None:
    """All rows go, bit by bit, and then it can be asked anew."""
    store.ask(OTHER)
    store.add([submission(i) for i in range(5)])
    store.add([submission(1, question=OTHER.digest)])
    fold_all(store)
    store.add([submission(7)])
    store.exclude(Q, "anonymous", True)
    store.change(Q, state=State.DELETED)
    assert not store.ask(QUESTION)
    while store.sweep(2):
        pass
    assert store.ask(QUESTION)
    assert counted(store) == 0
    assert store.add([submission(1)]) == [Outcome.STORED]
    assert counted(store) == 1
    assert store.snapshot(Slice(OTHER.digest, Days(DAY, DAY))).n == 1
    assert list(store.check()) in ([], ["fsync is off: acknowledged submissions can be lost"])


def test_an_excluded_source_does_not_count(store: Store) -> None:
    """Excluding changes every count, and can be taken back."""
    store.add([submission(1), submission(2, source="relay:bad", count=7)])
    edition = store.standing(TODAY).edition
    assert store.exclude(Q, "relay:bad", True)
    assert counted(store) == store.standing(TODAY).n == 1
    assert store.standing(TODAY).edition > edition
    fold_all(store)
    assert counted(store) == 1
    assert [(s.name, s.n, s.excluded) for s in store.sources(Q)] == [
        ("anonymous", 1, False),
        ("relay:bad", 7, True),
    ]
    assert store.exclude(Q, "relay:bad", False)
    assert counted(store) == 8
    assert not store.exclude(Q, "nobody", True)


def test_what_was_published_first_is_shown(place: Place, store: Store) -> None:
    """Of two collectors that replace the same sum one does, and both show its sum."""
    other = place.open()
    first, second = Publication(10, 0, b"10|", 3), Publication(12, 0, b"12|", 4)
    part = Slice(Q, Days(1, DAY))
    assert published(store, part) is None
    assert store.publish({part: first}, {})
    assert not other.publish({part: second}, {})
    assert published(other, part) == first
    assert other.publish({part: second}, {part: first})
    assert not store.publish({part: Publication(13, 0, b"13|")}, {part: first})
    assert published(store, part) == published(other, part) == second
    assert published(store, Slice(Q, Days(2, DAY))) is None


def test_published_sums_are_listed_without_their_tallies(store: Store) -> None:
    """How a slice stands includes what was shown of every range of days of its question."""
    parts = {Slice(Q, Days(day, DAY)): Publication(day, 0, b"x|", 2) for day in (1, 2)}
    assert store.publish(parts, {})
    found = store.standing(TODAY).published
    assert found == {part.days: replace(sum, tally=b"") for part, sum in parts.items()}
    assert store.snapshot(shown=[*parts, TODAY]).published == parts


def test_segments_are_kept_apart(store: Store) -> None:
    """Reports of one id may be of several segments; counts, piles and sums know which."""
    some = Submission(Q, DAY, b"i" * 16, b"aabbcc", 3, "relay:x", bytes([2, 0, 2]))
    one = Submission(Q, DAY, b"j" * 16, b"dd", cells=bytes([2]))
    assert store.add([some, one]) == [Outcome.STORED] * 2
    assert store.add([some]) == [Outcome.REPEATED]
    assert store.add([replace(one, cells=b"\1")]) == [Outcome.CONFLICT]
    assert store.standing(TODAY).segments == {0: 1, 2: 3}
    found = {(row.segment, row.source): row.data for row in store.snapshot(TODAY).waiting}
    assert found == {(0, "relay:x"): b"bb", (2, "relay:x"): b"aacc", (2, "anonymous"): b"dd"}
    while (pile := store.pile(1, 1000)) is not None:
        assert store.fold(pile, b"%d|" % pile.total)
    tallies = {(row.segment, row.source): row.n for row in store.snapshot(TODAY).tallies}
    assert tallies == {(0, "relay:x"): 1, (2, "relay:x"): 2, (2, "anonymous"): 1}
    assert store.standing(TODAY).segments == {0: 1, 2: 3}
    total = Total(DAY, "upload:1", 4, b"4|", 1)
    assert store.upload(Q, total, b"f") is Outcome.STORED
    assert store.upload(Q, total._replace(segment=2), b"f") is Outcome.CONFLICT


def test_published_sums_are_few_and_go_with_what_they_hold(place: Place, store: Store) -> None:
    """Of many ranges the latest stay; retention and deletion remove what was published."""
    for last in range(MOST_PUBLISHED + 2):
        store.publish({Slice(Q, Days(0, last)): Publication(1, 0, b"1|")}, {})
    found = [
        published(store, Slice(Q, Days(0, last))) is not None for last in range(MOST_PUBLISHED + 2)
    ]
    assert found == [False] * 2 + [True] * MOST_PUBLISHED
    store.add([submission(1)])
    fold_all(store)
    place.pass_to(DAY + 30)
    store.seal(trust_clock=True)
    while store.sweep(10, retention=29):
        pass
    assert published(store, Slice(Q, Days(0, MOST_PUBLISHED))) is None
    store.publish({Slice(Q, Days(0, 1)): Publication(1, 0, b"1|")}, {})
    store.change(Q, state=State.DELETED)
    while store.sweep(10):
        pass
    assert store.ask(QUESTION)
    assert published(store, Slice(Q, Days(0, 1))) is None


def test_an_upload_counts_once(store: Store) -> None:
    """The same id with another tally or day is a conflict."""
    total = Total(DAY - 100, "upload:1", 4, b"4|")
    assert store.upload(Q, total, b"f") is Outcome.STORED
    assert store.upload(Q, total, b"f") is Outcome.REPEATED
    assert store.upload(Q, total, b"g") is Outcome.CONFLICT
    assert store.upload(Q, total._replace(day=DAY), b"f") is Outcome.CONFLICT
    assert store.upload("f" * 64, total, b"f") is Outcome.UNKNOWN
    assert store.snapshot(Slice(Q, Days(0, DAY))).n == 4


def test_a_key_is_dropped_once(place: Place, store: Store) -> None:
    """Names are unique within a kind; of two who drop a key one gets it."""
    key = Key(b"h" * 32, "token", "viewer", "ann")
    assert store.keep(key)
    assert not store.keep(replace(key, hash=b"i" * 32))
    assert store.keep(replace(key, hash=b"j" * 32, kind="session", expires=5))
    assert store.key(key.hash) == key
    assert store.keys("token") == [key]
    assert place.open().drop(key.hash) == key
    assert store.drop(key.hash) is None
    assert store.key(key.hash) is None


def test_a_store_opens_again_with_everything_in_it(place: Place, store: Store) -> None:
    """Another handle sees what was acknowledged."""
    store.add([submission(1)])
    store.close()
    assert counted(place.open()) == 1


def test_threads_that_add_the_same_ids_count_each_once(place: Place, store: Store) -> None:
    """Four handles add overlapping groups in different orders: every id counts once."""
    stores = [store, *(place.open() for _ in range(3))]
    outcomes: list[Outcome] = []
    barrier = Barrier(len(stores))

    def work(number: int, mine: Store) -> None:
        barrier.wait()
        for start in range(0, 200, 20):
            ids = range(start, start + 40)
            found = mine.add([submission(i) for i in (ids if number % 2 else reversed(ids))])
            outcomes.extend(found)

    threads = [Thread(target=work, args=pair) for pair in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(Outcome.STORED) == 220
    assert set(outcomes) == {Outcome.STORED, Outcome.REPEATED}
    assert counted(store) == 220
