"""The authors' command line: ``python -m tools``."""

from __future__ import annotations

import click

from deniable.cli.group import CommandLine


class Tools(CommandLine):
    """The commands of this package, with the errors and the help of ``deniable``."""

    package = "tools"


@click.group(
    cls=Tools,
    lazy={
        "reproduce": ("paper.reproduce", "Recompute a table or figure of the paper."),
        "fetch": ("data", "Fetch the public data that the evaluation needs."),
        "vectors": ("vectors.command", "Write the test vectors for other implementations."),
        "reference": ("reference", "Write docs/cli.md and docs/api.md."),
        "pictures": ("pictures", "Take the pictures of the README."),
    },
    examples=["python -m tools reproduce table2", "python -m tools reference"],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def tools() -> None:
    """What the authors of deniable need and its users do not."""


if __name__ == "__main__":
    tools.main(prog_name="python -m tools")
