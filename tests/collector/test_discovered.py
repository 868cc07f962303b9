"""Questions whose texts are to be discovered, on the pages of the collector."""

from deniable import Discovery, Question, Text
from deniable.collector.pages.embed import _tag, unknown
from deniable.collector.pages.templating import client_for


def test_browsers_load_the_client_that_speaks_discovery() -> None:
    """The tag of such a question names the build for it, and browsers know its protocol."""
    question = Question("w", Text(discover="english"), Discovery(2.0, salt="0" * 16))
    assert unknown(question) == ""
    tag = _tag("form", "https://example.org", question)
    assert 'data-kind="discover"' in tag
    assert client_for("discover").integrity in tag
    assert "data-kind" not in _tag("form", "", Question("w", None, epsilon=1.0))
