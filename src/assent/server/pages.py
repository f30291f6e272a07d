"""The pages: plain HTML, every word of it escaped, nothing loaded that is not ours."""

from __future__ import annotations

import functools
import html
from importlib import resources
from typing import TYPE_CHECKING, Any

from assent.model import visible
from assent.model.principal import Role
from assent.server.messages import HTML, Refusal, Reply, Request
from assent.server.openapi import make_document
from assent.server.permissions import command_of

if TYPE_CHECKING:
    from assent.model import Approval
    from assent.server.daemon import Daemon

_KINDS = {"login.js": b"text/javascript; charset=utf-8", "page.css": b"text/css; charset=utf-8"}


async def front(daemon: Daemon, request: Request) -> Reply:
    """Show what is pending to whoever is logged in; to others, how to log in."""
    who = request.principal
    if who is None or who.role is Role.AGENT:
        body = "<p>You are not logged in. Make a one-time link with <code>assent token link</code>.</p>"
        return page("Assent", body)
    user = None if who.role is Role.ADMIN else who.user
    found, more = await daemon.approvals.list(user=user, limit=200)
    rows = "".join(map(_row, found)) or "<tr><td colspan=5>Nothing is waiting for an answer.</td></tr>"
    rest = "<p>There are more; these are the oldest.</p>" if more else ""
    head = "<tr><th>asked by<th>call<th>tier<th>reason<th>answer it</tr>"
    said = f"<p>Logged in as <b>{show(who.user)}</b> ({who.role}).</p>"
    links = '<p><a href="/docs">The API</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/health">health</a></p>'
    return page("Assent", f"{said}<table>{head}{rows}</table>{rest}{links}")


async def login_page(_daemon: Daemon, _request: Request) -> Reply:
    """Show the page that a one-time link leads to."""
    body = '<p id="status">Logging in …</p><script src="/assets/login.js" type="module"></script>'
    return page("Log in to Assent", body)


async def asset(_daemon: Daemon, request: Request) -> Reply:
    """Serve one of our own files."""
    name = request.params["name"]
    if name not in _KINDS:
        raise Refusal(404, "Not found")
    return Reply(200, _read_asset(name), _KINDS[name])


async def documentation(daemon: Daemon, _request: Request) -> Reply:
    """Show the API for people to read."""
    document = make_document(daemon.routes, daemon.version)
    sections = "".join(
        _describe_route(path, method, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    )
    intro = f"<p>{show(document['info']['description'])} As data: <a href='/openapi.json'>openapi.json</a>.</p>"
    return page("The API of Assent", intro + sections)


def page(title: str, body: str) -> Reply:
    """Put a body, which is already escaped, into a page."""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{show(title)}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/assets/page.css"></head>'
        f"<body><h1>{show(title)}</h1>{body}</body></html>"
    )
    return Reply(200, text.encode("utf-8", "backslashreplace"), HTML)


def show(text: str) -> str:
    """Escape a text for HTML, with everything made visible that would hide in it or move what is visible."""
    return html.escape("\n".join(map(visible, text.split("\n"))), quote=True)


def _row(approval: Approval) -> str:
    answer = f"assent approve {approval.id}\nassent deny {approval.id}"
    gone = " (its caller has gone)" if approval.caller_gone else ""
    cells = (
        f"<td>{show(approval.agent)}{gone}",
        f"<td><pre>{show(command_of(approval))}</pre>",
        f'<td class="{show(approval.tier)}">{show(approval.tier)}',
        f"<td>{show(approval.reason)}",
        f"<td><pre>{show(answer)}</pre>",
    )
    return f"<tr>{''.join(cells)}</tr>"


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


@functools.cache
def _read_asset(name: str) -> bytes:
    return (resources.files("assent.server") / "static" / name).read_bytes()
