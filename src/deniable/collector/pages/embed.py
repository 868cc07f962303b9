"""What to paste into a page so that it asks a question: a form, and the tag of the client.

The form cannot leak. Its fields have no name, so that no browser has anything to send, and its
method is ``dialog``, so that none sends at all; Send is disabled until the client is there.

Three things make it, and know nothing of each other: the *states* in words, which the client shows
and which a page may replace or translate; the *fields* of a question's answers; and *looks*, which
are left to the page.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from html import escape
from textwrap import indent
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from deniable.answers import Answers, Choice, Choices, Number, Record
from deniable.collector.pages.head import Head, head_of, is_admin
from deniable.collector.pages.qr import picture
from deniable.collector.pages.templating import (
    BUILT,
    CLIENT,
    UNCACHED,
    client_address,
    client_for,
    page,
)
from deniable.collector.requests import Call
from deniable.collector.stores.records import Slice
from deniable.policy import BROWSERS, BUILDS, refusal
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
    "not-now": "Not this time: this browser is asked in another round. Nothing was sent.",
    "finished": "This question is finished for this browser. Nothing was sent.",
    "failed": "Nothing was sent: this is not an answer, or the question cannot be asked now.",
}
"""How an answer stands, and how the form says it: one attribute each."""
UNREADY = "Answering needs JavaScript. Send works as soon as the page has loaded."
"""What the form says where the client does not run."""
_OF_ROUNDS = ("not-now", "finished")
"""The states of a question that is asked again, which no other needs words for."""
_MOST_CHOICES = 50


@dataclass(frozen=True)
class CollectPage:
    """The tab that says how to collect answers."""

    head: Head
    snippet: Snippet
    arrived: str
    preview: Markup
    code: Markup
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
    head, snippet = head_of(known, standing, "collect"), make(call, known.question)
    code, admin = picture(snippet.address), is_admin(call)
    context = CollectPage(head, snippet, arrived, preview, code, admin)
    return page("collect.html", **vars(context))


@dataclass(frozen=True)
class Snippet:
    """The text to paste, the address of the page to try, and whether browsers answer."""

    html: str
    lines: str
    """What a page does instead that knows the answer, with ANSWER where the answer belongs."""
    wanted: str
    """What an answer has to be, in words."""
    address: str
    command: str
    program: str
    """The same for one answer, in Python."""
    script: str
    unknown: str
    beyond: str
    often: str
    """How often a person's browser sends a report."""
    segments: tuple[tuple[str, str], ...]
    """The public groups that the page has to name, and their values."""


def make(call: Call, question: Question) -> Snippet:
    base = call.services.settings.url.rstrip("/") or f"{call.request.url.scheme}://{_host(call)}"
    form, address = f"deniable-{question.digest[:8]}", f"{base}/try/{question.digest}"
    names, record = [each.name for each in question.segments], question.answers.kind == "record"
    file = "people.csv" if record or names else "answers.txt"
    columns = ["--column", "answer"] if names and not record else []
    columns += [x for name in names for x in ("--segment-column", name)]
    stated = f", segment={dict.fromkeys(names, '?')}" if names else ""
    return Snippet(
        f"{_form(form, question, address)}{_tag(form, base, question)}",
        _lines(base, question),
        _wanted(question.answers),
        address,
        shlex.join(["deniable", "send", base, file, *columns, "--question", question.digest]),
        "from deniable.client import Client\n\n"
        f'client = Client("{base}", "ledger.db")\n'
        f'client.answer("{question.digest}", answer{stated})',
        BUILT.get(question.answers.build, CLIENT),
        unknown(question),
        refusal(question.total_epsilon, "Browsers"),
        _often(question),
        tuple((each.name, " or ".join(each.values)) for each in question.segments),
    )


def _often(question: Question) -> str:
    if question.repeat is None or question.repeat.times == 1:
        return "once"
    return (
        f"once each time that a person is asked: {question.repeat.times} times at most, "
        f"epsilon = {question.total_epsilon:.3g} in all"
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


def _form(name: str, question: Question, explained: str) -> str:
    said = STATES.items()
    if question.repeat is None:
        said = {state: words for state, words in said if state not in _OF_ROUNDS}.items()
    states = "\n".join(f'  data-{state}="{escape(words)}"' for state, words in said)
    return (
        f'<form id="{name}" method="dialog" autocomplete="off"\n{states}>\n'
        f"{_field(question)}\n"
        "  <button disabled>Send</button>\n"
        f'  <p role="status">{UNREADY}</p>\n'
        f'  <p><a href="{escape(explained)}" target="_blank" rel="noopener">'
        "What does this reveal?</a></p>\n"
        "</form>\n"
    )


def _tag(form: str, base: str, question: Question) -> str:
    kind = question.answers.build
    address, named = client_address(kind), f'  data-kind="{kind}"\n' if kind in BUILDS else ""
    open_values = _groups(question)
    groups = f'  data-segment="{escape(open_values)}"\n' if open_values else ""
    return (
        f'<script type="module" src="{escape(base)}{address}" crossorigin="anonymous"\n'
        f'  integrity="{client_for(kind).integrity}"\n'
        f'  data-collector="{escape(base)}"\n{named}'
        f'  data-question="{question.digest}"\n{groups}'
        f'  data-form="#{form}"></script>\n'
    )


def _lines(base: str, question: Question) -> str:
    """Return JavaScript that makes the tag with an answer; as it stands, it fails at ANSWER."""
    kind, groups = question.answers.build, _groups(question)
    tag = {"type": "module", "src": f"{base}{client_address(kind)}", "crossOrigin": "anonymous"}
    tag["integrity"] = client_for(kind).integrity
    data = {"collector": base, "question": question.digest}
    data |= {"kind": kind} if kind in BUILDS else {}
    data |= {"segment": groups} if groups else {}
    held = "ANSWER" if question.answers.textual else "JSON.stringify(ANSWER)"
    return (
        'const tag = document.createElement("script");\n'
        f"Object.assign(tag, {json.dumps(tag, indent=2)});\n"
        f"Object.assign(tag.dataset, {json.dumps(data, indent=2)}, {{ answer: {held} }});\n"
        "document.body.append(tag);\n"
    )


def _wanted(answers: Answers) -> str:
    if isinstance(answers, Number):
        return f"a number, in {answers.unit}" if answers.unit else "a number"
    return answers.wanted


def _groups(question: Question) -> str:
    return "&".join(f"{quote(each.name)}=?" for each in question.segments)


def _host(call: Call) -> str:
    return call.request.headers.get("host", "") or "127.0.0.1"


def _field(question: Question) -> str:
    """Return the fields for an answer. Nothing is chosen beforehand, and none has a name."""
    name, answers = _written(question.name[:200]), question.answers
    if isinstance(answers, Record):
        fields = indent("<br>\n".join(_single(_written(n), p, n) for n, p in answers.parts), "  ")
        return f"  <fieldset>\n    <legend>{name}</legend>\n{fields}\n  </fieldset>"
    return _boxes(name, answers) if isinstance(answers, Choices) else _single(name, answers)


def _single(name: str, answers: Answers, attribute: str | None = None) -> str:
    """Return a number, a list where there are few labels, else text; an attribute is named."""
    data = "" if attribute is None else f' data-name="{_written(attribute)}"'
    if isinstance(answers, Number):
        unit, scale = f" {_written(answers.unit)}" if answers.unit else "", answers.scale
        ends = f"{_written(scale.written(0))} to {_written(scale.written(answers.steps - 1))}"
        field = f'<input type="number" step="any" required{data}>'
        return f"  <label>{name} ({ends}) {field}{unit}</label>"
    labels = answers.labels if isinstance(answers, Choice) else None
    if labels is None or (len(labels) > _MOST_CHOICES and attribute is None):
        return f'  <label>{name} <input type="text" required></label>'
    options = "\n".join(
        f'      <option value="{_written(label)}">{_written(label)}</option>' for label in labels
    )
    choose = '      <option value="" disabled selected>Choose …</option>'
    field = f"    <select required{data}>\n{choose}\n{options}\n    </select>"
    return f"  <label>{name}\n{field}\n  </label>"


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
