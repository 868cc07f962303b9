"""The protocol that a user names: ``OLH``, ``THE:theta=1``, ``UE:p=0.5:q=0.2`` or ``auto``."""

import math
from dataclasses import MISSING, fields

import click

from deniable.cli.group import InputError
from deniable.cli.outputs import warn
from deniable.protocol import Protocol
from deniable.protocols import discover, find
from deniable.protocols.hashing import OpenLH

AUTO = "auto"
LARGE_EPSILON = 5.0
"""Above this a report hides little, and the user is warned."""
_SMALL_EPSILON = 1e-6
_TARGET = {"epsilon", "domain_size"}
"""The arguments that are not settings: options and labels give them."""


def choose_protocol(text: str, epsilon: float | None, domain_size: int | None) -> Protocol:
    """Return the protocol that ``text`` names; a domain size of None stands for an open domain."""
    name, *settings = text.split(":")
    if name.lower() == AUTO and domain_size is not None:
        from deniable.advice import recommend  # noqa: PLC0415 - only auto needs advice

        return recommend(needed(epsilon), domain_size).best.protocol
    kind = find_protocol(name)
    known = {f.name: f for f in fields(kind)}
    given: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key in given:
            raise InputError(f"{text!r} has the setting {key!r} more than once; drop one")
        if not equals or key not in known or key in _TARGET:
            own = [k for k in known if k not in _TARGET]
            raise InputError(
                f"expected {kind.__name__} with {' and '.join(own) or 'no settings'}, got "
                f"{setting!r}; write for example {_example(kind)}"
            )
        given[key] = _number(setting, value)
    if "epsilon" in known:
        if epsilon is not None or known["epsilon"].default is MISSING:
            given["epsilon"] = needed(epsilon)
    elif epsilon is not None:
        raise InputError(
            f"the epsilon of {kind.__name__} follows from its settings; leave out --epsilon"
        )
    if "domain_size" in known:
        if domain_size is None:
            raise InputError(
                f"{kind.__name__} needs a list of answers; for an open question use "
                f"{OpenLH.__name__}"
            )
        given["domain_size"] = domain_size
    missing = [k for k, f in known.items() if f.default is MISSING and k not in given]
    if missing:
        raise InputError(f"{kind.__name__} needs {' and '.join(missing)}; write for example "
                         f"{_example(kind)}")  # fmt: skip
    return kind(**given)


def at_epsilon(text: str, epsilon: float, domain_size: int) -> Protocol:
    """Return the protocol that ``text`` names, at its own epsilon where its settings give one."""
    name = text.partition(":")[0]
    given = name.lower() == AUTO or takes(find_protocol(name), "epsilon")
    return choose_protocol(text, epsilon if given else None, domain_size)


def find_protocol(name: str) -> type[Protocol]:
    """Return the protocol of that name, in upper or lower case; GRR is DE."""
    known = {each.lower(): kind for each, kind in discover().items()}
    known["grr"] = known["de"]
    found = known.get(name.lower()) or find(name)  # which says what is wrong with an offer
    if found is None:
        raise InputError(
            f"expected a protocol among {', '.join(discover())}, got {name!r}; name one of them"
        )
    return found


def check_privacy(epsilon: float | None, domain_size: int | None = None) -> None:
    """Warn of an epsilon that hides little, and refuse one too small for every protocol.

    What is not an epsilon at all is for the library to refuse.
    """
    if epsilon is None or not 0 < epsilon < math.inf:
        return
    if epsilon > LARGE_EPSILON:
        odds = f"{math.exp(epsilon):,.0f}" if epsilon < 20 else f"{math.exp(min(epsilon, 700)):.1e}"
        warn(
            f"epsilon = {epsilon:g} is above {LARGE_EPSILON:g}: one report can multiply the odds "
            f"of a guess about its sender by {odds}, which hides little; 1 to 3 is usual"
        )
    if domain_size is not None and epsilon < _SMALL_EPSILON:
        from deniable.advice.ranking import find_protocols  # noqa: PLC0415 - most need no advice

        if not find_protocols(epsilon, domain_size) and find_protocols(1.0, domain_size):
            raise InputError(
                f"no protocol can have epsilon = {epsilon:g} with {domain_size:,} answers: it is "
                "too small for probabilities of 64 bits; take a larger one, such as 0.1"
            )


def complete_protocols(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of several protocols separated by commas, in upper or lower case."""
    del ctx, param
    before, comma, last = incomplete.rpartition(",")
    names = [AUTO, *discover()]
    return [f"{before}{comma}{name}" for name in names if name.lower().startswith(last.lower())]


def takes(kind: type[Protocol], argument: str) -> bool:
    """Tell whether a protocol is made with ``argument``; without a domain size it is open."""
    return argument in {f.name for f in fields(kind)}


def needed(epsilon: float | None) -> float:
    if epsilon is None:
        raise InputError("an epsilon is missing; pass for example --epsilon 1")
    return epsilon


def _number(setting: str, value: str) -> float | int:
    try:
        return float(value) if any(mark in value.lower() for mark in ".en") else int(value)
    except ValueError as error:
        raise InputError(f"expected a number, got {setting!r}; write for example g=16") from error


def _example(kind: type[Protocol]) -> str:
    """Return how to write a protocol with its settings, so that it is accepted."""
    known = {f.name: f.default for f in fields(kind)} | kind.usual_settings
    # Where f is free epsilon may be given in its place, but not both.
    own = [key for key, value in known.items() if key not in _TARGET
           and value is not None and not (key == "f" and "epsilon" in known)]  # fmt: skip
    written = ":".join([kind.__name__, *(f"{key}={known[key]}" for key in own)])
    return written + (", with at least as many rows as people" if "rows" in known else "")
