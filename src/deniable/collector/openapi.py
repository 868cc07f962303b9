"""The description of the interface in OpenAPI 3.1, made from the list of operations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from re import findall

from deniable.collector.access import Role
from deniable.collector.operations import Operation, Schema
from deniable.collector.problems import MEDIA_TYPE, PROBLEMS

_DAY = {"type": ["string", "null"], "format": "date"}
ESTIMATES = "application/json text/csv text/html"
"""The media types of estimates, by format."""
CHANGE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "state": {"enum": ["open", "closed"]},
        "origins": {"type": "array", "items": {"type": "string"}},
        "minimum": {"type": ["integer", "null"], "minimum": 1},
        "public_results": {"type": "boolean"},
        "collect": {"type": "boolean"},
    },
}
WANTED: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "from": _DAY,
        "to": _DAY,
        "compare_from": _DAY,
        "compare_to": _DAY,
        "candidates": {"type": "array", "items": {"type": "string"}},
        "format": {"enum": ["json", "csv", "html"]},
    },
}
EXCLUSION: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["excluded"],
    "properties": {"excluded": {"type": "boolean"}},
}
_PROBLEM: Schema = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"enum": sorted({f"urn:deniable:{found.type}" for found in PROBLEMS.values()})},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def render(operations: Sequence[Operation]) -> bytes:
    """Return the document."""
    paths: dict[str, dict[str, object]] = {}
    for operation in operations:
        path = operation.path.replace(":any}", "}")  # how the router takes a name with slashes
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "deniable collector", "version": version("deniable")},
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "deniable_session"},
            },
        },
    }
    return json.dumps(document, indent=1).encode()


def _operation(operation: Operation) -> dict[str, object]:
    """Return one operation; its role is named where a token is needed."""
    place = "_".join(findall("[a-z]+", operation.path.replace(":any", ""))) or "home"
    found: dict[str, object] = {
        "operationId": f"{operation.method.lower()}_{place}",
        "summary": operation.summary,
        "parameters": [
            {
                "name": parameter.name,
                "in": parameter.where,
                "description": parameter.description,
                "required": parameter.required,
                "schema": parameter.schema,
            }
            for parameter in operation.parameters
        ],
        "responses": {
            **{str(code): _answer(code, media) for code, media in operation.answers.items()},
            "default": {
                "description": "A problem.",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    }
    if operation.body:
        content = {media: {"schema": schema} for media, schema in operation.body.items()}
        found["requestBody"] = {"required": True, "content": content}
    if operation.role is not Role.PUBLIC:
        found["security"] = [{"token": []}, {"session": []}]
        found["description"] = f"Needs the role {operation.role.value}."
    return found


def _answer(code: int, media: str | None) -> dict[str, object]:
    if media is None:
        return {"description": "Done." if code < 300 else "Elsewhere, or as it was."}
    return {"description": "Done.", "content": {name: {} for name in media.split()}}
