"""The policy of a device: how much it reveals, and what it reads, unless the person says otherwise.

Every client has these numbers, in every language: they are the head of ``vectors/policy.json``.
The epsilon of a question is its ``total_epsilon``: that of one report or, where the protocol
memoises, of any number of them.
"""

CEILING = 5.0
"""The most epsilon that one question may ask for."""
BUDGET = 10.0
"""The most epsilon that all questions together may ask a device for."""
DUST = 1e-9
"""How far sums of floats may exceed the budget: ten questions of 0.1 add up to 1, not to more."""
DOCUMENT_BYTES = 1 << 24
"""The size of the largest question that a device reads."""

BROWSERS = (
    "AffineSelection", "BLH", "DE", "LH", "OLH", "OUE", "OpenLH", "SUE", "SubsetSelection", "THE",
    "UE",
)  # fmt: skip
"""The protocols that browsers speak: neither SHE nor RAPPOR nor projections."""
BUILDS = {
    "choices": ("PolynomialSelection", "SetSelection"), "discover": ("Discovery",),
    "views": ("Views",),
}  # fmt: skip
"""Kinds of answers for which browsers load a client of their own, with the protocols it speaks."""


def refusal(total: float, who: str = "Devices") -> str:
    """Say that devices refuse a question that reveals so much in all, if they do.

    >>> print(refusal(8.0))
    Devices refuse this question by default: it reveals up to epsilon = 8, and they allow 5.
    >>> refusal(5.0)
    ''
    """
    limit = min(CEILING, BUDGET)
    if total <= limit:
        return ""
    return (
        f"{who} refuse this question by default: it reveals up to epsilon = {total:.4g}, and they "
        f"allow {limit:g}."
    )
