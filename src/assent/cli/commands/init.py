"""`assent init`: connect an agent. Show every change, keep other settings, and test that the hook decides."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH108, PTH118, PTH120

from __future__ import annotations

import contextlib
import difflib
import glob
import json
import os
import shutil
import sys
import time
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.hooks.opencode import is_our_plugin, plugin_text
from assent.agents.specs import MARGIN, REPORT_TIMEOUT, TIMEOUT, WIRINGS, HookClient, Wiring
from assent.agents.wiring import claude_settings, codex_trust, import_rules
from assent.agents.wiring.hook_files import HOOK_SCRIPT, place_hook
from assent.agents.wiring.hook_python import find_python
from assent.agents.wiring.import_rules import RefusedRule, Taken
from assent.agents.wiring.restore import take_out
from assent.agents.wiring.settings_changes import (
    AGENTS_FOLDER,
    SettingsChange,
    Wired,
    WrittenSettings,
    apply_change,
    back_up,
    find_wired,
    hold_book,
    plan_wiring,
    prepare,
    read_book,
    read_text,
    write_book,
)
from assent.cli import exit_codes
from assent.cli.agent_wiring import (
    DENIED,
    Target,
    add_target_options,
    file_of,
    find_off,
    find_target,
    follow_move,
    hook_lines,
    refuse_turned,
    token_file,
    try_hook,
)
from assent.cli.commands.token import open_keys
from assent.cli.options.arguments import make_parser
from assent.cli.output.screen import has_colour, paint, say, visible
from assent.config.effective_settings import dashboard_url
from assent.config.rule_writer import add_rules
from assent.model import AssentError, ConfigError, Effect, Layer, NotFoundError, within
from assent.model.principal import Role
from assent.platform import jsonc
from assent.platform.files import find_file, make_private_folder, write_private
from assent.platform.paths import FILE_NAME, assent_home, user_file
from assent.platform.user import user_name
from assent.server.auth.tokens import check_token_request, issue, revoke

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EXAMPLES = (
    "assent init claude-code               for all your projects; shows the change and asks",
    "assent init codex --project           only for this project, which becomes the workspace",
    "assent init gemini --observe          trial: record decisions, block nothing",
    "assent init claude-code --dry-run     only show the change",
)
_KEPT = ("HOME", "PATH", "LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_OURS = ("ASSENT_", "PYTHONPATH", "DISPLAY", "WAYLAND_DISPLAY")
_NEW_TOKEN = 5.0
"""How many seconds a running daemon may take to accept a new token."""
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def run(argv: list[str]) -> int:
    """Run the command."""
    given = _parse(argv)
    target, home = find_target(given), assent_home()
    client = HookClient(
        python=find_python(given.python),
        script=os.path.join(home, HOOK_SCRIPT),
        agent=target.agent,
        home=home,
        key=target.key,
        observe=given.observe,
        start=not given.no_start,
    )
    refuse_turned(target)
    _note_other_scope(target, home)
    changes = [_plan(target, client)]
    if not given.no_import:
        changes += _plan_import(target)
    for change in changes:
        _refuse_outside(change.path, target)
        _show(change)
    if given.dry_run:
        return exit_codes.OK
    if not given.yes and not _agrees():
        say("nothing was changed")
        return exit_codes.FOUND
    with hold_book(home):
        _write(target, client, changes, home)
    return _test_hook(target, home)


def _parse(argv: list[str]) -> Any:
    parser = make_parser("init", "Connect an agent: its hook asks Assent before every call.", _EXAMPLES)
    add_target_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the changes without writing them")
    parser.add_argument("--observe", action="store_true", help="trial: record decisions, block nothing")
    parser.add_argument(
        "--no-import", action="store_true", help="leave the agent's own allow, ask and deny rules alone"
    )
    parser.add_argument("--no-start", action="store_true", help="the hook never starts the daemon")
    parser.add_argument("--python", metavar="FILE", help="the Python interpreter that runs the hook")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    return parser.parse_args(argv)


def _note_other_scope(target: Target, home: str) -> None:
    """Say if the agent is also connected in the other scope: it calls both hooks, which count as one."""
    for other in read_book(home):
        if other.agent == target.agent and other.scope != target.scope:
            where = f"in {other.root}" if other.root else "for all your projects"
            how = " on trial" if other.observe else ""
            say(
                visible(
                    f"note: {target.agent} is already connected {where}{how}; with both hooks a call is still one "
                    f"question; `assent uninit` removes one of them"
                )
            )


def _plan(target: Target, client: HookClient) -> SettingsChange:
    path = file_of(target.agent, target.scope, target.root)
    if target.agent == "opencode":
        before = read_text(path)
        lines = client.line(TIMEOUT - MARGIN), client.report_line(REPORT_TIMEOUT - MARGIN)
        return SettingsChange(
            path, None if before is None else before.encode(), plugin_text(*lines, trial=client.observe)
        )
    status = f"Assent decides; answer questions at {dashboard_url()} or with `assent pending`"
    change = plan_wiring(WIRINGS[target.agent], path, client, status)
    _refuse_disabled(WIRINGS[target.agent], change)
    if target.agent == "claude-code":
        _refuse_rejected(change)
    return change


def _refuse_rejected(change: SettingsChange) -> None:
    """Refuse settings that Claude Code rejects as a whole: it would run without a hook."""
    settings = jsonc.parse((change.before or b"").decode(), file=change.path).value
    rejected = claude_settings.find_rejected(shutil.which("claude") or "", settings, os.environ)
    if rejected:
        hint = f"fix or remove {', '.join(rejected)}: Claude Code ignores the whole file because of it, hooks included"
        raise ConfigError("Claude Code rejects these settings", file=change.path, suggestion=hint)


def _refuse_disabled(wiring: Wiring, change: SettingsChange) -> None:
    """Refuse settings that disable hooks: the agent would run everything without a decision."""
    after = jsonc.parse((change.after or b"").decode(), file=change.path).value
    off = [path for path in find_off(wiring, change.path, None) if path != change.path or wiring.is_off(after)]
    if off:
        hint = "enable hooks (see the agent's page in docs/agents), then run `assent init` again"
        raise ConfigError("hooks are disabled here, so Assent would not decide anything", file=off[0], suggestion=hint)


def _refuse_outside(path: str, target: Target) -> None:
    """Refuse a project file that links outside the project: a repository must not change files outside it."""
    real = os.path.realpath(path)
    if target.root is not None and not within(real, os.path.realpath(target.root)):
        hint = "make it a regular file in the project, or use --user"
        raise ConfigError(f"the file is a link out of the project, to `{real}`", file=path, suggestion=hint)


def _plan_import(target: Target) -> list[SettingsChange]:
    """Plan the import of the agent's own rules, and print each."""
    found = list(_existing_rules(target))
    taken = [each for each in found if isinstance(each, Taken)]
    for each in taken:
        say(visible(f"imports      {each.effect:<5} {each.rule}" + _differs(each)))
    for left in [each for each in found if isinstance(each, RefusedRule)]:
        say(visible(f"skips        {left.effect:<5} {left.source}: {left.why}"))
    if not taken:
        return []
    layer = Layer.PROJECT if target.root else Layer.USER
    path = os.path.join(target.root, FILE_NAME) if target.root else user_file()
    before = read_text(path)
    rules: dict[Effect, list[str]] = {}
    for each in taken:
        rules.setdefault(each.effect, []).append(each.rule)
    after = add_rules(before or "", rules, file=path, layer=layer, note=f"from {target.agent}")
    if after == before:
        return []
    return [SettingsChange(path, None if before is None else before.encode(), after.encode(), mode=0o644)]


def _differs(taken: Taken) -> str:
    return "" if taken.rule == taken.source else f"   (from {taken.source})"


def _existing_rules(target: Target) -> Iterator[Taken | RefusedRule]:
    folder = os.path.dirname(file_of(target.agent, target.scope, target.root))
    if target.agent == "claude-code":
        names = ("settings.json", "settings.local.json") if target.root else ("settings.json",)
        for name in names:
            path = os.path.join(folder, name)
            yield from import_rules.from_claude(_json(path), target.root or folder)
    elif target.agent == "codex":
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "rules", "*.rules"))):  # noqa: PTH207 - as above
            content = find_file(path)
            yield from import_rules.from_codex(content.data.decode("utf-8", "replace")) if content else ()
    elif target.agent == "gemini":
        yield from import_rules.from_gemini(_json(os.path.join(folder, "settings.json")))
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "policies", "*.toml"))):  # noqa: PTH207 - as above
            yield from import_rules.from_gemini_policy(_toml(path))


def _json(path: str) -> Any:
    content = find_file(path)
    return None if content is None else jsonc.parse(content.data.decode("utf-8", "replace"), file=path).value


def _toml(path: str) -> Any:
    content = find_file(path)
    try:
        return None if content is None else tomllib.loads(content.data.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", file=path, suggestion="use --no-import") from None


def _show(change: SettingsChange) -> None:
    real = os.path.realpath(change.path)
    say(visible(f"{change.path}{f' (a link to {real})' if real != change.path else ''}:"))
    colour = has_colour(sys.stdout)
    before, after = ((text or b"").decode().splitlines() for text in (change.before, change.after))
    lines = list(difflib.unified_diff(before, after, "before", "after", lineterm=""))
    for line in lines or ["  (no change)"]:
        say(paint(visible(line), _COLOURS.get(line[:1], ""), colour=colour))


def _agrees() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise AssentError("no terminal to confirm at; check with --dry-run, then use --yes")
    sys.stdout.write("Write this? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(target: Target, client: HookClient, changes: Sequence[SettingsChange], home: str) -> None:
    """Write first the files that the hook needs, then the settings that call it."""
    book = follow_move(read_book(home), target)
    old = find_wired(book, target.agent, target.scope, target.root)
    make_private_folder(home)
    make_private_folder(os.path.join(home, AGENTS_FOLDER))
    place_hook(home)
    if client.start:
        write_private(os.path.join(home, AGENTS_FOLDER, "start.json"), _how_to_start())
    token = _make_token(target, home, old)
    others = [each for each in book if each is not old]
    wired = Wired(
        agent=target.agent,
        scope=target.scope,
        root=target.root,
        key=target.key,
        token=token,
        observe=client.observe,
        lines=(client.line(TIMEOUT - MARGIN), client.report_line(REPORT_TIMEOUT - MARGIN)),
        files=old.files if old is not None else (),
    )
    for change in changes:
        wired = _change(wired, change, home, others)
    if target.agent == "codex":
        wired = _trust(target, wired, home, others)
    for written in wired.files:
        say(visible(f"wrote {written.path}"))


def _change(wired: Wired, change: SettingsChange, home: str, others: Sequence[Wired]) -> Wired:
    """Write a file. Register it first, so that `assent uninit` can restore it even after a crash."""
    if _is_our_plugin(change) and change.before != change.after:
        say(visible(f"backup of {change.path}: {back_up(change.path, change.before or b'', home)}"))
    wired = _add(wired, prepare(change, home, _original(wired, change)), change)
    write_book(home, [*others, wired])
    apply_change(change)
    return wired


def _original(wired: Wired, change: SettingsChange) -> bytes | None:
    """Return the content to restore: the file without what an earlier `assent init` added."""
    old = next((each for each in wired.files if each.path == change.path), None)
    if _is_our_plugin(change):
        return None
    if old is None or change.before is None:
        return change.before
    switches = WIRINGS[wired.agent].switches if wired.agent in WIRINGS else ()
    text = take_out(old, change.before.decode("utf-8", "replace"), switches)
    return change.before if text is None else text.encode()


def _add(wired: Wired, written: WrittenSettings, change: SettingsChange) -> Wired:
    """Register a file. If Assent wrote it before, keep the original backup."""
    old = next((each for each in wired.files if each.path == written.path), None)
    if old is not None and (old.is_now(change.before or b"") or _is_our_plugin(change)):
        written = msgspec.structs.replace(written, backup=old.backup, folders=old.folders)
    kept = tuple(each for each in wired.files if each.path != written.path)
    return msgspec.structs.replace(wired, files=(*kept, written))


def _is_our_plugin(change: SettingsChange) -> bool:
    return is_our_plugin((change.before or b"").decode("utf-8", "replace"))


def _how_to_start() -> bytes:
    """Return how the hook starts the daemon: with the user's current environment, not an agent's."""
    environ = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_OURS)}
    environ.pop("ASSENT_DEBUG", None)
    argv = [sys.executable, "-P", "-m", "assent", "serve"]
    return json.dumps({"argv": argv, "environ": environ}, indent=1).encode()


def _make_token(target: Target, home: str, old: Wired | None) -> str:
    wish = check_token_request(
        Role.AGENT,
        user=user_name(),
        agent=target.agent,
        label=f"assent init {target.agent}",
        workspace=(target.root,) if target.root else (),
    )
    with open_keys(None) as (store, log):
        issued = store.write(issue(wish, user_name(), log)).result()
        write_private(token_file(home, target.key), issued.secret.encode() + b"\n")
        if old is not None:
            _revoke(old.token, store, log)
    if old is not None and old.key != target.key:  # the project was moved
        with contextlib.suppress(FileNotFoundError):
            os.unlink(token_file(home, old.key))
    return issued.token.id


def _revoke(token: str, store: Any, log: Any) -> None:
    with contextlib.suppress(NotFoundError):  # it may be revoked already
        store.write(revoke(token, user_name(), log)).result()


def _trust(target: Target, wired: Wired, home: str, others: Sequence[Wired]) -> Wired:
    """Make Codex trust the hooks, if Codex is installed to compute their hashes; else say what to do."""
    program = shutil.which(WIRINGS["codex"].program) or ""
    user_folder = os.path.dirname(file_of("codex", "user", None))
    try:
        hooks = codex_trust.list_hooks(program, target.root or home, os.environ, wired.lines)
        change = codex_trust.plan_trust(user_folder, hooks)
    except ConfigError as error:
        say(visible(f"note: Codex does not trust the hooks yet: {error.message} {error.suggestion or ''}".rstrip()))
        return wired
    _show(change)
    return _change(wired, change, home, others)


def _test_hook(target: Target, home: str) -> int:
    """Call the hook as the agent would, and check that it denies."""
    wired = find_wired(read_book(home), target.agent, target.scope, target.root)
    if wired is None or not (lines := hook_lines(wired)):
        say(f"{target.agent} is connected; check it with `assent doctor`")
        return exit_codes.OK
    tried = try_hook(wired, lines[0], DENIED)
    end = time.monotonic() + _NEW_TOKEN
    while "rejected the token" in tried.err and time.monotonic() < end:
        time.sleep(0.1)  # a running daemon needs a moment to accept a new token
        tried = try_hook(wired, lines[0], DENIED)
    if wired.observe:
        say(f"{target.agent} is connected on trial; see its decisions with `assent audit tail -f`")
        return exit_codes.OK
    if not tried.is_denial:
        say(visible(f"the hook does NOT work: it exited with {tried.code} {tried.err}; see `assent doctor`"))
        return exit_codes.FOUND
    if "could not decide" in tried.err:
        say(visible(f"the hook denies every call for now: {tried.err}"))
        return exit_codes.OK
    if target.agent == "codex" and (program := shutil.which("codex")):
        hooks = codex_trust.list_hooks(program, target.root or home, os.environ, wired.lines)
        if not hooks or not all(hook.trusted and hook.enabled for hook in hooks):
            say("Codex does NOT run the hook yet: it is not trusted; see `assent doctor`")
            return exit_codes.FOUND
    program = WIRINGS[target.agent].program if target.agent in WIRINGS else target.agent
    say(f"{target.agent} is connected and tested; open {dashboard_url()}, then start {program}")
    return exit_codes.OK
