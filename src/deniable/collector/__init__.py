"""The collector: reports come in over HTTP, none is lost, none counts twice.

One process with SQLite beside it, or any number of processes on one PostgreSQL. It moves questions,
reports, tallies and estimates about and holds no mathematics; what it promises is in the docstrings
of ``stores.store`` and what it speaks is the list in ``api``.
"""

import logging

log = logging.getLogger(__name__)
