"""The client of a collector: answers a question once, or once in each of its turns, for one person.

::

    question = Question.load(Path("fruit.json").read_bytes())
    client = Client("https://counts.example.org", "ledger.db")
    client.answer(question, "kiwi")  # Outcome.ANSWERED, or Outcome.WAITING without a network
    client.flush()  # later: sends what waits

Only the standard library and NumPy are needed. No reply of a server ever makes a client draw
again: the report is in the ledger, with its id, before it is sent, and every retry sends the same
bytes. Once it is delivered only the mark that the question was answered remains. docs/client.md
has the whole story.
"""

from deniable.client.client import Client, NoQuestion
from deniable.client.delivery import Courier, Delivery, Outcome, Parcel, State, Transport
from deniable.client.remote import Part, Refused, publish, pull, pull_part
from deniable.client.state import Ledger, NoLedger, Outbox

__all__ = [
    "Client", "Courier", "Delivery", "Ledger", "NoLedger", "NoQuestion", "Outbox", "Outcome",
    "Parcel", "Part", "Refused", "State", "Transport", "publish", "pull", "pull_part",
]  # fmt: skip
