"""The version of this package, at the bottom of all layers, so that estimates can name it."""

__version__ = "0.1.0"
