"""What everybody may see: the results of questions that allow it, and what people can check."""

from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response

from deniable.collector.jobs import Wanted
from deniable.collector.pages.head import NAME_WIDTH, standing_sentence
from deniable.collector.pages.languages import Words, words_for
from deniable.collector.pages.templating import CLIENT, POLICY, assets, client_address, page
from deniable.collector.problems import NotFound
from deniable.collector.questions import Known
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice, State
from deniable.presentation.text import one_line

_ROWS = 25


@dataclass(frozen=True)
class PublicResults:
    """The results of a question, for anybody."""

    digest: str
    name: str
    standing: str
    content: Markup
    waiting: str
    answering: bool
    words: Words


@dataclass(frozen=True)
class Checks:
    """What a respondent can check: the script, and what this browser has sent."""

    script: str
    integrity: str
    client: str
    words: Words


async def show(call: Call) -> Response:
    return page("results.html", await _results(call))


async def embed(call: Call) -> Response:
    """Show the results alone; this page may be framed, by the sites that may ask the question."""
    context, known = await _results(call), await call.known()
    response = page("embedded.html", context)
    sites = " ".join(known.terms.origins) or "'none'"
    policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {sites}")
    response.headers["content-security-policy"] = policy
    return response


async def _results(call: Call) -> PublicResults:
    query, known = call.query("lang"), await call.known()
    if not known.terms.public_results:
        raise NotFound("not public", page="The results of this question are not public.")
    digest = known.asked.digest
    standing = await call.services.readers.run(lambda store: store.standing(Slice(digest)))
    content, waiting = await content_of(call, known)
    return PublicResults(
        digest,
        one_line(known.question.name, NAME_WIDTH),
        standing_sentence(known, standing),
        content,
        waiting,
        known.terms.collect and known.asked.state is State.OPEN,
        words_for(call, query.get("lang", "")),
    )


async def content_of(call: Call, known: Known) -> tuple[Markup, str]:
    """Return the parts of the results, or why there are none yet."""
    if known.is_open:
        return Markup(), "Any text is an answer, so that there is no list of all shares."
    wanted = Wanted((Slice(known.asked.digest),), daily=True)
    shown = await call.services.results.look(known, wanted, _ROWS)
    if shown.look is None:
        return Markup(), f"{shown.n:,} of {shown.minimum:,} reports. Results appear then."
    return shown.look.content, ""


async def check(call: Call) -> Response:
    query = call.query("lang")
    asset = assets()[CLIENT]
    words = words_for(call, query.get("lang", ""))
    return page("check.html", Checks(client_address(), asset.integrity, asset.address, words))
