"""What all tests share: the real data, Hypothesis without a clock, and no silent skips in CI."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No example fails for being slow: kernels compile at their first call, and machines stall. In
# continuous integration the examples are the same every time; elsewhere new ones are looked for.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", settings.get_profile("local"), derandomize=True, database=None, print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# The workers of pytest-xdist share what they compile, and leave the user's own cache alone.
if os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(
        Path(__file__).resolve().parents[1] / ".pytest_cache" / "numba"
    )

# Written by, and for, another version.
collect_ignore_glob = ["data/*"]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ABSENT_DATA = "the real data is not beside this checkout"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the directory of the real data sets, or skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(ABSENT_DATA)
    return SHARED


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their length: gzip writes the time into its own, and workers must agree."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn a skip into a failure in continuous integration, unless only the real data is absent."""
    report = yield
    if (
        os.environ.get("CI") == "true"
        and report.skipped
        and ABSENT_DATA not in str(report.longrepr)
    ):
        report.outcome = "failed"
        report.longrepr = f"skipped in continuous integration: {report.longrepr}"
    return report
