"""Slow and obvious twins of the kernels: plain loops over Python integers, the specification."""
