"""The interface: every operation of the collector, in one list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response
from starlette.routing import Route, Router

from deniable.collector import openapi
from deniable.collector.access import Role
from deniable.collector.handlers import questions, reading, sessions, status
from deniable.collector.mathematics import SHEET_PATH
from deniable.collector.operations import Call, Operation, Parameter, Resource
from deniable.collector.pages import assets, home, login, new, question, trying
from deniable.collector.parts import Parts
from deniable.collector.submission import Submissions

if TYPE_CHECKING:
    from starlette.types import Lifespan

_DAY = {"type": "string", "format": "date"}
_TEXT = {"type": "string"}
_FORM = {"application/x-www-form-urlencoded": {"type": "object"}}
_JSON, _BYTES, _HTML = "application/json", "application/octet-stream", "text/html"

DIGEST = Parameter(
    "digest", "The SHA-256 of the question.", {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    where="path", required=True,
)  # fmt: skip
UPLOAD = Parameter(
    "id", "16 random bytes in hexadecimal.", {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    where="path", required=True,
)  # fmt: skip
SOURCE = Parameter(
    "source", "The name of a source.", {"type": "string", "minLength": 1}, where="path",
    required=True,
)  # fmt: skip
SESSION = Parameter("session", "The name of a session.", _TEXT, where="path", required=True)
CONFIRMED = Parameter("name", "The name of the question, to be sure.", _TEXT, required=True)
ONE_DAY = Parameter("day", "Only this day; all days by default.", _DAY)
HASH = Parameter("hash", "The hash of a file.", _TEXT, where="path", required=True)
NAME = Parameter("name", "The name of a file.", _TEXT, where="path", required=True)
DAY = Parameter("day", "The day of the submission.", _DAY, required=True)
RANGE = (
    Parameter("from", "The first day; all days by default.", _DAY),
    Parameter("to", "The last day.", _DAY),
)
READING = (
    *RANGE,
    Parameter("people", "How many people answered, if they may have answered again and it is "
              "known; else those of an average day.", {"type": "integer", "minimum": 1}),
    Parameter("compare_from", "The first day of a second range to compare with.", _DAY),
    Parameter("compare_to", "The last day of the second range.", _DAY),
    Parameter("compare_people", "How many people answered in the second range.",
              {"type": "integer", "minimum": 1}),
    Parameter("format", "The form of the answer.", {"enum": ["json", "csv", "html"]}),
    Parameter("candidate", "An answer to estimate; repeat it.",
              {"type": "array", "items": _TEXT}),
)  # fmt: skip
TREND = (
    *RANGE,
    Parameter("format", "The form of the answer.", {"enum": ["json", "csv"]}),
    Parameter("candidate", "An answer to follow, the largest by default; repeat it.",
              {"type": "array", "items": _TEXT}),
)  # fmt: skip
_BINARY: Mapping[str, object] = {"type": "string", "format": "binary"}

REPORTS = "/v1/questions/{digest}/reports"
QUESTION = "/v1/questions/{digest}"


async def _describe(call: Call) -> Response:
    call.query()
    return Response(openapi.render(INTERFACE), headers={"content-type": _JSON})


INTERFACE = [
    Operation("POST", REPORTS, Role.PUBLIC, None, "Submit a report.",
              (DIGEST, DAY), {_BYTES: _BINARY}, {204: None}, application=Submissions),
    Operation("GET", QUESTION, Role.PUBLIC, questions.read, "Read a question.",
              (DIGEST,), answers={200: _JSON, 304: None}),
    Operation("POST", "/v1/questions", Role.ADMIN, questions.create, "Ask a question.",
              (), {_JSON: {"type": "object"}}, {200: _JSON, 201: _JSON}),
    Operation("GET", "/v1/questions", Role.PUBLIC, questions.index, "List the questions."),
    Operation("PATCH", QUESTION, Role.ADMIN, questions.change,
              "Open or close a question, or change its settings.",
              (DIGEST,), {_JSON: openapi.CHANGE}),
    Operation("DELETE", QUESTION, Role.ADMIN, questions.delete,
              "Delete a question with all its data.", (DIGEST, CONFIRMED), answers={204: None}),
    Operation("GET", QUESTION + "/status", Role.VIEWER, questions.status,
              "Read the state and the settings of a question.", (DIGEST,)),
    Operation("GET", QUESTION + "/estimates", Role.VIEWER, reading.estimates,
              "Estimate how many people gave each answer.", (DIGEST, *READING),
              answers={200: openapi.ESTIMATES}),
    Operation("POST", QUESTION + "/estimates", Role.VIEWER, reading.estimates_of,
              "The same, with candidates in the body.", (DIGEST,), {_JSON: openapi.WANTED},
              {200: openapi.ESTIMATES}),
    Operation("GET", QUESTION + "/trend", Role.VIEWER, reading.trend,
              "Follow some answers from day to day.", (DIGEST, *TREND),
              answers={200: "application/json text/csv"}),
    Operation("GET", SHEET_PATH, Role.PUBLIC, reading.sheet, "The style of estimates as HTML.",
              answers={200: "text/css"}),
    Operation("GET", QUESTION + "/tally", Role.VIEWER, reading.tally,
              "Download the tally of a range of days.", (DIGEST, *RANGE), answers={200: _BYTES}),
    Operation("GET", QUESTION + "/export", Role.ADMIN, reading.export,
              "Download everything that a question has.", (DIGEST,),
              answers={200: "application/zip"}),
    Operation("PUT", QUESTION + "/tallies/{id}", Role.ADMIN, reading.upload,
              "Add a tally that was collected elsewhere.", (DIGEST, UPLOAD, DAY),
              {_BYTES: _BINARY}, {200: _JSON, 201: _JSON}),
    Operation("GET", QUESTION + "/sources", Role.VIEWER, reading.sources,
              "List who contributed.", (DIGEST,)),
    Operation("PUT", QUESTION + "/sources/{source:any}", Role.ADMIN, reading.exclude,
              "Leave a source out of every count, or take it in again.", (DIGEST, SOURCE, ONE_DAY),
              {_JSON: openapi.EXCLUSION}),
    Operation("GET", "/v1/sessions", Role.ADMIN, sessions.index, "List who is logged in."),
    Operation("DELETE", "/v1/sessions/{session}", Role.ADMIN, sessions.end, "End a session.",
              (SESSION,), answers={204: None}),
    Operation("GET", "/v1/counters", Role.VIEWER, status.counters,
              "What was accepted, repeated and refused since the start."),
    Operation("GET", "/healthz", Role.PUBLIC, status.healthz, "Whether the process answers."),
    Operation("GET", "/readyz", Role.PUBLIC, status.readyz, "Whether submissions are stored."),
    Operation("GET", "/metrics", Role.VIEWER, status.metrics, "The counters for Prometheus.",
              answers={200: "text/plain"}),
    Operation("GET", "/openapi.json", Role.PUBLIC, _describe, "This document."),
]  # fmt: skip
"""What programs use, and the OpenAPI document describes."""

PAGES = [
    Operation("GET", "/login", Role.PUBLIC, login.form, "The form that a login link opens.",
              (Parameter("key", "The secret of the link.", _TEXT),), answers={200: _HTML}),
    Operation("POST", "/login", Role.PUBLIC, login.login, "Use a login link up.", (),
              _FORM, {303: None}),
    Operation("POST", "/logout", Role.VIEWER, login.logout, "End the session.",
              answers={303: None}),
    Operation("GET", "/", Role.VIEWER, home.show, "The questions.", answers={200: _HTML}),
    Operation("GET", "/new", Role.ADMIN, new.form, "Plan a question.", answers={200: _HTML}),
    Operation("POST", "/new", Role.ADMIN, new.send, "Plan or create a question.", (), _FORM,
              {200: _HTML, 303: None}),
    Operation("GET", "/questions/{digest}", Role.VIEWER, question.show, "One question.",
              (DIGEST,), answers={200: _HTML}),
    Operation("POST", "/questions/{digest}", Role.ADMIN, question.change,
              "Change a question.", (DIGEST,), _FORM, {303: None}),
    Operation("GET", "/try/{digest}", Role.PUBLIC, trying.show,
              "Try a question, and see what a report reveals.", (DIGEST,), answers={200: _HTML}),
    Operation("GET", "/static/{hash}/{name}", Role.PUBLIC, assets.serve, "Files of pages.",
              (HASH, NAME), answers={200: "text/css text/javascript image/svg+xml"}),
    Operation("GET", "/client/{hash}/deniable.js", Role.PUBLIC, assets.client,
              "The browser client, of this version or an earlier one.", (HASH,),
              answers={200: "text/javascript"}),
    Operation("GET", "/deniable.js", Role.PUBLIC, assets.first_client,
              "The browser client of version 0.2.0.", answers={200: "text/javascript"}),
]  # fmt: skip
"""What people look at."""

OPERATIONS = [*INTERFACE, *PAGES]


class _Any(Convertor[str]):
    """A name in an address that may hold anything, slashes and line ends too."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def build_router(parts: Parts, lifespan: Lifespan[object] | None = None) -> Router:
    """Return the router of all operations, one resource for each path."""
    register_url_convertor("any", _Any())
    paths = dict.fromkeys(operation.path for operation in OPERATIONS)
    routes = [
        Route(path, Resource([found for found in OPERATIONS if found.path == path], parts))
        for path in paths
    ]
    return Router(routes, lifespan=lifespan, redirect_slashes=False)
