"""Settings of the collector: one frozen dataclass, from which everything else derives.

A field is a command-line option (``--body-limit``), an environment variable
(``DENIABLE_BODY_LIMIT``), a key of the settings file (``body_limit``) and a row of the table in
docs/collector.md. An option wins over the environment, the environment over the file. A secret can
be in a file of its own: ``DENIABLE_STORE_FILE`` names the one that holds the address of the store.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from deniable.errors import InvalidParameter

PREFIX = "DENIABLE_"
MIB = 1 << 20
_FILE = "_FILE"
OTHERS = (
    "DENIABLE_TOKEN", "DENIABLE_TOKEN_FILE", "DENIABLE_THREADS", "DENIABLE_MEMORY",
    "DENIABLE_BROWSER",
)  # fmt: skip
"""Variables of other commands and of the library."""


Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Positive = Annotated[int, msgspec.Meta(ge=1, lt=1 << 62)]
Size = Annotated[int, msgspec.Meta(ge=1024, lt=1 << 62)]
Default = TypeVar("Default")


def _setting(default: Default, help: str) -> Default:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Settings:
    """All settings, each with its default and one sentence of help."""

    store: str = _setting("deniable.db", "Where to keep everything: a file, or postgresql://….")
    host: str = _setting("127.0.0.1", "The address to listen on.")
    port: Natural = _setting(8000, "The port to listen on; 0 takes a free one.")
    url: str = _setting(
        "", "The public address, if a proxy stands in front; https makes cookies secure."
    )
    minimum: Positive = _setting(
        100, "The fewest new reports before estimates appear or move, unless a question says."
    )
    window: Positive = _setting(7, "For how many days back submissions are taken.")
    retention: Natural = _setting(0, "After how many days tallies are deleted; 0 keeps them.")
    body_limit: Size = _setting(8 * MIB, "The largest submission of a relay, in bytes.")
    report_limit: Positive = _setting(32 * 1024, "The largest report, in bytes.")
    question_limit: Size = _setting(MIB, "The largest question document, in bytes.")
    tally_limit: Size = _setting(16 * MIB, "The largest tally, in bytes.")
    estimate_limit: Positive = _setting(
        4_000_000_000, "The most reports times candidates of one estimate."
    )
    queue_limit: Positive = _setting(4096, "How many submissions may wait to be written.")
    queue_bytes: Size = _setting(32 * MIB, "How many bytes of bodies may be held at once.")
    connection_limit: Positive = _setting(4096, "How many connections may be open at once.")
    connections_per_address: Natural = _setting(
        256,
        "How many connections one address may have; 0 and a url, which means a proxy: no limit.",
    )
    header_seconds: Positive = _setting(5, "How long a client may take to send the headers.")
    body_seconds: Positive = _setting(10, "How long a client may take to send the body.")
    wait_seconds: Natural = _setting(60, "How long to wait at the start for a database to answer.")
    lame_duck_seconds: Natural = _setting(
        0, "How long after SIGTERM to go on as before, but for /readyz, which says 503."
    )
    drain_seconds: Positive = _setting(8, "How long requests may go on after that.")
    worker_seconds: Positive = _setting(
        300, "How long one calculation may take before the worker process is ended."
    )
    search_seconds: Positive = _setting(
        300, "How long one search for texts that nobody listed may take."
    )
    search_memory: Size = _setting(
        2048 * MIB, "How much memory the process of such a search may have, in bytes."
    )
    discovery_limit: Size = _setting(
        4096 * MIB, "The most bytes that the tallies of a question with such searches may take."
    )
    log_format: Literal["text", "json"] = _setting("text", "How log lines look: text or json.")
    log_level: Literal["debug", "info", "warning", "error"] = _setting(
        "info", "What is logged: debug, info, warning or error, and what is worse."
    )


def read_settings(
    options: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None
) -> Settings:
    """Put together the settings from options, environment and file, refusing unknown names."""
    known = {field.name: field for field in fields(Settings)}
    found: dict[str, object] = {}
    if file is not None:
        try:
            found |= tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidParameter(
                f"{file} is not TOML: {error}; write for example port = 8000", value=str(file)
            ) from error
    if unknown := sorted(set(found) - set(known)):
        raise InvalidParameter(
            f"{file} has unknown settings: {', '.join(unknown)}; known are {', '.join(known)}",
            value=unknown,
        )
    found |= _read_environment(environment)
    found |= {name: value for name, value in options.items() if value is not None}
    try:
        return msgspec.convert(found, Settings, strict=False)
    except msgspec.ValidationError as error:
        said, _, name = str(error).rstrip("`").partition(" - at `$.")
        value, help = str(found[name])[:80], known[name].metadata["help"]
        raise InvalidParameter(
            f"{name} cannot be {value!r}: {said}. {help}", value=value
        ) from error


def _read_environment(environment: Mapping[str, str]) -> dict[str, object]:
    known = {variable(field.name): field.name for field in fields(Settings)}
    named = {f"{name}{_FILE}": name for name in known}
    found: dict[str, object] = {}
    for name, value in environment.items():
        if name in known:
            found[known[name]] = value
        elif name in named and value:
            if named[name] in environment:
                raise InvalidParameter(
                    f"both {name} and {named[name]} are set; keep the file", value=name
                )
            found[known[named[name]]] = read_secret(Path(value), name)
        elif name.startswith(PREFIX) and name not in (*OTHERS, *named):
            others = [other.removeprefix(PREFIX) for other in (*known, *named, *OTHERS)]
            near = get_close_matches(name.removeprefix(PREFIX), others, 1)
            hint = f"; did you mean {PREFIX}{near[0]}?" if near else "; remove it"
            raise InvalidParameter(f"{name[:80]} is not a setting of deniable{hint}", value=name)
    return found


def read_secret(file: Path, name: str) -> str:
    """Return the line that a file holds: a secret that no list of processes shows."""
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameter(
            f"the file of {name} cannot be read: {error}; check its path and its rights",
            value=str(file),
        ) from error


def variable(name: str) -> str:
    return PREFIX + name.upper()
