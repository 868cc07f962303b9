"""What everybody may see: the results of questions that allow it, and what people can check."""

from markupsafe import Markup
from starlette.responses import Response

from deniable.collector.jobs import Wanted
from deniable.collector.pages.head import NAME_WIDTH, standing_sentence
from deniable.collector.pages.languages import words_for
from deniable.collector.pages.templating import (
    BUILT,
    CLIENT,
    POLICY,
    assets,
    client_address,
    client_for,
    page,
)
from deniable.collector.pages.try_it import how_often
from deniable.collector.problems import NotFound
from deniable.collector.questions import Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice, State
from deniable.presentation.text import one_line

_ROWS = 25


async def show(call: Call) -> Response:
    return page("results.html", **await _results(call))


async def embed(call: Call) -> Response:
    """Show the results alone; this page may be framed, by the sites that may ask the question."""
    context, known = await _results(call), await call.known()
    response = page("embedded.html", **context)
    sites = " ".join(known.terms.origins) or "'none'"
    policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {sites}")
    response.headers["content-security-policy"] = policy
    return response


async def _results(call: Call) -> dict[str, object]:
    query, known = call.query("lang"), await call.known()
    words = words_for(call, query.get("lang", ""))
    if not known.terms.public_results:
        raise NotFound("not public", page=words["not_public"], heading=words["not_public_title"])
    digest = known.asked.digest
    standing = await call.services.readers.run(lambda store: store.standing(Slice(digest)))
    content, said, waiting = await _content_of(call, known)
    return {
        "digest": digest,
        "often": how_often(known.question, words),
        "name": one_line(known.question.name, NAME_WIDTH),
        "standing": standing_sentence(known, standing),
        "content": content,
        "said": said or waiting,
        "waiting": waiting,
        "answering": known.terms.collect and known.asked.state is State.OPEN,
        "words": words,
    }


async def _content_of(call: Call, known: Known) -> tuple[Markup, str, str]:
    """Return the parts of the results and the verdict, or why there are none yet."""
    if known.is_open and not known.discovers:
        return Markup(), "", "People answer in their own words: there is no list of shares to show."
    slices = (Slice(known.asked.digest),)
    wanted = Wanted(slices, daily=True, rounds=known.question.repeat)
    shown = await call.services.results.look(known, wanted, _ROWS)
    if shown.look is None and shown.searching:
        return Markup(), "", "The answers are searched for at the moment. Look again in a minute."
    if shown.look is None and shown.problem is not None:
        return Markup(), "", "There are no results that can be shown."
    if shown.look is None:
        return (
            Markup(),
            "",
            f"{shown.n:,} of {shown.minimum:,} reports. Results appear at {shown.minimum:,}.",
        )
    return shown.look.content, shown.look.said, ""


async def check(call: Call) -> Response:
    query = call.query("lang")
    asset = assets()[CLIENT]
    words = words_for(call, query.get("lang", ""))
    scripts = [(kind, client_address(kind), client_for(kind).integrity) for kind in BUILT]
    return page("check.html", scripts=scripts, client=asset.address, words=words)
