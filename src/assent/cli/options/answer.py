"""What `assent approve` and `assent deny` share: how far an answer reaches, and changing a call before it runs."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assent.analysis.tools.names import find_tool
from assent.cli.output.screen import say, visible
from assent.config.settings import read_duration
from assent.model import AssentError
from assent.sdk.client.clients import find_client

if TYPE_CHECKING:
    import argparse

    from assent.wire.permissions import Permission


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Add what both commands take."""
    parser.add_argument("id", metavar="ID", help="the question, as `assent pending` shows it")
    parser.add_argument("--session", action="store_true", help="for the rest of the session")
    parser.add_argument("--always", action="store_true", help="from now on, until the grant is revoked")
    parser.add_argument("--for", dest="time", metavar="TIME", help="for this long, such as 30m or 2h")
    parser.add_argument("--pattern", metavar="RULE", help="what a wider answer covers, such as 'Bash(npm test:*)'")
    parser.add_argument("--feedback", metavar="TEXT", help="words for the agent")


def read_scope(given: Any, *, timed: str) -> str | None:
    """Return what an answer is for; `timed` is what one for a while is for."""
    if given.session and given.always:
        raise AssentError("--session and --always are two things")
    return "session" if given.session else "always" if given.always else timed if given.time else None


def send_answer(given: Any, decision: Literal["approve", "reject"], *, scope: str | None, modified: Any = None) -> str:
    """Send an answer and return what became of it."""
    answer = find_client().answer(
        given.id,
        decision,
        scope=scope,
        expires_in=_read_time(given.time),
        pattern=given.pattern,
        feedback=given.feedback,
        modified_input=modified,
    )
    wider = answer.scope if given.time is None else f"{answer.scope}, for {given.time}"
    return f"{answer.status or decision}: {given.id}" + (f" ({wider})" if answer.scope else "")


def _read_time(text: str | None) -> float | None:
    try:
        return None if text is None else read_duration(text)
    except ValueError as error:
        raise AssentError(f"--for: {error}") from None


def edit_call(wanted: str) -> str | dict[str, Any] | None:
    """Have the person change a pending call in an editor; None if nothing was changed."""
    item = fetch_pending(wanted)
    shell = find_tool(item.tool_name).shape == "command"
    before = item.command if shell else msgspec.json.format(msgspec.json.encode(item.tool_input)).decode()
    after = _open_editor(before, ".sh" if shell else ".json")
    if after.strip() == before.strip():
        return None
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), "asked", "changed", lineterm=""):
        say(visible(line))
    if shell:
        return after.strip("\n")
    try:
        changed: dict[str, Any] = msgspec.json.decode(after, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise AssentError(f"the changed input is not a JSON object: {error}") from None
    return changed


def fetch_pending(wanted: str) -> Permission:
    """Fetch a question with all that its call is given, or say that it is already answered."""
    item = find_client().permission(wanted)
    if item.status != "pending":
        raise AssentError(f"it is already {item.status}")
    return item


def _open_editor(text: str, suffix: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise AssentError("--edit needs an editor: set VISUAL or EDITOR")
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise AssentError(f"VISUAL or EDITOR is no command: {str(error).lower()}") from None
    descriptor, name = tempfile.mkstemp(suffix=suffix, prefix="assent-")
    try:
        # As it is, with every carriage return: what nobody changed is not to come back changed.
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - an open descriptor
            file.write(text + "\n")
        _run_editor([*words, name])
        with Path(name).open(encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise AssentError("what the editor left is not text; nothing was answered") from None
    except OSError as error:
        raise AssentError(f"what the editor left can not be read: {error.strerror}; nothing was answered") from None
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()


def _run_editor(words: list[str]) -> None:
    try:
        done = subprocess.run(words, check=False)  # noqa: S603 - the person's own editor
    except OSError as error:
        raise AssentError(f"the editor can not be started: {error.strerror}") from None
    if done.returncode:
        raise AssentError(f"the editor ended with {done.returncode}; nothing was answered")
