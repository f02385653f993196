"""The OpenAPI document, generated from the classes of requests and answers."""

from __future__ import annotations

from typing import Any

import msgspec

from lveg._version import __version__
from lveg.serve.api import Health, Models, ParseAnswer, ParseRequest, ProblemAnswer, TagAnswer, TagRequest

PROBLEMS = {
    400: "The body is not JSON, or the header Host does not name this machine.",
    404: "There is no such model.",
    408: "The body took too long to arrive.",
    413: "The body is over 1 MB.",
    415: "The body is not application/json.",
    422: "The request is not as described, or has too many words.",
    500: "The analysis failed.",
    503: "The server is busy: try again after the seconds in Retry-After.",
    504: "The deadline was over, and the work was stopped.",
}


def document() -> dict[str, Any]:
    """The description of all paths of the interface."""
    types = (ParseRequest, ParseAnswer, TagRequest, TagAnswer, Models, Health, ProblemAnswer)
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lveg",
            "version": __version__,
            "description": "Parsing and tagging with latent vector grammars.",
        },
        "paths": {
            "/api/parse": {"post": _post("Parse sentences", ParseRequest, ParseAnswer)},
            "/api/tag": {"post": _post("Tag sentences", TagRequest, TagAnswer)},
            "/api/models": {"get": _get("The models of this server", Models)},
            "/health": {"get": _get("Whether the server can answer", Health) | {"responses": _health()}},
            "/openapi.json": {"get": {"summary": "This document", "responses": {"200": {"description": "OpenAPI"}}}},
        },
        "components": {"schemas": schemas},
    }


def _post(summary: str, request: type, answer: type) -> dict[str, Any]:
    problems = {str(status): _content(ProblemAnswer, why) for status, why in PROBLEMS.items()}
    return {
        "summary": summary,
        "requestBody": {"required": True, **_content(request)},
        "responses": {"200": _content(answer, "The analyses."), **problems},
    }


def _get(summary: str, answer: type) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": _content(answer, summary)}}


def _health() -> dict[str, Any]:
    return {"200": _content(Health, "A worker is running."), "503": _content(Health, "No worker is running yet.")}


def _content(type_: type, description: str | None = None) -> dict[str, Any]:
    content = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{type_.__name__}"}}}}
    return content if description is None else {"description": description, **content}
