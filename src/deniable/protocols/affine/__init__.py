"""Affine selection: subset selection in a few bytes at any number of values."""

from deniable.protocols.affine.selection import AffineSelection

__all__ = ["AffineSelection"]
