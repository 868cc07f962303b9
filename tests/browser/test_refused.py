"""Pages that refuse: whole at every width, in plain words, with a link that leads on."""

import pytest

from tests.browser.dashboard import Visit
from tests.collector.conftest import collector  # noqa: F401 - a fixture

pytestmark = pytest.mark.browser

HEADS = """() => [...document.querySelectorAll(".top .wrap, main")].map((each) => {
    const { x, width } = each.getBoundingClientRect();
    return [x, width];
})"""


def test_refusals_say_what_to_do_and_lead_on(browser, collector):  # noqa: F811 - the fixture
    """Header and text stand on one grid, nothing is too wide, and the name can be read."""
    question = collector.ask()
    context = browser.new_context()
    visit = Visit(context, collector)
    places = {
        "/nothing": "Page not found",
        "/logout": "This address is no page",
        f"/results/{question.digest}": "No public results",
        f"/results/{question.digest}?lang=de": "Keine öffentlichen Ergebnisse",
        f"/try/{'0' * 64}": "Question not found",
    }
    for place, heading in places.items():
        page = visit.open(place)
        assert page.inner_text("h1") == heading
        for width in (360, 768, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (place, width)
            top, main = page.evaluate(HEADS)
            assert top == main, (place, width)
            assert page.locator(".brand span").bounding_box()["width"] > 40, (place, width)
        assert page.locator("main a.button").first.get_attribute("href") == "/"
    page = visit.open("/login?key=wrong")
    page.click("text=Log in to this collector")
    page.wait_for_selector("h1:has-text('You are not logged in')")
    page.click("main a.button")
    page.wait_for_selector("h1:has-text('Log in')")
    context.close()
