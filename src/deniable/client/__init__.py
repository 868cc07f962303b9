"""The client of a collector: load a question by its digest, answer it once.

::

    client = Client("https://counts.example.org", "ledger.db")
    client.answer(digest, "kiwi")  # Outcome.ANSWERED

Only the standard library and NumPy are needed. No answer of a server ever makes a client draw
again: the report is in the ledger, with its id and day, before it is sent, and every retry sends
the same bytes. Once it is delivered only the mark that the question was answered remains.
"""

from __future__ import annotations

from deniable.client.courier import Courier, Delivery, Outcome, Parcel
from deniable.client.ledger import Ledger
from deniable.client.outbox import Outbox
from deniable.client.person import Client, Overspent
from deniable.client.remote import Refused, publish, pull
from deniable.client.transport import Transport

__all__ = [
    "Client",
    "Courier",
    "Delivery",
    "Ledger",
    "Outbox",
    "Outcome",
    "Overspent",
    "Parcel",
    "Refused",
    "Transport",
    "publish",
    "pull",
]
