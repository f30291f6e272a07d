"""What an agent's hook runs: hands the call to the daemon, waits while a person is asked, and answers for it.

One file, standard library only, started as `python -I -S FILE AGENT HOME SECONDS`. It loads nothing it does not need,
since it starts before every call. Whatever goes wrong is a denial, in the form and with the code the agent honours.
"""

# The usual modules (socket, json, pathlib …) would double the time this takes; what is used here is built in.

from __future__ import annotations

import _socket
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 5 << 20
_LONGEST_ANSWER = 1 << 20
_GRACE = 20.0
"""How long a daemon that was there may be away: a restart takes a second or two."""


class RefusedError(Exception):
    """Why there is no answer."""


class AbsentError(RefusedError):
    """Nobody answers where the daemon should be."""


class LostError(AbsentError):
    """The daemon was there and went away; it may come back."""


def main(argv: list[str]) -> int:
    """Answer for one call. Ends with 0 or 2, never anything else."""
    agent, home, seconds = argv[1], argv[2], float(argv[3])
    deadline = time.monotonic() + seconds
    text = b""
    try:
        text = _read_input()
        token = _read_token(home + "/agents/" + agent + ".token")
        code, body = _ask(agent, home, token, text, deadline)
    except Exception as error:  # noqa: BLE001 - any fault is a denial
        return _refuse(agent, text, _word(error))
    return _write(1, body) or code


def _read_input() -> bytes:
    pieces, size = [], 0
    while piece := posix.read(0, 1 << 16):
        size += len(piece)
        if size > _MOST:
            raise RefusedError("the call is larger than 5 MB")
        pieces.append(piece)
    return b"".join(pieces)


def _read_token(path: str) -> bytes:
    try:
        found = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    except OSError as error:
        raise RefusedError("the token for this agent can not be read; run `assent init` again") from error
    try:
        return posix.read(found, 4096).strip()
    finally:
        posix.close(found)


def _ask(agent: str, home: str, token: bytes, text: bytes, deadline: float) -> tuple[int, bytes]:
    """Ask until there is an answer or the time is up. A daemon that restarts is asked again: it knows the question."""
    lost_since: float | None = None
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise RefusedError("no answer in time; repeat the same call")
        try:
            return _post(agent, home, token, text, left)
        except AbsentError as error:
            now = time.monotonic()
            if lost_since is None and isinstance(error, LostError):
                lost_since = now
            if lost_since is None or now - lost_since > _GRACE:
                raise
            time.sleep(0.25)


def _post(agent: str, home: str, token: bytes, text: bytes, left: float) -> tuple[int, bytes]:
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(left)
        try:
            line.connect(home + "/assent.sock")
        except OSError as error:
            raise AbsentError("the daemon does not answer; start it with `assent serve`") from error
        head = (
            f"POST /api/hooks/{agent}?wait={max(0, int(left) - 2)} HTTP/1.1\r\nHost: localhost\r\n"
            f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
        ).encode()
        for name, value in ((b"Authorization", b"Bearer " + token), *_surroundings()):
            head += name + b": " + value + b"\r\n"
        try:
            line.sendall(head + b"\r\n" + text)
            return _parse(_receive(line))
        except TimeoutError as error:
            raise RefusedError("no answer in time; repeat the same call") from error
        except OSError as error:
            raise LostError("the daemon went away while it was asked") from error
    finally:
        line.close()


def _surroundings() -> Iterator[tuple[bytes, bytes]]:
    """Tell how the agent would find its programs."""
    for name, variable in ((b"X-Assent-Path", b"PATH"), (b"X-Assent-Shell", b"SHELL")):
        value = posix.environ.get(variable)
        if value and len(value) < 8000 and all(0x20 <= byte < 0x7F for byte in value):
            yield name, value


def _receive(line: _socket.socket) -> bytes:
    pieces, size = [], 0
    while piece := line.recv(1 << 16):
        size += len(piece)
        if size > _LONGEST_ANSWER:
            raise RefusedError("the daemon's answer is too long")
        pieces.append(piece)
    return b"".join(pieces)


def _parse(answer: bytes) -> tuple[int, bytes]:
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        raise LostError("the daemon went away while it was asked")
    lines = head.split(b"\r\n")
    headers = {}
    for each in lines[1:]:
        name, _, value = each.partition(b":")
        headers[name.strip().lower()] = value.strip()
    status = lines[0].split(b" ")[1:2]
    if status == [b"503"]:
        raise LostError("the daemon is stopping")
    if int(headers.get(b"content-length", b"-1")) != len(body):
        raise LostError("the daemon's answer was cut short")
    code = headers.get(b"x-assent-exit")
    if status != [b"200"] or code not in (b"0", b"2"):
        raise RefusedError("the daemon refused: " + _shown(body))
    reason = headers.get(b"x-assent-reason")
    if code == b"2" and reason:
        _write(2, reason + b"\n")
    return int(code), body


def _shown(body: bytes) -> str:
    return body[:300].decode("utf-8", "replace")


def _refuse(agent: str, text: bytes, why: str) -> int:
    """Deny in the agent's own form."""
    import json  # noqa: PLC0415 - only needed when something is wrong

    reason = "Assent could not decide, so it is not allowed: " + why
    try:
        event = str(json.loads(text).get("hook_event_name"))
    except (ValueError, AttributeError, RecursionError):
        event = ""
    if event == "PermissionRequest":
        said = {"hookEventName": event, "decision": {"behavior": "deny", "message": reason}}
        return _write(1, json.dumps({"hookSpecificOutput": said}).encode()) or 0
    if agent == "gemini":
        _write(1, json.dumps({"decision": "deny", "reason": reason}).encode())
    elif agent not in ("claude-code", "codex"):
        _write(1, json.dumps({"allow": False, "decision": "block", "reason": reason}).encode())
    _write(2, reason.encode("utf-8", "replace") + b"\n")
    return 2


def _write(channel: int, data: bytes) -> int:
    """Write all of it. An agent that no longer listens gets exit 2: it must not read half an answer as a whole one."""
    try:
        while data:
            data = data[posix.write(channel, data) :]
    except OSError:
        return 2
    return 0


def _word(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, RefusedError) else type(error).__name__ + ": " + str(error)


if __name__ == "__main__":
    posix._exit(main(sys.argv))  # noqa: SLF001 - leaves at once, nothing is left to tidy
