"""Arrays in, arrays out: the loops that need to be fast, and the only place that imports Numba.

Modules are named after the data they work on (bits, hashes), not after protocols. A kernel trusts
its arguments: whoever calls it has validated them.

Every function works in NumPy, in steps short enough for a core's cache, and needs nothing else.
Where Numba is installed, `compiled` has a twin of it that gives the same result, to the byte, in
less time: from a tenth of it for counts of bits to most of it for reports of linear hashing. A
function decides by itself, from the size of its work and of the work before it, which of the two
to use (`compilation`); so these modules cost little to import, a process with little to do never
waits for a compiler, and one with much to do soon has kernels. `compilation.set_compiled` takes
the decision away from them.
"""
