"""Options of `assent approve` and `assent deny`: the scope of an answer, and editing a call before it runs."""

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
    """Add the options of both commands."""
    parser.add_argument("id", metavar="ID", help="the question's id, as `assent pending` shows it")
    parser.add_argument("--session", action="store_true", help="for the rest of the session")
    parser.add_argument("--always", action="store_true", help="from now on, until the grant is revoked")
    parser.add_argument("--for", dest="time", metavar="TIME", help="for this long, such as 30m or 2h")
    parser.add_argument(
        "--pattern", metavar="RULE", help="the rule that a wider answer covers, such as 'Bash(npm test:*)'"
    )
    parser.add_argument("--feedback", metavar="TEXT", help="a message for the agent")


def read_scope(given: Any, *, timed: str) -> str | None:
    """Return the scope of an answer; `timed` is the scope that `--for` implies."""
    if given.session and given.always:
        raise AssentError("--session and --always exclude each other")
    return "session" if given.session else "always" if given.always else timed if given.time else None


def send_answer(given: Any, decision: Literal["approve", "reject"], *, scope: str | None, modified: Any = None) -> str:
    """Send an answer and return the result as text."""
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
    """Open a pending call in an editor; return the changed input, None if it is unchanged."""
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
    """Fetch a pending question with its whole input, or raise if it is already answered."""
    item = find_client().permission(wanted)
    if item.status != "pending":
        raise AssentError(f"`{wanted}` is already {item.status}")
    return item


def _open_editor(text: str, suffix: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise AssentError("--edit needs an editor: set VISUAL or EDITOR")
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise AssentError(f"VISUAL or EDITOR is not a valid command: {str(error).lower()}") from None
    descriptor, name = tempfile.mkstemp(suffix=suffix, prefix="assent-")
    try:
        # Keep carriage returns: unchanged text must come back unchanged.
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - an open descriptor
            file.write(text + "\n")
        _run_editor([*words, name])
        with Path(name).open(encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise AssentError("the edited text is not valid UTF-8; nothing was answered") from None
    except OSError as error:
        raise AssentError(f"cannot read the edited text: {error.strerror}; nothing was answered") from None
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()


def _run_editor(words: list[str]) -> None:
    try:
        done = subprocess.run(words, check=False)  # noqa: S603 - the person's own editor
    except OSError as error:
        raise AssentError(f"cannot start the editor: {error.strerror}") from None
    if done.returncode:
        raise AssentError(f"the editor exited with status {done.returncode}; nothing was answered")
