"""What can be compared: estimates of the same rows, of one question, whose errors are known."""

from deniable.errors import IncompatibleTally, InvalidParameter, OutOfDomain, brief
from deniable.estimates import Estimates
from deniable.protocols.sets import Sizes

SIZES_NOTE = (
    "how many answers people gave is not compared: the law of such a change is not known; see the "
    "sizes of each by itself"
)


def check_comparable(estimates: object) -> None:
    if not isinstance(estimates, Estimates):
        raise InvalidParameter.expected(
            "estimates to compare", estimates, "make them with question.estimate(tally)"
        )
    if isinstance(estimates, Sizes):
        raise InvalidParameter(
            "how many answers people gave is a difference of two counts, and the law of its change "
            "is not known; look at the sizes of each by itself, or compare the answers",
            value=None,
        )
    if estimates.adjusted is not None:
        raise InvalidParameter(
            f"the errors of counts adjusted by {estimates.adjusted} are not known; compare the "
            "unbiased estimates of the tallies",
            value=estimates.adjusted,
        )


def check_question(first: Estimates, second: Estimates) -> None:
    sources = first.provenance, second.provenance
    one, other = (each and each.asked for each in sources)
    if one != other:
        origins = ("some of unknown origin" if each is None else each.origin for each in sources)
        raise IncompatibleTally(
            "expected estimates of one question, or of two that differ only in name, got "
            f"{' and '.join(origins)}; compare what was asked with the same answers and the same "
            "protocol",
            value=other,
        )


def matching_rows(first: Estimates, second: Estimates) -> list[int]:
    if len(first) != len(second) or first.total != second.total:
        raise InvalidParameter(
            f"expected the same answers in both estimates, got {len(first)} of {first.total} and "
            f"{len(second)} of {second.total}; compare all answers and take the top afterwards",
            value=len(second),
        )
    try:
        return [second.place(key) for key in first.keys]
    except OutOfDomain as error:
        raise InvalidParameter(
            f"expected the same answers in both estimates, got {brief(error.value)} only in the "
            "first; compare all answers, or select the same ones of both",
            value=error.value,
        ) from error
