"""The command line: parse, call the library, print.

``deniable --help`` must be quick. So the module of a command, with all that it needs, is imported
only when the command runs; the one-line summaries stand here.
"""

import sys

try:
    import click

    from deniable.cli.group import CommandLine
    from deniable.version import __version__
except KeyboardInterrupt:  # too early for the command line to report it
    sys.exit(130)

COMMANDS = {
    "demo": ("simulate", "Five million people report their surname, deniably."),
    "plan": ("advice", "Solve for people, epsilon or error, given the other two."),
    "recommend": ("advice", "Rank the protocols for an epsilon and a domain size."),
    "simulate": ("simulate", "Try protocols on your own data before collecting."),
    "question": ("question", "Create a question, show or publish one."),
    "privatize": ("reports", "Turn answers into deniable reports."),
    "tally": ("reports", "Sum up report files and tally files."),
    "estimate": ("reports", "Estimate how many people gave each answer."),
    "discover": ("discovery", "Find frequent texts that nobody listed."),
    "code": ("discovery", "Learn a public code of texts."),
    "compare": ("reports", "Tell which answers changed between two tallies."),
    "experiment": ("reports", "Compare the arms of an experiment with a control."),
    "serve": ("serve", "Collect reports over HTTP."),
    "send": ("send", "Send answers to a collector, deniably."),
    "pull": ("send", "Fetch a tally from a collector."),
    "token": ("store", "Create, list and revoke a collector's tokens."),
    "store": ("store", "Back up, check or fold a collector's store."),
    "audit": ("audit", "Prove or measure the epsilon of a protocol."),
}


@click.group(
    cls=CommandLine,
    lazy=COMMANDS,
    examples=[
        "deniable demo",
        "deniable question create fruit --label kiwi --label fig --epsilon 1 -o fruit.json",
        "deniable privatize fruit.json answers.txt -o reports.bin",
        "deniable tally fruit.json reports.bin -o tally.bin",
        "deniable estimate fruit.json tally.bin",
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="deniable %(version)s")
def cli() -> None:
    """Count what people do without learning what any one of them did.

    Answers become deniable reports (privatize), reports are summed up (tally), and the sum tells
    how many people gave each answer (estimate), within error bars.
    """


def main() -> None:
    try:
        cli.main(prog_name="deniable")
    except KeyboardInterrupt:  # between the imports and the first command
        sys.exit(130)
