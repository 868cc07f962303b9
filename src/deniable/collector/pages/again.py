"""Fields of a new question for asking people again, and for public groups of them."""

import csv
from collections.abc import Mapping
from datetime import UTC, date, datetime

from deniable.collector.pages.kinds import Field, Wrong
from deniable.errors import DeniableError
from deniable.rota import LONGEST_ROUND, MOST_ROUNDS, MOST_TIMES, Repeat
from deniable.segments import MOST_VALUES, Dimension, Segments

AGAIN = (
    Field(
        "rounds",
        "Rounds",
        "Leave it empty to ask once. Each person answers in one of them, drawn by the device.",
        short=True,
    ),
    Field("every", "Days in a round", "7 is a week.", initial="7", short=True),
    Field("times", "How often each person answers", "1: then never again.", initial="1",
          short=True),
    Field("start", "First day", "Such as 2027-01-31; empty is today.", short=True),
)  # fmt: skip
GROUPS = (
    Field(
        "groups",
        "Up to 4 kinds of groups, one on each line",
        "Such as “platform: linux, mac, [other]” or “arm: old, new”. What is in brackets stands "
        "for all others. Nothing hides to which group a person belongs.",
        rows=3,
    ),
)
_MOST = {"rounds": (2, MOST_ROUNDS), "every": (1, LONGEST_ROUND), "times": (1, MOST_TIMES)}


def read_repeat(fields: Mapping[str, str]) -> Repeat | None:
    """Return when people are asked again; None if there are no rounds."""
    given = {name: fields[name].strip() for name in (*_MOST, "start")}
    if not given["rounds"]:
        if given["start"] or given["times"] not in ("", "1"):
            raise Wrong("Enter how many rounds there are, or clear the fields beside it.", "rounds")
        return None
    numbers = []
    for name, (least, most) in _MOST.items():
        text = given[name]
        if not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= most):
            raise Wrong(f"Enter a whole number from {least} to {most}.", name)
        numbers.append(int(text))
    try:
        start = date.fromisoformat(given["start"] or datetime.now(UTC).date().isoformat())
    except ValueError:
        raise Wrong("Enter a day such as 2027-01-31.", "start") from None
    rounds, every, times = numbers
    try:
        return Repeat(start.isoformat(), every, rounds, times)
    except DeniableError as error:
        raise Wrong(f"This cannot be asked: {error}.", "start") from error


def read_groups(fields: Mapping[str, str]) -> Segments:
    """Return the groups by which reports are counted."""
    found: list[Dimension] = []
    for line in filter(None, map(str.strip, fields["groups"].split("\n"))):
        name, colon, rest = (each.strip() for each in line.partition(":"))
        if not (name and colon and rest):
            said = f"“{line[:60]}” has no groups. Write, for example, platform: linux, mac"
            raise Wrong(said, "groups")
        cells = next(csv.reader([rest], skipinitialspace=True))
        listed = [each.strip() for each in cells if each.strip()]
        if not 2 <= len(listed) <= MOST_VALUES:
            said = f"“{name[:60]}” needs 2 to {MOST_VALUES} groups, with commas between them."
            raise Wrong(said, "groups")
        if any(name == each.name for each in found):
            raise Wrong(f"“{name[:60]}” is there twice. Remove one of them.", "groups")
        try:
            found.append(Dimension.of(name, listed))
        except DeniableError as error:
            raise Wrong(f"“{name[:60]}”: This cannot be asked: {error}.", "groups") from error
    try:
        return Segments(tuple(found))
    except DeniableError as error:
        raise Wrong(f"This cannot be asked: {error}.", "groups") from error
