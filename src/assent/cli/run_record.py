"""Record the events of one `assent run`: send them to the daemon, or spool them for the log if none runs.

If the start of a command cannot be recorded, the command does not start.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import struct
import sys
from typing import Any

import msgspec

from assent.model import AssentError, SandboxProfile, Violation
from assent.platform.daemon_address import SOCKET_NAME, TOKEN_FILE, short_name
from assent.platform.files import find_private
from assent.platform.paths import assent_home
from assent.platform.spool import leave
from assent.sandbox.launch.without_namespaces import find_outer
from assent.sandbox.redeem.boundary_signature import boundary_message
from assent.sandbox.redeem.command_line import words_digest
from assent.sandbox.reports import SandboxOrigin, SandboxReport, event_of, stamp

_SECONDS = 15.0
_ASK_SECONDS = 3600.0
"""Time for a person to answer; the daemon gives up sooner."""
_MOST_AT_ONCE = 100


class DaemonDenyError(AssentError):
    """The daemon refused, or its response is invalid."""


class DaemonAwayError(DaemonDenyError):
    """The daemon is not running."""


class RedeemedBoundary(msgspec.Struct, frozen=True):
    """The sandbox profile that the daemon returned for a decision."""

    profile: SandboxProfile
    asks: bool = False
    seal: str = ""


class Recorder:
    """Records the events of one sandbox in order."""

    def __init__(self, *, shown: bool, decision: str | None = None) -> None:
        self._shown = shown
        self.decision = decision
        self._run = f"run-{os.urandom(8).hex()}"
        self._origin = SandboxOrigin(run=self._run, user=_user_name(), ticket=decision, reporter="command line")
        self._next = itertools.count()
        self._waiting: list[SandboxReport] = []
        self._sending: asyncio.Task[None] | None = None
        self.refs: list[str] = []
        """Event ids of the violations."""

    async def redeem(self, words: list[str], key: bytes) -> RedeemedBoundary:
        """Redeem the decision for its sandbox profile, or raise. The profile must be signed with this key."""
        decision, cwd, nonce = self.decision or "", os.getcwd(), os.urandom(16).hex()  # noqa: PTH109 - a string here
        body = {"decisionId": decision, "argv": words, "cwd": cwd, "nonce": nonce}
        try:
            found = msgspec.convert(await post("/api/sandbox/redeem", body), RedeemedBoundary)
        except msgspec.ValidationError:
            raise DaemonDenyError("invalid response from the daemon") from None
        line = words_digest(words, cwd)
        _check_seal(key, found.seal, boundary_message(decision, nonce, line, found.profile, asks=found.asks))
        return found

    async def ask(self, violation: Violation) -> bool:
        """Ask a person, through the daemon, about an operation outside the sandbox profile."""
        body = {"decisionId": self.decision, "violation": violation}
        return bool((await post("/api/sandbox/ask", body, seconds=_ASK_SECONDS))["allow"])

    async def record(self, *reports: SandboxReport) -> None:
        """Record reports durably, or raise."""
        await self._send([self._show(report) for report in reports])

    def note(self, report: SandboxReport) -> None:
        """Queue a report; `finish` waits until it is recorded."""
        shown = self._show(report)
        self.refs.append(shown.event_id)
        self._waiting.append(shown)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._drain())

    async def finish(self, report: SandboxReport) -> None:
        """Record the last report after all others."""
        if self._sending is not None:
            await self._sending
        await self.record(report)

    async def _drain(self) -> None:
        while self._waiting:
            pieces, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            await self._send(pieces)

    def _show(self, report: SandboxReport) -> SandboxReport:
        stamped = stamp(report)
        if self._shown:
            event = msgspec.structs.replace(event_of(stamped, self._origin), sequence=next(self._next))
            sys.stderr.write(msgspec.json.encode(event).decode() + "\n")
            sys.stderr.flush()
        return stamped

    async def _send(self, reports: list[SandboxReport]) -> None:
        if self.decision is None and find_outer() is not None:
            return  # the outer sandbox is already recorded, and from inside it the daemon is unreachable
        body = {"runId": self._run, "events": reports, "decisionId": self.decision}
        try:
            await post("/api/sandbox/events", body)
        except DaemonAwayError:
            if self.decision is not None:
                raise
            leave(assent_home(), msgspec.json.encode([event_of(r, self._origin) for r in reports]))


def _check_seal(key: bytes, seal: str, message: bytes) -> None:
    from assent.audit.seals.node_keys import is_signed  # noqa: PLC0415 - slow to load, and only for decisions

    try:
        whole = is_signed(key, bytes.fromhex(seal), message)
    except ValueError:
        whole = False
    if not whole:
        raise DaemonDenyError(
            "the sandbox profile is not signed with this installation's key; another process may have answered"
        )


async def post(path: str, body: Any, *, seconds: float = _SECONDS) -> Any:
    """Send a request to this user's daemon; raise `DaemonAwayError` or `DaemonDenyError`."""
    data = msgspec.json.encode(body)
    if os.environ.get("ASSENT_URL"):
        return await asyncio.to_thread(_post_to_url, path, data)
    try:
        async with asyncio.timeout(seconds):
            return _read(await _exchange(path, data))
    except TimeoutError:
        raise DaemonDenyError("the daemon did not answer in time") from None


def _post_to_url(path: str, data: bytes) -> Any:
    from assent.sdk.client.clients import ApiError, UnreachableError, find_client  # noqa: PLC0415 - slow to load, and rare

    try:
        return find_client().call("POST", path, data)
    except UnreachableError as error:
        raise DaemonAwayError(str(error)) from None
    except ApiError as error:
        raise DaemonDenyError(error.message) from None


async def _exchange(path: str, data: bytes) -> bytes:
    home = assent_home()
    token = os.environ.get("ASSENT_TOKEN", "").encode() or _own_token(home)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    said = head.encode() + (b"Authorization: Bearer " + token + b"\r\n" if token else b"")
    said += f"Content-Length: {len(data)}\r\n\r\n".encode()
    try:
        with short_name(home) as folder:
            reader, writer = await asyncio.open_unix_connection(os.path.join(folder, SOCKET_NAME))  # noqa: PTH118
    except OSError:
        raise DaemonAwayError("the daemon is not running; start it with `assent serve`") from None
    try:
        _check_peer(writer.get_extra_info("socket"))
        writer.write(said + data)
        return await reader.read(-1)
    except OSError as error:
        raise DaemonDenyError(f"lost the connection to the daemon: {error.strerror}") from None
    finally:
        writer.close()


def _check_peer(line: socket.socket) -> None:
    """Refuse a daemon that another user started; root's is accepted."""
    if hasattr(socket, "SO_PEERCRED"):  # pid, uid, gid
        credentials = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", credentials)[1] not in (0, os.geteuid()):
            raise DaemonDenyError("another user runs the daemon in Assent's home directory")


def _own_token(home: str) -> bytes:
    """Return the owner's token; without it the socket grants at most the agent role."""
    file = os.path.join(home, TOKEN_FILE)  # noqa: PTH118 - a string here
    held = find_private(file, suggestion="make its mode 0600") if os.path.isdir(home) else None  # noqa: PTH112 - as above
    return b"" if held is None else held.strip()


def _read(answer: bytes) -> Any:
    head, _, body = answer.partition(b"\r\n\r\n")
    try:
        status, found = int(head.split(b" ", 2)[1]), msgspec.json.decode(body)
    except (IndexError, ValueError, msgspec.MsgspecError):
        raise DaemonDenyError("invalid response from the daemon") from None
    if status != 200:
        raise DaemonDenyError(str(found.get("error") or status) if isinstance(found, dict) else str(status))
    return found


def _user_name() -> str:
    import pwd  # noqa: PLC0415 - Unix only

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid-{os.geteuid()}"
