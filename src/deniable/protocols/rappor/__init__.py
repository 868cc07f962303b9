"""RAPPOR: Basic RAPPOR over a closed domain, and RAPPOR with Bloom filters over an open one."""

from deniable.protocols.rappor.basic import BasicRAPPOR, PermanentClient
from deniable.protocols.rappor.filters import RAPPOR

__all__ = ["RAPPOR", "BasicRAPPOR", "PermanentClient"]
