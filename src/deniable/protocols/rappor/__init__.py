"""RAPPOR: Basic RAPPOR over a closed domain, and RAPPOR with Bloom filters over an open one."""

from deniable.protocols.rappor.basic import BasicRAPPOR, Client
from deniable.protocols.rappor.filters import RAPPOR

__all__ = ["RAPPOR", "BasicRAPPOR", "Client"]
