"""`assent mcp`: proxy an MCP server and decide, ask about and record every tool call."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import secrets
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from assent.cli import exit_codes
from assent.cli.interrupts import run_until_done
from assent.cli.options.arguments import make_parser
from assent.cli.options.sandbox_profile import find_boundary
from assent.cli.options.tool_call import find_folder
from assent.cli.output.screen import complain
from assent.config.effective_settings import load_settings
from assent.config.layers import LivePolicies
from assent.model import AssentError, EventType, SandboxProfile, Session, ToolCall, Violation
from assent.platform.user import user_name
from assent.sandbox import CommandNotStarted, Sandbox, Unavailable
from assent.sdk.mcp.http_server import HttpServer
from assent.sdk.mcp.proxy import McpProxy
from assent.sdk.mcp.server import LONGEST_MESSAGE, Server, ServerGoneError, StdioServer, decode_own, find_id
from assent.sdk.mcp.tool_pins import Pins
from assent.sdk.sessions.backends import Embedded, Judge
from assent.sdk.sessions.daemon_backend import Remote
from assent.sdk.sessions.session import AgentSession

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXAMPLES = (
    "assent mcp -- npx -y @modelcontextprotocol/server-filesystem .",
    "assent mcp --name files --profile read-only -- python server.py",
    "assent mcp --url https://mcp.example.com/mcp",
)


def run(argv: Sequence[str]) -> int:
    """Run the command."""
    parser = make_parser("mcp", "Guard an MCP server: a program, or a URL with --url.", _EXAMPLES)
    parser.add_argument("--name", metavar="NAME", help="the name in rules: mcp__NAME__tool (default: from the command)")
    parser.add_argument("--url", metavar="URL", help="a server with streamable HTTP")
    parser.add_argument("--profile", metavar="NAME", help="the sandbox profile of the program; off for none")
    parser.add_argument("--allow-host", metavar="HOST", action="append", default=[], help="also reach this host")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments")
    given = parser.parse_args(list(argv))
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if bool(command) == bool(given.url):
        raise AssentError("pass either a server command or --url (see `assent mcp --help`)")
    name = given.name or _name_of(command, given.url)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise AssentError("--name may contain only letters, digits, - and _")
    try:
        return run_until_done(_Guarded(name, command, given).run())
    except Unavailable as error:
        complain(f"unavailable: {error}", "nothing was run")
        return exit_codes.DENY
    except CommandNotStarted as error:
        complain(str(error))
        return error.code


def _name_of(command: list[str], url: str | None) -> str:
    """Return a server name from its program, script or host."""
    if url:
        text = url.partition("://")[2].partition("/")[0]
    else:
        named = [word for word in command[1:] if not word.startswith("-") and word != "."]
        text = os.path.basename(named[0] if named else command[0])  # noqa: PTH119 - paths are strings here
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:64] or "server"


class _Guarded:
    """One client on stdin and stdout, one server behind the proxy."""

    def __init__(self, name: str, command: list[str], given: Any) -> None:
        self._name = name
        self._command = command
        self._given = given
        self._folder = find_folder(None)
        live = LivePolicies(self._folder)
        self._judge: Judge = _make_judge(live)
        found = live.current().workspace
        self._who = Session(
            id=f"mcp-{name}-{secrets.token_hex(4)}",
            user=user_name(),
            agent=f"mcp-{name}",
            workspace=found.roots,
            guessed=found.guessed,
        )
        self._call = ToolCall(tool=f"mcp__{name}", call_id=self._who.id)
        self._leaving = False

    async def run(self) -> int:
        """Serve until the client or the server ends."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._judge.close)
            server = await self._open(stack)
            stack.push_async_callback(server.close)
            session = AgentSession(self._who, self._judge, tools={}, queue=True, cwd=self._folder)
            pins = Pins(self._name, self._given.url or self._command)
            proxy = McpProxy(self._name, session, server, pins, _write)
            serving = asyncio.create_task(proxy.serve())
            reading = asyncio.create_task(_read_client(proxy))
            await asyncio.wait((serving, reading), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                reading.cancel()
                self._note_process("process.failed", error=str(serving.result()))
                complain(str(serving.result()))
                return exit_codes.DENY
            serving.cancel()
            self._leaving = True
            return exit_codes.OK

    async def _open(self, stack: contextlib.AsyncExitStack) -> Server:
        if self._given.url:
            return HttpServer(self._given.url)
        boundary = find_boundary(self._folder, self._given.profile, self._given.allow_host, ask=False)
        box = None
        if boundary is not None:
            box = await stack.enter_async_context(
                Sandbox(boundary, on_applied=self._record_profile, on_violation=self._record_violation)
            )
        else:
            complain("note: the profile `off` means no sandbox")
        program = await StdioServer.start(box, self._command, self._record_output)
        self._note_process("process.started", summary=" ".join(self._command)[:1000])
        stack.callback(self._note_end)  # after the process has ended
        return program

    def _note_end(self) -> None:
        """Record that the server was stopped because its client disconnected."""
        if self._leaving:
            self._note_process("process.terminated", summary="client disconnected")

    def _record_output(self, fields: dict[str, Any]) -> None:
        self._note_process("process.output", **fields)

    def _note_process(self, kind: EventType, **more: Any) -> None:
        """Record an event of the server's process; a server at a URL has none."""
        if self._command:
            known = {name: value for name, value in more.items() if value is not None}
            self._judge.note(kind, self._call, self._who, {**known, "process": self._who.id})

    def _record_profile(self, profile: SandboxProfile) -> None:
        self._judge.profile = profile
        self._judge.note("sandbox.applied", self._call, self._who, {})

    def _record_violation(self, violation: Violation) -> None:
        self._judge.note("sandbox.violation", self._call, self._who, {}, violation)


def _make_judge(live: LivePolicies) -> Judge:
    """Use the daemon of ASSENT_URL; else decide in this process, by the policy files at the time of each call."""
    url, token = os.environ.get("ASSENT_URL", ""), os.environ.get("ASSENT_TOKEN", "")
    if url:
        return Remote(url=url, token=token)
    return Embedded(lambda: live.current().policies, store=load_settings().store or "sqlite")


async def _read_client(proxy: McpProxy) -> None:
    """Read the client's messages, one per line, until it closes stdin."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_MESSAGE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await _read_line(reader):
        if line.strip():
            message = decode_own(line)
            try:
                await proxy.hear_client(message, find_id(line) if message is None else None)
            except ServerGoneError:
                await asyncio.Event().wait()  # `McpProxy.serve` notices and answers the open requests


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # the line is too long
        return b""


async def _write(message: dict[str, Any]) -> None:
    """Write a line to the client, blocking the event loop while the pipe is full."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()
