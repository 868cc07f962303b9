"""A stored question that the collector cannot read, such as one whose package is gone."""

from pathlib import Path

import pytest

from deniable.collector.app import create_app
from deniable.collector.settings import Settings
from deniable.question import Question
from tests.collector.conftest import Collector, run_server, start
from tests.walkthrough.package import installed


def test_without_the_package_reports_wait_and_the_rest_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A collector that cannot read a question blames no client, logs it once, and asks others."""
    settings = Settings(store=str(tmp_path / "store.db"), port=0, minimum=10)
    with installed(tmp_path, "ratings", "Ratings") as module:
        asked = Question("stars", module.Ratings(("price", "taste"), 4), epsilon=2.0)
        report = asked.privatize([[4, 3]]).tobytes()
        for first in start(settings):
            document = asked.to_json().encode()
            assert first.request("POST", "/v1/questions", document, role="admin").status == 201
            other = first.ask()
    app = create_app(settings)
    for address in run_server(app, settings, warm=True):
        second = Collector(app, address, settings, first.tokens)
        for _ in range(2):
            found = second.submit(asked, report)
            assert (found.status, found.problem) == (503, "store-unavailable")
        assert second.submit(other, other.privatize(["a"]).tobytes()).status == 204
        listed = second.request("GET", "/v1/questions", role="viewer").json
        assert {asked.name, other.name} == {each["name"] for each in listed["questions"]}
    said = [record.message for record in caplog.records if "cannot be read" in record.message]
    assert len(said) == 1
    assert "does not know answers of the kind 'ratings'" in said[0]
