"""Auditing: prove or measure the epsilon of any protocol, from the code that clients run."""

from deniable.auditing.audit import Audit, audit, output_law

__all__ = ["Audit", "audit", "output_law"]
