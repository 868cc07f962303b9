"""What people read where a request is refused: what happened, what to do, and where to go on.

The sentences stand with those of each language, under the type of the problem.
"""

from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from deniable.collector import problems
from deniable.collector.pages.languages import PROBLEM, words_by
from deniable.collector.pages.templating import page

_FORMS = ("/questions/", "/new", "/access")


def show(error: Exception, scope: Scope) -> Response:
    found, query = problems.find_problem(error), scope["query_string"].decode("latin-1")
    if isinstance(error, problems.Unauthorized) and scope["path"] != "/login":
        place = f"{scope['path']}?{query}" if query and scope["method"] == "GET" else scope["path"]
        return RedirectResponse(f"/login?next={quote(place)}", 303)
    chosen = parse_qs(query).get("lang", [""])[0]
    words = words_by(Headers(scope=scope).get("accept-language", ""), chosen)
    shown = page(
        "problem.html",
        found.status,
        title=getattr(error, "heading", "") or words[f"{PROBLEM}{found.type}"],
        sentence=getattr(error, "page", "") or words[f"{PROBLEM}{found.type}_advice"],
        status=found.status,
        again=_again(scope, found.status),
        words=words,
    )
    if found.retry_after is not None:
        shown.headers["retry-after"] = str(found.retry_after)
    return shown


def _again(scope: Scope, status: int) -> tuple[str, str] | None:
    """Return where a person goes on, and what that is called; None if only the start is left."""
    if scope["method"] == "GET":
        query = scope["query_string"].decode("latin-1")
        path = "/" + quote(scope["path"]).lstrip("/")  # two slashes would name another host
        address = f"{path}?{query}" if query else path
        return (address, "problem_again") if status in (409, 500, 503) else None
    # Forms go to the page that they stand on, or below it.
    form = "/".join(scope["path"].split("/")[:3])
    return (form, "problem_form") if scope["path"].startswith(_FORMS) else None
