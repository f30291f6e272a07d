"""Shared by `assent init`, `uninit` and `doctor`: settings files of agents, and test calls of their hooks."""

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
"""A command that is always denied (it controls Assent), and one that should be allowed."""


class Target(msgspec.Struct, frozen=True):
    """The agent and scope that a command is about."""

    agent: str
    scope: Scope
    root: str | None
    key: str


class HookTrial(msgspec.Struct, frozen=True):
    """The result of a test call of a hook."""

    code: int
    out: bytes
    err: str

    @property
    def is_denial(self) -> bool:
        """Whether the agent would take it for a denial."""
        return self.code == 2

    @property
    def is_clear(self) -> bool:
        """Whether the output is only the hook's JSON: agents ignore it otherwise."""
        try:
            return isinstance(json.loads(self.out or b"{}"), dict)
        except ValueError:
            return False


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent and the scope."""
    parser.add_argument("agent", metavar="AGENT", help=", ".join(NAMES))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for all your projects (default)")
    where.add_argument("--project", action="store_true", help="for the current project, which becomes the workspace")


def find_target(given: Any) -> Target:
    """Return the agent and scope from the options."""
    if given.agent not in NAMES:
        known = ", ".join(NAMES)
        hint = " (in containers: `assent hook-script`)" if given.agent in ("docker-agent", "generic") else ""
        raise AssentError(f"unknown agent `{given.agent}`; known: {known}{hint}")
    if not given.project:
        return Target(given.agent, "user", None, given.agent)
    root = project_root(os.getcwd())
    if root is None:
        raise AssentError("the current folder is not in a project; change to one, or use --user")
    reason = refuse_folder(root)
    if reason is not None:
        raise AssentError(f"`{root}` cannot be a workspace: {reason}; change to a project, or use --user")
    import hashlib  # noqa: PLC0415 - rarely needed

    return Target(given.agent, "project", root, f"{given.agent}-{hashlib.sha256(root.encode()).hexdigest()[:12]}")


def refuse_turned(target: Target) -> None:
    """Refuse to connect an agent in a project whose variables would hijack its hook; for all projects, warn."""
    found = find_turning(target.agent, target.root or os.getcwd())
    if found and target.root is not None:
        raise AssentError(tell_turning(target.agent, found))
    if found:
        complain(visible(f"in this project every call will be denied: {tell_turning(target.agent, found)}"))


def file_of(agent: str, scope: Scope, root: str | None) -> str:
    """Return the settings file in which an agent finds its hook."""
    home = user_home()
    if home is None:
        raise AssentError("home directory unknown; set HOME")
    if agent == "opencode":
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return os.path.join(os.path.join(root, ".opencode") if root else os.path.join(config, "opencode"), PLUGIN_FILE)
    return settings_file(WIRINGS[agent], scope, root, home=home, environ=os.environ)


def find_off(wiring: Wiring, file: str, root: str | None) -> list[str]:
    """Return the settings files, of the user and the project, that disable an agent's hooks."""
    folders = [os.path.dirname(file), *([os.path.join(root, wiring.folder)] if root else [])]
    beside = [os.path.join(folder, name) for folder in folders for name in wiring.shared_files]
    return [path for path in dict.fromkeys((file, *beside)) if wiring.is_off(_read_settings(path))]


def find_prefixed(wiring: Wiring, root: str | None) -> list[str]:
    """Return a project's settings files that set a program as prefix of every hook, which it may skip."""
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
    """Return the file of an agent's token."""
    return os.path.join(home, AGENTS_FOLDER, f"{key}.token")


def hook_lines(wired: Wired) -> list[str]:
    """Return the hook's command lines if the settings still contain them as `assent init` wrote them.

    Lines that only look similar are never run: a project's settings come from its repository.
    """
    file = file_of(wired.agent, wired.scope, wired.root)
    if wired.agent == "opencode":
        content = find_file(file)
        whole = content is not None and any(each.path == file and each.is_now(content.data) for each in wired.files)
        return list(wired.lines[:1]) if whole else []
    entries = our_entries(file).get(WIRINGS[wired.agent].events[0], [])
    return [h["command"] for entry in entries for h in entry["hooks"] if h["command"] in wired.lines[:1]]


def follow_move(book: Sequence[Wired], target: Target) -> list[Wired]:
    """Return the registry with this project's new path, if it was moved here with its settings."""
    if target.root is not None and find_wired(book, target.agent, target.scope, target.root) is None:
        for each in book:
            if each.agent == target.agent and is_gone(each) and hook_lines(moved := each.moved_to(target.root)):
                return [*(other for other in book if other is not each), moved]
    return list(book)


def is_gone(wired: Wired) -> bool:
    """Return whether the project folder of an entry no longer exists."""
    return wired.root is not None and not os.path.isdir(wired.root)


def _shell_of(agent: str) -> str:
    """Return the shell with which an agent runs its hooks."""
    if agent != "codex":
        return "bash" if agent == "gemini" else "/bin/sh"
    users = pwd.getpwuid(os.geteuid()).pw_shell
    return users if os.path.basename(users) in ("bash", "zsh") else "/bin/sh"


def try_hook(wired: Wired, line: str, command: str) -> HookTrial:
    """Call a hook as the agent would, for a shell command."""
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
        return HookTrial(1, b"", f"cannot call the hook: {error}")
    return HookTrial(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())
