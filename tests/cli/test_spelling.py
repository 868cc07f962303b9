"""Lines that are labels are found by their bytes, and exactly those."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.cli import answers
from deniable.cli.matching import Matcher
from deniable.cli.source import Source, split_lines
from deniable.cli.spelling import Spellings

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
ALIKE = st.sampled_from(["", "\0", "a", "a\0", "a\0\0", "abcdefgh", "abcdefgh\0", "abcdefghi", "é"])


@given(
    labels=st.lists(LINE | ALIKE, min_size=1, max_size=30, unique=True),
    lines=st.lists(LINE | ALIKE, max_size=20),
    some=st.lists(st.integers(0, 99), max_size=20),
    ended=st.booleans(),
)
def test_values_are_those_of_a_dictionary(labels, lines, some, ended) -> None:
    """Lines have the values of their labels, and where one is no label there is no answer."""
    wanted = lines + [labels[i % len(labels)] for i in some]
    data = "\n".join(wanted).encode() + b"\n" * ended
    wanted = split_lines(data.decode())
    values = {label: i for i, label in enumerate(labels)}
    found = Spellings(labels).find(data)
    if wanted and all(line in values for line in wanted):
        assert found is not None
        assert found.tolist() == [values[line] for line in wanted]
    else:
        assert found is None


def test_many_labels_share_the_table() -> None:
    """A hundred thousand labels, so that many collide, are each found."""
    labels = [f"https://example.com/page/{i}" for i in range(100_000)]
    order = np.random.default_rng(1).permutation(100_000)
    data = "".join(f"{labels[i]}\n" for i in order).encode()
    assert np.array_equal(Spellings(labels).find(data), order)
    assert Spellings(labels).find(data + b"https://example.com/page/100000\n") is None


@pytest.mark.parametrize("labels", [[], ["a\nb", "c"], ["a\r", "c"], ["x" * 65, "c"]])
def test_unusual_labels_are_left_to_who_reads_text(labels: list[str]) -> None:
    """Labels with ends of lines in them, and very long ones, are not looked for."""
    assert Spellings(labels).find(b"c\n") is None


def test_both_ways_read_the_same(tmp_path: Path) -> None:
    """Pieces with and without foreign spellings come out as without the table, lines and all."""
    labels = ("kiwi", "fig", "other")
    lines = ["\ufeffkiwi", *["fig", "kiwi"] * 500_000, "plum", *["fig\r"] * 3, "kiwi"]
    path = tmp_path / "answers.txt"
    path.write_bytes("\n".join(lines).encode())
    source, found = Source(path), []
    for spellings in (Spellings(labels), None):
        matcher = Matcher(labels, "other")
        batches = list(answers.read_answers(source, spellings=spellings))
        assert any(batch.values is not None for batch in batches) == (spellings is not None)
        values = np.concatenate([matcher.values(batch, source) for batch in batches])
        numbers = [n for batch in batches for n in batch.lines]
        found.append((values.tolist(), numbers, matcher.read, matcher.unknown))
    assert found[0] == found[1]
    assert found[0][3] == 1
