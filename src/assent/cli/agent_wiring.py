"""What `assent init`, `uninit` and `doctor` share: where settings are, and the hook called as the agent does."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH109, PTH112, PTH118, PTH119, PTH120

from __future__ import annotations

import json
import os
import pwd
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.hooks import opencode
from assent.agents.hooks.opencode import PLUGIN_FILE
from assent.agents.specs import WIRINGS, Scope, Wiring
from assent.agents.wiring.project_variables import find_turning, tell_turning
from assent.agents.wiring.settings_changes import AGENTS_FOLDER, Wired, find_wired, look, our_entries, settings_file
from assent.cli.output.screen import complain, visible
from assent.model import AssentError, ConfigError
from assent.platform import jsonc
from assent.platform.files import find_file
from assent.platform.paths import project_root, refuse_folder, user_home

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

NAMES = (*WIRINGS, "opencode")
_SECONDS = 60
_SESSION = "assent-doctor"
DENIED, HARMLESS = "assent approve nothing", "ls"
"""What is surely denied (it is Assent's own), and what should run without a word."""


class Target(msgspec.Struct, frozen=True):
    """Which agent, for whom."""

    agent: str
    scope: Scope
    root: str | None
    key: str


class HookTrial(msgspec.Struct, frozen=True):
    """What a hook did."""

    code: int
    out: bytes
    err: str

    @property
    def is_denial(self) -> bool:
        """Tell whether the agent would take it for a no."""
        return self.code == 2

    @property
    def is_clear(self) -> bool:
        """Tell whether nothing but the hook's own words was printed: agents do not read them otherwise."""
        try:
            return isinstance(json.loads(self.out or b"{}"), dict)
        except ValueError:
            return False


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent, and for which projects."""
    parser.add_argument("agent", metavar="AGENT", help=", ".join(NAMES))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for all your projects (default)")
    where.add_argument("--project", action="store_true", help="for the project you are in, which becomes its workspace")


def find_target(given: Any) -> Target:
    """Say which agent is meant, and for whom."""
    if given.agent not in NAMES:
        known = ", ".join(NAMES)
        hint = " (in containers: `assent hook-script`)" if given.agent in ("docker-agent", "generic") else ""
        raise AssentError(f"there is no agent `{given.agent}` to wire up; there are {known}{hint}")
    if not given.project:
        return Target(given.agent, "user", None, given.agent)
    root = project_root(os.getcwd())
    if root is None:
        raise AssentError("this folder is no project: go into one, or use --user")
    reason = refuse_folder(root)
    if reason is not None:
        raise AssentError(f"`{root}` cannot be a workspace: {reason}; go into a project, or use --user")
    import hashlib  # noqa: PLC0415 - seldom needed

    return Target(given.agent, "project", root, f"{given.agent}-{hashlib.sha256(root.encode()).hexdigest()[:12]}")


def refuse_turned(target: Target) -> None:
    """Refuse to wire an agent up in a project whose variables would turn its hook; for all projects, say so."""
    found = find_turning(target.agent, target.root or os.getcwd())
    if found and target.root is not None:
        raise AssentError(tell_turning(target.agent, found))
    if found:
        complain(visible(f"in this project nothing will run: {tell_turning(target.agent, found)}"))


def file_of(agent: str, scope: Scope, root: str | None) -> str:
    """Name the file in which an agent finds its hook."""
    home = user_home()
    if home is None:
        raise AssentError("no home directory is known; set HOME")
    if agent == "opencode":
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return os.path.join(os.path.join(root, ".opencode") if root else os.path.join(config, "opencode"), PLUGIN_FILE)
    return settings_file(WIRINGS[agent], scope, root, home=home, environ=os.environ)


def find_off(wiring: Wiring, file: str, root: str | None) -> list[str]:
    """Name the files that switch an agent's hooks off: where it finds its hook, beside that, and in a project."""
    folders = [os.path.dirname(file), *([os.path.join(root, wiring.folder)] if root else [])]
    beside = [os.path.join(folder, name) for folder in folders for name in wiring.shared_files]
    return [path for path in dict.fromkeys((file, *beside)) if wiring.is_off(_read_settings(path))]


def find_prefixed(wiring: Wiring, root: str | None) -> list[str]:
    """Name the files of a project by which some program is put before every hook, and may leave it out."""
    beside = [os.path.join(root, wiring.folder, name) for name in wiring.shared_files] if root else []
    return [path for path in beside if wiring.prefix and wiring.prefix in (look(_read_settings(path), ("env",)) or ())]


def _read_settings(path: str) -> Any:
    content = find_file(path)
    text = "" if content is None else content.data.decode("utf-8", "replace")
    if not path.endswith(".toml"):
        return jsonc.parse(text, file=path).value
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", file=path) from None


def token_file(home: str, key: str) -> str:
    """Name the file of a token."""
    return os.path.join(home, AGENTS_FOLDER, f"{key}.token")


def hook_lines(wired: Wired) -> list[str]:
    """Return the command lines that decide for an agent, if they stand in its settings as they were written.

    Others that look like them are never run: settings of a project come from its repository.
    """
    file = file_of(wired.agent, wired.scope, wired.root)
    if wired.agent == "opencode":
        content = find_file(file)
        whole = content is not None and any(each.path == file and each.is_now(content.data) for each in wired.files)
        return list(wired.lines[:1]) if whole else []
    entries = our_entries(file).get(WIRINGS[wired.agent].events[0], [])
    return [h["command"] for entry in entries for h in entry["hooks"] if h["command"] in wired.lines[:1]]


def follow_move(book: Sequence[Wired], target: Target) -> list[Wired]:
    """Return the book with this project where it lies now, if it was moved here with its settings."""
    if target.root is not None and find_wired(book, target.agent, target.scope, target.root) is None:
        for each in book:
            if each.agent == target.agent and is_gone(each) and hook_lines(moved := each.moved_to(target.root)):
                return [*(other for other in book if other is not each), moved]
    return list(book)


def is_gone(wired: Wired) -> bool:
    """Tell whether the project of an entry is no longer where it was."""
    return wired.root is not None and not os.path.isdir(wired.root)


def _shell_of(agent: str) -> str:
    """Name the shell by which an agent runs its hooks."""
    if agent != "codex":
        return "bash" if agent == "gemini" else "/bin/sh"
    users = pwd.getpwuid(os.geteuid()).pw_shell
    return users if os.path.basename(users) in ("bash", "zsh") else "/bin/sh"


def try_hook(wired: Wired, line: str, command: str) -> HookTrial:
    """Call a hook as the agent would, about a line of shell."""
    wiring = WIRINGS.get(wired.agent)
    event = wiring.events[0] if wiring is not None else next(iter(opencode.EVENTS))
    tool = "run_shell_command" if wired.agent == "gemini" else "Bash"
    cwd = wired.root or os.getcwd()
    call = {"hook_event_name": event, "tool_name": tool, "tool_input": {"command": command}}
    call |= {"session_id": _SESSION, "cwd": cwd}
    try:
        done = subprocess.run(  # noqa: S603 - the line that the agent runs
            [_shell_of(wired.agent), "-c", line],
            input=json.dumps(call).encode(),
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            cwd=cwd,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return HookTrial(1, b"", f"it could not be called: {error}")
    return HookTrial(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())
