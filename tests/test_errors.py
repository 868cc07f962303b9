"""Errors on a device: they leave it by way of logs and error reporters, and answers must not."""

import numpy as np
import pytest

from deniable import DE, BasicRAPPOR, InvalidParameter, OpenLH, OutOfDomain, Protocol, Question

LABELS = ("kiwi", "fig", "pear", "plum")
SECRET = 8_125_999
"""What must not show, as a number and in a text."""
TEXT = f"a{SECRET}"


def held(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it came from, holds the secret anywhere."""
    while error is not None:
        shown = (str(error), repr(error), *map(repr, error.args), repr(vars(error)))
        # An error of Unicode keeps the text in attributes that vars does not list.
        if any(str(SECRET) in text for text in (*shown, repr(getattr(error, "object", "")))):
            return True
        error = error.__cause__ or error.__context__
    return False


def device(kind: str) -> object:
    """Return something that privatizes answers."""
    if kind == "open":
        return Question("word", None, OpenLH(2.0))
    if kind == "again":
        return Question("fruit", LABELS, BasicRAPPOR(4, 0.5)).client(bytes(16))
    return Question("fruit", LABELS, DE(1.0, 4))


@pytest.mark.parametrize("kind", ["closed", "open", "again"])
@pytest.mark.parametrize(
    "answers",
    [
        ["kiwi", SECRET],
        [float(SECRET)],
        [TEXT.encode()],
        [[TEXT]],
        [f"{TEXT}\ud800"],
        TEXT,
        SECRET,
        {TEXT: 1},
        np.array(TEXT),
        np.array([SECRET]),
    ],
    ids=repr,
)
def test_no_error_holds_what_is_no_answer(kind: str, answers: object) -> None:
    """Neither words, arguments nor value of an error hold the answer, nor does one in its chain."""
    with pytest.raises((OutOfDomain, InvalidParameter)) as caught:
        device(kind).privatize(answers)
    assert not held(caught.value)


@pytest.mark.parametrize("kind", ["closed", "again"])
def test_no_error_holds_an_answer_without_a_label(kind: str) -> None:
    """An answer that is none of the labels is placed, and not shown."""
    with pytest.raises(OutOfDomain, match="position 1") as caught:
        device(kind).privatize(["kiwi", TEXT])
    assert not held(caught.value)


@pytest.mark.parametrize("protocol", [DE(1.0, 4), OpenLH(1.0), BasicRAPPOR(4, 0.5)], ids=repr)
@pytest.mark.parametrize(
    "values",
    [
        [0, 10**20 + SECRET],
        [-SECRET],
        [TEXT],
        [float(SECRET)],
        [[0], [SECRET, 1]],
        SECRET,
        TEXT,
        [TEXT.encode()],
        [{SECRET: 1}],
        np.ma.array([SECRET, 1], mask=[0, 1]),
    ],
    ids=repr,
)
def test_no_error_holds_what_is_no_value(protocol: Protocol, values: object) -> None:
    """What a protocol refuses to privatize is placed, and not shown."""
    devices: list[object] = [protocol]
    if isinstance(protocol, BasicRAPPOR):
        devices.append(protocol.client(bytes(16), context=""))
    for each in devices:
        with pytest.raises((OutOfDomain, InvalidParameter)) as caught:
            each.privatize(values)
        assert not held(caught.value)


def test_the_test_would_see_a_leak() -> None:
    """An error that holds the secret, or came from one that does, is found."""
    for raised in (OutOfDomain(TEXT), OutOfDomain("", value=SECRET)):
        assert held(raised)
    try:
        try:
            f"{TEXT}\ud800".encode()
        except UnicodeEncodeError:
            raise OutOfDomain("not shown") from None
    except OutOfDomain as error:
        assert held(error)  # noqa: PT017 - the chain is there only while it is handled
