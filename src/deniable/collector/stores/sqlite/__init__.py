"""The store in one SQLite file, for one collector.

WAL with ``synchronous=FULL``: a commit has returned from fsync before anybody is told. Deleted
content is overwritten (``secure_delete``). After any error of the disk the connection is given up
and opened anew, so that no half-finished state of it is trusted.
"""

from __future__ import annotations

from deniable.collector.stores.sqlite.damage import Damage
from deniable.collector.stores.sqlite.measuring import Measuring
from deniable.collector.stores.sqlite.publications import Publications
from deniable.collector.stores.sqlite.questions import Questions
from deniable.collector.stores.sqlite.submissions import Submissions
from deniable.collector.stores.sqlite.upkeep import Upkeep


class SqliteStore(Submissions, Questions, Publications, Damage, Measuring, Upkeep):
    """A SQLite file; see ``Store`` for what it promises."""
