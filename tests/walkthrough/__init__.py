"""The files that CONTRIBUTING walks through, and how a test installs one of them."""
