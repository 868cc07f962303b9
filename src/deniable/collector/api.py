"""The interface: every operation of the collector, in one list.

An operation states its role; one that does not cannot be made. The routes, the checks of access and
the description in OpenAPI 3.1 all derive from the same list.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from re import findall

import msgspec
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from deniable.collector import handlers, jobs, problems, questions, status, submission
from deniable.collector.access import COOKIE, SAFE, Role, audit
from deniable.collector.pages import (
    embed,
    home,
    new_question,
    operating,
    public,
    quality,
    question,
    templating,
    terms,
    try_it,
)
from deniable.collector.requests import NAMES, Call, Services
from deniable.version import __version__

Schema = Mapping[str, object]
_REFERENCE = "#/components/schemas/{name}"


def _parameter(
    name: str, description: str, schema: Schema, required: bool = False, where: str = "query"
) -> Schema:
    """Describe a parameter as OpenAPI does; most stand after the address."""
    found = {"name": name, "in": where, "description": description}
    return {**found, "required": required, "schema": schema}


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True)
class Operation:
    """One method on one path: who may use it, what it does, what it takes and gives."""

    method: str
    path: str
    role: Role
    handler: Handler | None
    summary: str
    parameters: Sequence[Schema] | None = ()
    """Others are refused; None leaves that to the handler."""
    body: Mapping[str, Schema | type[msgspec.Struct]] = field(default_factory=dict)
    answers: Mapping[int, str | None] = field(default_factory=lambda: {200: "application/json"})
    application: Callable[[Services], ASGIApp] | None = None
    """Makes a raw ASGI application instead of a handler, which checks access by itself."""

    def __post_init__(self) -> None:
        if not isinstance(self.role, Role):
            raise TypeError(f"expected a role for {self.method} {self.path}, got {self.role!r}")


class Resource:
    """One path with its operations: finds the method, demands the role, calls the handler."""

    def __init__(self, operations: Sequence[Operation], services: Services) -> None:
        self._services = services
        self._operations = {operation.method: operation for operation in operations}
        self._applications = {
            operation.method: operation.application(services)
            for operation in operations
            if operation.application is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        if application := self._applications.get(method):
            await application(scope, receive, send)
            return
        operation = self._operations.get("GET" if method == "HEAD" else method)
        if operation is None or operation.handler is None:
            methods = {*self._operations, *(["HEAD"] if "GET" in self._operations else [])}
            allowed = ", ".join(sorted(methods))
            raise problems.MethodRefused(f"use {allowed} and not {method}", value=allowed)
        request = Request(scope, receive, send)
        holder = await self._services.access.demand(request, operation.role)
        call = Call(self._services, request, holder)
        if operation.parameters is not None:
            names = [str(found["name"]) for found in operation.parameters]
            call.query(*names, repeated=handlers.REPEATED)
        if holder is None or operation.role is not Role.ADMIN or method in SAFE:
            response = await operation.handler(call)
        else:
            response = await _audited(operation.handler, call)
        await response(scope, receive, send)


async def _audited(handler: Handler, call: Call) -> Response:
    """Call a handler, and note who did what, and what came of it."""
    status, url = 500, call.request.url
    what = f"{call.request.method} {url.path}{'?' if url.query else ''}{url.query}"
    try:
        response = await handler(call)
        status = response.status_code
    except Exception as error:
        status = problems.find_problem(problems.own(error)).status
        raise
    finally:
        audit(str(call.holder), f"{what} {', '.join(call.noted)}".rstrip(), status)
    return response


_JSON, _BYTES, _HTML = "application/json", "application/octet-stream", "text/html"
_SCRIPT, _TABLES = "text/javascript", "application/json text/csv"
_TEXT = {"type": "string"}
_DAY = {"type": "string", "format": "date"}
_BINARY = {"type": "string", "format": "binary"}
_OBJECT = {"type": "object"}
_FORM = {"application/x-www-form-urlencoded": _OBJECT}
_PATH: Mapping[str, tuple[str, Schema]] = {
    "digest": ("The SHA-256 of the question.", {"type": "string", "pattern": "^[0-9a-f]{64}$"}),
    "id": ("16 random bytes in hexadecimal.", {"type": "string", "pattern": "^[0-9a-f]{32}$"}),
    "source": ("The name of a source.", {"type": "string", "minLength": 1}),
    "session": ("The name of a session.", _TEXT),
    "hash": ("The hash of a file.", _TEXT),
    "name": ("The name of a file.", _TEXT),
}
"""The parameters in paths, and what they are."""


def _fields(kind: type[msgspec.Struct], *names: str) -> tuple[Schema, ...]:
    """Describe fields of a structure as parameters after an address, which are never null."""
    found = msgspec.json.schema(kind)["$defs"][kind.__name__]["properties"]
    return tuple(
        _parameter(name, found[name]["description"], (found[name].get("anyOf") or [found[name]])[0])
        for name in names
    )


DAY = _parameter("day", "The day of the submission.", _DAY, required=True)
ONE_DAY = _parameter("day", "Only this day; all days by default.", _DAY)
CONFIRMED = _parameter("name", "The name of the question, to be sure.", _TEXT, required=True)
_TEXTS = {"type": "array", "items": _TEXT}
CANDIDATE = _parameter("candidate", "An answer; repeat it.", _TEXTS)
SEGMENT = _parameter("segment", "Only people with dimension:value; repeat it.", _TEXTS)
CROSS = _parameter("cross", "An attribute of a record; repeat it for a table.", _TEXTS)
_FORMAT = _parameter("format", "The form.", {"enum": ["json", "csv"]})
RANGE = (*_fields(handlers.Query, *NAMES, "round"), SEGMENT)
READING = (*_fields(handlers.Query, *handlers.PARAMETERS), SEGMENT, CANDIDATE, CROSS)
SEARCHING = (*RANGE, *_fields(handlers.Query, "format"), CANDIDATE)
TREND = (*RANGE, *_fields(handlers.Query, "by", "pooled", "above"), _FORMAT, CANDIDATE, CROSS)
COMPARING = (
    _parameter("dimension", "The dimension whose values are the arms of an experiment.", _TEXT),
    *_fields(handlers.Query, "control", "primary", "looks"),
    *RANGE,
    _parameter("with", "The round to compare a round with.", {"type": "integer", "minimum": 0}),
    _FORMAT,
)
QUESTION = "/v1/questions/{digest}"


async def _describe(call: Call) -> Response:
    return Response(describe(INTERFACE), headers={"content-type": _JSON})


INTERFACE = [
    Operation("POST", QUESTION + "/reports", Role.PUBLIC, None, "Submit a report.", (DAY,),
              {_BYTES: _BINARY}, {204: None}, application=submission.Submissions),
    Operation("GET", QUESTION, Role.PUBLIC, handlers.read_question, "Read a question.",
              answers={200: _JSON, 304: None}),
    Operation("POST", "/v1/questions", Role.ADMIN, handlers.ask_question, "Ask a question.", (),
              {_JSON: _OBJECT}, {200: _JSON, 201: _JSON}),
    Operation("GET", "/v1/questions", Role.PUBLIC, handlers.list_questions, "List the questions."),
    Operation("PATCH", QUESTION, Role.ADMIN, handlers.change_question,
              "Open or close a question, or change its settings.", (), {_JSON: questions.Change}),
    Operation("DELETE", QUESTION, Role.ADMIN, handlers.delete_question,
              "Delete a question with all its data.", (CONFIRMED,), answers={204: None}),
    Operation("GET", QUESTION + "/status", Role.VIEWER, handlers.read_status,
              "Read the state and the settings of a question."),
    Operation("GET", QUESTION + "/estimates", Role.VIEWER, handlers.estimate,
              "Estimate how many people gave each answer.", READING,
              answers={200: f"{_TABLES} {_HTML}"}),
    Operation("POST", QUESTION + "/estimates", Role.VIEWER, handlers.estimate_candidates,
              "The same, with candidates in the body.", (), {_JSON: handlers.Query},
              {200: f"{_TABLES} {_HTML}"}),
    Operation("GET", QUESTION + "/discoveries", Role.VIEWER, handlers.discover,
              "Find the frequent texts that nobody listed.", SEARCHING,
              answers={200: f"{_TABLES} {_HTML}"}),
    Operation("GET", QUESTION + "/trend", Role.VIEWER, handlers.follow_trend,
              "Follow some answers from day to day.", TREND, answers={200: _TABLES}),
    Operation("GET", QUESTION + "/compare", Role.VIEWER, handlers.compare,
              "Compare the arms of an experiment, or two rounds.", COMPARING,
              answers={200: _TABLES}),
    Operation("GET", jobs.SHEET_PATH, Role.PUBLIC, handlers.style_sheet,
              "The style of estimates as HTML.", answers={200: "text/css"}),
    Operation("GET", QUESTION + "/tally", Role.VIEWER, handlers.download_tally,
              "Download a tally.", RANGE, answers={200: _BYTES}),
    Operation("GET", QUESTION + "/export", Role.ADMIN, handlers.export_question,
              "Download everything that a question has.", answers={200: "application/zip"}),
    Operation("PUT", QUESTION + "/tallies/{id}", Role.ADMIN, handlers.upload_tally,
              "Add a tally that was collected elsewhere, once for each id.", (DAY, SEGMENT),
              {_BYTES: _BINARY}, {200: _JSON, 201: _JSON}),
    Operation("GET", QUESTION + "/sources", Role.VIEWER, handlers.list_sources,
              "List who contributed."),
    Operation("GET", QUESTION + "/alarms", Role.VIEWER, handlers.list_alarms,
              "List sources whose reports look made up.", RANGE),
    Operation("PUT", QUESTION + "/sources/{source:any}", Role.ADMIN, handlers.exclude_source,
              "Leave a source out of every count, or take it in again.", (ONE_DAY,),
              {_JSON: handlers.Exclusion}),
    Operation("GET", "/v1/sessions", Role.ADMIN, status.sessions, "List who is logged in."),
    Operation("DELETE", "/v1/sessions/{session}", Role.ADMIN, status.end_session,
              "End a session.", answers={204: None}),
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
    Operation("GET", "/login", Role.PUBLIC, operating.form, "The form that a login link opens.",
              (_parameter("key", "The secret of the link.", _TEXT),
               _parameter("next", "Where to go then.", _TEXT)), answers={200: _HTML}),
    Operation("POST", "/login", Role.PUBLIC, operating.login, "Use a login link up.", None, _FORM,
              {303: None}),
    Operation("POST", "/logout", Role.VIEWER, operating.logout, "End the session.",
              None, answers={303: None}),
    Operation("GET", "/", Role.PUBLIC, home.show, "The questions.", None, answers={200: _HTML}),
    Operation("GET", "/access", Role.ADMIN, operating.show_access, "Tokens and sessions.",
              None, answers={200: _HTML}),
    Operation("POST", "/access", Role.ADMIN, operating.change_access, "Make or end them.", None,
              _FORM, {200: _HTML, 303: None}),
    Operation("GET", "/status", Role.VIEWER, operating.show_status, "How the collector is.",
              None, answers={200: _HTML}),
    Operation("GET", "/new", Role.ADMIN, new_question.form, "Plan a question.",
              answers={200: _HTML}),
    Operation("POST", "/new", Role.ADMIN, new_question.send, "Plan or create a question.", None,
              _FORM, {200: _HTML, 303: None}),
    Operation("GET", "/questions/{digest}", Role.VIEWER, question.show, "One question.",
              None, answers={200: _HTML}),
    Operation("POST", "/questions/{digest}", Role.ADMIN, terms.send, "Change a question.", None,
              _FORM, {303: None}),
    Operation("POST", "/questions/{digest}/follow-up", Role.ADMIN, question.follow_up,
              "Ask a closed question of the texts that were found.", None, _FORM, {303: None}),
    Operation("GET", "/questions/{digest}/collect", Role.VIEWER, embed.show,
              "How to collect answers.", None, answers={200: _HTML}),
    Operation("GET", "/questions/{digest}/quality", Role.VIEWER, quality.show,
              "What came in, and from whom.", None, answers={200: _HTML}),
    Operation("GET", "/questions/{digest}/settings", Role.ADMIN, terms.form,
              "The settings of a question.", None, answers={200: _HTML}),
    Operation("GET", "/results/{digest}", Role.PUBLIC, public.show,
              "Results that everybody may see.", None, answers={200: _HTML}),
    Operation("GET", "/results/{digest}/embed", Role.PUBLIC, public.embed,
              "The same, to be framed by the sites of the question.", None, answers={200: _HTML}),
    Operation("GET", "/check", Role.PUBLIC, public.check, "What a respondent can check.",
              None, answers={200: _HTML}),
    Operation("GET", "/try/{digest}", Role.PUBLIC, try_it.show,
              "Try a question, and see what a report reveals.", None, answers={200: _HTML}),
    Operation("GET", "/static/{hash}/{name}", Role.PUBLIC, templating.serve, "Files of pages.",
              answers={200: f"text/css {_SCRIPT} image/svg+xml"}),
    Operation("GET", "/client/{hash}/deniable.js", Role.PUBLIC, templating.client,
              "The browser client, of this version or an earlier one.", answers={200: _SCRIPT}),
    Operation("GET", "/deniable.js", Role.PUBLIC, templating.first_client,
              "The browser client of version 0.2.0.", answers={200: _SCRIPT}),
]  # fmt: skip
"""What people look at."""

OPERATIONS = [*INTERFACE, *PAGES]


class _Any(PathConvertor):
    """A name in an address that may hold anything, slashes and line ends too."""

    regex = "(?s:.+)"


def build_router(services: Services) -> Router:
    register_url_convertor("any", _Any())
    paths = dict.fromkeys(operation.path for operation in OPERATIONS)
    routes = [
        Route(path, Resource([found for found in OPERATIONS if found.path == path], services))
        for path in paths
    ]
    return Router(routes, lifespan=lambda _: services.running(), redirect_slashes=False)


def describe(operations: Sequence[Operation]) -> bytes:
    paths: dict[str, dict[str, object]] = {}
    for operation in operations:
        path = operation.path.replace(":any}", "}")  # how the router takes a name with slashes
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation)
    bodies = [kind for each in operations for kind in each.body.values() if isinstance(kind, type)]
    _, schemas = msgspec.json.schema_components(
        [problems.ProblemDocument, *bodies], ref_template=_REFERENCE
    )
    security = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "deniable collector", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
    }
    return json.dumps(document, indent=1).encode()


def _operation(operation: Operation) -> dict[str, object]:
    place = "_".join(findall("[a-z]+", operation.path.replace(":any", ""))) or "home"
    named = findall("{([a-z]+)", operation.path)
    path = [_parameter(name, *_PATH[name], required=True, where="path") for name in named]
    found: dict[str, object] = {
        "operationId": f"{operation.method.lower()}_{place}",
        "summary": operation.summary,
        "parameters": [*path, *(operation.parameters or ())],
        "responses": {
            **{str(code): _answer(code, media) for code, media in operation.answers.items()},
            "default": {
                "description": "A problem.",
                "content": {problems.MEDIA_TYPE: {"schema": _schema(problems.ProblemDocument)}},
            },
        },
    }
    if operation.body:
        content = {media: {"schema": _schema(kind)} for media, kind in operation.body.items()}
        found["requestBody"] = {"required": True, "content": content}
    if operation.role is not Role.PUBLIC:
        found["security"] = [{"token": []}, {"session": []}]
        found["description"] = f"Needs the role {operation.role.value}."
    return found


def _schema(kind: Schema | type[msgspec.Struct]) -> Schema:
    return {"$ref": _REFERENCE.format(name=kind.__name__)} if isinstance(kind, type) else kind


def _answer(code: int, media: str | None) -> dict[str, object]:
    if media is None:
        return {"description": "Done." if code < 300 else "Elsewhere, or as it was."}
    return {"description": "Done.", "content": {name: {} for name in media.split()}}
