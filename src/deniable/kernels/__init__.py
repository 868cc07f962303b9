"""Arrays in, arrays out: the loops that need to be fast, and the only place that imports Numba.

Modules are named after the data they work on (bits, hashes), not after protocols, and are
imported by callers when first needed, so that a client that makes one report compiles nothing.
A kernel trusts its arguments: whoever calls it has validated them.
"""
