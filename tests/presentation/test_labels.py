from hypothesis import given
from hypothesis import strategies as st

from deniable.presentation.text import columns_of, fit_labels, one_line, printable


@given(st.text(max_size=60), st.integers(2, 50))
def test_one_line_is_printable_and_fits(label: str, width: int) -> None:
    """Any label becomes printable text of bounded width, and shows whether it was cut."""
    line = one_line(label, width)
    assert line.replace("\u200d", "").replace("\u200c", "").isprintable()
    assert columns_of(line) <= width
    assert line == printable(label) or "…" in line


def test_the_middle_of_a_long_label_goes() -> None:
    """Beginning and end stay, whatever the length."""
    assert one_line("abcdefghij", 5) == "ab…ij"
    assert one_line("a" + "x" * 10**6 + "b", 9) == "axxx…xxxb"
    assert one_line("日本語日本語", 7) == "日…語"


@given(
    st.lists(st.integers(0, 9999), min_size=2, max_size=20, unique=True),
    st.sampled_from(["https://example.com/{:04d}", "https://example.com/a/{:04d}/index.html?q=new",
                     "{:04d} is the number of this very long label of a survey"]),
    st.integers(20, 60),
)  # fmt: skip
def test_labels_that_differ_in_one_place_stay_apart(
    numbers: list[int], pattern: str, width: int
) -> None:
    """Wherever the difference stands, it is what is left of labels that are cut."""
    labels = [pattern.format(number) for number in numbers]
    shown = fit_labels(labels, width)
    assert len(set(shown)) == len(labels)
    assert max(map(columns_of, shown)) <= width


def test_equal_labels_look_equal() -> None:
    """Labels that are the same are cut in the same way."""
    shown = fit_labels(["a" * 50] * 2, 9)
    assert shown == ["aaaa…aaaa"] * 2


def test_columns_of_characters_that_take_two_or_none() -> None:
    """Wide characters take two columns, and marks above another none."""
    assert columns_of("日本") == 4
    assert columns_of("u\u0308") == 1
    assert columns_of("❤\ufe0f") == columns_of("❤")


def test_joiners_stay_where_writing_needs_them() -> None:
    """Emoji of several parts and Persian keep their joiners; at the edge of a word they show."""
    family, persian = "👩\u200d👩\u200d👧\u200d👦 famille", "می\u200cخواهم"
    assert printable(family) == family
    assert printable(persian) == persian
    assert printable("a\u200d") == "a\\u200d"
    assert printable("\u202eright\u200dleft") == "\\u202eright\u200dleft"
    assert columns_of("👩\u200d👩\u200d👧\u200d👦") == columns_of("👍🏽") == 2


def test_no_character_is_cut_in_two() -> None:
    """A label loses whole characters, with the marks and joiners that belong to them."""
    assert one_line("👩\u200d👧" * 9, 7) == "👩\u200d👧…👩\u200d👧"
    assert one_line("e\u0301" * 9, 5) == "e\u0301e\u0301…e\u0301e\u0301"
