"""The settings of a question: a form that says at each field what is wrong, and deletion."""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from deniable.collector.pages.head import NAME_WIDTH, head_of
from deniable.collector.pages.templating import page
from deniable.collector.problems import InvalidRequest, Mistake
from deniable.collector.questions import Change, Entry, Known
from deniable.collector.requests import Call, lines, read_day
from deniable.collector.stores.records import Slice, State, today, write_day
from deniable.presentation.text import one_line


async def form(call: Call) -> Response:
    query, known = call.query("done"), await call.known()
    return await _page(call, known, _stored(known), {}, query.get("done", ""))


def _stored(known: Known) -> dict[str, str]:
    """Return the form as the settings stand."""
    terms = known.terms
    return {
        "origins": "\n".join(terms.origins),
        "minimum": str(terms.minimum or ""),
        **({"public_results": "yes"} if terms.public_results else {}),
        **({"collect": "yes"} if terms.collect else {}),
    }


async def _page(
    call: Call, known: Known, fields: Mapping[str, str], wrong: Mapping[str, str], done: str = ""
) -> Response:
    standing = await call.services.readers.run(
        lambda store: store.standing(Slice(known.asked.digest))
    )
    return page("settings.html", 400 if wrong else 200,
                head=head_of(known, standing, "settings", done), fields=fields, wrong=wrong,
                public=known.terms.public_results,
                usual_minimum=call.services.settings.minimum, admin=True,
                place="question")  # fmt: skip


async def send(call: Call) -> Response:
    """Do what a button of the forms says; a mistake keeps what was entered."""
    known, fields = await call.known(), await call.form()
    services, digest, action = call.services, known.asked.digest, fields.get("action", "")
    source = fields.get("source", "")
    call.noted.append(f"{action} {source}"[:200].rstrip())
    done = action
    if action in (State.OPEN.value, State.CLOSED.value):
        state: Literal["open", "closed"] = "open" if action == "open" else "closed"
        await services.questions.change(digest, Change(state=state), entry=_entry(call, action))
    elif action == "settings":
        try:
            change = _read(fields)
            await services.questions.change(digest, change, entry=_entry(call, "settings"))
        except _Wrong as wrong:
            return await _page(call, known, _entered(fields), {wrong.field: str(wrong)})
        except InvalidRequest as error:
            return await _page(call, known, _entered(fields), {"origins": error.page})
        done = "saved"
    elif action == "delete":
        # People copy the name as the page shows it.
        if fields.get("name", "").strip() != one_line(known.question.name, NAME_WIDTH):
            said = "Nothing was deleted: type the name of the question exactly as it is."
            return await _page(call, known, _stored(known), {"name": said})
        await services.questions.delete(digest)
        return RedirectResponse("/", 303)
    elif action in ("exclude", "include"):
        day = read_day(fields["day"]) if fields.get("day") else None
        excluded = action == "exclude"
        await services.writer.run(lambda store: store.exclude(digest, source, excluded, day=day))
        await services.questions.change(
            digest, Change(), entry=_entry(call, f"{action} {one_line(source)}")
        )
    elif action in ("expected", "unexpected"):
        others = [name for name in known.terms.expected if name != source]
        expected = (*others, source) if action == "expected" else tuple(others)
        words = "expect {} to differ" if action == "expected" else "compare {} again"
        noted = _entry(call, words.format(one_line(source)))
        await services.questions.change(digest, Change(expected=expected), entry=noted)
    else:
        raise Mistake("This form has no such button: go back and load the page again.")
    tab = fields.get("tab", "")
    place = f"/{tab}" if tab in ("quality", "settings") else ""
    return RedirectResponse(f"/questions/{digest}{place}?done={quote(done)}", 303)


def _entered(fields: Mapping[str, str]) -> Mapping[str, str]:
    return {"origins": "", "minimum": "", **fields}


def _entry(call: Call, what: str) -> Entry:
    return Entry(write_day(today()), str(call.holder), what)


class _Wrong(Mistake):
    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def _read(fields: Mapping[str, str]) -> Change:
    minimum = fields.get("minimum", "").strip()
    whole = minimum.isascii() and minimum.isdigit() and len(minimum) < 16 and int(minimum)
    if minimum and not whole:
        raise _Wrong(f"Enter a whole number from 1 on, not “{minimum[:40]}”.", "minimum")
    origins = lines(fields.get("origins", ""))
    for origin in origins:
        if origin != "*" and ("://" not in origin or origin.endswith("/")):
            example = "write it like https://example.org, with no slash at the end"
            raise _Wrong(f"“{origin[:60]}” is not a website: {example}.", "origins")
    return Change(
        origins=origins,
        minimum=int(minimum) if minimum else None,
        public_results="public_results" in fields,
        collect="collect" in fields,
    )
