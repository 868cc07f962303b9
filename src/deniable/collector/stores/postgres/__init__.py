"""The store in PostgreSQL, shared by any number of collectors of the same schema version.

Question and day are locked ``FOR SHARE`` by the transaction that stores a submission, so that
closing, sealing and deleting wait for it and no collector's memory is trusted. The clock is the
database's. Everything lives in the schema ``deniable``.
"""

from __future__ import annotations

from deniable.collector.stores.postgres.damage import Damage
from deniable.collector.stores.postgres.folding import Folding
from deniable.collector.stores.postgres.measuring import Measuring
from deniable.collector.stores.postgres.publications import Publications
from deniable.collector.stores.postgres.questions import Questions
from deniable.collector.stores.postgres.submissions import Submissions
from deniable.collector.stores.postgres.upkeep import Upkeep


class PostgresStore(Submissions, Questions, Publications, Folding, Damage, Measuring, Upkeep):
    """A PostgreSQL database; see ``Store`` for what it promises."""
