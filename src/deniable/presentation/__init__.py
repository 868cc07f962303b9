"""How results are shown: a ``View`` as text, HTML or a figure, and columns as files."""

from deniable.presentation.tables import unguarded

__all__ = ["unguarded"]
