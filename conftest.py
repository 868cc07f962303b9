"""Which tests run here: a test is skipped where a component that one of its marks names is missing.

With ``CI=true`` a skip is a failure, since there everything must be installed. What ``make test``
deselects by its marks is not skipped.
"""

from __future__ import annotations

import os

import pytest

from tests.components import ABSENT_DATA, ABSENT_HISTORY, installed, missing

# Modules that cannot be imported without an extra.
_NEED = {
    "src/deniable/collector/stores/postgres.py": "psycopg",
    "src/deniable/spark": "pyarrow",
    "tests/artifacts": "cyclonedx",
    "tests/spark": "pyarrow",
}
collect_ignore = [path for path, package in _NEED.items() if not installed(package)]

_CI = os.environ.get("CI") == "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a missing component, and demand a reason of each mark ``long``."""
    for item in items:
        for mark in item.iter_markers():
            if mark.name == "long" and not (len(mark.args) == 1 and mark.args[0]):
                raise pytest.UsageError(f'{item.nodeid}: say why, as in pytest.mark.long("why")')
            if reason := missing(mark.name):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn a skipped test into a failure in CI, unless only data or the history is absent."""
    report = yield
    said = str(report.longrepr)
    if _CI and report.skipped and ABSENT_DATA not in said and ABSENT_HISTORY not in said:
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Turn a skipped module into a failure in CI, unless only some marks are run."""
    report = yield
    if _CI and report.skipped and not collector.config.option.markexpr:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.outcome = "failed"
    report.longrepr = f"skipped in continuous integration: {report.longrepr}"
