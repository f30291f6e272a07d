"""Pages: the dashboard's files, and the API documentation, in which all text is escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from assent.dashboard import find_asset
from assent.model import visible
from assent.server.http.messages import HTML, Request, respond
from assent.server.http.openapi import make_document
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


async def shell(_daemon: Daemon, request: Request) -> Response:
    """Serve the page of the dashboard: it contains no data until its script has requested them."""
    return _serve(request, "index.html")


async def asset(_daemon: Daemon, request: Request) -> Response:
    """Serve a file of the dashboard."""
    return _serve(request, request.path_params["name"])


def _serve(request: Request, name: str) -> Response:
    found = find_asset(name)
    if found is None:
        raise Refusal(404, "Not found")
    offered = request.fields.get(b"accept-encoding", b"").split(b",")
    if any(word.partition(b";")[0].strip() == b"gzip" for word in offered):
        return respond(found.packed, found.kind, ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")))
    return respond(found.body, found.kind)


async def documentation(daemon: Daemon, _request: Request) -> Response:
    """Render the API documentation."""
    document = make_document(daemon.routes, daemon.version)
    sections = "".join(
        _describe_route(path, method, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    )
    intro = f"<p>{show(document['info']['description'])} As data: <a href='/openapi.json'>openapi.json</a>.</p>"
    return page("The API of Assent", intro + sections)


def page(title: str, body: str) -> Response:
    """Put a body, which is already escaped, into a page."""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{show(title)}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="/assets/icon.svg">'
        '<link rel="stylesheet" href="/assets/app.css"></head>'
        f'<body class="document"><h1>{show(title)}</h1>{body}</body></html>'
    )
    return respond(text.encode("utf-8", "backslashreplace"), HTML)


def show(text: str) -> str:
    """Escape a text for HTML, and make invisible and bidirectional characters visible."""
    return html.escape("\n".join(map(visible, text.split("\n"))), quote=True)


def _describe_route(path: str, method: str, about: dict[str, Any]) -> str:
    lines = [f"<h2><code>{show(method.upper())} {show(path)}</code></h2><p>{show(about['summary'])}</p>"]
    lines.append(f"<p>For: {show(', '.join(about['x-assent-roles']) or 'everyone')}</p>")
    rows = [
        f"<tr><td><code>{show(p['name'])}</code><td>{show(p['in'])}<td>{show(p.get('description', ''))}</tr>"
        for p in about.get("parameters", ())
    ]
    if rows:
        lines.append(f"<table><tr><th>parameter<th>in<th>means</tr>{''.join(rows)}</table>")
    return "".join(lines)
