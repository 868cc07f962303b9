"""``docs/reliability.md``, written from the saved figures."""

from __future__ import annotations

_HEAD = """# Reliability

How the promises of the [collector](collector.md) were tested, and with what result. Written by
`python -m tests.faults` (`make torture`), which takes almost two hours; short forms of all these
tests are part of `make test-all`.

The method: clients only record what they saw of each submission: acknowledged, refused or unknown.
Afterwards a judge, which has tests of its own, compares the record with the store. An acknowledged
submission must be there once with the same bytes, a refused one must not be there, and an unknown
one may be either, and is there once after it was sent again. To show that the harness has power, it
also finds the losses of a collector that acknowledges before it commits, and of SQLite with
`synchronous=NORMAL`.

Each section names the commit on which it was run; sums name several. Times are from two cores of a
virtual machine that did other work as well.
"""

_TEXTS = {
    "kill": ("Kills", "`kill -9` ends a collector on SQLite at random moments while 64 "
             "connections submit; three in ten submissions are repeats."),
    "kill-postgres": ("Kills on PostgreSQL", "Two collectors on one PostgreSQL, whose clocks "
                      "differ by a day, are killed in turn; PostgreSQL itself crashes too."),
    "power": ("Power cuts", "A layer below SQLite knows what was synced. When the power goes, each "
              "write that was not may be there, missing, or partly there."),
    "disk": ("Failing disks", "Each of the first writes and syncs fails (no space, an error, a "
             "short write), and so do all after it until the disk is repaired. Replies are 204 or "
             "503, nothing acknowledged is lost, and service is back within five seconds."),
    "backup": ("Copies", "`kill -9` ends `deniable store backup`, and the copy that an upgrade "
               "keeps, at random moments while they write, and each of their writes meets a full "
               "disk. The copy is either absent or complete. No store is upgraded without one."),
    "restore": ("Restoring over a crash", "A writer is killed after a backup, so its log contains "
                "what came later; `deniable store restore` puts the backup in its place. Half of "
                "the restores are killed as well, and repeated."),
    "flips": ("Flipped bits", "One bit of the waiting rows flips in the file of a store. The count "
              "stays the same, or the row is set aside and named, or the store is found to be "
              "corrupt."),
    "flips-postgres": ("Flipped bits on PostgreSQL", "The same for one bit of a field of a row."),
    "mutate": ("Mutated submissions", "Almost valid requests, as raw bytes. *silent*: the "
               "collector was waiting for the rest; *closed*: it closed the connection."),
    "explore": ("Generated requests", "For every operation of the OpenAPI document: no reply of "
                "5xx, and only replies that the document names."),
    "model": ("A model of the store", "Adding, repeating, days passing, folding, sealing, opening "
              "days again, setting rows aside, closing and reopening in any order, beside a Python "
              "dictionary, on SQLite."),
    "model-postgres": ("The same model on PostgreSQL", "Each run on a database of its own."),
    "service": ("A model of the collector", "Requests to the whole application: submitting, "
                "repeating, lost replies, crashes with submissions on their way, folding, "
                "sealing, closing and estimates in any order, beside a Python dictionary, on "
                "SQLite. Estimates must be those of the dictionary's reports to the last digit."),
    "service-postgres": ("The same model of the collector on PostgreSQL", "Each run on a database "
                         "of its own."),
    "race": ("Races", "Three submit and repeat, two fold, one seals, sweeps and closes, all at "
             "once on one store, while twelve days pass and while the clock jumps thirty days "
             "ahead and back; on SQLite and on PostgreSQL."),
    "trickle": ("Slow senders", "Connections that send one byte a second, half of them in the "
                "headers and half in the body, while an honest client submits."),
    "endless": ("Endless uploads", "Parallel uploads that never end."),
    "illness": ("A store that falls ill", "While a client submits, the file is moved away, "
                "replaced by a copy or refuses writes, the disk fills up, PostgreSQL becomes "
                "read-only: within five seconds `/readyz` is 503 with the reason, one log line "
                "says so and another when it is over, and nothing acknowledged is lost. A corrupt "
                "page that folding, the writer or a reader meets ends the collector with a status "
                "other than 0; one bad row is counted by a metric, and everything goes on."),
    "pipelining": ("Requests without end", "Strangers, at other addresses than the honest client, "
                   "send requests as fast as they can and read no reply. The honest client, here "
                   "and below, opens a connection for each submission; memory is that of the "
                   "collector and its worker, with default settings and no proxy."),
    "readers": ("Slow readers", "Strangers ask for a question of 0.95 MB and read 512 bytes of it "
                "a second."),
    "silent": ("Silent connections", "Strangers connect and say nothing, and connect again when "
               "they are cut."),
    "overload": ("Overload", "Submissions arrive at three times the measured capacity, no matter "
                 "what happened to earlier ones; the generator runs on one core and the collector "
                 "on the other. Before that, and right after it, they arrive at half the capacity. "
                 "Recovery: seconds until all are stored again, with a 99th percentile of at most "
                 "twice the one before."),
    "rolling": ("Rolling restarts behind nginx", "Two collectors on one PostgreSQL behind nginx, "
                "with `deploy/nginx.conf` and TLS. By turns they end and start again, while sixty "
                "clients, each at an address of its own, send four submissions a second each. A "
                "client tries once more after 5xx or no answer."),
    "rolling-caddy": ("Rolling restarts behind Caddy", "The same with `deploy/Caddyfile`."),
    "terminate": ("SIGTERM under load", "From the signal to the end of the process."),
    "month": ("Estimates of a month", "Thirty folded days and a live one, OLH over 41,270 answers, "
              "all of them in the reply."),
    "week": ("Estimates of a week of single reports", "Eight open days with a million submissions "
             "each, on SQLite: estimates and submissions while the rest is being folded, and "
             "afterwards."),
    "log": ("The write-ahead log", "The size of SQLite's write-ahead log while 250 submissions "
            "a second arrive and three readers poll estimates, each of which is new."),
    "week-postgres": ("The same week on PostgreSQL", "Through one collector."),
}  # fmt: skip


def render(results: dict[str, dict[str, object]]) -> str:
    """Return the page with a section for each result that there is."""
    parts = [_HEAD]
    for name, (title, text) in _TEXTS.items():
        if name in results:
            rows = [
                f"| {key} | {_shown(value)} |"
                for key, value in results[name].items()
                if key != "passed"
            ]
            verdict = "Passed." if results[name]["passed"] else "**Not passed.**"
            table = "\n".join(["| | |", "| --- | --- |", *rows])
            parts.append(f"## {title}\n\n{text} {verdict}\n\n{table}\n")
    return "\n".join(parts)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {count:,}" for key, count in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
