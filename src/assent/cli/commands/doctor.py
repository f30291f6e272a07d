"""`assent doctor`: check installation, configuration, sandbox, daemon and agents."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH116, PTH118, PTH208

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from assent.agents.specs import WIRINGS, Wiring, is_current
from assent.agents.wiring import claude_settings, codex_trust
from assent.agents.wiring.hook_files import is_placed
from assent.agents.wiring.hook_python import project_of
from assent.agents.wiring.project_variables import find_turning
from assent.agents.wiring.settings_changes import Wired, check_plain, our_entries, read_book
from assent.cli import exit_codes
from assent.cli.agent_wiring import (
    DENIED,
    HARMLESS,
    file_of,
    find_off,
    find_prefixed,
    hook_lines,
    is_gone,
    token_file,
    try_hook,
)
from assent.cli.options.arguments import add_output_option, make_parser
from assent.cli.output.screen import has_colour, paint, say, visible
from assent.config.effective_settings import load_settings
from assent.config.layers import load_layers
from assent.model import AssentError
from assent.platform import jsonc
from assent.platform.facts import observe
from assent.platform.files import find_file, find_private
from assent.platform.paths import assent_home, project_root
from assent.policy.sandbox_profiles import LIMITS
from assent.sandbox.linux.cgroups import find_group
from assent.sandbox.linux.mechanisms import probe
from assent.sandbox.redeem.launcher import loaded_folders
from assent.sandbox.trial_run import attempt, forget
from assent.sdk.client.clients import UnreachableError, find_client

Grade: TypeAlias = Literal["ok", "note", "bad"]
_STYLE = {"ok": "green", "note": "yellow", "bad": "red"}


class DoctorFinding(msgspec.Struct, frozen=True):
    """The result of one check."""

    grade: Grade
    what: str
    hint: str = ""


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser(
        "doctor",
        "Check installation, configuration, sandbox, daemon and agents.",
        ("assent doctor", "assent doctor --json"),
    )
    add_output_option(parser)
    given = parser.parse_args(argv)
    findings = [finding for check in CHECKS for finding in _look(check)]
    if given.json:
        say(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode())
    else:
        _show(findings, colour=has_colour(sys.stdout))
    return exit_codes.FOUND if any(finding.grade == "bad" for finding in findings) else exit_codes.OK


def _show(findings: list[DoctorFinding], *, colour: bool) -> None:
    for finding in findings:
        say(f"{paint(f'{finding.grade:<4}', _STYLE[finding.grade], colour=colour)}  {visible(finding.what)}")
        if finding.hint:
            say(f"      {visible(finding.hint)}")


def _look(check: Callable[[], Iterator[DoctorFinding]]) -> Iterator[DoctorFinding]:
    try:
        yield from check()
    except AssentError as error:
        yield DoctorFinding("bad", str(error))
    except OSError as error:
        yield DoctorFinding("bad", f"{error.filename}: {error.strerror}")


def check_home() -> Iterator[DoctorFinding]:
    """Check who can read and write Assent's home directory."""
    home = assent_home()
    if not os.path.isdir(home):
        yield DoctorFinding("note", f"{home} does not exist yet", "start the daemon with `assent serve`")
        return
    status = os.stat(home)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        yield DoctorFinding("bad", f"other users can read {home}", f"chmod 700 {home}")
    else:
        yield DoctorFinding("ok", f"{home} is private")
    open_files = [name for name in sorted(os.listdir(home)) if _is_open(os.path.join(home, name))]
    for name in open_files:
        yield DoctorFinding("bad", f"other users can read or write {os.path.join(home, name)}", "make its mode 0600")


def _is_open(path: str) -> bool:
    status = os.lstat(path)
    return not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & 0o077)


def check_installation() -> Iterator[DoctorFinding]:
    """Check whether Assent is loaded from a project, whose files agents may write."""
    for folder in loaded_folders():
        root = project_of(folder)
        if root is not None:
            what = f"Assent is loaded from {folder}, in the project {root}: code written there runs as Assent"
            yield DoctorFinding("note", what, "install Assent outside of projects (pipx, uv tool)")


def check_policy() -> Iterator[DoctorFinding]:
    """Check the policy files of the working directory."""
    observe()
    found = load_layers(os.getcwd())  # noqa: PTH109 - paths are strings here
    files = [policy.file for policy in found.policies]
    yield DoctorFinding("ok", f"policy files are valid: {', '.join(files) if files else 'none, defaults apply'}")
    for notice in found.notices:
        yield DoctorFinding("note", notice)


def check_settings() -> Iterator[DoctorFinding]:
    """Check the daemon's settings."""
    settings = load_settings()
    yield DoctorFinding("ok", f"the daemon is configured to listen on {settings.host}:{settings.port}")
    if settings.expose:
        yield DoctorFinding(
            "note", "the daemon accepts connections from other machines", "put a TLS proxy in front of it"
        )


def check_daemon() -> Iterator[DoctorFinding]:
    """Check that the daemon runs and accepts this user's token."""
    try:
        client = find_client()
        client.health()
    except UnreachableError as error:
        fault, _, hint = str(error).partition("; ")
        yield DoctorFinding("note", fault, hint or "start it with `assent serve`")
        return
    who = client.who()
    yield DoctorFinding("ok", f"the daemon is running; you are {who.user_id} ({who.role})")
    stats = client.stats()
    yield DoctorFinding("ok", f"{stats.pending} pending questions, {stats.audit_position} audit records")
    if stats.policy_fault:
        yield DoctorFinding("bad", f"the daemon uses the previous rules: {stats.policy_fault}")


def check_agents() -> Iterator[DoctorFinding]:
    """Check each connected agent, and call its hook as the agent would."""
    home = assent_home()
    for wired in read_book(home):
        yield from _look(lambda wired=wired: check_agent(wired, home))  # type: ignore[misc]


def check_agent(wired: Wired, home: str) -> Iterator[DoctorFinding]:
    """Check one agent: its settings, hook client and token, and that the hook denies."""
    name = wired.agent if wired.root is None else f"{wired.agent} in {wired.root}"
    again = f"run `assent init {wired.agent}{' --project' if wired.root else ''}` again"
    file = file_of(wired.agent, wired.scope, wired.root)
    if is_gone(wired):
        hint = f"run `assent uninit {wired.agent} --project` in its new place, or recreate the folder and run it there"
        yield DoctorFinding("note", f"{name}: the folder no longer exists", hint)
        return
    yield from _check_files(wired, home, name, again)
    yield from _check_variables(wired, name)
    yield _check_version(wired)
    wiring = WIRINGS.get(wired.agent)
    missing = _missing(wired, wiring, file) if wiring is not None else []
    if missing or not hook_lines(wired):
        what = f"{name}: {file} does not contain Assent's hook as written {', '.join(missing)}"
        yield DoctorFinding("bad", what.rstrip(), again)
        return
    if wired.agent == "codex":
        yield from _check_trust(wired, home)
    if wired.agent == "claude-code":
        yield from _check_taken(file)
    if wiring is not None:
        yield from _check_switch(wiring, file)
    for line in hook_lines(wired):
        yield from _check_hook(wired, line, name, again)


def _check_variables(wired: Wired, name: str) -> Iterator[DoctorFinding]:
    """Check for hijacking variables set by the agent's project and by the current one."""
    folders = (wired.root, os.getcwd())  # noqa: PTH109 - paths are strings here
    for folder in dict.fromkeys(filter(None, folders)):
        for each in find_turning(wired.agent, folder):
            what = f"{name}: {each.place} sets {each.name}, which hijacks every program of the agent, its hook included"
            yield DoctorFinding("bad", what, "every call there is denied; remove it, or set it in your own settings")


def _missing(wired: Wired, wiring: Wiring, file: str) -> list[str]:
    """Return the hook events for which the agent would not run Assent's hook, or not wait for it."""
    content = find_file(file)
    check_plain(wiring, "" if content is None else content.data.decode("utf-8", "replace"), file)
    found, line = our_entries(file), "".join(wired.lines[:1])
    wanted = (*wiring.starts, *wiring.events)
    return [e for e in wanted if not any(wiring.runs(e, entry, line) for entry in found.get(e, []))]


def _check_files(wired: Wired, home: str, name: str, again: str) -> Iterator[DoctorFinding]:
    token = token_file(home, wired.key)
    if find_private(token, suggestion="make its mode 0600") is None:
        yield DoctorFinding("bad", f"{name}: {token} is missing", again)
    elif _is_open(token):
        yield DoctorFinding("bad", f"other users can read {token}", "make its mode 0600")
    if not is_placed(home):
        yield DoctorFinding("note", f"{name}: the hook client is of another version of Assent", again)
    if not all(map(is_current, wired.lines[:1])):
        yield DoctorFinding(
            "bad", f"{name}: the hook's command line is of an older version and easier to hijack", again
        )


def _check_version(wired: Wired) -> DoctorFinding:
    wiring = WIRINGS.get(wired.agent)
    program = shutil.which(wiring.program if wiring is not None else wired.agent)
    if program is None:
        return DoctorFinding("note", f"{wired.agent} is not on the PATH")
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=30)  # noqa: S603 - the user's own
    except (OSError, subprocess.SubprocessError) as error:
        return DoctorFinding("note", f"cannot run `{program} --version`: {error}")
    said = done.stdout.decode("utf-8", "replace").strip()
    if wiring is None or wiring.tested in said:
        return DoctorFinding("ok", f"{wired.agent} is {said}")
    return DoctorFinding(
        "note", f"{wired.agent} is {said}; tested with {wiring.tested}", "see below whether its hook works"
    )


def _check_taken(file: str) -> Iterator[DoctorFinding]:
    """Check that Claude Code accepts its settings: one invalid setting makes it ignore the whole file."""
    settings = jsonc.parse(find_file(file).data.decode("utf-8", "replace"), file=file).value  # type: ignore[union-attr]
    for name in claude_settings.find_rejected(shutil.which("claude") or "", settings, os.environ):
        what = f"Claude Code ignores {file} because of `{name}`, hook included: Assent decides nothing"
        yield DoctorFinding("bad", what, "fix or remove that setting")


def _check_trust(wired: Wired, home: str) -> Iterator[DoctorFinding]:
    hooks = codex_trust.list_hooks(shutil.which("codex") or "", wired.root or home, os.environ, wired.lines)
    if not hooks:
        yield DoctorFinding("bad", "Codex does not find the hooks in its settings", "look for an invalid entry there")
    elif all(hook.trusted and hook.enabled for hook in hooks):
        yield DoctorFinding("ok", "Codex trusts the hooks")
    else:
        yield DoctorFinding(
            "bad", "Codex does not run the hooks: they are not trusted", "trust them with /hooks in Codex"
        )


def _check_switch(wiring: Wiring, file: str) -> Iterator[DoctorFinding]:
    """Check whether the user's or the current project's settings disable hooks."""
    root = project_root(os.getcwd())  # noqa: PTH109 - paths are strings here
    for path in find_off(wiring, file, root):
        yield DoctorFinding("bad", f"{path} disables hooks: Assent decides nothing here", "remove that setting")
    for path in find_prefixed(wiring, root):
        yield DoctorFinding("bad", f"{path} sets {wiring.prefix}, which can skip hooks", "remove that setting")


def _check_hook(wired: Wired, line: str, name: str, again: str) -> Iterator[DoctorFinding]:
    denied, harmless = try_hook(wired, line, DENIED), try_hook(wired, line, HARMLESS)
    if wired.observe:
        silent = denied.code == harmless.code == 0 and not (denied.out or harmless.out)
        yield DoctorFinding(
            "note" if silent else "bad",
            f"{name} is on trial: Assent blocks nothing",
            "end the trial with `assent init`",
        )
    elif not denied.is_denial:
        yield DoctorFinding(
            "bad", f"{name}: the hook allowed a call that must be denied (exit {denied.code}) {denied.err}", again
        )
    elif "could not decide" in denied.err:
        yield DoctorFinding(
            "bad", f"{name}: the hook denies every call: {denied.err}", "start the daemon, or see its log"
        )
    else:
        yield DoctorFinding("ok", f"{name}: connected and tested")
        if harmless.is_denial:
            yield DoctorFinding("note", f"{name}: your policy denies even `{HARMLESS}`")
    if not denied.is_clear:
        hint = "make your shell's startup files (BASH_ENV, ~/.zshenv) print nothing"
        yield DoctorFinding(
            "bad", f"{name}: other output precedes the hook's answer, so the agent ignores changed calls", hint
        )


def check_sandbox() -> Iterator[DoctorFinding]:
    """Check the sandbox mechanisms, and run a command in a sandbox."""
    machine = probe()
    for mechanism in (*machine.mechanisms(), find_group(LIMITS)):
        word = "enforced" if mechanism.enforced else "not enforced"
        grade: Grade = "ok" if mechanism.enforced else "note"
        yield DoctorFinding(grade, f"sandbox: {mechanism.name} {mechanism.version}".rstrip() + f", {word}")
    if machine.missing:
        hint = "modes and profiles that need a sandbox deny; `assent run` runs nothing"
        yield DoctorFinding("bad", "no sandbox available: " + "; ".join(machine.missing), hint)
        return
    if not machine.notify:
        yield DoctorFinding("note", "the kernel cannot report blocked system calls, so violations are not listed")
    yield from _try_sandbox(load_layers(os.getcwd()).workspace.roots)  # noqa: PTH109 - paths are strings here


_PROBE = """
cd "$1" 2>/dev/null && echo "the command could read $1"
(: > "$1/$2") 2>/dev/null
while read -r device rest; do case $device in Iface|lo) ;; *) echo "the command saw the network device $device" ;; esac
done < /proc/net/route
:
"""
"""Runs inside the sandbox: prints what it can see but must not, and tries a forbidden write."""


def _try_sandbox(workspace: tuple[str, ...]) -> Iterator[DoctorFinding]:
    """Run the probe in a sandbox, and report what it could do."""
    home, name = os.path.realpath(assent_home()), f"doctor-{os.urandom(8).hex()}"
    trial = attempt(workspace, ["/bin/sh", "-c", _PROBE, "sh", home, name])
    where = f"in {workspace[0]}" if workspace else "here"
    wrote = [f"the command wrote {home}/{name}"] if os.path.lexists(os.path.join(home, name)) else []
    if trial.fault is not None:
        forget(workspace)
        yield DoctorFinding(
            "bad", f"no sandbox {where}: {trial.fault}", "sandboxed calls there are denied until this is fixed"
        )
    elif wrote or trial.said:
        yield DoctorFinding("bad", f"the sandbox {where} is not tight: {'; '.join((*trial.said.splitlines(), *wrote))}")
    else:
        what = "Assent's home and the network were out of reach"
        yield DoctorFinding("ok", f"sandbox: a test command ran {where} in {trial.seconds * 1000:.0f} ms: {what}")


CHECKS = (check_home, check_installation, check_policy, check_settings, check_sandbox, check_daemon, check_agents)
