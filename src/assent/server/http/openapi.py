"""OpenAPI 3.1, generated from the routes and from the records that decode their requests."""

from __future__ import annotations

import functools
import http
import re
from typing import TYPE_CHECKING, Any

import msgspec

from assent.server.http.route import Route
from assent.wire.refusal import ErrorBody

if TYPE_CHECKING:
    from collections.abc import Iterable

_REF = "#/components/schemas/{name}"
_EVERYWHERE = (400, 403, 413, 415, 429, 500, 503)


@functools.lru_cache(maxsize=4)
def make_document(routes: tuple[Route, ...], version: str) -> dict[str, Any]:
    """Return the OpenAPI document."""
    shown = [route for route in routes if not route.page]
    types = {route.takes for route in shown} | {route.gives for route in shown}
    known = sorted((t for t in types if t is not None), key=lambda t: t.__name__)
    _, components = msgspec.json.schema_components([*known, ErrorBody], ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _describe(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Assent",
            "version": version,
            "description": "Permission for AI agents: ask, wait, answer, and see why.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe(route: Route) -> dict[str, Any]:
    about: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', route.path.lower()).strip('_')}",
        "x-assent-roles": [role.value for role in route.roles],
        "responses": _responses(route),
    }
    if route.stream:
        about["x-assent-stream"] = True
    if route.roles:
        about["security"] = [{"bearer": []}]
    parameters = [*_path_parameters(route.path), *_query_parameters(route)]
    if parameters:
        about["parameters"] = parameters
    if route.takes is not None:
        content = {"application/json": {"schema": {"$ref": _REF.format(name=route.takes.__name__)}}}
        about["requestBody"] = {"required": True, "content": content}
    return about


def _responses(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": "Done"}}
    if route.stream:
        responses["200"]["content"] = {"text/event-stream": {"schema": {"type": "string"}}}
    if route.gives is not None:
        schema = {"$ref": _REF.format(name=route.gives.__name__)}
        responses["200"]["content"] = {"application/json": {"schema": schema}}
    statuses = {*_EVERYWHERE, *route.errors, *((401,) if route.roles else ())}
    if "{" in route.path:
        statuses.add(404)
    for status in sorted(statuses):
        responses[str(status)] = {
            "description": http.HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": {}}},
        }
    return responses


def _path_parameters(path: str) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _query_parameters(route: Route) -> Iterable[dict[str, Any]]:
    for parameter in route.query:
        yield {
            "name": parameter.name,
            "in": "query",
            "required": False,
            "description": parameter.means,
            "schema": {"type": parameter.kind},
        }
