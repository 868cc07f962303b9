"""Discovery: which texts people gave, when nobody has listed them.

code, books, automaton   a public code of texts as bits, learned from examples
cells, mechanism         the pieces of a text, what a tally holds of them, and the protocol
search                   candidates, from payload pieces alone
verification             what check pieces say of candidates
"""

from deniable.protocols.discovery.code import Code
from deniable.protocols.discovery.mechanism import Discovery

__all__ = ["Code", "Discovery"]
