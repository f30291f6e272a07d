"""What is probably not meant: rules that never take effect, allow too much, or are not what they look like."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from assent.model import Effect, Layer, Mode, Origin, Policy, Rule, RuleError
from assent.policy.containment import contains
from assent.policy.matching import Matcher, compile_rule
from assent.reading.tools import TOOLS, find_tool

RUNS_ANYTHING = frozenset(
    [
        "ash",
        "bash",
        "bun",
        "bunx",
        "busybox",
        "chroot",
        "cmd",
        "command",
        "csh",
        "dash",
        "deno",
        "doas",
        "docker",
        "env",
        "eval",
        "exec",
        "find",
        "fish",
        "ksh",
        "lua",
        "make",
        "nice",
        "node",
        "nohup",
        "npx",
        "nsenter",
        "osascript",
        "parallel",
        "perl",
        "php",
        "podman",
        "powershell",
        "pwsh",
        "python",
        "python2",
        "python3",
        "rlwrap",
        "ruby",
        "script",
        "setsid",
        "sh",
        "ssh",
        "strace",
        "su",
        "sudo",
        "tclsh",
        "time",
        "timeout",
        "tsx",
        "unshare",
        "uv",
        "uvx",
        "watch",
        "xargs",
        "zsh",
    ]
)
_KNOWN_TOOLS = tuple(t.name for t in TOOLS)
_OPERATORS = re.compile(r"&&|\|\||[;|<>\n]|\$\(|`|(?<!&)&(?!&)")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.")


class Finding(msgspec.Struct, frozen=True):
    """One thing to look at."""

    severity: Literal["error", "warning", "hint"]
    message: str
    rule: str = ""
    origin: Origin = Origin()
    suggestion: str = ""


class Entry(msgspec.Struct, frozen=True):
    """A rule with the list it stands in."""

    effect: Effect
    matcher: Matcher

    @property
    def rule(self) -> Rule:
        """Return the rule itself."""
        return self.matcher.rule


def lint(policies: Sequence[Policy], now: float | None = None) -> list[Finding]:
    """Look through all layers together."""
    findings = [f for p in policies for f in _policy(p)]
    entries: list[Entry] = []
    for effect, rule in _rules(policies):
        found, entry = _ready(effect, rule)
        findings += found
        entries += [entry] if entry else []
    for entry in entries:
        findings += [*_names(entry), *_letters(entry), *_pattern(entry), *_breadth(entry)]
        if now is not None and entry.rule.expires is not None and entry.rule.expires <= now:
            findings.append(_finding("warning", entry, "it has expired and has no effect"))
    return findings + list(_overlaps(entries))


def _rules(policies: Sequence[Policy]) -> Iterator[tuple[Effect, Rule]]:
    for policy in policies:
        yield from (("deny", r) for r in policy.deny)
        yield from (("ask", r) for r in policy.ask)
        yield from (("allow", r) for r in policy.allow)


def _finding(
    severity: Literal["error", "warning", "hint"], entry: Entry, message: str, suggestion: str = ""
) -> Finding:
    return Finding(severity, message, f"{entry.effect}: {entry.rule.text}", entry.rule.origin, suggestion)


def _ready(effect: Effect, rule: Rule) -> tuple[list[Finding], Entry | None]:
    try:
        return [], Entry(effect, compile_rule(rule))
    except RuleError as error:
        return [Finding("error", str(error), f"{effect}: {rule.text}", rule.origin)], None


def _policy(policy: Policy) -> Iterator[Finding]:
    origin = Origin(policy.layer, policy.file)
    if policy.layer < Layer.USER:
        if policy.mode is Mode.BYPASS:
            yield Finding("warning", f"a {policy.layer} can not loosen: its mode {policy.mode} is ignored", "", origin)
        if policy.classifier is False:
            yield Finding("warning", f"a {policy.layer} can not switch the classifier off: ignored", "", origin)
    elif policy.mode is Mode.BYPASS:
        yield Finding(
            "warning",
            "nothing is asked in this mode: only denies, firm asks and protections hold",
            "",
            origin,
        )


def _names(entry: Entry) -> Iterator[Finding]:
    tool = entry.rule.tool
    if "*" in tool and entry.effect == "allow" and not re.match(r"mcp__[^*]+__", tool):
        yield _finding("error", entry, "an allow needs a tool's full name", "name the server: mcp__server__*")
    if re.fullmatch(r"mcp__[A-Za-z0-9-]+", tool):
        yield _finding("warning", entry, "it matches no tool", f"did you mean {tool}__*?")
    elif find_tool(tool).shape == "unknown" and find_tool(tool).name == tool:
        close = difflib.get_close_matches(tool, _KNOWN_TOOLS, n=1, cutoff=0.75)
        if close and close[0] != tool:
            yield _finding("warning", entry, "no agent is known to have this tool", f"did you mean {close[0]}?")


def _letters(entry: Entry) -> Iterator[Finding]:
    text = " ".join((entry.rule.text, *entry.rule.exceptions))
    hidden = sorted(
        {f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cf", "Cc", "Co", "Cn", "Zl", "Zp")}
    )
    if hidden:
        yield _finding("error", entry, f"it holds invisible characters ({', '.join(hidden)})", "type it anew")
    for word in re.findall(r"\w+", text):
        scripts = {unicodedata.name(c, "?").split()[0] for c in word if c.isalpha()} - {
            "FEMININE",
            "MASCULINE",
        }
        if len(scripts) > 1:
            shown = word.encode("ascii", "backslashreplace").decode()
            yield _finding(
                "warning",
                entry,
                f"`{shown}` mixes letters of {' and '.join(sorted(scripts))}",
                "type it anew",
            )


def _pattern(entry: Entry) -> Iterator[Finding]:
    rule, pattern = entry.rule, entry.rule.pattern or ""
    if entry.matcher.family == "command" and _OPERATORS.search(_QUOTED.sub("", pattern)):
        yield _finding(
            "error",
            entry,
            "it can never match: a rule looks at one command at a time",
            "write one rule for each command",
        )
    if entry.matcher.family == "command" and re.search(r"\w\*$", pattern) and entry.matcher.command is not None:
        yield _finding("hint", entry, "it matches longer program or word names too", f"did you mean {pattern[:-1]}:*?")
    glob = entry.matcher.glob
    if glob is not None and glob.form == "exact" and pattern.endswith("/"):
        yield _finding("warning", entry, "it names a folder and matches no file in it", f"did you mean {pattern}**?")
    if find_tool(rule.tool).name == "WebFetch" and pattern and entry.matcher.host is None:
        yield _finding("hint", entry, "it is compared with the whole address", "write domain:example.com for a host")


def _breadth(entry: Entry) -> Iterator[Finding]:
    if entry.effect != "allow":
        return
    matcher = entry.matcher
    if matcher.family == "command":
        program = matcher.command.program if matcher.command else None
        if program is None and (matcher.command is None or matcher.command.expression is None):
            yield _finding("warning", entry, "it allows every command that is not destructive", "name the programs")
        elif program in RUNS_ANYTHING and matcher.command is not None and matcher.command.open_ended:
            yield _finding("warning", entry, f"`{program}` can run anything", "allow the very command you mean")
    elif matcher.family in ("write", "edit", "read"):
        wide = matcher.glob is None or (
            matcher.glob.base == "/" and matcher.glob.form == "below" and matcher.glob.anchor != "cwd"
        )
        if wide and matcher.family != "read":
            yield _finding("warning", entry, "it allows writing anywhere", "name a folder: Write(src/**)")
    elif matcher.host is not None and matcher.host.expression is not None and not matcher.host.host:
        yield _finding("warning", entry, "it allows every host", "name the domains")


def _overlaps(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Find rules that another one makes pointless."""
    shelves: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        shelves[_shelf(entry)].append(entry)
    for entry in entries:
        rivals = (r for key in _near(entry) for r in shelves.get(key, ()) if r is not entry)
        yield from _overlap(entry, rivals)


def _shelf(entry: Entry) -> tuple[str, str]:
    matcher = entry.matcher
    kind = "write" if matcher.family == "edit" else matcher.family
    if matcher.command is not None and matcher.command.program:
        return kind, matcher.command.program
    if matcher.glob is not None:
        return kind, matcher.glob.base
    return (
        kind,
        matcher.host.host if matcher.host else "" if matcher.family != "name" or "*" in matcher.tool else matcher.tool,
    )


def _near(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the shelves on which a rule that contains this one may stand."""
    kind, place = _shelf(entry)
    yield kind, place
    if kind in ("write", "read"):
        while place not in ("", "/"):
            place = place.rpartition("/")[0] or "/"
            yield kind, place
    if kind == "host":
        while "." in place:
            place = place.partition(".")[2]
            yield kind, place
    yield kind, ""


def _overlap(entry: Entry, rivals: Iterable[Entry]) -> Iterator[Finding]:
    for rival in rivals:
        if not contains(rival.matcher, entry.matcher, broad=rival.effect != "allow"):
            continue
        where = f"{rival.rule.text} ({rival.rule.origin})"
        if rival.effect == "deny" and entry.effect != "deny":
            yield _finding(
                "warning",
                entry,
                f"it never takes effect: {where} denies all of it",
                "narrow the deny with `except`",
            )
            return
        if rival.effect == "ask" and entry.effect == "allow":
            yield _finding("hint", entry, f"it is asked about all the same: {where}")
            return
        if rival.effect == entry.effect and (rival.rule.text != entry.rule.text or _earlier(rival, entry)):
            yield _finding("hint", entry, f"it adds nothing to {where}")
            return


def _earlier(one: Entry, other: Entry) -> bool:
    return (one.rule.origin.file, one.rule.origin.line) < (other.rule.origin.file, other.rule.origin.line)
