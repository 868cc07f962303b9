"""Arrays in, arrays out: the loops that need to be fast, and the only place that imports Numba.

Modules are named after the data they work on (bits, hashes), not after protocols. A kernel trusts
its arguments: its callers have validated them.

Every function works in NumPy, in steps short enough for a core's cache, and needs nothing else. A
few have a compiled twin below them, which gives the same result to the byte: those that save at
least half of a step that users would wait for (`python -m benchmarks kernels`). A function decides
by itself, from the size of its work and of the work before it, which of the two to use (`jit`); so
these modules cost little to import, a process with little to do never waits for a compiler, and one
with much to do soon has kernels. `jit.set_compiled` overrides the decision.
"""
