"""What all tests share: where the real data is, and no silent skips in continuous integration."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ABSENT_DATA = "the real data is not beside this checkout"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the directory of the real data sets, or skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(ABSENT_DATA)
    return SHARED


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
