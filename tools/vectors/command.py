"""``python -m tools vectors``: write the test vectors for other implementations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from deniable.cli.group import command
from deniable.cli.outputs import STDIO, check_replaceable, write_atomically
from tools.vectors.reports import make_vectors, render


@command("python -m tools vectors vectors", "python -m tools vectors - | head -c 400")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, allow_dash=True))
@click.option("--force", is_flag=True, help="Replace files that differ.")
def vectors(directory: Path, *, force: bool) -> None:
    """Write the test vectors for other implementations.

    An implementation of the client in another language is right when it makes the same reports
    from the same random bytes, answers the same questions, and delivers in the same way. DIRECTORY
    gets one JSON file for each protocol, and files of fingerprints, questions, what a device spends
    and how it delivers; - prints all of them as one JSON object.
    """
    documents = make_vectors()
    if str(directory) == STDIO:
        click.echo(json.dumps(documents, ensure_ascii=False))
        return
    directory.mkdir(parents=True, exist_ok=True)
    changed = {}
    for name, document in documents.items():
        path, data = directory / f"{name}.json", render(document).encode()
        if not path.is_file() or path.read_bytes() != data:
            check_replaceable(path, force=force)
            changed[path] = data
    for path, data in changed.items():
        write_atomically(path, data)
    click.echo(f"{len(documents)} files in {directory}, {len(changed)} of them written", err=True)
