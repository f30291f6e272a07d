"""How each agent is told of its hook: which file, which entries, which times. Text in, records out."""

from __future__ import annotations

import itertools
import shlex
from typing import Any, Literal, TypeAlias

import msgspec

Scope: TypeAlias = Literal["user", "project"]

MARK = "assent-hook"
"""Stands in every command line that Assent writes, so that it knows its own."""
_NAME = "assent"
_EACH = "*"
"""However a session begins; no agent takes this for an expression there."""
TIMEOUT = 600
"""How many seconds an agent is told to wait for a decision."""
MARGIN = 10
"""How many seconds earlier the hook answers by itself: agents take a hook that is late for a yes."""
REPORT_TIMEOUT = 30
"""The same for a hook that only reports what became of a call."""
DONE = 10
"""What a client that has an answer ends with, in place of 0: a program that does nothing at all ends with 0, too."""
_ISOLATED = "unset PYTHONEXECUTABLE __PYVENV_LAUNCHER__; "
"""Even an isolated Python takes its library from where these say. The client hears of them from the shell's process."""
_RUN = 'LC_ALL=C "$@"'
"""With any other locale the C library may load a character set's code from where `LOCPATH` and `GCONV_PATH` say."""
_CLOSED = (
    f'trap "exit 2" 0; {_ISOLATED}if {_RUN}; then :; else case $? in {DONE}) trap - 0; exit 0;; 2) exit 2;; esac; fi; '
    'unset -f echo; echo "Assent could not decide, so it is not allowed: its hook broke off" >&2; exit 2'
)
"""However this shell ends, it ends with 2: where it is bash, also at the first failure, or because no more processes
can be started. It says why, to agents that heed no code without a word, also if the environment brought an `echo`. And
it has no variable: Gemini CLI would put in its own. All it calls are keywords and special builtins, which no function
of the environment can take the place of: a shell that is called `sh` looks for those first.
"""
_NEVER_READ = "\n{ :; } always { :; }"
"""No shell comes to this line but one that was told to run nothing, which would end with 0: here it stumbles, with 2.

To zsh, which reads all lines before it runs the first, it says something. Codex takes its user's own shell, whichever
it is, and nobody but that user tells it what to do: no risk is taken there.
"""
_SILENT = f"{_ISOLATED}{_RUN} || exit 0"
_ASIDE = f"{_ISOLATED}exec 3<&0; {_RUN} <&3 3<&- >/dev/null 2>&1 & exit 0"
"""What only reports keeps nobody waiting: the agent goes on once it has handed the call over."""
_STRICT = "POSIXLY_CORRECT=1; "
"""From here on bash finds `exec` before a function of that name, which the environment may have brought."""


class HookClient(msgspec.Struct, frozen=True, kw_only=True):
    """The client that a hook runs, and what it is given."""

    python: str
    script: str
    agent: str
    home: str
    key: str
    observe: bool = False
    start: bool = False

    def line(self, seconds: int) -> str:
        """Return the command line: whatever happens to the client, the shell around it makes a denial of it."""
        flags = [name for name, on in (("observe", self.observe), ("start", self.start)) if on]
        if self.observe:
            return self._write(_SILENT, seconds, flags)
        return self._write(_CLOSED, seconds, flags) + ("" if self.agent == "codex" else _NEVER_READ)

    def report_line(self, seconds: int) -> str:
        """Return the command line that tells what became of a call; it never says anything."""
        return self._write(_ASIDE, seconds, ["report"])

    def _write(self, around: str, seconds: int, flags: list[str]) -> str:
        words = [self.python, "-I", "-S", self.script, self.agent, self.home, self.key, str(seconds), *flags]
        line = shlex.join(["/bin/sh", "-c", around, MARK, *words])
        # The line after it must never be read. Codex has none, and its user's shell may not read an assignment.
        return line if self.agent == "codex" else f"{_STRICT}exec {line}"


class Pointing(msgspec.Struct, frozen=True):
    """How an agent that is about to be started is told of its hook, without a change to anybody's settings."""

    words: tuple[str, ...] = ()
    """What follows the program's name."""
    settings: bytes = b""
    """What stands in the file that it is pointed at."""


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's settings."""

    agent: str
    program: str
    """What the agent is started by."""
    tested: str
    """The version that was tried."""
    variable: str
    """The environment's name for the folder of the user's settings."""
    folder: str
    """That folder otherwise, below the home directory; and in a project."""
    user_file: str
    project_file: str
    events: tuple[str, ...]
    reports: tuple[str, ...]
    """The events after a call."""
    matcher: str
    starts: tuple[str, ...] = ("SessionStart",)
    """The events at which a session begins."""
    second: int = 1
    """What one second is, in the agent's unit."""
    fixed: tuple[tuple[tuple[str, ...], Any], ...] = ()
    """What else must be set for hooks to run, and to keep a project from turning them."""
    excluding: tuple[str, ...] = ()
    """The list of variables that it takes from no project."""
    plain: bool = False
    """Whether it reads plain JSON alone: comments or a comma too many make it leave the whole file out."""
    shared_files: tuple[str, ...] = ()
    """Files beside its own, in a project too, that can switch hooks off."""
    hooks_alone: bool = False
    """Whether its file holds hooks and nothing else."""
    prefix: str = ""
    """The variable, which its settings can set, that names a program to run its hooks."""
    shows_status: bool = False
    knows_async: bool = False
    """Whether a hook can be one that it does not wait for."""
    settings_option: str = ""
    """What names one more file of settings when it is started …"""
    override: tuple[str, ...] = ()
    """… or what goes before each single setting, `KEY=VALUE`, with what has hooks given so be trusted."""

    @property
    def switches(self) -> tuple[tuple[tuple[str, ...], Any], ...]:
        """Return what is set beside the hooks; a tuple is a part of a list."""
        if not self.excluding:
            return self.fixed
        from assent.catalog.environment_variables import turning_names  # noqa: PLC0415 - a table to read, and seldom

        # The first two are what it leaves out by itself, as long as nobody says anything.
        return (*self.fixed, (self.excluding, ("DEBUG", "DEBUG_MODE", *turning_names())))

    def override_variables(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the words that start the agent with these variables empty, whatever a project sets them to."""
        empty = dict.fromkeys(names, "")
        if self.settings_option:
            return (self.settings_option, msgspec.json.encode({"env": empty}).decode())
        if self.override:
            settings = (f'shell_environment_policy.set.{name}=""' for name in empty)
            return tuple(word for setting in settings for word in (self.override[-1], setting))
        return ()

    @property
    def is_pointable(self) -> bool:
        """Tell whether it can be pointed at a hook for one process, and surely heeds it."""
        return bool(self.settings_option or self.override)

    def point(self, client: HookClient, file: str) -> Pointing:
        """Return how a process of this agent is pointed at a hook; `file` is where its settings will be."""
        hooks: dict[str, list[dict[str, Any]]] = {}
        for (*_, event), entry in self.entries(client, ""):
            hooks.setdefault(event, []).append(entry)
        if self.override:
            *trusting, option = self.override
            settings = [f"hooks.{event}={write_toml(entries)}" for event, entries in hooks.items()]
            return Pointing((*trusting, *(word for setting in settings for word in (option, setting))))
        return Pointing((self.settings_option, file), msgspec.json.encode({"hooks": hooks}))

    def entries(self, client: HookClient, status: str) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
        """Return what is added to which list."""
        decides, reports = client.line(TIMEOUT - MARGIN), client.report_line(REPORT_TIMEOUT - MARGIN)
        return [
            *((("hooks", event), self._entry(decides, TIMEOUT, "", matcher=_EACH)) for event in self.starts),
            *((("hooks", event), self._entry(decides, TIMEOUT, status)) for event in self.events),
            *((("hooks", event), self._entry(reports, REPORT_TIMEOUT, "", aside=True)) for event in self.reports),
        ]

    def runs(self, event: str, entry: dict[str, Any], line: str) -> bool:
        """Tell whether an entry has this line run at each such event, and waited for as long as it may take."""
        handlers = [{k: v for k, v in handler.items() if k != "statusMessage"} for handler in entry["hooks"]]
        matcher = _EACH if event in self.starts else ""
        return {**entry, "hooks": handlers} == self._entry(line, TIMEOUT, "", matcher=matcher)

    def is_off(self, settings: Any) -> bool:
        """Tell whether settings switch hooks off, or this one."""
        given = settings if isinstance(settings, dict) else {}
        name = {"codex": "features", "gemini": "hooksConfig"}.get(self.agent, "")
        found = given.get(name)
        switches: dict[str, Any] = found if isinstance(found, dict) else {}
        if self.agent == "gemini":
            return switches.get("enabled") is False or _NAME in (switches.get("disabled") or ())
        if self.agent == "codex":
            return False in (switches.get("hooks"), switches.get("codex_hooks"))
        return bool(given.get("disableAllHooks"))

    def _entry(self, line: str, seconds: int, status: str, *, matcher: str = "", aside: bool = False) -> dict[str, Any]:
        handler: dict[str, Any] = {"type": "command", "command": line, "timeout": seconds * self.second}
        if status and self.shows_status:
            handler["statusMessage"] = status
        if aside and self.knows_async:
            handler["async"] = True
        if self.agent == "gemini":
            handler["name"] = _NAME
        return {"matcher": matcher or self.matcher, "hooks": [handler]}


WIRINGS = {
    wiring.agent: wiring
    for wiring in (
        Wiring(
            agent="claude-code",
            program="claude",
            tested="2.1",
            variable="CLAUDE_CONFIG_DIR",
            folder=".claude",
            user_file="settings.json",
            project_file="settings.local.json",
            events=("PreToolUse", "PermissionRequest"),
            reports=("PostToolUse", "PostToolUseFailure"),
            matcher="*",
            plain=True,
            shared_files=("settings.json", "settings.local.json"),
            prefix="CLAUDE_CODE_SHELL_PREFIX",
            shows_status=True,
            knows_async=True,
            settings_option="--settings",
        ),
        Wiring(
            agent="codex",
            program="codex",
            tested="0.166",
            variable="CODEX_HOME",
            folder=".codex",
            user_file="hooks.json",
            project_file="hooks.json",
            events=("PreToolUse", "PermissionRequest"),
            reports=("PostToolUse",),
            matcher="*",
            plain=True,
            shared_files=("config.toml",),
            hooks_alone=True,
            shows_status=True,
            override=("--dangerously-bypass-hook-trust", "-c"),
        ),
        Wiring(
            agent="gemini",
            program="gemini",
            tested="0.61",
            variable="",
            folder=".gemini",
            user_file="settings.json",
            project_file="settings.json",
            events=("BeforeTool",),
            reports=("AfterTool",),
            matcher=".*",
            second=1000,
            shared_files=("settings.json",),
            fixed=((("hooksConfig", "enabled"), True), (("security", "folderTrust", "enabled"), True)),
            excluding=("advanced", "excludedEnvVars"),
        ),
    )
}


def write_toml(value: Any) -> str:
    """Write a setting as TOML has it on one line: what JSON writes, but for tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {write_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write_toml, value)) + "]"
    return msgspec.json.encode(value).decode()


def is_current(line: str) -> bool:
    """Tell whether a line of ours is as this version of Assent writes it, and as hard to turn."""
    return any(shlex.quote(around) in line for around in (_CLOSED, _SILENT, _ASIDE))


def is_ours(entry: Any) -> bool:
    """Tell whether an entry of a hook list was written by Assent, by this version or an older one."""
    handlers = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(handlers, list) or not handlers:
        return False
    return all(isinstance(h, dict) and is_our_line(h.get("command")) for h in handlers)


def is_our_line(line: Any) -> bool:
    """Tell whether a command line runs Assent's hook."""
    if not isinstance(line, str):
        return False
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return MARK in words or any(
        name.rpartition("/")[2] == "assent" and after == "hook" for name, after in itertools.pairwise(words)
    )
