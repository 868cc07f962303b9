"""What all tests share: the real data, and Hypothesis without a clock."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.components import ABSENT_DATA

# No example fails for being slow: kernels compile at their first call, and machines stall. In
# continuous integration the examples are the same every time; elsewhere new ones are looked for.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", settings.get_profile("local"), derandomize=True, database=None, print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "local")
# Where long tests are left out, a fifth of the examples has to do: the longer runs look further.
settings.register_profile("short", settings(), max_examples=20)

# The workers of pytest-xdist share what they compile, and leave the user's own cache alone.
if os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(
        Path(__file__).resolve().parents[1] / ".pytest_cache" / "numba"
    )

# Written by, and for, another version; and for the places that CONTRIBUTING names.
collect_ignore_glob = ["data/*", "walkthrough/*"]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    """Look at fewer examples where long tests are left out."""
    if "long" in config.option.markexpr:
        settings.load_profile("short")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the directory of the real data sets, or skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(ABSENT_DATA)
    return SHARED


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their length: gzip writes the time into its own, and workers must agree."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None
