"""What to paste into a page so that it asks a question: a form, and the tag of the client."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from deniable.collector.operations import Call
from deniable.collector.pages.assets import CLIENT, assets
from deniable.policy import BROWSERS, BUDGET, CEILING
from deniable.question import Question

_MOST_CHOICES = 50


@dataclass(frozen=True)
class Snippet:
    """The text to paste, the address of the page to try, and whether browsers can answer."""

    html: str
    address: str
    command: str
    speaks: bool
    protocol: str


def make(call: Call, question: Question) -> Snippet:
    """Return the tag of a question with a form that fits it."""
    base = call.parts.settings.url.rstrip("/") or f"{call.request.url.scheme}://{_host(call)}"
    client = assets()[CLIENT]
    html = (
        f'<form id="deniable-{question.digest[:8]}">\n{_field(question)}\n'
        "  <button>Send</button>\n</form>\n"
        f'<script type="module" src="{escape(base)}/{CLIENT}" crossorigin="anonymous"\n'
        f'  integrity="{client.integrity}"\n'
        f'  data-collector="{escape(base)}"\n'
        f'  data-question="{question.digest}"\n'
        f'{_ceiling(question)}  data-form="#deniable-{question.digest[:8]}"></script>\n'
    )
    return Snippet(
        html,
        f"{base}/try/{question.digest}",
        f"deniable send {base} answers.txt --question {question.digest}",
        question.protocol.name in BROWSERS,
        question.protocol.name,
    )


def _ceiling(question: Question) -> str:
    """Return what lets a client answer a question above its usual ceiling and budget."""
    total = question.protocol.total_epsilon
    ceiling = "" if total <= CEILING else f'  data-ceiling="{total!r}"\n'
    return ceiling + ("" if total <= BUDGET else f'  data-budget="{total!r}"\n')


def _host(call: Call) -> str:
    return call.request.headers.get("host", "") or "127.0.0.1"


def _field(question: Question) -> str:
    """Return a list to choose from where there are few answers, else a field for text."""
    name = _written(question.name[:200])
    if question.labels is None or len(question.labels) > _MOST_CHOICES:
        return f'  <label>{name} <input name="answer" required></label>'
    options = "\n".join(
        f'      <option value="{_written(label)}">{_written(label)}</option>'
        for label in question.labels
    )
    choice = f'<select name="answer" required>\n{options}\n    </select>'
    return f"  <label>{name}\n    {choice}\n  </label>"


def _written(text: str) -> str:
    """Return text for HTML; what cannot be seen, or turns text around, as its number."""
    return "".join(escape(c) if c.isprintable() else f"&#x{ord(c):x};" for c in text)
