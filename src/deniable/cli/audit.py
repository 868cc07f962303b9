"""``deniable audit``: what a protocol spends, from the code that clients run."""

import sys
from dataclasses import asdict
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click
import numpy as np

from deniable import DeniableError, auditing
from deniable.auditing.probe import Privatizer
from deniable.cli import inputs, options, outputs
from deniable.cli.group import InputError, command
from deniable.progress import listening
from deniable.protocols import discover

_DOMAIN_SIZE = 4


@command(
    "deniable audit fruit.json",
    "deniable audit OUE --epsilon 1 --domain-size 4",
    "deniable audit LH:g=4 --epsilon 1 --domain-size 5 --calls 1000 --json",
)
@click.argument("target", metavar="QUESTION|PROTOCOL|MODULE:CLASS")
@click.option("--epsilon", type=float, help="The privacy loss that is claimed.")
@click.option("--domain-size", type=int, help=f"How many values.  [default: {_DOMAIN_SIZE}]")
@click.option("--calls", type=click.IntRange(32), default=8192, show_default=True,
              help="How many single calls to make with each value.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1000), default=200_000, show_default=True,
              help="How many reports to draw where the law cannot be enumerated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
def audit(
    target: str,
    *,
    epsilon: float | None,
    domain_size: int | None,
    calls: int,
    samples: int,
    as_json: bool,
) -> int:
    """Prove or measure the epsilon of a protocol, from the code that clients run.

    The protocol is that of a question file, one of ours by its name and settings (LH:g=16,
    THE:theta=1, UE:p=0.5:q=0.2), or a class of yours: MODULE:CLASS is imported, from the current
    directory too, and called with the epsilon and the domain size where it takes them.

    Single calls, batches and copies must make the same reports from the same random words. On small
    domains the law of the reports is enumerated and the answer is exact; elsewhere it is a lower
    bound. The exit code is 1 when the protocol is BROKEN: when it spends more than it claims, or
    its calls differ.
    """
    protocol = _find_target(target, epsilon, domain_size)
    with outputs.show_progress("Auditing", 100) as show, listening(lambda done, _: show(done)):
        found = auditing.audit(protocol, calls=calls, samples=samples)
    if as_json:
        outputs.print_json(_audit_document(protocol, found), indent=None)
    else:
        style = "bold green" if found.holds else "bold red"
        outputs.say(outputs.open_console(), f"{protocol}: {found}", style, "    ")
    return 0 if found.holds else 1


def _audit_document(protocol: Privatizer, found: auditing.Audit) -> dict[str, object]:
    ratio = found.worst_ratio
    specification = getattr(protocol, "specification", None)
    return {
        **asdict(found),
        "epsilon": found.epsilon if np.isfinite(found.epsilon) else None,
        "holds": found.holds,
        "protocol": specification() if specification else repr(protocol),
        "worst_ratio": None if ratio is None else str(ratio),
    }


def _find_target(target: str, epsilon: float | None, domain_size: int | None) -> Privatizer:
    if target.endswith(".json") or Path(target).is_file():
        if epsilon is not None or domain_size is not None:
            raise InputError(f"the question {target} has its own epsilon and answers; leave out "
                             "--epsilon and --domain-size")  # fmt: skip
        return inputs.read_question(Path(target)).protocol
    if _is_foreign(target):
        return _load_foreign(target, {"epsilon": epsilon, "domain_size": domain_size})
    size = _DOMAIN_SIZE if domain_size is None else domain_size
    return options.choose_protocol(target, epsilon, size)


def _is_foreign(text: str) -> bool:
    """Tell whether a name is that of a module and a class, and not a protocol with settings.

    >>> _is_foreign("mine:Noise"), _is_foreign("LH:g=4"), _is_foreign("OUE")
    (True, False, False)
    """
    module, colon, name = text.partition(":")
    known = {each.lower() for each in discover()} | {"grr", "auto"}
    return bool(colon) and "=" not in name and module.lower() not in known


def _load_foreign(text: str, given: dict[str, float | None]) -> Privatizer:
    """Import what ``text`` names, make it, and check that it is something to audit."""
    found = _import_foreign(*text.split(":", 1))
    made = _make_foreign(text, found, given) if isinstance(found, type) else found
    missing = [part for part in ("privatize", "epsilon") if not hasattr(made, part)]
    if missing or not isinstance(made, Privatizer):
        raise InputError(
            f"{text} has no {' and no '.join(missing)}; an audit needs privatize(values, rng=None) "
            "and epsilon, see docs/audit.md"
        )
    _check_number(f"epsilon of {text} as a positive number", made.epsilon, least=0.0)
    size = getattr(made, "domain_size", None)
    if size is not None:
        wanted = f"domain_size of {text} as a whole number from 2 on, or none for fingerprints"
        _check_number(wanted, size, least=1.0)
    return made


def _import_foreign(module: str, name: str) -> object:
    here = str(Path.cwd())  # from where ``python -m`` imports too
    sys.path.insert(0, here)
    try:
        loaded = import_module(module)
    except Exception as error:
        raise InputError(
            f"{module} cannot be imported: {type(error).__name__}: {error}; run the command in "
            "its directory, or install it"
        ) from error
    finally:
        sys.path.remove(here)
    if not hasattr(loaded, name):
        near = get_close_matches(name, dir(loaded), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "check its name"
        raise InputError(f"there is no class {name!r} in {module}; {hint}")
    found: object = getattr(loaded, name)
    return found


def _make_foreign(text: str, kind: type, given: dict[str, float | None]) -> object:
    arguments = {name: value for name, value in given.items() if value is not None}
    try:
        made: object = kind(**arguments)
    except DeniableError:
        raise
    except Exception as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise InputError(
            f"{text} cannot be made with ({shown}): {type(error).__name__}: {error}; give "
            "--epsilon and --domain-size as far as it takes them"
        ) from error
    return made


def _check_number(wanted: str, number: object, *, least: float) -> None:
    found = None if isinstance(number, bool) else number
    if not isinstance(found, int | float | np.number) or not float(found) > least:
        raise InputError(f"expected the {wanted}, got {number!r}")
