"""What to paste into a page so that it asks a question: a form, and the tag of the client.

The form cannot leak. Its fields have no name, so that no browser has anything to send, and its
method is ``dialog``, so that none sends at all; Send is disabled until the client is there.

Three things make it, and know nothing of each other: the *states* in words, which the client shows
and which a page may replace or translate; the *fields* of a question's answers; and *looks*, which
are left to the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from deniable.answers import Choices
from deniable.collector.pages.head import Head, head_of, is_admin
from deniable.collector.pages.templating import UNCACHED, client_address, client_for, page
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice
from deniable.policy import BROWSERS, BUDGET, BUILDS, CEILING
from deniable.presentation.view import counted
from deniable.question import Question

STATES = {
    "ready": "",
    "answered": "Thank you. Your answer has arrived.",
    "already": "You have already answered this question. Nothing more was sent.",
    "waiting": "Thank you. Your answer is kept in this browser and will be sent again.",
    "refused": "Your answer could not be counted. Nothing more will be sent.",
    "maybe": "We do not know whether your answer was counted. Nothing more will be sent.",
    "opted-out": "Nothing was sent: this browser is set not to take part.",
    "no-storage": "Nothing was sent: this browser keeps no data for this site.",
    "over-budget": "Nothing was sent: earlier answers have used up your privacy budget.",
    "not-now": "Not this week: this browser is asked in another round. Nothing was sent.",
    "finished": "This question is finished for this browser. Nothing was sent.",
    "failed": "Nothing was sent: this is not an answer, or the question cannot be asked now.",
}
"""How an answer stands, and how the form says it: one attribute each."""
UNREADY = "Answering needs JavaScript. Send works as soon as the page has loaded."
"""What the form says where the client does not run."""
_MOST_CHOICES = 50


@dataclass(frozen=True)
class CollectPage:
    """The tab that says how to collect answers."""

    head: Head
    snippet: Snippet
    arrived: str
    preview: Markup
    admin: bool
    place: str = "question"


async def show(call: Call) -> Response:
    """Show what to paste, and whether anything has arrived; with ``fragment`` only the latter."""
    query, known = call.query("fragment"), await call.known()
    standing = await call.services.readers.run(
        lambda store: store.standing(Slice(known.asked.digest))
    )
    arrived = counted(standing.n, "report") if standing.n else ""
    if "fragment" in query:
        return HTMLResponse(escape(arrived), headers=UNCACHED)
    # Shown without its script, so that nothing can be sent from here.
    preview = Markup(_field(known.question))
    head = head_of(known, standing, "collect")
    context = CollectPage(head, make(call, known.question), arrived, preview, is_admin(call))
    return page("collect.html", context)


@dataclass(frozen=True)
class Snippet:
    """The text to paste, the address of the page to try, and whether browsers answer."""

    html: str
    address: str
    command: str
    unknown: str
    beyond: str


def make(call: Call, question: Question) -> Snippet:
    base = call.services.settings.url.rstrip("/") or f"{call.request.url.scheme}://{_host(call)}"
    form = f"deniable-{question.digest[:8]}"
    return Snippet(
        f"{_form(form, question)}{_tag(form, base, question)}",
        f"{base}/try/{question.digest}",
        f"deniable send {base} answers.txt --question {question.digest}",
        unknown(question),
        beyond(question),
    )


def unknown(question: Question) -> str:
    """Return what browsers do not know of a question: its protocol, or its kind of answers."""
    if question.answers.build in BUILDS:
        spoken = question.protocol.name in BUILDS[question.answers.build]
        return "" if spoken else question.protocol.name
    if question.protocol.name not in BROWSERS:
        return question.protocol.name
    kind = question.answers.kind
    return "" if kind in ("choice", "text") else f"answers of the kind {kind}"


def beyond(question: Question) -> str:
    """Say that browsers refuse a question, if it asks for more than their policy allows."""
    total, limit = question.total_epsilon, min(CEILING, BUDGET)
    if total <= limit:
        return ""
    return (
        f"Browsers refuse this question by default: it reveals up to epsilon = {total:.4g}, and "
        f"they allow {limit:g}."
    )


def _form(name: str, question: Question) -> str:
    states = "\n".join(f'  data-{state}="{escape(words)}"' for state, words in STATES.items())
    return (
        f'<form id="{name}" method="dialog" autocomplete="off"\n{states}>\n'
        f"{_field(question)}\n"
        "  <button disabled>Send</button>\n"
        f'  <p role="status">{UNREADY}</p>\n'
        "</form>\n"
    )


def _tag(form: str, base: str, question: Question) -> str:
    kind = question.answers.build
    address, named = client_address(kind), f'  data-kind="{kind}"\n' if kind in BUILDS else ""
    return (
        f'<script type="module" src="{escape(base)}{address}" crossorigin="anonymous"\n'
        f'  integrity="{client_for(kind).integrity}"\n'
        f'  data-collector="{escape(base)}"\n{named}'
        f'  data-question="{question.digest}"\n'
        f'  data-form="#{form}"></script>\n'
    )


def _host(call: Call) -> str:
    return call.request.headers.get("host", "") or "127.0.0.1"


def _field(question: Question) -> str:
    """Return a list to choose from where there are few answers, else a field for text.

    Nothing is chosen beforehand, and no field has a name.
    """
    name = _written(question.name[:200])
    asked = question.answers.field()
    if isinstance(question.answers, Choices):
        return _boxes(name, question.answers)
    labels = asked["labels"] if asked["kind"] == "choice" else None
    if not isinstance(labels, list) or len(labels) > _MOST_CHOICES:
        return f'  <label>{name} <input type="text" required></label>'
    options = "\n".join(
        f'      <option value="{_written(label)}">{_written(label)}</option>' for label in labels
    )
    choose = '      <option value="" disabled selected>Choose …</option>'
    return f"  <label>{name}\n    <select required>\n{choose}\n{options}\n    </select>\n  </label>"


def _boxes(name: str, answers: Choices) -> str:
    """Return a box for each of few labels, and how many may be ticked; of many labels a list."""
    limit, labels = f"at most {answers.at_most}", [_written(label) for label in answers.labels]
    if len(labels) > _MOST_CHOICES:
        options = "\n".join(f'      <option value="{label}">{label}</option>' for label in labels)
        field = f"    <select multiple>\n{options}\n    </select>"
        return f"  <label>{name} ({limit})\n{field}\n  </label>"
    boxes = "\n".join(
        f'    <label><input type="checkbox" value="{label}"> {label}</label><br>'
        for label in labels
    )
    return (
        f"  <fieldset>\n    <legend>{name} ({limit})</legend>\n{boxes}\n"
        f"    <output>0 / {answers.at_most}</output>\n  </fieldset>"
    )


def _written(text: str) -> str:
    """Return text for HTML; what cannot be seen, or turns text around, as its number."""
    return "".join(escape(c) if c.isprintable() else f"&#x{ord(c):x};" for c in text)
