"""How each agent's hook is configured: settings files, entries, timeouts and command lines. No I/O."""

from __future__ import annotations

import itertools
import shlex
from typing import Any, Literal, TypeAlias

import msgspec

Scope: TypeAlias = Literal["user", "project"]

MARK = "assent-hook"
"""Marks every hook command line that Assent writes."""
_NAME = "assent"
_EACH = "*"
"""Matches every kind of session start; no agent treats it as a regular expression there."""
TIMEOUT = 600
"""The hook timeout in the agent's settings, in seconds."""
MARGIN = 10
"""How many seconds before the timeout the hook answers: agents take a late hook for an allow."""
REPORT_TIMEOUT = 30
"""The timeout of a hook that only reports the outcome of a call."""
DONE = 10
"""The client's exit code for success instead of 0: a program that does nothing ends with 0, too."""
_ISOLATED = "unset PYTHONEXECUTABLE __PYVENV_LAUNCHER__; "
"""Even an isolated Python loads its library from these. The client reads them from the shell's process."""
_RUN = 'LC_ALL=C "$@"'
"""With another locale the C library may load code from `LOCPATH` and `GCONV_PATH`."""
_CLOSED = (
    f'trap "exit 2" 0; {_ISOLATED}if {_RUN}; then :; else case $? in {DONE}) trap - 0; exit 0;; 2) exit 2;; esac; fi; '
    'unset -f echo; echo "Assent could not decide, so it is not allowed: its hook broke off" >&2; exit 2'
)
"""However this shell ends, it exits with 2, even if it cannot start a process. It prints a reason, since some agents
ignore an exit code without one. It uses no variable, because Gemini CLI would expand it, and only keywords and special
builtins, which a shell called `sh` finds before functions of the environment.
"""
_NEVER_READ = "\n{ :; } always { :; }"
"""A shell that was told to run nothing (`-n`) would exit with 0: this line is a syntax error to it, so it exits with 2.

It is valid in zsh, which parses all lines before it runs the first. Codex uses its user's own shell, which only the
user configures, so its line does without.
"""
_SILENT = f"{_ISOLATED}{_RUN} || exit 0"
_ASIDE = f"{_ISOLATED}exec 3<&0; {_RUN} <&3 3<&- >/dev/null 2>&1 & exit 0"
"""A report runs in the background: the agent continues as soon as the input is read."""
_STRICT = "POSIXLY_CORRECT=1; "
"""Makes bash find `exec` before a function of that name from the environment."""


class HookClient(msgspec.Struct, frozen=True, kw_only=True):
    """The client that a hook runs, with its arguments."""

    python: str
    script: str
    agent: str
    home: str
    key: str
    observe: bool = False
    start: bool = False

    def line(self, seconds: int) -> str:
        """Return the deciding command line: the shell around the client turns every failure into a denial."""
        flags = [name for name, on in (("observe", self.observe), ("start", self.start)) if on]
        if self.observe:
            return self._write(_SILENT, seconds, flags)
        return self._write(_CLOSED, seconds, flags) + ("" if self.agent == "codex" else _NEVER_READ)

    def report_line(self, seconds: int) -> str:
        """Return the command line that reports the outcome of a call; it prints nothing."""
        return self._write(_ASIDE, seconds, ["report"])

    def _write(self, around: str, seconds: int, flags: list[str]) -> str:
        words = [self.python, "-I", "-S", self.script, self.agent, self.home, self.key, str(seconds), *flags]
        line = shlex.join(["/bin/sh", "-c", around, MARK, *words])
        # `exec` keeps the shell from the next line. Codex has none, and its user's shell may not know assignments.
        return line if self.agent == "codex" else f"{_STRICT}exec {line}"


class Pointing(msgspec.Struct, frozen=True):
    """How to start one agent process with a hook, without changing settings files."""

    words: tuple[str, ...] = ()
    """Arguments for the agent."""
    settings: bytes = b""
    """Content of the settings file that the arguments name."""


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent configures hooks."""

    agent: str
    program: str
    """The name of the agent's program."""
    tested: str
    """The tested version."""
    variable: str
    """The environment variable that names the folder of the user's settings."""
    folder: str
    """The default of that folder, in the home directory and in a project."""
    user_file: str
    project_file: str
    events: tuple[str, ...]
    reports: tuple[str, ...]
    """The events after a call."""
    matcher: str
    starts: tuple[str, ...] = ("SessionStart",)
    """The session start events."""
    second: int = 1
    """One second in the unit of the agent's timeouts."""
    fixed: tuple[tuple[tuple[str, ...], Any], ...] = ()
    """Other settings that hooks need, and that keep a project from disabling them."""
    excluding: tuple[str, ...] = ()
    """The setting that lists variables to ignore in project files."""
    plain: bool = False
    """Whether the file must be plain JSON: comments or trailing commas make the agent ignore it."""
    shared_files: tuple[str, ...] = ()
    """Other settings files, in a project too, that can disable hooks."""
    hooks_alone: bool = False
    """Whether the file contains only hooks."""
    prefix: str = ""
    """The environment variable, settable in the settings, that names a program to run hooks."""
    shows_status: bool = False
    knows_async: bool = False
    """Whether hooks can be asynchronous."""
    settings_option: str = ""
    """The option that names an additional settings file …"""
    override: tuple[str, ...] = ()
    """… or the options for a single `KEY=VALUE` setting, including the one that trusts such hooks."""

    @property
    def switches(self) -> tuple[tuple[tuple[str, ...], Any], ...]:
        """The settings to set besides hooks; a tuple is a part of a list."""
        if not self.excluding:
            return self.fixed
        from assent.catalog.environment_variables import turning_names  # noqa: PLC0415 - slow, rarely needed

        # The first two are the default of this setting.
        return (*self.fixed, (self.excluding, ("DEBUG", "DEBUG_MODE", *turning_names())))

    def override_variables(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return arguments that start the agent with these variables empty, whatever a project sets."""
        empty = dict.fromkeys(names, "")
        if self.settings_option:
            return (self.settings_option, msgspec.json.encode({"env": empty}).decode())
        if self.override:
            settings = (f'shell_environment_policy.set.{name}=""' for name in empty)
            return tuple(word for setting in settings for word in (self.override[-1], setting))
        return ()

    @property
    def is_pointable(self) -> bool:
        """Whether a single process can be started with a hook."""
        return bool(self.settings_option or self.override)

    def point(self, client: HookClient, file: str) -> Pointing:
        """Return how to start a process of this agent with a hook; `file` is the path of its settings."""
        hooks: dict[str, list[dict[str, Any]]] = {}
        for (*_, event), entry in self.entries(client, ""):
            hooks.setdefault(event, []).append(entry)
        if self.override:
            *trusting, option = self.override
            settings = [f"hooks.{event}={write_toml(entries)}" for event, entries in hooks.items()]
            return Pointing((*trusting, *(word for setting in settings for word in (option, setting))))
        return Pointing((self.settings_option, file), msgspec.json.encode({"hooks": hooks}))

    def entries(self, client: HookClient, status: str) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
        """Return the entries with the setting to which each is added."""
        decides, reports = client.line(TIMEOUT - MARGIN), client.report_line(REPORT_TIMEOUT - MARGIN)
        return [
            *((("hooks", event), self._entry(decides, TIMEOUT, "", matcher=_EACH)) for event in self.starts),
            *((("hooks", event), self._entry(decides, TIMEOUT, status)) for event in self.events),
            *((("hooks", event), self._entry(reports, REPORT_TIMEOUT, "", aside=True)) for event in self.reports),
        ]

    def runs(self, event: str, entry: dict[str, Any], line: str) -> bool:
        """Return whether an entry runs this line at every such event, with the full timeout."""
        handlers = [{k: v for k, v in handler.items() if k != "statusMessage"} for handler in entry["hooks"]]
        matcher = _EACH if event in self.starts else ""
        return {**entry, "hooks": handlers} == self._entry(line, TIMEOUT, "", matcher=matcher)

    def is_off(self, settings: Any) -> bool:
        """Return whether settings disable hooks, or this one."""
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
    """Return a setting as one line of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {write_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write_toml, value)) + "]"
    return msgspec.json.encode(value).decode()


def is_current(line: str) -> bool:
    """Return whether a hook command line is the one that this version of Assent writes."""
    return any(shlex.quote(around) in line for around in (_CLOSED, _SILENT, _ASIDE))


def is_ours(entry: Any) -> bool:
    """Return whether this or an older version of Assent wrote an entry of a hook list."""
    handlers = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(handlers, list) or not handlers:
        return False
    return all(isinstance(h, dict) and is_our_line(h.get("command")) for h in handlers)


def is_our_line(line: Any) -> bool:
    """Return whether a command line runs Assent's hook."""
    if not isinstance(line, str):
        return False
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return MARK in words or any(
        name.rpartition("/")[2] == "assent" and after == "hook" for name, after in itertools.pairwise(words)
    )
