"""How results are shown: a ``View`` as text, HTML or a figure, and columns as files."""

from deniable.presentation.exports import unguarded

__all__ = ["unguarded"]
