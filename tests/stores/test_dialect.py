"""Statements are written once; what each database is told is the same in its own words."""

from __future__ import annotations

from deniable.collector.stores.dialect import POSTGRES, SQLITE

TEXT = (
    "SELECT no FROM waiting WHERE no = ANY(?) AND day IS NOT DISTINCT FROM ?"
    " AND source NOT LIKE 'upload:%' FOR UPDATE"
)


def test_each_database_has_its_own_words() -> None:
    """Places for values, lists, NULL, percent signs and locks are spelled as each one wants."""
    assert SQLITE[TEXT] == (
        "SELECT no FROM waiting WHERE no IN (SELECT value FROM json_each(?)) AND day IS ?"
        " AND source NOT LIKE 'upload:%'"
    )
    assert POSTGRES[TEXT] == (
        "SELECT no FROM waiting WHERE no = ANY(%s) AND day = %s"
        " AND source NOT LIKE 'upload:%%' FOR UPDATE"
    )
    assert (SQLITE.array({7}), POSTGRES.array({7})) == ("[7]", [7])


def test_a_statement_is_translated_once() -> None:
    """The next use of a statement finds the translation of the first."""
    assert SQLITE[TEXT] is SQLITE[TEXT]
    assert POSTGRES[TEXT] is POSTGRES[TEXT]
